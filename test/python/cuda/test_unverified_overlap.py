"""What the verifier refuses to leave out of an overlap (test_what_cannot_be_left_out), left out of the kernel level for a GPU all the same, on a path
without the verifier: the emulation finds it, and names line, rank and peer."""

import re
import sys
from pathlib import Path

import pytest
from emitted import changed
from rank_layers import RankedLayer, bits
from rank_overlap import Overlap, joined, overlapped_level
from rank_program import PATIENCE, RankedProgram
from test_emitted_ranks import INTERLEAVINGS
from test_planted_overlap_faults import ENDLESS, LATE, LATE_SUMS, LATE_TILES, NO_ROWS, NO_ROWS_AT_ALL, NO_SUMS, NO_TILES

sys.path.append(str(Path(__file__).resolve().parents[1] / "ranks"))
from left_out import LEFT_OUT  # noqa: E402

from moe_mlir.testing.full import sample  # noqa: E402

LAYER = RankedLayer(10, 128, 32, 8, 2, "bf16")
# What the emulation says, and how many blocks there is room for: members of which one waits for the other stand in a wrong order only if not all run.
FOUND = {
    "wait for rows": (LATE, 132),
    "signal of rows": (NO_ROWS, 132),
    "wait for a slice": (LATE_TILES, 132),
    "arrival of a tile": (NO_TILES, 132),
    "wait for sums": (LATE_SUMS, 132),
    "signal of sums": (NO_SUMS, 132),
    "counters of this call": (NO_TILES, 132),
    "order of the second group": (NO_TILES.replace("experts_down", "return_sums"), 1),
    "order of the first group": (NO_ROWS_AT_ALL.replace("send_chunks_with", "experts_up"), 2),
}


@pytest.fixture(scope="module")
def level():
    return overlapped_level(LAYER.graph(), 2, Overlap(chunk=2, slices=2))


@pytest.fixture(scope="module")
def whole(level, tmp_path_factory):
    return RankedProgram(joined(level), 2, tmp_path_factory.mktemp("kernels"))


@pytest.mark.parametrize("name", sample(LEFT_OUT, 1, 4, 7))
def test_what_is_left_out_is_found(name, level, whole, tmp_path):
    pattern, resident = FOUND[name]
    # Kernels that the edit leaves alone are those of the whole program.
    program = RankedProgram(joined(LEFT_OUT[name](level)), 2, tmp_path, lambda text: changed(whole.text, text))
    program.functions = {**whole.functions, **program.functions}
    patience, others = ENDLESS if pattern.startswith("^deadlock") else PATIENCE, []
    for interleaving in INTERLEAVINGS:
        found, _, status = program.run(bits(LAYER.inputs()), bits(LAYER.weights()), True, patience=patience, resident_blocks=resident, **interleaving)
        if re.search(pattern, found):
            return
        others.append(found or status)
    raise AssertionError(others)


@pytest.mark.parametrize("resident", [132, 1])
def test_nothing_is_found_in_the_whole(resident, whole):
    found, _, status = whole.run(bits(LAYER.inputs()), bits(LAYER.weights()), True, resident_blocks=resident, **INTERLEAVINGS[2])
    assert (found, status) == ("", [0, 0])
