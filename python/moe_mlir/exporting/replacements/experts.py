"""Experts outside of transformers' registry, as `moe_mlir::experts`.

Some models loop over their experts in Python, which cannot be traced, or multiply every token with every expert. Modules
that are built like one of `expert_kinds.KINDS` get another forward while the model is exported. Each one runs beside its
original on drawn inputs first, and a difference ends the export.
"""

import contextlib
import types

import torch

from ...errors import MismatchError
from .expert_kinds import KINDS

# Largest difference that is accepted, relative to the largest value: the order of sums, and roundings between them.
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5, torch.bfloat16: 1.0 / 16, torch.float16: 1.0 / 64}

# Tokens that a replacement is compared on: two texts, so that a mixed-up batch is seen.
BATCH, TOKENS = 2, 5


def kind_of(module):
    """The kind of experts that `module` is built like, or None."""
    return next((kind for kind in KINDS if kind.matches(module)), None)


def replaceable(model):
    """`[(qualified name, module, kind)]` of the modules that are replaced, in layer order."""
    found = [(name, module, kind_of(module)) for name, module in model.named_modules()]
    return [entry for entry in found if entry[2] is not None]


@contextlib.contextmanager
def replaced(model):
    """Context in which the modules compute by `moe_mlir::experts`; everything is put back afterwards."""
    found = replaceable(model)
    changed = []
    try:
        for name, module, kind in found:
            layer = kind(module, f"experts of '{type(module).__name__}' ({name})")
            expected = _results(kind, module)
            for method, function in layer.methods().items():
                setattr(module, method, types.MethodType(function, module))
                changed.append((module, method))
            _compare(_results(kind, module), expected, f"'{name}' ({type(module).__name__})")
        yield [name for name, *_ in found]
    finally:
        for module, method in changed:
            delattr(module, method)


def _results(kind, module):
    """What the module gives for drawn inputs, as a list of tensors."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        results = kind.run(module, lambda *shape: torch.randn(shape, generator=generator), BATCH, TOKENS)
    return [result for result in results if isinstance(result, torch.Tensor)]


def _compare(actual, expected, what):
    """Raise `MismatchError` unless the tensors agree within the bound of their type."""
    for number, (own, other) in enumerate(zip(actual, expected, strict=True)):
        largest = other.abs().max().item()
        bound = TOLERANCE[other.dtype] * max(largest, 1e-30)
        difference = (own.double() - other.double()).abs().max().item() if own.shape == other.shape else float("inf")
        if not difference <= bound:
            raise MismatchError(
                f"the replacement of {what} differs from the module in result {number}: largest difference {difference:.3g}, "
                f"allowed {bound:.3g} (largest value {largest:.3g}); nothing was written"
            )
