"""Variants of one program, over one archive: equal results whichever runs, and nothing moves when another one goes on."""

import json
import subprocess
from pathlib import Path

import pytest

from layer import Drawn, inputs_of, write
from moe_mlir import Executable, ExecutableError
from moe_mlir.testing.compare import assert_close
from moe_mlir.testing.compiling import export_model, step_inputs
from moe_mlir.testing.inputs import random_tokens
from moe_mlir.testing.models import tiny_model
from moe_mlir.testing.ranks import DEADLINE, assert_same_bits, children_of, compile_for, outputs_of, run

# Rows of ids that differ from call to call; the first call is the largest.
CALLS = [(70, "random"), (33, "first rank"), (1, "random"), (0, "nobody"), (5, "skip"), (70, "one expert")]
LAYER = Drawn(8, 2, 256, 128, True, "f32", 70, "random")
# The first one is what --parallel says. Whoever has slices sums in another order.
WAYS = {
    2: ["ep=2", "dp=2", "ep=2,tokens=replicated", "ep=2,schedule=<overlap, chunk = 16, steps = [1, 1], slices = 2>", "etp=2"],
    4: ["ep=4", "dp=4", "dp=2,ep=2", "ep=4,schedule=<parts = 2>", "ep=2,etp=2", "etp=4"],
}


def calls_of(ranks):
    layers = [Drawn(*[getattr(LAYER, name) for name in ("experts", "k", "hidden", "inner", "gated", "dtype")], *call) for call in CALLS]
    return [inputs_of(layer, ranks, seed) for seed, layer in enumerate(layers)]


@pytest.fixture(scope="module", params=WAYS)
def program(request, tmp_path_factory):
    """Number of ranks, program, and what one of one rank gives."""
    folder, ranks = tmp_path_factory.mktemp("variants"), request.param
    flags = write(LAYER, folder)
    one = compile_for(folder / "layer.mlir", folder / "one", 1, *flags)
    first, *others = WAYS[ranks]
    program = compile_for(folder / "layer.mlir", folder / "all", first, *flags, *(f"--variant={text}" for text in others))
    assert program.with_name("model.weights").read_bytes() == one.with_name("model.weights").read_bytes()
    return ranks, program, outputs_of(one, 1, calls_of(ranks), folder / "expected")


def served(ranks, program, *words):
    return Executable(program, arguments=(f"--ranks={ranks}", f"--deadline={DEADLINE}", "--threads=1", *words), timeout=60)


def assert_right(name, actual, expected):
    if "etp" in name and actual["y"].size:
        assert_close(actual["y"], expected["y"], bound=1e-5)
    else:
        assert_same_bits([actual], [expected])


def state_of(process):
    """What a process maps, and how many pages it was given so far."""
    maps = Path(f"/proc/{process}/maps").read_text()
    return maps, int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[7])


def test_one_session_goes_from_one_to_another(program):
    """Results are those of one rank; addresses stay, no page is added, and there is no memory that could hold a copy of the weights."""
    ranks, path, expected = program
    calls, names = calls_of(ranks), WAYS[ranks]
    with served(ranks, path, "--variant=0") as model:
        # Whichever ran first, and with the largest sizes: the others have all that they need.
        first = model.run(calls[0])
        assert_right(names[0], first, expected[0])
        processes = children_of(model._process._process.pid)
        assert len(processes) == ranks
        before = [state_of(process)[0] for process in processes]
        for name in names:
            model.choose_variant(name)
            for call, result in zip(calls, expected, strict=True):
                assert_right(name, model.run(call), result)
        for process, maps in zip(processes, before, strict=True):
            assert state_of(process)[0] == maps
        # By now every page has been written once.
        faults = [state_of(process)[1] for process in processes]
        for index in [3, 1, 0, 2, 4, 1, 3, 4] * 3:
            model.choose_variant(index)
            assert_right(names[index], model.run(calls[0]), expected[0])
        for process, maps, count in zip(processes, before, faults, strict=True):
            after = state_of(process)
            assert after[0] == maps
            assert after[1] - count < 16, "a switch touched memory that was not there"
            anonymous = next(int(line.split()[1]) for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("RssAnon"))
            assert anonymous * 1024 < path.with_name("model.weights").stat().st_size
        with pytest.raises(ExecutableError, match="there is no variant 'dp=3'; there are 'ep="):
            model.choose_variant("dp=3")
        assert_right(names[4], model.run(calls[0]), expected[0])


def taken(ranks, program, tokens, *words):
    """The variant that a benchmark of so many tokens took, by its name and by the axes that it names."""
    done = run(program, ranks, "--benchmark", "--size", f"tokens={tokens}", "--repeat", 1, *words)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    (name,) = [line.removeprefix("variant: ") for line in lines if line.startswith("variant: ")]
    number = WAYS[ranks].index(name)
    assert {line.split()[2].partition(".")[2] or "0" for line in lines if line.startswith("sent on")} == {str(number)}
    return name


def build_of(program):
    text = subprocess.run([program, "--info"], capture_output=True, text=True, check=True).stdout
    return next(line.split()[1] for line in text.splitlines() if line.startswith("build:"))


def dictionary(program, entries, build=None):
    content = {"program": build or build_of(program), "window": 128, "entries": entries}
    program.with_name("model.tuning.json").write_text(json.dumps(content))


