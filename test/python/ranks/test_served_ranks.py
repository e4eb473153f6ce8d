"""`Executable` of several ranks, one of which is lost: the call that meets it raises, the next one has another process."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from moe_mlir import Executable, ExecutableError

# A small program of the runtime's own tests (runtime/test/toy/rows.c).
ROOT = Path(__file__).resolve().parents[3]
ROWS = Path(os.environ.get("MOE_BUILD_DIR", ROOT / "build")) / "runtime" / "test" / "rows"
INPUTS = {"x": np.ones((4, 16), np.float32), "to": np.arange(4, dtype=np.int32) % 2, "scale": np.ones(1, np.float32)}


def process_of_rank(model, rank):
    pid = model._process._process.pid
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[rank])


@pytest.fixture
def model():
    if not ROWS.exists():
        pytest.skip("built without the runtime's tests")
    with Executable(ROWS, entry="rows2", arguments=("--ranks=2", "--deadline=0.5"), timeout=30) as model:
        yield model


def test_one_call_fails_for_each_fault(model):
    expected = model.run(INPUTS)["y"]
    faults = [(signal.SIGSTOP, 1, "rank 0 waited 0.5 s for rank 1"), (signal.SIGKILL, 1, "rank 1 ended while rank 0"), (signal.SIGKILL, 0, "rank|ended")]
    for number, rank, message in faults:
        os.kill(process_of_rank(model, rank), number)
        with pytest.raises(ExecutableError, match=message):
            model.run(INPUTS)
        model.reset()
        np.testing.assert_array_equal(model.run(INPUTS)["y"], expected)


def test_what_is_refused_ends_no_process(model):
    before = model.run(INPUTS)["y"]
    first = process_of_rank(model, 0)
    with pytest.raises(ExecutableError, match="element 0 is 7, outside 0..1"):
        model.run(INPUTS | {"to": np.int32([7, 0, 0, 0])})
    np.testing.assert_array_equal(model.run(INPUTS)["y"], before)
    assert process_of_rank(model, 0) == first
