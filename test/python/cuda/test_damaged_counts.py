"""Announcements that a fault has damaged (../ranks/damaged.py), on the emulated GPU, which checks every access: whatever a rank says, no
kernel touches what is no window's or no buffer's, all launches end, and the others' rows are right."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from rank_layers import RankedLayer, bits, kernel_level
from rank_program import RankedProgram, part_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "ranks"))

from damaged import DAMAGES, damage  # noqa: E402

from moe_mlir.testing.full import FULL  # noqa: E402

LAYER, RANKS = RankedLayer(9, 36, 24, 4, 2, "f32"), 2


def inputs():
    """All rows of rank 1 go to rank 0, which alone sends sums back: wherever those go, nobody else stores there."""
    result = LAYER.inputs()
    result["ids"][part_of(LAYER.tokens, 1, RANKS)] %= LAYER.E // RANKS
    return bits(result)


def unlimited(text):
    """Without the limits of what has been announced, which stand in the kernel that waits for it."""

    def edit(kernel):
        if "kernel.await" not in kernel[0] or "arith.minsi" not in kernel[0]:
            return kernel[0]
        return re.sub(r"arith\.m(?:in|ax)si (?:%c0, )?(%\w+)(?:, %\w+)? : index", r"arith.addi \1, %c0 : index", kernel[0])

    changed = re.sub(r"^  kernel\.func.*?^  \}$", edit, text, flags=re.DOTALL | re.MULTILINE)
    assert changed != text
    return changed


@pytest.fixture(scope="module")
def level(tmp_path_factory):
    return damage(kernel_level(LAYER, RANKS, "split", tmp_path_factory.mktemp("level")), DAMAGES)


@pytest.fixture(scope="module")
def program(level, tmp_path_factory):
    return RankedProgram(level, RANKS, tmp_path_factory.mktemp("damaged"))


@pytest.fixture(scope="module")
def expected(program):
    """In an exchange behind the damaged ones all say the truth."""
    fault, outputs, status = program.run(inputs(), bits(LAYER.weights()), True, epoch=len(DAMAGES))
    assert (fault, status) == ("", [0] * RANKS)
    return [output.copy() for output in outputs]


@pytest.mark.parametrize("number", [i for i, (_, value) in enumerate(DAMAGES) if abs(value) > 1][:: 1 if FULL else 2], ids=lambda number: "{}:{}".format(*DAMAGES[number]))
def test_nothing_else_is_touched(program, expected, number):
    fault, outputs, status = program.run(inputs(), bits(LAYER.weights()), True, epoch=number)
    assert (fault, status) == ("", [0] * RANKS)
    np.testing.assert_array_equal(outputs[0], expected[0])


def test_without_limits_something_is(level, tmp_path):
    program = RankedProgram(unlimited(level), RANKS, tmp_path)
    for number in (DAMAGES.index((0, -1)), DAMAGES.index((0, 1 << 20))):
        fault, _, _ = program.run(inputs(), bits(LAYER.weights()), True, epoch=number)
        assert "outside every registered buffer" in fault
