"""Routing: which experts a token goes to, and with what weights.

The order is fixed: score, bias for the choice, groups, top-k (or ids from outside), renormalisation, scale. Equal
scores: the lower expert id wins.
"""

from dataclasses import dataclass

import numpy as np

SCORES = ("softmax", "softmax_after", "sigmoid", "sigmoid_after", "sqrt_softplus", "sparsemixer")
RENORMALIZE = ("none", "sum", "before", "after", "pnorm")


@dataclass(frozen=True)
class Groups:
    """Group-limited choice: E experts in `count` groups, experts of the best `keep` groups compete.

    The score of a group is the largest score in it ("max") or the sum of its two largest ("top2_sum").
    """

    count: int
    keep: int
    score: str = "top2_sum"


def softmax(x):
    """Softmax over the last axis; no columns give no columns."""
    if x.shape[-1] == 0:
        return x.copy()
    shifted = np.exp(x - x.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def sigmoid(x):
    return np.where(x >= 0, 1, np.exp(np.minimum(x, 0))) / (1 + np.exp(-np.abs(x)))


def sparse_mixer(logits, chosen, jitter):
    """Weights `[T, k]`: the softmax at each chosen logit m over the experts that are left then and near it.

    Left are those that no earlier slot has, near those of logit l with (m - l) / max(|l|, m) <= 2 jitter.
    """
    weights = np.zeros(chosen.shape, logits.dtype)
    for token, ids in enumerate(chosen):
        for slot, own in enumerate(ids):
            if own < 0:
                continue
            left = np.delete(logits[token], np.array([i for i in ids[:slot] if i >= 0], dtype=np.int64))
            largest = logits[token, own]
            with np.errstate(invalid="ignore", divide="ignore"):
                far = (largest - left) / np.maximum(np.abs(left), largest) > 2 * jitter
            weights[token, slot] = 1 / np.exp(left[~far] - largest).sum()
    return weights


def score(logits, function):
    """Scores `[T, E]` that stand before the choice; for those that follow it the logits themselves."""
    if function == "softmax":
        return softmax(logits)
    if function in ("softmax_after", "sigmoid_after", "sparsemixer"):
        return logits
    if function == "sigmoid":
        return sigmoid(logits)
    if function == "sqrt_softplus":
        return np.sqrt(np.logaddexp(0, logits))
    raise ValueError(f"score function '{function}' is none of {SCORES}")


def top_k(scores, k):
    """Ids `[T, min(k, E)]` of the largest scores, best first; equal scores by ascending id."""
    order = np.argsort(-scores, axis=-1, kind="stable")
    return order[:, : min(k, scores.shape[-1])].astype(np.int64)


def limit_groups(scores, groups):
    """Scores with those of the experts outside the best groups set to -inf."""
    tokens, experts = scores.shape
    if experts % groups.count:
        raise ValueError(f"{experts} experts do not divide into {groups.count} groups")
    grouped = scores.reshape(tokens, groups.count, experts // groups.count)
    if groups.score == "max":
        value = grouped.max(axis=-1)
    elif groups.score == "top2_sum":
        value = np.sort(grouped, axis=-1)[..., -2:].sum(axis=-1)
    else:
        raise ValueError(f"group score '{groups.score}' is neither 'max' nor 'top2_sum'")
    kept = np.zeros((tokens, groups.count), dtype=bool)
    np.put_along_axis(kept, top_k(value, groups.keep), True, axis=-1)
    return np.where(kept[..., None], grouped, -np.inf).reshape(tokens, experts)


def renormalize(weights, mode, *, keep=None, eps=0.0, bound=0.0, p=2.0, dtype=np.float32):
    """Weights `[T, k]` after renormalisation.

    none    unchanged
    sum     divided by (sum + eps), but by no less than `bound`, for every k
    before  only if k > 1: divided by the sum, clamped at the machine epsilon of `dtype`, before anything is dropped
    after   slots with `keep` [T, k] false become 0, then divided by the sum of the kept ones, clamped likewise
    pnorm   divided by the p-norm
    """
    least = np.finfo(dtype).eps
    if mode == "none":
        return weights.copy()
    if mode == "sum":
        return weights / np.maximum(weights.sum(axis=-1, keepdims=True) + eps, bound)
    if mode == "before":
        if weights.shape[-1] <= 1:
            return weights.copy()
        return weights / np.maximum(weights.sum(axis=-1, keepdims=True), least)
    if mode == "after":
        kept = weights if keep is None else weights * keep
        return kept / np.maximum(kept.sum(axis=-1, keepdims=True), least)
    if mode == "pnorm":
        return weights / (np.abs(weights) ** p).sum(axis=-1, keepdims=True) ** (1 / p)
    raise ValueError(f"renormalisation '{mode}' is none of {RENORMALIZE}")


def gate(
    logits,
    k,
    *,
    score_function="softmax",
    bias=None,
    groups=None,
    ids=None,
    renormalization="none",
    eps=0.0,
    least=0.0,
    p=2.0,
    scale=1.0,
    jitter=0.0,
    dtype=np.float64,
):
    """Ids and weights `[T, min(k, E)]` for logits `[T, E]`, computed in `dtype` (row G6: float32 at least).

    bias   [E], added to the scores for the choice only: the weights stay those of the scores
    least  what a sum is at least that divides the weights
    jitter of "sparsemixer"
    ids    [T, k]: the choice is given, -1 for no expert (weight 0); the weights still come from the logits
    scale  multiplies the weights at the end

    The "after" renormalisation needs to know what is dropped: it, and then `scale`, are left to `apply_capacity`.
    """
    logits = np.asarray(logits).astype(dtype)
    scores = score(logits, score_function)
    if ids is None:
        choice = scores if bias is None else scores + np.asarray(bias, dtype=dtype)
        chosen = top_k(choice if groups is None else limit_groups(choice, groups), k)
    else:
        chosen = np.asarray(ids, dtype=np.int64)
    present = chosen >= 0
    weights = np.take_along_axis(scores, np.maximum(chosen, 0), axis=-1)
    if score_function == "softmax_after":
        # Every row has a finite entry, so that a row without experts gives zeros and not NaN.
        masked = np.where(present | ~present.any(axis=-1, keepdims=True), weights, -np.inf)
        weights = softmax(masked)
    elif score_function == "sigmoid_after":
        weights = sigmoid(weights)
    elif score_function == "sparsemixer":
        weights = sparse_mixer(scores, chosen, jitter)
    weights = np.where(present, weights, 0)
    if renormalization == "after":
        return chosen, weights.astype(dtype)
    with np.errstate(invalid="ignore"):
        weights = np.where(present, renormalize(weights, renormalization, eps=eps, bound=least, p=p), 0)
    return chosen, (weights * scale).astype(dtype)
