"""Layers with a schedule that overlaps: their text at level kernel."""

import subprocess
from dataclasses import dataclass

from edited import substitute, text_at

from moe_mlir.testing.compiling import compiler


@dataclass(frozen=True)
class Schedule:
    """`steps`: the rows of how many ranks (or parts of all ranks) each phase of the first product takes; `chunk`: rows of a flag; `piece`: rows of a
    record; `slices`: phases of the second product. `parts`: Tutel's degree, without the others."""

    steps: tuple = (1, 1)
    chunk: int = 4
    slices: int = 2
    order: str = "source"
    piece: int = 0
    parts: int = 0

    def __str__(self):
        if self.parts:
            return f"<parts = {self.parts}>"
        order, piece = ", order = part" if self.order == "part" else "", f", piece = {self.piece}" if self.piece else ""
        return f"<overlap, chunk = {self.chunk}{order}, steps = {list(self.steps)}{piece}, slices = {self.slices}>"


def scheduled(source, parallel, schedule, *flags):
    """The text of `source` at level scheduled, every layer with this schedule."""
    return substitute(r"schedule\(<plain>\)", f"schedule({schedule})", text_at("scheduled", source, parallel, *flags), count=0)


def overlapped(source, parallel, schedule, *flags):
    """The text of `source` at level kernel, every layer with this schedule."""
    command = [compiler(), "-", "--from=scheduled", "--to=kernel", "-o", "-", "-q"]
    text = scheduled(source, parallel, schedule, *flags)
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout
