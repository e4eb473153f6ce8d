"""The benchmark of two compilers: direction of the ratio, goal and repetition, results, archives, compile times; with sides whose times are known."""

import itertools
import json
import os
import subprocess
import sys
from array import array
from pathlib import Path
from types import SimpleNamespace

import pytest
from moe_bench.compilers import artifacts, cli, measuring, programs, report
from moe_bench.errors import BenchError
from moe_bench.layers.rows import SHAPES
from moe_bench.layers.rows import Row as LayerRow
from moe_bench.rows import Row as ModelRow
from moe_bench.worker import Worker

FAKE = Path(__file__).with_name("fake_worker.py")
RUN = Path(__file__).resolve().parents[3] / "benchmarks" / "run"


class FakeProgram:
    """Rows with the times of both sides' turns, the last one repeated. The first turn of each is not counted."""

    def __init__(self, name, times, **logits):
        self.name, self.rows, self.log = name, [SimpleNamespace(name=row) for row in times], []
        self._times, self._logits = times, logits

    def workers(self):
        return {side: FakeSide(self, side) for side in measuring.SIDES}

    def prepare(self, worker, row, folder):
        worker.times = iter([*self._times[row.name][worker.side], *itertools.repeat(self._times[row.name][worker.side][-1], 50)])
        (folder / "logits").write_bytes(array("f", self._logits.get(worker.side, [1.0, 2.0])).tobytes())
        return folder / "logits"


class FakeSide:
    def __init__(self, program, side):
        self.program, self.side, self.times = program, side, None

    def ask(self, do, variant, seconds):
        assert (do, variant, seconds) == ("run", "compiled", 0.15)
        self.program.log.append(self.side)
        return {"seconds": next(self.times)}

    def cpu_seconds(self):
        return 0.0


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """These sides have no threads that would need time to settle between turns."""
    monkeypatch.setattr(measuring.time, "sleep", lambda seconds: None)


def pair_of(program, records):
    return measuring.Pair(program, program.workers(), records.append, 0.15)


def measured(pair, row, rounds):
    return measuring.summary(row.name, *pair.rounds(row, range(rounds)))


def test_a_faster_new_compiler_has_a_ratio_above_one():
    records = []
    program = FakeProgram("p", {"r": {"old": [9, 2, 3, 4], "new": [9, 1, 1, 1]}})
    s = measured(pair_of(program, records), program.rows[0], 3)
    assert (s["ratio"], s["low"], s["high"], s["rounds"], s["seconds"]) == (3, 2, 4, 3, {"old": 3, "new": 1})
    assert s["same"] and report.missed([s], 0.97, False) == []
    assert program.log == ["old", "new", "old", "new", "new", "old", "old", "new"]
    assert [(r["type"], r["row"], r["samples"]["old"]["seconds"]) for r in records] == [("round", "r", 2), ("round", "r", 3), ("round", "r", 4)]


def test_results_that_differ_by_one_bit_miss():
    program = FakeProgram("p", {"r": {"old": [1], "new": [1]}}, new=[1.0, 2.0000002])
    s = measured(pair_of(program, []), program.rows[0], 1)
    assert report.missed([s], 0.97, False) == ["r: results differ"]
    assert report.missed([s], 0.97, True) == []
    assert "results differ" in report.progress_line(s) and report.table([s]).splitlines()[1].endswith("results differ")


def run_all(programs_, goal=0.97):
    asked, said = [], []

    def measure(program, wanted, rounds, starts):
        asked.append((program.name, [row.name for row in wanted], rounds, starts))
        pair = pair_of(program, [])
        return [measured(pair, row, rounds) for row in wanted]

    return measuring.measure_all(programs_, measure, 7, goal, said.append), asked, said


def test_only_slow_rows_are_repeated_and_their_last_ratio_counts():
    # Slow in the first 7 rounds only, slow in the repetition too, and always fast.
    once = {"old": [1, *[0.9] * 7, 1], "new": [1]}
    program = FakeProgram("p", {"once": once, "slow": {"old": [0.9], "new": [1]}})
    fast = FakeProgram("q", {"fast": {"old": [0.98], "new": [1]}})
    first, asked, said = run_all([program, fast])
    assert asked == [("p", ["once", "slow"], 7, 1), ("q", ["fast"], 7, 1), ("p", ["once", "slow"], 21, 7)]
    assert said == ["2 of 3 are below 0.97: again, in 21 rounds"]
    found = {s["row"]: s for s in first}
    assert [s["row"] for s in first] == ["once", "slow", "fast"]
    # 7 slow rounds of 21 are less than half of them.
    assert (found["once"]["ratio"], found["once"]["first_ratio"], found["once"]["rounds"]) == (1, 0.9, 21)
    assert "first_ratio" not in found["fast"]
    assert report.missed(first, 0.97, False) == ["slow: 0.900 times as fast as the old one, goal 0.97"]
    lines = report.table(first).splitlines()
    assert lines[1].split()[:4] == ["once", "1", "s", "1"] and "(at first 0.900)" in lines[1]
    assert lines[-1] == "geometric mean of 3: 0.959"


def test_a_row_is_what_all_its_starts_have_measured(monkeypatch, tmp_path):
    """Starts begin with either side in turn; results that differ in one of them differ."""
    row, asked, kept = SimpleNamespace(name="r"), [], []
    sample = {side: {"seconds": 1, "other_busy": 0} for side in measuring.SIDES}

    def start(self, program, wanted, numbers, sides, linked):
        asked.append((list(numbers), sides[0], linked))
        return [(row, [sample] * len(numbers), len(asked) != 2)]

    monkeypatch.setattr(cli.Benchmark, "_start", start)
    monkeypatch.setattr(cli, "prepare", lambda program, say: True)
    benchmark = cli.Benchmark(SimpleNamespace(compile=True, threads=1), SimpleNamespace(record=kept.append), print, tmp_path)
    (s,) = benchmark._run_programs(None, [row], 5, 3)
    assert asked == [([0], "old", True), ([1, 2], "new", True), ([3, 4], "old", True)]
    assert kept == [s] and (s["rounds"], s["same"]) == (5, False)


@pytest.mark.parametrize("rounds, starts, lengths", [(7, 1, [7]), (21, 7, [3] * 7), (9, 4, [2, 2, 2, 3]), (2, 7, [1, 1])])
def test_rounds_are_divided_among_starts(rounds, starts, lengths):
    parts = measuring.parts(rounds, starts)
    assert [len(part) for part in parts] == lengths and list(itertools.chain(*parts)) == list(range(rounds))


def test_rounds_of_several_starts_are_one_row():
    """Sides take turns in an order that goes on from one start to the next."""
    records = []
    program = FakeProgram("p", {"r": {"old": [9, 2, 3], "new": [9, 1]}})
    (first, same), (second, _) = (pair_of(program, records).rounds(program.rows[0], part) for part in measuring.parts(5, 2))
    s = measuring.summary("r", first + second, same)
    assert (s["rounds"], s["ratio"], s["low"], s["high"], s["disturbed"]) == (5, 3, 2, 3, 0)
    assert [(r["round"], next(iter(r["samples"]))) for r in records] == [(0, "old"), (1, "new"), (2, "old"), (3, "new"), (4, "old")]


def test_the_mean_has_a_goal_of_its_own():
    """Rows that are all at their goal may together be slower than a single one may be."""
    rows = {name: {"old": [ratio], "new": [1]} for name, ratio in (("a", 0.98), ("b", 0.98), ("c", 1.0))}
    program = FakeProgram("p", rows)
    summaries = [measured(pair_of(program, []), row, 1) for row in program.rows]
    assert report.missed(summaries, 0.97, False, 0.98) == report.missed(summaries, 0.97, False) == []
    assert report.missed(summaries, 0.97, False, 0.99) == ["geometric mean of 3: 0.987, goal 0.99"]
    assert report.missed(summaries, 0.985, False, 0.99)[-1] == "geometric mean of 3: 0.987, goal 0.99"


def test_equal_archives_become_one_file(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    new.write_bytes(b"weights" * 1000)
    for content, equal in ((b"weights" * 1000, True), (b"Weights" + b"weights" * 999, False), (b"weights", False)):
        old.unlink(missing_ok=True)
        old.write_bytes(content)
        assert artifacts.link_equal(old, new) is equal and os.path.samefile(old, new) is equal
        assert old.read_bytes() == content and sorted(f.name for f in tmp_path.iterdir()) == ["new", "old"]
    os.replace(new, old)
    os.link(old, new)
    assert artifacts.link_equal(old, new)


def compiler(folder, text="x"):
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "moe-compile").write_text(text)
    return folder / "bin" / "moe-compile"


