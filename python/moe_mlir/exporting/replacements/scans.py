"""Gated delta rules (Gated DeltaNet; Kimi delta attention, with a decay for each key channel), as `moe_mlir::scan`."""

import functools

import torch

from ... import ops
from .functions import drawn, replace


def delta_rule(
    query,
    key,
    value,
    g,
    beta,
    chunk_size=64,
    initial_state=None,
    output_final_state=False,
    use_qk_l2norm_in_kernel=False,
    **kwargs,
):
    """`query`, `key` [B, S, M, K], `value` [B, S, N, V], `g` [B, S, N] or [B, S, N, K], `beta` [B, S, N], state [B, N, K, V].

    Returns the outputs [B, S, N, V] in the dtype of `query`, and the last state, or None unless it is asked for.
    """
    dtype = query.dtype
    query, key = query.float(), key.float()
    if use_qk_l2norm_in_kernel:
        query, key = l2norm(query), l2norm(key)
    query = query * query.shape[-1] ** -0.5
    if initial_state is None:
        initial_state = value.new_zeros((value.shape[0], value.shape[2], key.shape[3], value.shape[3]), dtype=torch.float32)
    out, state = ops.scan(query, key, value.float(), g.float(), None, beta.float(), initial_state.float())
    return out.to(dtype), state if output_final_state else None


def l2norm(x, eps=1e-6):
    """Rows of unit length."""
    return x * torch.rsqrt((x * x).sum(dim=-1, keepdim=True) + eps)


def _draws(by_channel):
    for length, keys, state in ((1, 2, True), (5, 4, False), (70, 4, True)):
        heads = 4
        if by_channel:
            keys = heads
        shape = (2, length, heads, 8) if by_channel else (2, length, heads)
        arguments = {
            "g": -drawn(1, *shape).abs(),
            "beta": drawn(2, 2, length, heads).sigmoid(),
            "initial_state": drawn(3, 2, heads, 8, 6) if state else None,
            "output_final_state": True,
            "use_qk_l2norm_in_kernel": True,
        }
        yield (drawn(4, 2, length, keys, 8), drawn(5, 2, length, keys, 8), drawn(6, 2, length, heads, 6)), arguments


def replaced(model):
    """Context in which the model's delta rules are single ops."""
    scalar, by_channel = (delta_rule, functools.partial(_draws, False)), (delta_rule, functools.partial(_draws, True))
    return replace(model, {"torch_chunk_gated_delta_rule": scalar, "chunk_kimi_delta_attention": by_channel})
