"""Causal convolutions of recurrent layers, as `moe_mlir::causal_conv`.

The layers keep a window of columns. The cache gives it and the new columns as one tensor, whose convolution is cut to
what is new.
"""

from ... import ops
from .functions import drawn, replace

ACTIVATIONS = {None: "", "silu": "silu", "swish": "silu"}


def causal_conv1d_fn(hidden_states, weight, bias=None, activation=None, **kwargs):
    """`hidden_states` [B, C, L], `weight` [C, K] -> [B, C, L]. An activation that the operator does not have follows it."""
    if activation in ACTIVATIONS:
        return ops.causal_conv(hidden_states, weight, bias, ACTIVATIONS[activation])
    from transformers.activations import ACT2FN

    return ACT2FN[activation](ops.causal_conv(hidden_states, weight, bias, ""))


def _draws():
    for length, bias, activation in ((1, None, None), (3, drawn(1, 6), "silu"), (5, None, "gelu"), (9, drawn(2, 6), None)):
        yield (drawn(3, 2, 6, length), drawn(4, 6, 4), bias), {"activation": activation}


def replaced(model):
    """Context in which the model's convolutions are single ops."""
    return replace(model, {"causal_conv1d_fn": (causal_conv1d_fn, _draws)})