def test_the_old_compiler_has_a_folder_of_its_own_and_shares_the_inputs(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(artifacts.Artifacts, "make", lambda self, target, source, what, action: made.append(target.relative_to(tmp_path / "bench").as_posix()))
    monkeypatch.setattr(artifacts.LayerArtifacts, "library", lambda self, shape, dtype: (self.folder, self.data(shape)))
    new, folders = compiler(tmp_path / "new"), set()
    for text in "abc":
        models, layers = artifacts.both(tmp_path / "bench", compiler(tmp_path / text, text), new, print)
        folders.add(models["old"].folder)
    assert len(folders) == 3
    assert layers["new"].library(SHAPES[0], "float32") == (tmp_path / "bench" / "layers", tmp_path / "bench" / "layers" / "olmoe" / "data")
    assert layers["old"].library(SHAPES[0], "float32") == (models["old"].folder / "layers", tmp_path / "bench" / "layers" / "olmoe" / "data")
    assert models["old"].folder.parent == tmp_path / "bench" / "compilers"
    assert {"layers/olmoe/data"} == set(made)
    # What earlier compilers left is bounded.
    assert len(list((tmp_path / "bench" / "compilers").iterdir())) == artifacts.KEPT


def test_programs_are_grouped_and_prepared(tmp_path):
    class Fake:
        checkpoint = lambda self, model: tmp_path

    (tmp_path / "config.json").write_text(json.dumps({"vocab_size": 5}))
    layer_rows = [LayerRow(SHAPES[0], dtype, t, "uniform") for dtype in ("bfloat16", "float32") for t in (1, 4)]
    found = programs.programs(layer_rows, [ModelRow("0.9b", "float32", "decode", 3, 2)], {"old": Fake(), "new": Fake()}, {})
    assert [(p.name, len(p.rows)) for p in found] == [("olmoe/bfloat16", 2), ("olmoe/float32", 2), ("0.9b/float32", 1)]
    asked = []
    worker = SimpleNamespace(ask=lambda do, **given: asked.append((do, given)))
    assert found[0].prepare(worker, layer_rows[1], tmp_path) == tmp_path / "compiled.npy"
    assert asked.pop() == ("prepare", {"case": "T4-uniform", "outputs": str(tmp_path)})
    file = found[2].prepare(worker, found[2].rows[0], tmp_path)
    (do, given), = asked
    assert do == "prepare" and given["logits"] == str(file)
    assert [len(row) for row in given["context"]] == [3, 3] and {t for row in given["context"] + given["tokens"] for t in row} <= set(range(5))


def script(path, seconds):
    """A compiler that computes for so long; what it writes lies beside others."""
    path.write_text(f"#!{sys.executable}\nimport sys, time\nopen(sys.argv[1], 'w').close()\nopen(sys.argv[1] + '.weights', 'w').close()\n"
                    f"while time.process_time() < {seconds}: pass\n")  # fmt: skip
    path.chmod(0o755)
    return path


def test_compiling_is_timed_in_turns(tmp_path):
    folder = tmp_path / "outputs"
    folder.mkdir()
    commands = {"old": script(tmp_path / "old", 0.3), "new": script(tmp_path / "new", 0.1)}
    program = SimpleNamespace(name="p", command=lambda side, target: [str(commands[side]), str(target)])
    records = []
    s = measuring.compile_rounds(program, 2, records.append, [min(os.sched_getaffinity(0))], folder)
    assert s["type"] == "compile-row" and s["rounds"] == len(records) == 2
    assert s["ratio"] > 1.5 and s["seconds"]["old"] >= 0.3 and s["wall"]["ratio"] > 0
    assert [list(r["samples"]) for r in records] == [["old", "new"], ["new", "old"]]
    assert list(folder.iterdir()) == []
    assert report.missed([s], 1 / cli.COMPILE_COST, False) == []
    header, line, _ = report.table([s]).splitlines()
    assert "on clock" in header and line.startswith("p ")
    (tmp_path / "new").write_text("#!/bin/sh\necho no layer >&2\nexit 2\n")
    with pytest.raises(BenchError, match="failed with exit code 2:\nno layer"):
        measuring.compile_rounds(program, 1, records.append, [min(os.sched_getaffinity(0))], folder)


@pytest.mark.parametrize("old_seconds, logits, flags, code, last", [
    (0.02, [1.0, 2.0], [], 0, "all 1 are at the goal of 0.97"),
    (0.005, [1.0, 2.0], [], 3, "missed: geometric mean of 1: 0.500, goal 0.99"),
    (0.005, [1.0, 2.0], ["--mean-goal", "0.5"], 3, "missed: tiny/float32/prefill-16/b1: 0.500 times as fast as the old one, goal 0.97"),
    (0.02, [1.0, 2.0], ["--mean-goal", "3"], 3, "missed: geometric mean of 1: 2.000, goal 3"),
    (0.02, [1.0, 3.0], [], 3, "missed: tiny/float32/prefill-16/b1: results differ"),
    (0.02, [1.0, 3.0], ["--results-may-differ"], 0, "all 1 are at the goal of 0.97"),
])
def test_command_with_processes(old_seconds, logits, flags, code, last, tmp_path, capsys, monkeypatch):
    """From the command line to the table, with workers that are processes and compute nothing."""
    monkeypatch.setenv("MOE_BUILD_DIR", str(tmp_path / "build"))
    monkeypatch.setattr(cli, "Machine", lambda *given: SimpleNamespace(file_bandwidth=lambda path: 1e9))
    evicted = []
    monkeypatch.setattr(cli, "evict", evicted.append)
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"vocab_size": 5}))

    def compiled(self, model, dtype, emit):
        library = tmp_path / Path(self.compiler).parts[-3] / "model.so"
        library.with_name("model.so.weights").write_bytes(b"weights")
        return library

    monkeypatch.setattr(artifacts.Artifacts, "compiled", compiled)
    monkeypatch.setattr(artifacts.Artifacts, "checkpoint", lambda self, model: tmp_path)
    monkeypatch.setattr(artifacts.Artifacts, "exported", lambda self, model, dtype: config)

    def start(library, cores, side):
        seconds, values = (old_seconds, [1.0, 2.0]) if side == "old" else (0.01, logits)
        settings = {"variants": {"compiled": [seconds]}, "logits": values, "log": str(tmp_path / "log")}
        (tmp_path / f"{side}.json").write_text(json.dumps(settings))
        return Worker(side, [sys.executable, str(FAKE), str(tmp_path / f"{side}.json")], cores)

    monkeypatch.setattr(programs.worker, "compiled_worker", start)
    words = ["--old", compiler(tmp_path / "old"), "--new", compiler(tmp_path / "new"), "--shapes", "none", "--models", "tiny"]
    words += ["--rows", "tiny/float32/prefill-16/b1", "--threads", 1, "--rounds", 2, "--turn-seconds", 0.001, "--results", tmp_path / "results", *flags]
    assert cli.main([str(word) for word in words]) == code
    assert capsys.readouterr().out.splitlines()[-1] == last
    assert os.path.samefile(tmp_path / "old" / "model.so.weights", tmp_path / "new" / "model.so.weights")
    repeated = old_seconds < 0.01
    assert evicted == [tmp_path / "old" / "model.so.weights", tmp_path / "new" / "model.so.weights", config] * (1 + repeated * measuring.STARTS)
    (file,) = (tmp_path / "results").iterdir()
    types = [json.loads(line)["type"] for line in file.read_text().splitlines()]
    again = [*["sides", *["round"] * 3] * measuring.STARTS, "row"] if repeated else []
    assert types == ["environment", "compilers", "sides", "round", "round", "row", *again]
    assert str(tmp_path) not in file.read_text().splitlines()[0]


