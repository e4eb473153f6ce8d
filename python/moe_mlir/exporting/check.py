"""Checks an exported module against the model it came from, before anything is saved.

A cache that is written at the wrong place gives a right prefill and wrong decoding, so the same tokens are run in
several chunkings: all at once, in two pieces, and token by token.
"""

import torch

from ..errors import MismatchError

TOKENS = 8
CHUNKINGS = ((8,), (5, 3), (5, 1, 1, 1))
BATCHES = (2, 1)

# Largest difference that is accepted, relative to the largest logit. Chunks change the order of sums inside a matrix
# product, nothing else.
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5, torch.bfloat16: 1.0 / 16, torch.float16: 1.0 / 64}

# In a low precision such a change can make a router choose another expert, and that row is then rightly different. A
# cache that is written or read at the wrong place damages every row after the first chunk, that is at least three of
# eight.
LOW_PRECISION_OUTLIERS = 0.25


def check_exported(exported, eager, states, forced_ids, vocab_size, dtype):
    """Raise `MismatchError` unless `exported` gives the logits of `eager`, in chunks where there is a cache.

    exported    callable with the inputs of `CachedModel` or `PlainModel` -> logits, or (logits, ...)
    eager       callable: tokens [B, S], dict of forced experts' ids -> logits [B, S, V]
    states      callable: batch -> dict of zeroed cache tensors, or None without a cache
    forced_ids  callable: (batch, tokens) -> dict of forced experts' ids, empty if experts are free
    """
    for batch in BATCHES:
        tokens = torch.randint(vocab_size, (batch, TOKENS), generator=torch.Generator().manual_seed(batch))
        ids = forced_ids(batch, TOKENS)
        expected = eager(tokens, ids)
        for chunking in CHUNKINGS if states else CHUNKINGS[:1]:
            caches, parts, begin = states(batch) if states else None, [], 0
            for size in chunking:
                piece = {name: value[:, begin : begin + size] for name, value in {"input_ids": tokens, **ids}.items()}
                if states:
                    position = torch.full((batch,), begin)
                    piece.update(position=position, logits_to_keep=torch.arange(size), **caches)
                out = exported(**piece)
                parts.append(out if isinstance(out, torch.Tensor) else out[0])
                begin += size
            compare(
                torch.cat(parts, dim=1), expected, dtype, f"batch {batch} in chunks of {'+'.join(map(str, chunking))}"
            )


def compare(actual, expected, dtype, what):
    """Raise `MismatchError` unless the rows `[B, S, V]` agree within the bound of `dtype`."""
    largest = expected.abs().max().item()
    by_row = (actual.double() - expected.double()).abs().amax(dim=-1)
    bound = TOLERANCE[dtype] * max(largest, 1e-30)
    wrong = 1 - (by_row <= bound).double().mean().item()
    if wrong > (LOW_PRECISION_OUTLIERS if dtype.itemsize < 4 else 0):
        raise MismatchError(
            f"the exported graph differs from the model for {what}: largest logit difference "
            f"{by_row.max().item():.3g}, allowed {bound:.3g} (largest logit {largest:.3g}), "
            f"{wrong:.0%} of the rows beyond it; nothing was written"
        )
