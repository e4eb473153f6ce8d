"""NumPy models of the toy programs."""

import numpy as np

VOCABULARY, CACHE, EOS = 256, 64, 0


def table():
    a, b = np.meshgrid(np.arange(256), np.arange(256), indexing="ij")
    values = ((a * 49 + b * 49 + a * a * b) % 251).astype(np.float32) / np.float32(251)
    letters = (b >= ord("a")) & (b <= ord("z"))
    values = np.where(letters, values, values - np.float32(4)).astype(np.float32)
    values[ord("z"), 0] = 100
    return values


TABLE = table()


def logits(ids, at):
    before = np.float32(0.5) * TABLE[ids[at - 1]] if at else np.float32(0)
    return TABLE[ids[at]] + before


def penalized(values, ids, penalty):
    """Logits with those of tokens that stand in the text divided, or multiplied if negative."""
    values, ids = values.copy(), np.unique(ids)
    values[ids] = np.where(values[ids] < 0, values[ids] * np.float32(penalty), values[ids] / np.float32(penalty))
    return values


def uniform(seed, step):
    """A number in [0, 1) by Philox4x32-10, with the seed as key and the step as counter."""
    word, counter, keys = 2**32 - 1, [step, 0, 0, 0], [seed & 2**32 - 1, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [b >> 32 ^ counter[1] ^ keys[0], b & word, a >> 32 ^ counter[3] ^ keys[1], a & word]
        keys = [keys[0] + 0x9E3779B9 & word, keys[1] + 0xBB67AE85 & word]
    return ((counter[1] << 32 | counter[0]) >> 11) * 2.0**-53


def sampled(values, step, temperature, seed=0, top_k=None, top_p=1, min_p=0):
    """The token that is drawn by logits: filters in the order of transformers."""
    weights = np.exp((values.astype(np.float64) - values.max()) / temperature)
    weights /= weights.sum()
    kept = np.arange(len(weights))
    top_k = top_k if top_k and top_k < len(weights) else None
    if top_k or top_p < 1:
        kept = np.lexsort((kept, -weights))[:top_k]
        before = np.cumsum(weights[kept]) - weights[kept]
        kept = kept[: max(np.count_nonzero(before < top_p * weights[kept].sum()), 1)]
    kept = kept[weights[kept] >= min_p * weights.max()]
    sums = np.cumsum(weights[kept])
    return int(kept[min(np.count_nonzero(sums <= uniform(seed, step) * sums[-1]), len(kept) - 1)])


def greedy(prompt, limit=None, penalty=1, **sampling):
    """The generated ids, or those that sampling chooses, and why they end."""
    ids, new = list(prompt), []
    while limit is None or len(new) < limit:
        values = penalized(logits(ids, len(ids) - 1), [*ids, *new], penalty)
        token = sampled(values, len(new), **sampling) if sampling else int(np.argmax(values))
        if token == EOS:
            return new, "end-of-sequence"
        new.append(token)
        if len(new) == limit:
            break
        if len(ids) == CACHE:
            return new, "cache is full"
        ids.append(token)
    return new, "--max-new-tokens"


def bf16(values):
    """Rounds float32 to the nearest bfloat16, as float32."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)


W = np.array([1, 2, -1, 0.5, 0.25, 3, -2, 1], np.float32)


def layer(x, scale, calls=0):
    return bf16(bf16(x) * np.asarray(scale, np.float32)[:, None] * W + np.float32(calls))
