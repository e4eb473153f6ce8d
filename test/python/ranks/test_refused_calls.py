"""Calls of another batch than the states hold are refused, and what follows is what it would be without them: on ranks as in one process."""

import numpy as np
import pytest

from moe_mlir import Executable, ExecutableError
from moe_mlir.testing.compare import assert_close
from moe_mlir.testing.compiling import export_model, step_inputs
from moe_mlir.testing.inputs import random_tokens
from moe_mlir.testing.models import tiny_model
from moe_mlir.testing.ranks import DEADLINE, assert_same_bits, children_of, compile_for

# tp sums in another order than one process: its calls without refused ones tell its bits.
WAYS = ["ep=2", "ep=2,tokens=replicated", "dp=2", "tp=2"]
# Of two rows and of three the first one of two ranks has one.
OTHERS = {2: (3, 1, 4), 3: (2, 4, 1)}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The exported model, its calls, and what one process gives for them."""
    folder = tmp_path_factory.mktemp("refused")
    model = tiny_model("mixtral")
    export_model(model, folder / "model.pt2", max_cache_len=16)
    calls = []
    for batch in (2, 3):
        tokens = random_tokens(model, batch, 8, batch)
        calls.append([step_inputs(tokens[:, :5]), *(step_inputs(tokens[:, at : at + 1], at) for at in range(5, 8))])
    with Executable(compile_for(folder / "model.pt2", folder / "one", 1), timeout=60) as one:
        return folder, calls, play(one, calls, refused=True)


def play(program, calls, refused):
    """The outputs of all calls, each text of which begins with zeroed states; with `refused`, calls of other batches stand before each step."""
    outputs = []
    for text in calls:
        program.reset()
        outputs.append(program.run(text[0]))
        for step in text[1:]:
            held, position = len(step["position"]), step["position"][0]
            for batch in OTHERS[held] if refused else ():
                with pytest.raises(ExecutableError, match=rf": the states hold batch = {held}, this call has {batch} \(reset the states first\)"):
                    program.run(step_inputs(np.ones((batch, 1), np.int64), position))
            outputs.append(program.run(step))
    return outputs


@pytest.mark.parametrize("way", WAYS)
def test_what_is_refused_leaves_the_states(model, way):
    folder, calls, expected = model
    path = compile_for(folder / "model.pt2", folder / way.replace("=", ""), way)
    for comm in ("local", "shm"):
        with Executable(path, arguments=("--ranks=2", f"--comm={comm}", f"--deadline={DEADLINE}", "--threads=1"), timeout=60) as ranks:
            undisturbed = play(ranks, calls, refused=False)
            first = ranks._process._process.pid, children_of(ranks._process._process.pid)
            actual = play(ranks, calls, refused=True)
            assert first == (ranks._process._process.pid, children_of(ranks._process._process.pid)), "a refused call ended the job"
        assert_same_bits(actual, undisturbed)
        if way == "tp=2":
            for result, one in zip(actual, expected, strict=True):
                assert_close(result["logits"], one["logits"], bound=1e-5)
        else:
            assert_same_bits(actual, expected)
