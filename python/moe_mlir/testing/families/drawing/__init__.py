"""Configurations of families drawn at random: parts and sizes mixed as nobody would write them down. Each has a number and is the same for it
on every machine."""

from dataclasses import dataclass

from . import attention, experts, recurrent
from .source import Source

FAMILIES = {**recurrent.FAMILIES, **attention.FAMILIES, **experts.FAMILIES}
COUNT = 200


@dataclass(frozen=True)
class Drawn:
    """Configuration `number`, as the table of `configurations` with `changes`, and the calls to compare on it.

    attempt       how many drawn before it were refused by PyTorch
    calls         (batch, sizes of the pieces of a prompt) each
    cache_length  in tokens: at least the longest prompt, and the exporter's least of 8
    """

    number: int
    attempt: int
    family: str
    changes: dict
    calls: tuple
    cache_length: int


def draw(number, attempt=0):
    """The families take turns."""
    family = list(FAMILIES)[number % len(FAMILIES)]
    source = Source(number, attempt)
    calls = tuple(_call(source) for _ in range(2))
    longest = max(sum(pieces) for _, pieces in calls)
    changes = {"vocab_size": source.size(16, 300), "max_position_embeddings": 128, **FAMILIES[family](source)}
    return Drawn(number, attempt, family, changes, calls, max(8, longest) + source.size(0, 12))


def _call(source):
    """Most prompts are short; some are longer than the chunks of recurrences."""
    if source.chance(0.12):
        return 1, source.pieces(source.size(40, 80))
    return source.size(1, 3), source.pieces(source.size(1, 18))
