"""The torch op `moe_mlir::causal_conv`: a depthwise convolution over what came before."""

from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor

ACTIVATIONS = ("", "silu")


@torch.library.custom_op("moe_mlir::causal_conv", mutates_args=())
def causal_conv(x: Tensor, weight: Tensor, bias: Optional[Tensor], activation: str) -> Tensor:
    """`y[b, c, t] = act(bias[c] + sum_j weight[c, j] * x[b, c, t - K + 1 + j])`, where x is zero before 0.

    x           [B, C, L] floating point
    weight      [C, K]
    bias        [C] or None
    activation  "" or "silu"

    Summed in f32 (f64 for f64), rounded once to the dtype of `x`.
    """
    if activation not in ACTIVATIONS:
        raise ValueError(f"moe_mlir::causal_conv knows no activation '{activation}'")
    dtype = torch.promote_types(x.dtype, torch.float32)
    padded = F.pad(x.to(dtype), (weight.shape[1] - 1, 0))
    out = F.conv1d(padded, weight.to(dtype).unsqueeze(1), None if bias is None else bias.to(dtype), groups=x.shape[1])
    return (F.silu(out) if activation else out).to(x.dtype)


@causal_conv.register_fake
def _(x, weight, bias, activation):
    return torch.empty_like(x, memory_format=torch.contiguous_format)
