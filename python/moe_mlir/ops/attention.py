"""The torch op `moe_mlir::attention`: attention with sinks, which `scaled_dot_product_attention` cannot say.

The op computes, so a model that uses it runs in eager mode, and has a fake kernel, so `torch.export` keeps it as one
opaque node.
"""

from typing import Optional

import torch
from torch import Tensor


@torch.library.custom_op("moe_mlir::attention", mutates_args=())
def attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor], sinks: Optional[Tensor], scale: float
) -> Tensor:
    """Softmax of `scale * q.k` over the keys that are seen and the sink, times the values, `[B, N, S, Dv]`.

    query  [B, N, S, D] floating point
    key    [B, M, L, D], N a multiple of M: query head n reads head n / (N / M)
    value  [B, M, L, Dv]
    mask   [B or 1, 1 or N, S, L] bool, true = seen; or floating point, added to the scores; or None: all is seen
    sinks  [N] or None: one more score per head, neither scaled nor masked, whose weight is dropped

    The softmax is in float32, or float64 of float64; a query that sees no key gives zeros.
    """
    wide = torch.promote_types(query.dtype, torch.float32)
    group = query.shape[1] // key.shape[1]
    key, values = (x.repeat_interleave(group, dim=1).to(wide) for x in (key, value))
    scores = scale * (query.to(wide) @ key.transpose(2, 3))
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask.to(wide)
    largest = scores.amax(dim=-1, keepdim=True)
    if sinks is not None:
        sinks = sinks.to(wide).view(1, -1, 1, 1)
        largest = torch.maximum(largest, sinks)
    largest = largest.masked_fill(largest == -torch.inf, 0)
    terms = (scores - largest).exp()
    total = terms.sum(dim=-1, keepdim=True)
    if sinks is not None:
        total = total + (sinks - largest).exp()
    weights = terms / total.masked_fill(total == 0, 1)
    # The weights are rounded to the values' type, as transformers' own functions do before the second product.
    return (weights.to(value.dtype).to(wide) @ values).to(query.dtype)


@attention.register_fake
def _(query, key, value, mask, sinks, scale):
    return query.new_empty((*query.shape[:3], value.shape[3]))
