"""bfloat16 and float16 models: as close to the exact result of the same weights as PyTorch is in that type.

Both sides are measured against a float64 run of the rounded weights.
"""

from .compare import relative_error
from .compiling import step_inputs
from .observe import double_precision, observe

RATIO = 1.5  # to PyTorch's error


def assert_as_close_as_pytorch(model, executable, tokens):
    """The logits. Both sides are given the experts of the exact run, which `executable` takes as inputs: a router that
    chooses another expert changes a row by far more than rounding does."""
    with double_precision(model):
        exact = observe(model, tokens)
    pytorch = observe(model, tokens, exact.chosen)
    ids = {f"experts_{i}": value for i, value in enumerate(exact.chosen)}
    executable.reset()
    logits = executable.run({**step_inputs(tokens), **ids})["logits"]
    ours, theirs = relative_error(logits, exact.logits), relative_error(pytorch.logits, exact.logits)
    assert theirs > 1e-4, "the reference run is in float32"
    assert ours <= RATIO * theirs, f"relative error {ours:.3g}, PyTorch's {theirs:.3g}"
