"""The torch op `moe_mlir::experts`: one graph node per MoE layer."""

from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import activations


def _product(x, weight, bias, transposed):
    """`x` [N, in] times one expert's weight: [out, in], or [in, out] if `transposed`."""
    y = x @ weight if transposed else F.linear(x, weight)
    return y if bias is None else y + bias


@torch.library.custom_op("moe_mlir::experts", mutates_args=())
def experts(
    hidden: Tensor,
    ids: Tensor,
    weights: Tensor,
    gate_up_proj: Tensor,
    down_proj: Tensor,
    gate_up_bias: Optional[Tensor],
    down_bias: Optional[Tensor],
    activation: str,
    gated: bool,
    interleaved: bool,
    transposed: bool,
) -> Tensor:
    """Weighted sum of the chosen experts' outputs, `[T, H]` in the dtype of `hidden`.

    With `F = 2 I` if `gated`, else `F = I`:

    hidden        [T, H] floating point
    ids           [T, k] int64; an id outside [0, E) contributes nothing
    weights       [T, k] floating point, may be wider than `hidden`
    gate_up_proj  [E, F, H], or [E, H, F] if `transposed`
    down_proj     [E, H, I], or [E, I, H] if `transposed`
    gate_up_bias  [E, F] or None
    down_bias     [E, H] or None
    activation    a name of `moe_mlir.activations`
    interleaved   gate and up are even and odd columns of F instead of its halves

    Experts add to a row in ascending order of their ids, each sum rounded to the dtype of `hidden`, as the eager loop
    of transformers does.
    """
    out = torch.zeros_like(hidden)
    for expert in ids.unique().tolist():  # in ascending order
        if not 0 <= expert < gate_up_proj.shape[0]:
            continue
        # Rows in the order of transformers' own loop, so that the results are the same to the last bit.
        slot, token = torch.where((ids == expert).T)
        pre = _product(
            hidden[token], gate_up_proj[expert], None if gate_up_bias is None else gate_up_bias[expert], transposed
        )
        inner = activations.apply(activation, pre, gated, interleaved)
        y = _product(inner, down_proj[expert], None if down_bias is None else down_bias[expert], transposed)
        out.index_add_(0, token, (y * weights[token, slot, None]).to(out.dtype))
    return out


@experts.register_fake
def _(
    hidden, ids, weights, gate_up_proj, down_proj, gate_up_bias, down_bias, activation, gated, interleaved, transposed
):
    return torch.empty_like(hidden)
