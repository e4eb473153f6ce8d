"""Capacity: how many rows an expert takes, which row a (token, slot) pair gets, what is dropped."""

import math

import numpy as np

from .gate import renormalize

ROUNDINGS = ("tutel", "deepspeed", "megablocks", "paper")


def rounded_capacity(tokens, experts, k, factor, rounding):
    """Rows per expert for a factor > 0, by the rounding of the named system ("paper": not rounded)."""
    if rounding == "tutel":
        return k * int(factor * math.ceil(tokens / experts))
    if rounding == "deepspeed":
        return math.ceil(k * factor * tokens / experts)
    if rounding == "megablocks":
        return int(factor * k * tokens / experts)
    if rounding == "paper":
        return k * factor * tokens / experts
    raise ValueError(f"rounding '{rounding}' is none of {ROUNDINGS}")


def capacity(tokens, experts, k, factor, rounding="tutel", *, needed):
    """Rows per expert. `needed` is the load of the fullest expert before any drop.

    factor > 0   a share of the mean load
    factor == 0  what is needed: nothing is dropped
    factor < 0   what is needed, but at most the capacity of -factor
    """
    if factor == 0:
        return needed
    rows = rounded_capacity(tokens, experts, k, abs(factor), rounding)
    return rows if factor > 0 else min(needed, rows)


def locations(ids, experts):
    """Row `[T, k]` of each pair in its expert's buffer, -1 for pairs without an expert.

    Slot-major: all first choices take rows before any second choice.
    """
    ids = np.asarray(ids)
    out = np.full(ids.shape, -1, dtype=np.int64)
    used = np.zeros(experts, dtype=np.int64)
    for slot in range(ids.shape[1]):
        for token in range(ids.shape[0]):
            expert = ids[token, slot]
            if expert >= 0:
                out[token, slot] = used[expert]
                used[expert] += 1
    return out


def needed_capacity(ids, experts):
    """1 + the largest location, 0 if there is no pair."""
    return int(locations(ids, experts).max(initial=-1)) + 1


def apply_capacity(ids, weights, experts, factor, rounding="tutel", *, renormalization="none", scale=1.0):
    """Ids with dropped pairs set to -1, weights with theirs set to 0, and the capacity.

    factor           as in `capacity`; None means no capacity, which drops nothing. 0 is a value, not "absent"
    renormalization  "after" divides by the sum of the kept weights and multiplies by `scale`; `gate` has done both for
                     the other modes
    """
    ids, weights = np.asarray(ids), np.asarray(weights)
    needed = needed_capacity(ids, experts)
    rows = needed if factor is None else capacity(ids.shape[0], experts, ids.shape[1], factor, rounding, needed=needed)
    keep = (ids >= 0) & (locations(ids, experts) < rows)
    kept = np.where(keep, weights, 0)
    if renormalization == "after":
        kept = renormalize(kept, "after", keep=keep) * scale
    return np.where(keep, ids, -1), kept, rows
