"""Layers of several ranks whose exchanges run under their products: the kernel level for a GPU, with few blocks so that it can be emulated."""

import re
import subprocess
from dataclasses import dataclass

from emitted import BUILD, tool

# Blocks of the members, by the beginning of their kernels' names.
FEW = {"send_chunks": 1, "experts_up": 2, "experts_down": 2, "return_sums": 1}


@dataclass(frozen=True)
class Overlap:
    """`steps`: the rows of how many ranks each phase of the first product takes; `chunk`: rows of a flag; `slices`: phases of the second product;
    `more`: what else the text says."""

    steps: tuple = (1, 1)
    chunk: int = 4
    slices: int = 2
    more: str = ""

    def __str__(self):
        return f"<overlap, chunk = {self.chunk}, steps = {list(self.steps)}, slices = {self.slices}{self.more}>"


def compiled(text, source, target, *flags):
    """The text at another level."""
    command = [BUILD / "bin" / "moe-compile", "-", f"--from={source}", f"--to={target}", "-q", "-o", "-", *flags]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def with_blocks(text, blocks):
    """The text whose members have so many blocks."""
    for name, count in blocks.items():
        text, found = re.subn(rf"(kernel\.launch @{name}\w*\([^)]*\)) (?=phases|lag|rows)", rf"\1 blocks({count}) ", text)
        assert found, name
    return text


def overlapped_level(graph, ranks, schedule, target="--target=cuda:h200", more=""):
    """The kernel level of a graph whose layers all overlap, its groups as they are; `more`: what --parallel says beside the ranks."""
    scheduled = compiled(graph, "graph", "scheduled", "--weights=none", f"--parallel=ep={ranks}{more}", target)
    scheduled, found = re.subn(r"schedule\(<.*?>\)", f"schedule({schedule})", scheduled)
    assert found, "no layer has a schedule"
    return compiled(scheduled, "scheduled", "kernel")


def joined(level, blocks=FEW):
    """The kernel level whose groups are launches."""
    return tool("moe-opt", "--kernel-join-groups", text=with_blocks(level, blocks) if blocks else level)
