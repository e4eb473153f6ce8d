"""The torch op `moe_mlir::scan`: linear attention, state spaces and delta rules as one recurrence."""

from typing import Optional, Tuple

import torch
from torch import Tensor


@torch.library.custom_op("moe_mlir::scan", mutates_args=())
def scan(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    decay: Tensor,
    rates: Optional[Tensor],
    beta: Optional[Tensor],
    state: Tensor,
) -> Tuple[Tensor, Tensor]:
    """Read a state at each step after it has decayed and taken the step's key and value in.

    query, key  [B, S, M, K]; value head n uses head n / (N / M)
    value       [B, S, N, V]
    decay       [B, S, N], [B, S, N, K], or with `rates` [B, S, N, V]
    rates       [N, K, V] or None
    beta        [B, S, N] or None
    state       [B, N, K, V], before the first step

    For each step, `H` being the state of one head of one row:

        H = exp(d) * H            d = decay[b, t, n]; decay[b, t, n, i]; or decay[b, t, n, j] * rates[n, i, j]
        H += k (x) v              without beta: state spaces (Mamba), linear attention
        H += beta k (x) (v - k H) with beta: the delta rule
        out = q H

    In f32 (f64 for f64). Returns the outputs [B, S, N, V] in the dtype of `value`, and the state after the last step.
    """
    dtype = torch.promote_types(value.dtype, torch.float32)
    group = value.shape[2] // query.shape[2]
    q, k = (x.to(dtype).repeat_interleave(group, dim=2) for x in (query, key))
    v, h = value.to(dtype), state.to(dtype)
    out = torch.empty_like(v, memory_format=torch.contiguous_format)
    for t in range(value.shape[1]):
        d = decay[:, t].to(dtype)
        if rates is not None:
            d = d[:, :, None, :] * rates.to(dtype)
        else:
            d = d.reshape(*d.shape, *[1] * (4 - d.dim()))
        h = torch.exp(d) * h
        new = v[:, t]
        if beta is not None:
            new = (new - torch.einsum("bnk,bnkv->bnv", k[:, t], h)) * beta[:, t, :, None].to(dtype)
        h = h + k[:, t, :, :, None] * new[:, :, None, :]
        out[:, t] = torch.einsum("bnk,bnkv->bnv", q[:, t], h)
    return out.to(value.dtype), h.to(state.dtype, copy=True).contiguous()


@scan.register_fake
def _(query, key, value, decay, rates, beta, state):
    contiguous = torch.contiguous_format
    return torch.empty_like(value, memory_format=contiguous), torch.empty_like(state, memory_format=contiguous)
