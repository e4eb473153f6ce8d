"""nn.attention in float64."""

import numpy as np


def attention(q, k, v, scale, position=0, causal=True, window=None, length=None, mask=None, sinks=None, bias=None):
    """float64; q [B, S, N, D], k [B, M, L, D], v [B, M, L, Dv], sinks [N]: one more column of scores without a value.

    `position` and `length` are one number, or one of each row of the batch."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    group = q.shape[2] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    scores = scale * np.einsum("bsnd,bnld->bnsl", q, k) + (0 if bias is None else bias.astype(np.float64))
    of_rows = (-1, 1, 1, 1)
    p, j = np.reshape(position, of_rows) + np.arange(q.shape[1])[:, None], np.arange(k.shape[2])
    seen = np.ones_like(scores, bool)
    if causal:
        seen &= j <= p
    if window:
        seen &= j > p - window
    if length is not None:
        seen &= j < np.reshape(length, of_rows)
    if mask is not None:
        seen &= mask
    scores = np.where(seen, scores, -np.inf)
    if sinks is not None:
        column = np.broadcast_to(sinks.astype(np.float64)[:, None, None], (*scores.shape[:3], 1))
        scores, v = np.concatenate([scores, column], -1), np.concatenate([v, np.zeros_like(v[:, :, :1])], 2)
    largest = scores.max(-1, keepdims=True)
    e = np.exp(scores - np.where(np.isinf(largest), 0, largest))
    total = e.sum(-1, keepdims=True)
    return np.einsum("bnsl,bnld->bsnd", e / np.where(total == 0, 1, total), v)
