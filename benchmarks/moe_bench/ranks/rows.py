"""Rows and goals of the benchmark of several ranks."""

import fnmatch
from dataclasses import dataclass

from ..layers.rows import SHAPES
from ..layers.rows import Row as LayerRow
from ..rows import Row as ModelRow

RANKS = 2
PARTS = ("windows", "exchange", "hosts", "layer", "decode")

WINDOW_BYTES = tuple(4096 << i for i in range(0, 13, 2))  # 4 KiB .. 16 MiB
COPIED_FROM, OF_MEMCPY = 64 << 10, 0.8
LATENCY = 1e-6

ROW_BYTES = 4096  # of OLMoE: 2048 elements of bf16; a pair that exchanges less has one shorter row
PAIR_BYTES = tuple(1024 << i for i in range(0, 17, 2))  # 1 KiB .. 64 MiB
ROUTINGS = ("uniform", "skewed")
SMALL, OF_PEER_SMALL, OF_PEER_LARGE = 1 << 20, 1.5, 1.0

LAYER_TOKENS = (64, 512, 2048)
OF_ONE_PROCESS = 1.1  # a layer of two ranks may take so many times what one process takes
OF_BOUND = 0.9


@dataclass(frozen=True)
class ExchangeRow:
    """Rows of `row_bytes` bytes; uniform: each rank sends `pair_bytes` to each rank; skewed: of all that it sends, 7/8 to rank 0."""

    pair_bytes: int
    routing: str
    part: str = "exchange"  # or hosts: over UCX's TCP, as between hosts

    @property
    def name(self):
        return f"{self.part}/{size_text(self.pair_bytes)}/{self.routing}"

    @property
    def row_bytes(self):
        return min(self.pair_bytes, ROW_BYTES)

    @property
    def tokens(self):
        """Rows that each rank sends in all."""
        return RANKS * self.pair_bytes // self.row_bytes

    @property
    def goal(self):
        """Least ratio of the better peer's time to ours."""
        return OF_PEER_SMALL if self.pair_bytes <= SMALL and self.part == "exchange" else OF_PEER_LARGE

    def counts(self):
        """Rows that a rank sends to each rank."""
        if self.routing == "uniform":
            return [self.tokens // RANKS] * RANKS
        last = self.tokens // 8
        return [self.tokens - last, last]

    def destinations(self, random):
        """The rank of each of a rank's rows, in a drawn order [tokens]."""
        ranks = [rank for rank, count in enumerate(self.counts()) for _ in range(count)]
        return random.permutation(ranks).astype("int32")


def size_text(count):
    return f"{count >> 20}M" if count >= 1 << 20 else f"{count >> 10}K"


def exchange_rows(part="exchange"):
    return [ExchangeRow(size, routing, part) for size in PAIR_BYTES for routing in ROUTINGS]


def layer_rows():
    shape = next(s for s in SHAPES if s.name == "olmoe")
    return [LayerRow(shape, "bfloat16", tokens, "uniform") for tokens in LAYER_TOKENS]


@dataclass(frozen=True)
class DecodeRow(ModelRow):
    """`axis`: ep, where each rank has a half of the experts; etp, where it has a half of each expert; tp, where it has a half of all else, too."""

    axis: str = "ep"

    @property
    def name(self):
        return f"{super().name}/{self.parallel}"

    @property
    def parallel(self):
        """What the program of the ranks is compiled with."""
        return f"tp={RANKS},etp={RANKS}" if self.axis == "tp" else f"{self.axis}={RANKS}"


def decode_rows():
    return [DecodeRow("0.9b", "bfloat16", "decode", 512, 1, axis) for axis in ("ep", "etp", "tp")]


def selected(rows, patterns):
    """Rows whose name matches one of the patterns (shell wildcards, or a part of it)."""
    return [r for r in rows if not patterns or any(fnmatch.fnmatch(r.name, p) or p in r.name for p in patterns)]
