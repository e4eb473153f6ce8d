"""Rows to experts and back, in three forms that must agree.

buffer  [E, C, H] with a fixed number of rows per expert, unused rows zero
rows    [R, H] ordered by expert and within an expert by token, no padding
dense   products with a one-hot mask [T, E, C], the baseline of the published comparisons

The gate weight is applied on the way back (post-score, the default) or on the way in (pre-score): `weights` goes to
the dispatch or to the combine.
"""

import numpy as np

from .capacity import locations


def dispatch_buffer(x, ids, experts, capacity, weights=None):
    """`[T, H]`, ids `[T, k]` -> `[E, C, H]`. Pairs with id -1 or beyond the capacity are left out."""
    out = np.zeros((experts, capacity, x.shape[1]), dtype=x.dtype)
    rows = locations(ids, experts)
    for token, slot in np.argwhere((ids >= 0) & (rows < capacity)):
        out[ids[token, slot], rows[token, slot]] = x[token] * (1 if weights is None else weights[token, slot])
    return out


def combine_buffer(y, ids, weights=None):
    """`[E, C, H]` -> `[T, H]`: sum over the slots that have a row, times their weights if given."""
    experts, capacity, width = y.shape
    out = np.zeros((ids.shape[0], width), dtype=y.dtype)
    rows = locations(ids, experts)
    for token, slot in np.argwhere((ids >= 0) & (rows < capacity)):
        out[token] += y[ids[token, slot], rows[token, slot]] * (1 if weights is None else weights[token, slot])
    return out


def sort_pairs(ids, experts):
    """Pairs ordered by expert, then token, then slot: `(pairs [R, 2] of (token, slot), counts [E])`."""
    ids = np.asarray(ids)
    pairs = np.argwhere(ids >= 0).reshape(-1, 2)
    chosen = ids[pairs[:, 0], pairs[:, 1]]
    return pairs[np.argsort(chosen, kind="stable")], np.bincount(chosen, minlength=experts)


def dispatch_rows(x, ids, experts, weights=None):
    """`[T, H]`, ids `[T, k]` -> rows `[R, H]` and the rows per expert `[E]`."""
    pairs, counts = sort_pairs(ids, experts)
    rows = x[pairs[:, 0]]
    return (rows if weights is None else rows * weights[pairs[:, 0], pairs[:, 1], None]), counts


def combine_rows(y, ids, experts, weights=None):
    """Rows `[R, H]` -> `[T, H]`, summed in slot order."""
    pairs, _ = sort_pairs(ids, experts)
    out = np.zeros((ids.shape[0], y.shape[1]), dtype=y.dtype)
    for row in np.lexsort((pairs[:, 1], pairs[:, 0])):
        token, slot = pairs[row]
        out[token] += y[row] * (1 if weights is None else weights[token, slot])
    return out


def combine_tree(y, ids, experts, groups, weights=None):
    """As `combine_rows`, in the order of `sum(<tree, groups = G>)`: the experts are cut into G equal ranges, inside of
    which slots are added in slot order, and the ranges in pairs."""
    pairs, _ = sort_pairs(ids, experts)
    sums = np.zeros((groups, ids.shape[0], y.shape[1]), dtype=y.dtype)
    for row in np.lexsort((pairs[:, 1], pairs[:, 0])):
        token, slot = pairs[row]
        scale = 1 if weights is None else weights[token, slot]
        sums[ids[token, slot] // (experts // groups), token] += y[row] * scale
    return add_in_pairs(sums)


def add_in_pairs(sums):
    """`[G, ...]` -> the sum over G, a power of two: (0 + 1) + (2 + 3) and so on."""
    while len(sums) > 1:
        sums = sums[0::2] + sums[1::2]
    return sums[0]


def dense_mask(ids, experts, capacity, weights=None):
    """`[T, E, C]`: 1, or the pair's weight, where a token has a row."""
    rows = locations(ids, experts)
    out = np.zeros((ids.shape[0], experts, capacity))
    for token, slot in np.argwhere((ids >= 0) & (rows < capacity)):
        out[token, ids[token, slot], rows[token, slot]] += 1 if weights is None else weights[token, slot]
    return out


def dense_dispatch(x, mask):
    """`[T, H]`, `[T, E, C]` -> `[E, C, H]`."""
    return np.einsum("tec,th->ech", mask, x)


def dense_combine(y, mask):
    """`[E, C, H]`, `[T, E, C]` -> `[T, H]`."""
    return np.einsum("tec,ech->th", mask, y)
