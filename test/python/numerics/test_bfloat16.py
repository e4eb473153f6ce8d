"""bfloat16 models: as close to the exact result of the same weights as PyTorch's bfloat16 is.

Both sides are measured against a float64 run of the rounded weights. A router that chooses another expert changes a row
by far more than rounding does, so values are compared with the experts given, and choices by themselves.
"""


import numpy as np
import pytest
import torch

from moe_mlir.testing.low_precision import RATIO, assert_as_close_as_pytorch
from moe_mlir.testing.compare import relative_error
from moe_mlir.testing.compiling import step_inputs
from moe_mlir.testing.configurations import FAMILIES, LARGE_CUT
from moe_mlir.testing.full import sample
from moe_mlir.testing.inputs import random_tokens
from moe_mlir.testing.margins import router_ulps, same_sets
from moe_mlir.testing.observe import double_precision, observe

SAFE_ULPS = 16  # margin of a choice that rounding cannot flip, in bfloat16 ulps of the cut logit
ROWS = 2000


def chosen_experts(outputs):
    """Ids `[N, B, S, k]` among the outputs, in layer order."""
    assert [name for name in outputs if name != "logits"] == [f"experts_{layer}" for layer in range(len(outputs) - 1)]
    return np.stack([outputs[f"experts_{layer}"] for layer in range(len(outputs) - 1)])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("shape", sample([(32, 64), (256, 8)], 0))
def test_values_with_forced_experts(family, shape, compiled):
    model, executable = compiled(family, torch.bfloat16, force_experts=True)
    tokens = random_tokens(model, *shape, seed=0)
    assert tokens.size >= ROWS
    assert_as_close_as_pytorch(model, executable, tokens)


@pytest.mark.parametrize("name", sample(LARGE_CUT, 1))
def test_choices_with_free_routing(name, compiled):
    model, executable = compiled(name, torch.bfloat16, return_experts=True)
    tokens = random_tokens(model, 512, 8, seed=1)
    assert tokens.size >= ROWS
    with double_precision(model):
        exact = observe(model, tokens)
    differs = ~same_sets(chosen_experts(executable.run(step_inputs(tokens))), exact.chosen)
    theirs = ~same_sets(observe(model, tokens).chosen, exact.chosen)
    assert theirs.mean() > 1e-3, "too few close choices to compare"
    share = f"{differs.mean():.2%} of the choices differ, PyTorch's {theirs.mean():.2%}"
    assert differs.mean() <= RATIO * theirs.mean(), share

    # A row is safe if it and all earlier rows of its sequence have wide margins in every layer.
    ulps = router_ulps(exact.router_logits, exact.chosen.shape[-1]).min(axis=0)
    safe = np.minimum.accumulate(ulps, axis=-1) > SAFE_ULPS
    assert safe.sum() >= 100, "too few rows with wide margins"
    assert not (differs.any(axis=0) & safe).any()


@pytest.mark.parametrize("family", FAMILIES)
def test_chunks_equal_the_whole(family, compiled):
    """With the experts given, token by token differs from one piece by rounding only."""
    model, executable = compiled(family, torch.bfloat16, force_experts=True)
    tokens = random_tokens(model, 3, 20, seed=2)
    with double_precision(model):
        exact = observe(model, tokens)

    def call(begin, end):
        ids = {f"experts_{i}": value[:, begin:end] for i, value in enumerate(exact.chosen)}
        return {**step_inputs(tokens[:, begin:end], begin), **ids}

    pieces = [(0, 20), None, *((i, i + 1) for i in range(20))]
    outputs = [out["logits"] for out in executable.run_calls([piece and call(*piece) for piece in pieces])]
    pytorch = relative_error(observe(model, tokens, exact.chosen).logits, exact.logits)
    for logits in (outputs[0], np.concatenate(outputs[1:], axis=1)):
        assert relative_error(logits, exact.logits) <= RATIO * pytorch
