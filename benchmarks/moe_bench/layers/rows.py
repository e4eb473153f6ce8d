"""The rows of the layer benchmark: which layer, in which element type, on how many tokens, routed how."""

import fnmatch
import math
from dataclasses import dataclass

DTYPES = ("bfloat16", "float32")
ROUTINGS = ("uniform", "zipf")
ELEMENT_BYTES = {"bfloat16": 2, "float32": 4}

# What the inputs of a row read together is more than this many bytes of bf16 weights, so that no last level of a cache brings a share of them.
STREAMED = 512 << 20
MOST_INPUTS = 8


@dataclass(frozen=True)
class Shape:
    """A gated layer: `experts` of H -> 2 I (gate and up) -> H, of which each token uses `k`."""

    name: str
    hidden: int
    inner: int
    experts: int
    k: int
    tokens: tuple

    @property
    def expert_elements(self):
        """Weights of one expert."""
        return 3 * self.hidden * self.inner

    def inputs(self, tokens):
        """How many inputs of so many tokens are run one after another, each with experts of its own."""
        return min(MOST_INPUTS, math.ceil(STREAMED / (2 * min(self.experts, tokens * self.k) * self.expert_elements)))


SHAPES = (
    Shape("olmoe", 2048, 1024, 64, 8, (1, 4, 16, 64, 512, 2048)),
    Shape("qwen3", 2048, 768, 128, 8, (1, 4, 16, 64, 512, 2048)),
    Shape("mixtral", 4096, 14336, 8, 2, (1, 4, 16, 64, 512)),
)


@dataclass(frozen=True)
class Row:
    """One timed call: `tokens` rows of a layer's input, experts and their weights given, to as many rows of its output.

    routing   "uniform": each token's k experts are equally likely; "zipf": the r-th most popular expert is drawn with weight 1 / r
    """

    shape: Shape
    dtype: str
    tokens: int
    routing: str

    @property
    def case(self):
        """What both element types have in common: the name of its data."""
        return f"T{self.tokens}-{self.routing}"

    @property
    def name(self):
        return f"{self.shape.name}/{self.dtype}/T{self.tokens}/{self.routing}"

    def work(self, active):
        """{"flops", "bytes"} of a call in which `active` experts (of several inputs: their mean) have rows: products, and each weight read once."""
        flops = 2 * self.tokens * self.shape.k * self.shape.expert_elements
        return {"flops": flops, "bytes": active * self.shape.expert_elements * ELEMENT_BYTES[self.dtype]}


def all_rows():
    """Every row, grouped so that each layer and element type is loaded once."""
    return [Row(s, d, t, r) for s in SHAPES for d in DTYPES for t in s.tokens for r in ROUTINGS]


def select(rows, shapes=None, dtypes=None, patterns=None):
    """Rows of these layers and element types whose name matches one of the patterns (shell wildcards, or a part of it)."""

    def matches(row):
        return not patterns or any(fnmatch.fnmatch(row.name, p) or p in row.name for p in patterns)

    return [r for r in rows if (not shapes or r.shape.name in shapes) and (not dtypes or r.dtype in dtypes) and matches(r)]
