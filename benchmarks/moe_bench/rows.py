"""The rows of the benchmark: which call of which model is timed, and on which tokens."""

import fnmatch
import random
from dataclasses import dataclass

DTYPES = ("float32", "bfloat16")

# (phase, length, batch) of each model's rows.
EVERY_CALL = tuple((phase, n, b) for phase, lengths in (("prefill", (16, 128, 512)), ("decode", (128, 512))) for n in lengths for b in (1, 4))
CALLS = {
    "tiny": EVERY_CALL,
    "1b": EVERY_CALL,
    "0.9b": (("prefill", 512, 1), ("decode", 512, 1), ("decode", 512, 8)),
}
MODELS = tuple(CALLS)

# Peers besides PyTorch.
PEERS = ("llama.cpp",)
PEERS_OF = {"0.9b": PEERS}

# Longest context of a row is 513 tokens. Both sides allocate this much, so that neither is sized for one row.
CACHE_LENGTH = 640


@dataclass(frozen=True)
class Row:
    """One timed call.

    phase   "prefill": `length` tokens into an empty cache; "decode": one token at position `length`
    batch   rows of equal length
    Both return the logits of the last position, `[batch, vocabulary]`.
    """

    model: str
    dtype: str
    phase: str
    length: int
    batch: int

    @property
    def call(self):
        return f"{self.phase}-{self.length}/b{self.batch}"

    @property
    def name(self):
        return f"{self.model}/{self.dtype}/{self.call}"

    @property
    def new_tokens(self):
        """Tokens that one call adds to each batch row."""
        return self.length if self.phase == "prefill" else 1

    @property
    def position(self):
        """Tokens in the cache before the call."""
        return 0 if self.phase == "prefill" else self.length

    def tokens(self, vocabulary):
        """(tokens in the cache, tokens of the call), each `[batch][n]`: seeded by the row's name, so equal on both sides."""
        source = random.Random(self.call)
        count = self.position + self.new_tokens
        rows = [[source.randrange(vocabulary) for _ in range(count)] for _ in range(self.batch)]
        return [r[: self.position] for r in rows], [r[self.position :] for r in rows]


def all_rows():
    """Every row, grouped so that each model and dtype is loaded once."""
    return [Row(m, d, *call) for m in MODELS for d in DTYPES for call in CALLS[m]]


def select(rows, models=None, dtypes=None, patterns=None):
    """Rows of these models and dtypes whose name or call matches one of the patterns (shell wildcards, or a part of it)."""

    def matches(row):
        return not patterns or any(fnmatch.fnmatch(row.name, p) or fnmatch.fnmatch(row.call, p) or p in row.name for p in patterns)

    return [r for r in rows if (not models or r.model in models) and (not dtypes or r.dtype in dtypes) and matches(r)]
