"""Rows of the benchmark: a model, and the call that a division is chosen for."""

from dataclasses import dataclass

RANKS = 2
OF_BEST = 1.10  # what is chosen may take so many times what the best one takes
ROUNDS_AGAIN = 25  # of a row that seems to miss it
DTYPE = "bfloat16"


@dataclass(frozen=True)
class Row:
    """`tokens` new tokens of each of `batch` sequences, which have `length` before."""

    model: str
    kind: str
    batch: int
    tokens: int
    length: int = 0

    @property
    def name(self):
        return f"{self.model}/{self.kind}-{self.tokens if self.kind == 'prefill' else self.length}/b{self.batch}"

    def calls(self, vocabulary):
        """Inputs of the calls that fill the caches, and last of the one that is timed."""
        parts = ([(0, self.length)] if self.length else []) + [(self.length, self.tokens)]
        calls = []
        for position, count in parts:
            ids = [[(7919 * (sequence + 1) + 104729 * (position + i)) % vocabulary for i in range(count)] for sequence in range(self.batch)]
            values = {"input_ids": ids, "position": [position] * self.batch, "logits_to_keep": [count - 1]}
            calls.append([(name, value, False) for name, value in values.items()])
        return calls


ROWS = [
    Row("few-large", "decode", 1, 1, 128),
    Row("few-large", "prefill", 1, 256),
    Row("few-large", "prefill", 8, 64),
    Row("many-small", "decode", 4, 1, 128),
    Row("many-small", "prefill", 1, 256),
    Row("dense-heavy", "decode", 1, 1, 128),
    Row("dense-heavy", "prefill", 4, 64),
    Row("middle", "decode", 8, 1, 128),
    Row("middle", "prefill", 2, 128),
]
