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


def gathered(text):
    """A text at level scheduled whose experts gather their rows, as matrix registers want them."""
    return substitute(r"placement\(in_place\)", "placement(apart)", text, count=0)


def overlapped(source, parallel, schedule, *flags, edit=lambda text: text):
    """The text of `source` at level kernel, every layer with this schedule. `edit`: of the text at level scheduled."""
    command = [compiler(), "-", "--from=scheduled", "--to=kernel", "-o", "-", "-q"]
    text = edit(scheduled(source, parallel, schedule, *flags))
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout


# ---- what a program's text says of a trace -----------------------------------------------------------------------

ROLES = {"send_chunks": "send", "gather_records": "gather", "experts_up": "up", "experts_down": "down", "return_sums": "return"}


def schedules_in(text):
    """[{field: value}] of the schedules that overlap, in the order of the text."""
    found = []
    for body in re.findall(r"schedule\(<((?:overlap|parts)\b[^>]*)>\)", text):
        fields = dict(re.findall(r"(\w+) = (\[[^\]]*\]|\w+)", body))
        said = {name: json.loads(value) if value[0] in "[0123456789" else value for name, value in fields.items()}
        if "parts" in said:  # of all ranks, one after the other
            said |= {"order": "part", "steps": [1] * said["parts"], "slices": 1}
        found.append(said)
    return found


def chunks_of(schedule, room):
    """Rows of a chunk, and chunks, where a rank has up to `room` tokens."""
    rows = schedule.get("chunk") or -(-room // schedule["parts"])
    if schedule.get("order") == "part":
        rows = max(min(rows, room), 1)
    rows = max(rows, -(-room // 256))
    return rows, -(-room // rows)


def sources_of(rows, schedule, ranks, room, tile):
    """Of each phase of the first product the places, behind this rank, whose rows it awaits for an expert; rows: (place of the source, number among the
    rows that it sends here) of each. A phase that does not end with the expert's rows ends with a whole tile, and so do pieces; each piece waits for
    all flags between its first row and its last one."""
    chunk, chunks = chunks_of(schedule, room)
    by_part, ends, begin, found = schedule.get("order") == "part", np.cumsum(schedule["steps"]), 0, []
    rows = sorted(rows, key=lambda row: (row[1] // chunk, *row) if by_part else row)
    flags = [number // chunk * ranks + place if by_part else place * chunks + number // chunk for place, number in rows]
    piece = max(schedule["piece"] // tile, 1) * tile if schedule.get("piece") else len(rows)
    for phase in range(len(ends)):
        end = sum((number // chunk if by_part else place) < ends[phase] for place, number in rows)
        end = len(rows) if phase == len(ends) - 1 or end == len(rows) else end // tile * tile
        pieces = [(first, min(first + piece, end) - 1) for first in range(begin, end, piece or 1)]
        awaited = [flag for first, last in pieces for flag in range(flags[first], flags[last] + 1)]
        found.append({flag % ranks if by_part else flag // chunks for flag in awaited})
        begin = end
    return found


def sequence_of(schedule, rank, parts, experts, tile, is_gathered=False):
    """[(role, phase, ranks whose rows it takes)] of a layer on one thread; parts: of each rank the expert ids of its tokens. is_gathered: rows are
    brought together for the first product, step by step."""
    ranks, room, taken = len(parts), max(map(len, parts)), []
    own = range(rank * experts // ranks, (rank + 1) * experts // ranks)
    comes = [ids[np.isin(ids, own).any(axis=1)] for ids in parts]
    for expert in own:
        rows = [(place, int(i)) for place in range(ranks) for i in np.flatnonzero((comes[(rank + place) % ranks] == expert).any(axis=1))]
        taken.append(sources_of(rows, schedule, ranks, room, tile))
    ups = [sorted((rank + place) % ranks for place in set().union(*places)) for places in zip(*taken)]
    taking = lambda phase, sources: [("gather", phase, sources), ("up", phase, [])] if is_gathered else [("up", phase, sources)]  # noqa: E731
    first = [("send", 0, []), *(each for phase, sources in enumerate(ups) for each in taking(phase, sources))]
    second = [(role, phase, []) for role in ("down", "return") for phase in range(schedule["slices"])]
    # Sums return one slice later; at the same place the product is the first.
    return first + sorted(second, key=lambda each: each[1] + (each[0] == "return"))


def sequences_in(trace, ranks):
    """[rank][(role, phase, ranks whose flags it awaited)] of a trace, by time."""
    events = [event for event in json.loads(Path(trace).read_text())["traceEvents"] if event.get("cat") == "phase"]
    found = [sorted((e for e in events if e["pid"] == rank + 1), key=lambda e: e["ts"]) for rank in range(ranks)]
    role_of = lambda name: next(role for prefix, role in ROLES.items() if name.startswith(prefix))  # noqa: E731
    return [[(role_of(e["name"]), e["args"]["number"], sorted(e["args"]["from"])) for e in one] for one in found]
