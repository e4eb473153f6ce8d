"""A rank that announces rows that it has not sent, or none, or impossible ones: all ranks come to the end of the call, and the next call is
right. That kernels stay in their windows then is seen on the emulated GPU (test_damaged_counts.py)."""

import numpy as np
import pytest

from damaged import DAMAGES, damage
from edited import compile_text, text_at
from layer import Drawn, inputs_of, write
from moe_mlir.testing.ranks import outputs_of, part_of

LAYER = Drawn(8, 2, 16, 16, True, "f32", 33, "random")


@pytest.mark.parametrize("ranks", [2, 4])
def test_next_call_is_right(ranks, tmp_path):
    flags = write(LAYER, tmp_path)
    text = text_at("kernel", tmp_path / "layer.mlir", f"ep={ranks}", *flags)
    done, program = compile_text(damage(text, DAMAGES), "kernel", tmp_path / "damaged")
    assert done.returncode == 0, done.stderr
    call = inputs_of(LAYER, ranks, 3)
    *damaged, right = outputs_of(program, ranks, [call] * (len(DAMAGES) + 1), tmp_path / "calls")
    done, plain = compile_text(text, "kernel", tmp_path / "plain")
    assert done.returncode == 0, done.stderr
    [expected] = outputs_of(plain, ranks, [call], tmp_path / "expected")
    np.testing.assert_array_equal(right["y"], expected["y"])
    own = part_of(LAYER.tokens, 1, ranks)
    others = np.delete(np.arange(LAYER.tokens), own)
    harmed = 0
    for (field, value), result in zip(DAMAGES, damaged, strict=True):
        # The others' rows are computed from what they have sent and got: rank 1 has lied about its own.
        np.testing.assert_array_equal(result["y"][others], expected["y"][others], err_msg=f"{field} {value}")
        harmed += (result["y"][own] != expected["y"][own]).any()
    assert harmed >= len(DAMAGES) // 2, "the damage does something"
