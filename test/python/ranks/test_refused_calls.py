"""What all ranks find wrong alike in a call they refuse together, and what follows is what it would be without it: on ranks as in one process."""

import numpy as np
import pytest
import torch

from moe_mlir import Executable, ExecutableError
from moe_mlir.testing.compare import assert_close
from moe_mlir.testing.compiling import edit_program, export_model, step_inputs
from moe_mlir.testing.families import small_model
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


def play_kept(program, text, refused):
    """The outputs of a text's calls; with `refused`, calls stand between them whose kept rows are none of theirs."""
    program.reset()
    outputs = []
    for call in text:
        length = call["input_ids"].shape[1]
        for row in (length, -length - 1, 10**12) if refused else ():
            with pytest.raises(ExecutableError, match=rf"input 'logits_to_keep': element 0 is {row}, an index outside of seq = {length}"):
                program.run({**call, "logits_to_keep": np.array([row])})
        outputs.append(program.run({**call, "logits_to_keep": np.array([-1])}))
    return outputs


@pytest.mark.parametrize("family,way", [("mixtral", "1"), ("qwen3_next", "1"), ("mixtral", "ep=2"), ("mixtral", "tp=2"), ("mixtral", "dp=2")])
def test_an_index_that_is_refused_leaves_the_states(tmp_path, family, way):
    """The runtime looks at it before the program begins: recurrent states would be a step further, and ranks not together."""
    model = tiny_model(family) if family == "mixtral" else small_model(family, layer_types=["linear_attention", "full_attention"], num_hidden_layers=2)
    export_model(model, tmp_path / "model.pt2", max_cache_len=16)
    tokens = random_tokens(model, 2, 8, 5)
    text = [step_inputs(tokens[:, :5]), *(step_inputs(tokens[:, at : at + 1], at) for at in range(5, 8))]
    path = compile_for(tmp_path / "model.pt2", tmp_path, 1 if way == "1" else way)
    arguments = () if way == "1" else ("--ranks=2", f"--deadline={DEADLINE}")
    with Executable(path, arguments=(*arguments, "--threads=1"), timeout=60) as program:
        undisturbed = play_kept(program, text, refused=False)
        first = program._process._process.pid
        assert_same_bits(play_kept(program, text, refused=True), undisturbed)
        assert program._process._process.pid == first, "a refused call ended the job"


@pytest.mark.parametrize("way", ["1", "ep=2,tokens=replicated", "tp=2", "ep=2 and dp=2"])
def test_a_guard_of_the_graph_leaves_the_states(model, tmp_path, way):
    """Even lengths are refused: in the first call, and between others."""
    folder, calls, expected = model
    odd = edit_program(folder / "model.pt2", tmp_path / "model.pt2", lambda program: program.update(guards_code=["L['input_ids'].size()[1] % 2 == 1"]))
    way, *others = way.split(" and ")
    path = compile_for(odd, tmp_path, 1 if way == "1" else way, *(f"--variant={other}" for other in others))
    arguments = () if way == "1" else ("--ranks=2", f"--deadline={DEADLINE}", "--threads=1")
    first, *steps = calls[0]
    with Executable(path, arguments=arguments, timeout=60) as program:
        for _ in range(2):
            outputs = []
            for index, call in enumerate([first, *steps]):
                for batch in (2,) if index else (1, 3):
                    with pytest.raises(ExecutableError, match="the model was exported for inputs with"):
                        program.run(step_inputs(np.ones((batch, 2), np.int64), call["position"][0]))
                outputs.append(program.run(call))
            for result, one in zip(outputs, expected, strict=False):
                assert_close(result["logits"], one["logits"], bound=1e-5)
            program.reset()


class Demanding(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.linear = torch.nn.Embedding(16, 8), torch.nn.Linear(8, 4)

    def forward(self, ids):
        hidden = torch.nn.functional.silu(self.embedding(ids))
        torch._check(ids.shape[1] % 2 == 0)
        return self.linear(hidden)


def test_a_demand_of_sizes_behind_a_launch_comes_first(tmp_path):
    ids = torch.randint(0, 16, (4, 6))
    program = torch.export.export(Demanding(), (ids,), dynamic_shapes=({0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO},),
                                  prefer_deferred_runtime_asserts_over_guards=True)
    torch.export.save(program, tmp_path / "m.pt2")
    path = compile_for(tmp_path / "m.pt2", tmp_path, "dp=2")
    with Executable(path, arguments=("--ranks=2", f"--deadline={DEADLINE}", "--threads=1"), timeout=60) as ranks:
        expected = ranks.run({"ids": ids.numpy()})
        first = ranks._process._process.pid
        with pytest.raises(ExecutableError, match="Runtime assertion failed"):
            ranks.run({"ids": ids[:, :5].contiguous().numpy()})
        assert_same_bits([ranks.run({"ids": ids.numpy()})], [expected])
        assert ranks._process._process.pid == first, "a refused call ended the job"
