"""Rows of the benchmark: a prompt, and steps one after another at two positions."""

from dataclasses import dataclass

from .. import rows
from .configurations import FAMILIES

# Bytes of weights are what decides, so the dtype with fewer of them comes first.
DTYPES = ("bfloat16", "float32")

STEPS = 32
CALLS = (("prefill", 512, 1), ("decode", 512, 1), ("decode", 2048, 1))
CACHE_LENGTH = 2048 + STEPS


@dataclass(frozen=True)
class Row(rows.Row):
    """One timed call; of phase "decode": STEPS steps of one token, the first one at position `length`. The tokens are given, not chosen."""

    @property
    def new_tokens(self):
        return self.length if self.phase == "prefill" else STEPS


def all_rows():
    """Every row, grouped so that each model and dtype is loaded once."""
    return [Row(family, dtype, *call) for family in FAMILIES for dtype in DTYPES for call in CALLS]


def pieces(tokens, position):
    """The token lists [B][n] of a call's runs of the model, each with its position: a prompt in one, later tokens one by one."""
    if not position:
        return [(tokens, 0)]
    return [([row[i : i + 1] for row in tokens], position + i) for i in range(len(tokens[0]))]
