"""A rank that falls silent inside of a launch, in each role and phase: from a chunk, a phase or a slice on it puts, signals and computes nothing.
The other one gives up, says which chunk or slice it waited for, and comes to its end; no rule is broken."""

import ctypes
import re

import numpy as np
import pytest
from rank_layers import RankedLayer
from rank_overlap import joined, overlapped_level
from rank_program import RankedProgram
from test_emitted_ranks import INTERLEAVINGS
from test_planted_overlap_faults import DOWN, NONE, SCHEDULE, UP, Planting, find, indent, parent, run_edited

from moe_mlir.testing.full import FULL, sample


class Everywhere(RankedLayer):
    """Each token goes to both ranks, so that no chunk is empty."""

    def inputs(self):
        expert = np.arange(self.tokens, dtype=np.int32) % (self.E // 2)
        return super().inputs() | {"ids": np.stack([expert, expert + self.E // 2], 1)}


LAYER = Everywhere(10, 128, 32, 8, 2, "bf16")
ROLES = {"send": UP, "up": UP, "down": DOWN, "return": DOWN}  # in the order of a layer, and the launch that has each
CHUNKS = 3  # of the rows of a rank
PARTS = {"send": CHUNKS, "up": len(SCHEDULE.steps), "down": SCHEDULE.slices, "return": SCHEDULE.slices}
PLACES = [(role, part) for role in ROLES for part in range(PARTS[role])]
SILENCE = """
extern "C" {
__attribute__((visibility("default"))) int silent_role = 0, silent_part = 0;
}
/// Rank 1 does nothing from there on. The roles of the second group, 3 and 4, go through the same phases.
static bool isSilent(const moe::Peers *peers, int role, int64_t part) {
  if (!silent_role || peers->rank != 1 || role < silent_role)
    return false;
  return (role > silent_role && silent_role < 3) || part >= silent_part;
}
"""


def silent(lines, role, part):
    peers = re.search(r"const moe::Peers\* (\w+)", lines[0])[1]
    return f"isSilent({peers}, {[*ROLES].index(role) + 1}, {part})"


def plant_sender(lines, role, part_of_flag):
    """Chunks that are put are whole; `part_of_flag`: where the number of a flag has the chunk or slice."""
    put, signal = parent(lines, find(lines, "moe::putRow")), find(lines, "moe::signalRank")
    flag = lines[signal].split(", ")[3]
    (part,) = [found[1] for line in lines if (found := re.search(rf"int64_t {flag} = .*{part_of_flag}", line))]
    for at in (put, parent(lines, signal)):
        lines[at] = " " * indent(lines[at]) + f"if (!{silent(lines, role, part)}) " + lines[at].strip()


def plant_product(lines, role):
    """Both kinds of warps leave its phases."""
    phases = [i for i, line in enumerate(lines) if re.search(rf"for \(int64_t (i\d+) = 0; \1 < {PARTS[role]}; ", line)][:2]
    assert len(phases) == 2
    for at in phases:
        lines[at] = re.sub(r"(i\d+) < \d+;", lambda m: f"{m[0][:-1]} && !{silent(lines, role, m[1])};", lines[at])


def with_silence(text):
    planting = Planting(text)
    planting.head += SILENCE
    up, down = planting.kernel(UP), planting.kernel(DOWN)
    plant_sender(up, "send", r" \+ (\w+);")
    plant_product(up, "up")
    plant_product(down, "down")
    plant_sender(down, "return", r" \+ (\w+)\) \* \w+ \+ \w+;")
    return planting.text()


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return RankedProgram(joined(overlapped_level(LAYER.graph(), 2, SCHEDULE)), 2, tmp_path_factory.mktemp("kernels"), with_silence)


def waited_for(role, part):
    """Flags of which rank 0 may give up first: the other rank's come behind its own ones, chunk by chunk or, slice by slice, those of sums."""
    if role == "send":
        return range(CHUNKS + part, 2 * CHUNKS)
    slice_ = 0 if role == "up" else part
    return [CHUNKS * (SCHEDULE.slices + slice_)]


@pytest.mark.parametrize("role,part", sample(PLACES, 1, 4, 6, 8), ids=str)
def test_a_role_falls_silent(role, part, program):
    for name, value in (("silent_role", [*ROLES].index(role) + 1), ("silent_part", part)):
        ctypes.c_int.in_dll(program.library, name).value = value
    for interleaving in INTERLEAVINGS if FULL else INTERLEAVINGS[2:4]:
        ranks = iter(range(2))

        def edit(launches):
            """Behind the launch in which it falls silent, rank 1 launches nothing."""
            last = next(i for i, launch in enumerate(launches) if launch[0].startswith(ROLES[role]))
            return launches[: last + 1] if next(ranks) == 1 else launches

        found, _, status = run_edited(program, NONE, edit, layers=1, layer=LAYER, **interleaving)
        assert (found, status[0]) == ("", 2), interleaving
        assert program.late[0] in waited_for(role, part), interleaving
        # Its own blocks wait for what they do not compute.
        assert (status[1], program.late[1]) == (2 if role == "down" else 0, -1), interleaving
