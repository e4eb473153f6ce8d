"""Layers with a schedule that overlaps: their text at level kernel, and what it says of their traces."""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from edited import substitute, text_at

from moe_mlir.testing.compiling import compiler


@dataclass(frozen=True)
class Schedule:
    """`steps`: the rows of how many ranks each phase of the first product takes; `chunk`: rows of a flag; `slices`: phases of the second product."""

    steps: tuple = (1, 1)
    chunk: int = 4
    slices: int = 2

    def __str__(self):
        return f"<overlap, chunk = {self.chunk}, steps = {list(self.steps)}, slices = {self.slices}>"


def scheduled(source, parallel, schedule, *flags):
    """The text of `source` at level scheduled, every layer with this schedule."""
    return substitute(r"schedule\(<plain>\)", f"schedule({schedule})", text_at("scheduled", source, parallel, *flags), count=0)


def overlapped(source, parallel, schedule, *flags):
    """The text of `source` at level kernel, every layer with this schedule."""
    command = [compiler(), "-", "--from=scheduled", "--to=kernel", "-o", "-", "-q"]
    text = scheduled(source, parallel, schedule, *flags)
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout


# ---- what a program's text says of a trace -----------------------------------------------------------------------

ROLES = {"send_chunks": "send", "experts_up": "up", "experts_down": "down", "return_sums": "return"}


def schedules_in(text):
    """[{field: value}] of the schedules that overlap, in the order of the text."""
    found = []
    for body in re.findall(r"schedule\(<overlap, ([^>]*)>\)", text):
        fields = dict(re.findall(r"(\w+) = (\[[^\]]*\]|\w+)", body))
        found.append({name: json.loads(value) if value[0] in "[0123456789" else value for name, value in fields.items()})
    return found


def sources_of(rows, steps, tile):
    """Of each phase of the first product the sources, as places behind this rank, for an expert that gets `rows[place]` rows of each. A phase that
    does not end with the expert's rows ends with a whole tile; a record waits for all chunks between its first row and its last one."""
    place_of, begin, found = np.repeat(np.arange(len(rows)), rows), 0, []
    for phase in range(len(steps)):
        end = sum(rows[: sum(steps[: phase + 1])])
        if end < sum(rows):
            end = end // tile * tile
        found.append(set(range(place_of[begin], place_of[end - 1] + 1)) if begin < end else set())
        begin = end
    return found


def sequence_of(schedule, rank, ranks, counts, tile):
    """[(role, phase, ranks whose rows it takes)] of a layer on one thread. counts[source][expert]: rows of this rank's experts."""
    assert schedule.get("order", "source") == "source", "rows of all sources stand in parts, of which this reader knows nothing"
    steps, slices = schedule["steps"], schedule["slices"]
    by_place = [counts[(rank + place) % ranks] for place in range(ranks)]
    taken = [sources_of(rows, steps, tile) for rows in zip(*by_place)]
    ups = [sorted((rank + place) % ranks for place in set().union(*places)) for places in zip(*taken)]
    first = [("send", 0, []), *(("up", phase, ups[phase]) for phase in range(len(steps)))]
    second = [(role, phase, []) for role in ("down", "return") for phase in range(slices)]
    # Sums return one slice later; at the same place the product is the first.
    return first + sorted(second, key=lambda each: each[1] + (each[0] == "return"))


def sequences_in(trace, ranks):
    """[rank][(role, phase, ranks whose flags it awaited)] of a trace, by time."""
    events = [event for event in json.loads(Path(trace).read_text())["traceEvents"] if event.get("cat") == "phase"]
    found = [sorted((e for e in events if e["pid"] == rank + 1), key=lambda e: e["ts"]) for rank in range(ranks)]
    role_of = lambda name: next(role for prefix, role in ROLES.items() if name.startswith(prefix))  # noqa: E731
    return [[(role_of(e["name"]), e["args"]["number"], sorted(e["args"]["from"])) for e in one] for one in found]