@pytest.mark.parametrize("words, message", [
    (["--shapes", "large"], "error: --shapes: 'large' is not known; choose from: olmoe, qwen3, mixtral"),
    (["--models", "2b"], "error: --models: '2b' is not known; choose from: tiny, 1b, 0.9b"),
    (["--dtype", "int8"], "error: --dtype: 'int8' is not known"),
    (["--rows", "zipf"], "error: no row matches; --list shows their names"),
    (["--rounds", "0"], "error: --rounds must be at least 1, --turn-seconds above 0"),
    (["--goal", "0"], "error: --goal must be above 0"),
    (["--mean-goal", "0"], "error: --mean-goal must be above 0"),
    (["--name", "a/b"], "error: --name: 'a/b' is part of a file name and cannot contain '/'"),
    ([], "error: there is no compiler at '/none'"),
])
def test_wrong_input(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.setenv("MOE_BUILD_DIR", str(tmp_path))
    assert cli.main(["--old", "/none", "--results", str(tmp_path / "results"), *words]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


def test_list():
    command = [sys.executable, RUN, "compilers", "--old", "x", "--list", "--shapes", "mixtral", "--rows", "T1/,decode", "--models", "0.9b"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    decode = [f"0.9b/{dtype}/decode-512/b{b}" for dtype in ("float32", "bfloat16") for b in (1, 8)]
    assert done.stdout.splitlines() == ["mixtral/bfloat16/T1/uniform", "mixtral/float32/T1/uniform", *decode]
