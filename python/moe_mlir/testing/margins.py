"""How close a choice was: margins of routers and of greedy decoding."""

import numpy as np


def router_gap(router_logits, k):
    """Difference between the last chosen and the first refused logit: `[..., E]` -> `[...]`; inf if all are chosen."""
    ordered = -np.sort(-router_logits, axis=-1)
    if k >= router_logits.shape[-1]:
        return np.full(router_logits.shape[:-1], np.inf)
    return ordered[..., k - 1] - ordered[..., k]


def router_margin(router_logits, k):
    """`router_gap` relative to the largest router logit of the array."""
    return router_gap(router_logits, k) / np.abs(router_logits).max()


def bfloat16_ulp(x):
    """Distance of neighbouring bfloat16 numbers at `x`."""
    exponent = np.floor(np.log2(np.maximum(np.abs(x), 2.0**-126)))
    return 2.0 ** (exponent - 7)


def router_ulps(router_logits, k):
    """`router_gap` in bfloat16 ulps of the cut logit, the last one that is chosen."""
    cut = -np.sort(-router_logits, axis=-1)[..., min(k, router_logits.shape[-1]) - 1]
    return router_gap(router_logits, k) / bfloat16_ulp(cut)


def top2_gap(logits):
    """Difference of the two largest logits relative to the row's largest magnitude: `[..., V]` -> `[...]`."""
    ordered = np.partition(logits, -2, axis=-1)
    return (ordered[..., -1] - ordered[..., -2]) / np.abs(logits).max(axis=-1)


def same_sets(a, b):
    """Whether the same experts were chosen, in any order: `[..., k]` -> `[...]`."""
    return (np.sort(a, axis=-1) == np.sort(b, axis=-1)).all(axis=-1)