@pytest.fixture
def tuned(program):
    yield program[:2]
    program[1].with_name("model.tuning.json").unlink(missing_ok=True)


def test_dictionary_chooses(tuned):
    """By the largest number of tokens of a rank, in windows of 128; no entry is the first variant, and --variant comes before."""
    ranks, program = tuned
    first, other = WAYS[ranks][:2]
    assert taken(ranks, program, 5) == first
    dictionary(program, {"main": {"0": other, "2": other}, "elsewhere": {"0": "unknown"}})
    for tokens, name in ((5, other), (127 * ranks, other), (127 * ranks + 1, first), (256 * ranks, other), (1000 * ranks, first)):
        assert taken(ranks, program, tokens) == name, tokens
    assert taken(ranks, program, 5, "--variant", WAYS[ranks][2]) == WAYS[ranks][2]


def test_tune_writes_what_runs_read(tuned):
    ranks, program = tuned
    dictionary(program, {}, build="another one")
    done = run(program, ranks, "--tune", "--size", f"tokens={10 * ranks}", "--size", f"tokens={130 * ranks}", "--repeat", 1)
    assert done.returncode == 0, done.stderr
    content = json.loads(program.with_name("model.tuning.json").read_text())
    assert content["program"] == build_of(program) and content["window"] == 128
    chosen = content["entries"]["main"]
    assert list(chosen) == ["0", "1"] and set(chosen.values()) <= set(WAYS[ranks])
    for name in WAYS[ranks]:
        assert done.stdout.count(f"  {name}\n") == 2
    for key, name in chosen.items():
        assert taken(ranks, program, 10 * ranks + int(key) * 128 * ranks) == name
        assert f"key {key}: {name}; {len(WAYS[ranks])} trials\n" in done.stdout


@pytest.mark.parametrize("text,message", [
    ('{"program": "x", "window": 128, "entries": {"main": {"0": "dp=2"}}}', "is of another program than this one"),
    ('{"program": BUILD, "window": 128, "entries": {"main": {"0": "dp=7"}}}', "names variant 'dp=7'; there are 'ep="),
    ('{"program": BUILD, "window": 64, "entries": {}}', "line 1: a window of another size than 128 tokens"),
    ("[" * 100000, "line 1: expected an object"),
])
def test_a_wrong_dictionary_is_one_line(tuned, text, message):
    ranks, program = tuned
    program.with_name("model.tuning.json").write_text(text.replace("BUILD", json.dumps(build_of(program))))
    done = run(program, ranks, "--benchmark", "--size", "tokens=4")
    assert done.returncode == 1 and message in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_what_can_not_be_chosen(tuned):
    ranks, program = tuned
    for words, message in [
        (["--benchmark", "--size", "tokens=4", "--variant", "ep"], "there is no variant 'ep'; there are 'ep="),
        (["--tune", "--size", "tokens=4", "--variant", "0"], "--tune measures all variants: leave --variant out"),
        (["--tune"], "--tune needs to know the size of 'tokens'"),
    ]:
        done = run(program, ranks, *words)
        assert done.returncode == 1 and message in done.stderr
    info = subprocess.run([program, "--info"], capture_output=True, text=True, check=True).stdout
    for number, name in enumerate(WAYS[ranks]):
        assert f"  {number}  {name}" in info


def test_states_stay(tmp_path):
    """A model's caches, which all variants divide alike: each step by another variant gives the bits of one rank."""
    model = tiny_model("mixtral")
    export_model(model, tmp_path / "model.pt2", max_cache_len=128)
    tokens = random_tokens(model, 5, 12, 0)
    calls = [step_inputs(tokens[:, :8]), *(step_inputs(tokens[:, at : at + 1], at) for at in range(8, 12))]
    one = outputs_of(compile_for(tmp_path / "model.pt2", tmp_path / "one", 1), 1, calls, tmp_path / "expected")
    ways = ["dp=2", "ep=2", "ep=2,schedule=<overlap, chunk = 4, steps = [2], slices = 1>"]
    program = compile_for(tmp_path / "model.pt2", tmp_path / "all", ways[0], *(f"--variant={text}" for text in ways[1:]))
    with served(2, program) as served_model:
        for first in range(3):
            served_model.reset()
            for index, (call, expected) in enumerate(zip(calls, one, strict=True)):
                served_model.choose_variant((first + index) % 3)
                assert_same_bits([served_model.run(call)], [expected])
    # A benchmark says what each of its two parts ran, and what was sent by both.
    dictionary(program, {"main": {"2": ways[1]}})
    done = run(program, 2, "--benchmark", "--batch", 32, "--prompt-tokens", 16, "--decode-tokens", 2, "--repeat", 1)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert f"variant: {ways[1]} (prefill), {ways[0]} (decode)" in lines
    assert [line.split()[2] for line in lines if line.startswith("sent on")] == ["dp", "ep.1"]
    refused = subprocess.run(["moe-compile", tmp_path / "model.pt2", "--parallel=dp=4", "--variant=ep=2,etp=2", "-o", tmp_path / "no"], capture_output=True, text=True)
    assert refused.returncode == 2 and "in another way than 'main': rank 0 has part 0 of 2 of 'batch' instead of part 0 of 4" in refused.stderr
