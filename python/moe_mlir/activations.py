"""The activations an experts op can name, as torch functions (row V7 of the feature list).

A gated expert computes `activation(gate) * up` from two halves (or from even and odd columns) of its first product;
an expert without a gate computes `activation(up)`. `swigluoai` is gated only: it clamps both parts and multiplies by
`up + 1`. What has no name is an expression (`expressions.py`).
"""

from . import expressions
from .errors import UnsupportedError

SWIGLUOAI_ALPHA = 1.702
SWIGLUOAI_LIMIT = 7.0


def _pointwise():
    import torch
    import torch.nn.functional as F

    return {
        "silu": F.silu,
        "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "relu": F.relu,
        "relu2": lambda x: torch.square(F.relu(x)),
    }


def names(gated):
    """Names that are valid for experts with (`gated`) or without a gate."""
    return [*_pointwise(), *(["swigluoai"] if gated else [])]


def split(gate_up, interleaved):
    """Gate and up parts, each `[..., I]`, of `gate_up` `[..., 2 I]`."""
    if interleaved:
        return gate_up[..., ::2], gate_up[..., 1::2]
    return gate_up.chunk(2, dim=-1)


def apply(name, pre, gated, interleaved):
    """Activation `name` on `pre`: `[..., 2 I]` -> `[..., I]` if `gated`, else `[..., I]` -> `[..., I]`."""
    import torch

    if name.startswith(expressions.PREFIX):
        gate, up = split(pre, interleaved) if gated else (None, pre)
        return expressions.evaluate(name, gate, up)
    if name not in names(gated):
        raise UnsupportedError(
            f"experts activation '{name}' is not known {'with' if gated else 'without'} a gate; "
            f"known are: {', '.join(names(gated))}, and expressions that begin with '{expressions.PREFIX}'"
        )
    if not gated:
        return _pointwise()[name](pre)
    gate, up = split(pre, interleaved)
    if name == "swigluoai":
        gate = gate.clamp(max=SWIGLUOAI_LIMIT)
        up = up.clamp(min=-SWIGLUOAI_LIMIT, max=SWIGLUOAI_LIMIT)
        return (up + 1) * (gate * torch.sigmoid(gate * SWIGLUOAI_ALPHA))
    return _pointwise()[name](gate) * up
