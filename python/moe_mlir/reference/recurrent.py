"""What a layer computes along a sequence: a causal convolution, and a recurrence over a matrix for each head.

Both are written step by step as their formulas are, so that a faster form can be held against them.
"""

import numpy as np


def causal_conv(x, weight, bias=None, activation="", dtype=np.float64):
    """`y[b, c, t] = act(bias[c] + sum_j weight[c, j] x[b, c, t - K + 1 + j])`; x `[B, C, L]` is zero before its first column."""
    if activation not in ("", "silu"):
        raise ValueError(f"activation '{activation}' is neither empty nor 'silu'")
    x, weight = np.asarray(x).astype(dtype), np.asarray(weight).astype(dtype)
    taps, length = weight.shape[1], x.shape[2]
    y = np.zeros_like(x)
    if bias is not None:
        y += np.asarray(bias).astype(dtype)[:, None]
    for column in range(length):
        for tap in range(taps):
            source = column - taps + 1 + tap
            if source >= 0:
                y[:, :, column] += weight[:, tap] * x[:, :, source]
    return y / (1 + np.exp(-y)) if activation == "silu" else y


def scan(query, key, value, decay, rates=None, beta=None, state=None, dtype=np.float64):
    """Rows `[B, S, N, V]` and the state after them `[B, N, K, V]`.

    query, key  [B, S, M, K], of which N / M neighbouring heads of values have one in common
    value       [B, S, N, V]
    decay       [B, S, N], [B, S, N, K], or with rates [N, K, V] [B, S, N, V]: what a head, a row of its matrix or, times
                its rate, an element is multiplied by in a step, as its logarithm
    beta        [B, S, N] or None: the delta rule, by which a key replaces that part of what it finds, instead of the sum
    state       [B, N, K, V] or None for zeros
    """
    query, key, value, decay = (np.asarray(x).astype(dtype) for x in (query, key, value, decay))
    (rows, steps, heads, width), depth = value.shape, key.shape[3]
    group = heads // key.shape[2]
    h = np.zeros((rows, heads, depth, width), dtype) if state is None else np.array(state).astype(dtype)
    out = np.zeros(value.shape, dtype)
    for b in range(rows):
        for n in range(heads):
            for t in range(steps):
                q, k, d = query[b, t, n // group], key[b, t, n // group], decay[b, t, n]
                power = np.asarray(rates[n]).astype(dtype) * d if rates is not None else d[:, None] if decay.ndim == 4 else d
                m = np.exp(power) * h[b, n]
                taken = value[b, t, n]
                if beta is not None:
                    taken = dtype(beta[b, t, n]) * (taken - k @ m)
                h[b, n] = m + np.outer(k, taken)
                out[b, t, n] = q @ h[b, n]
    return out, h
