"""The benchmark of --parallel=auto: its rows, what it reads of the compiler, and what counts as missed."""

import json

import pytest
from moe_bench.dividing import checkpoints, cli, machine, products, programs, rows
from moe_mlir.testing.compiling import compiler


def test_calls_fill_the_cache_first():
    first, last = rows.Row("m", "decode", 2, 1, 8).calls(100)
    assert [(name, len(value)) for name, value, _ in first] == [("input_ids", 2), ("position", 2), ("logits_to_keep", 1)]
    assert [len(ids) for ids in first[0][1]] == [8, 8] and first[2][1] == [7]
    assert last[1][1] == [8, 8] and last[2][1] == [0] and all(0 <= i < 100 for ids in first[0][1] for i in ids)
    assert len(rows.Row("m", "prefill", 1, 64).calls(100)) == 1


def test_each_of_four_models_has_rows():
    assert len({row.name for row in rows.ROWS}) == len(rows.ROWS)
    assert {row.model for row in rows.ROWS} == set(checkpoints.CONFIGURATIONS) and len(checkpoints.CONFIGURATIONS) == 4


def test_remarks_are_read():
    text = "moe-compile: remark: [Analysis] Parallel: tp=2,etp=2: 626.0 us, 1.0 us of it for exchanges; 9.0 MB of each rank\n"
    text += "moe-compile: remark: [Missed] Parallel: ep=2: no\nmoe-compile: remark: [Analysis] Parallel: dp=2: 1.710 ms; 9.0 MB of each rank\n"
    assert programs.REMARK.findall(text) == [("tp=2,etp=2", "626.0", "us"), ("dp=2", "1.710", "ms")]


def test_what_is_chosen_is_held_against_the_best():
    row = rows.ROWS[0]
    times = {"a": [1.0, 1.1, 1.2], "b": [1.0, 1.0, 1.0], "c": [3.0, 3.0, 0.1]}
    found = programs.summarize(row, {"a": 1.0, "b": 2.0, "c": 3.0}, times)
    assert (found["chosen"], found["best"], found["over_best"], found["low"], found["high"]) == ("a", "b", pytest.approx(1.1), 1.0, 1.2)
    assert "chosen a, best b, 1.10 times its time" in cli.table([found])
    assert programs.summarize(row, {"b": 1.0, "a": 2.0, "c": 3.0}, times)["over_best"] == 1


@pytest.mark.parametrize("then, over", [(1.0, 1.0), (1.3, 1.3)])
def test_a_row_that_misses_is_measured_again(then, over):
    asked = []

    class Ways:
        def measure(self, row, calls, rounds):
            asked.append(rounds)
            return {"a": [1.2 if len(asked) == 1 else then] * rounds, "b": [1.0] * rounds}

    found = programs.compare(Ways(), rows.ROWS[0], [], {"a": 1.0, "b": 2.0}, 9)
    assert asked == [9, rows.ROUNDS_AGAIN]
    assert (found["over_best"], found["at_first"], found["rounds"]) == (pytest.approx(over), pytest.approx(1.2), rows.ROUNDS_AGAIN)
    assert "in 25 rounds; at first 1.20" in cli.table([found])
    assert "at_first" not in programs.compare(Ways(), rows.ROWS[0], [], {"b": 1.0, "a": 2.0}, 9) and len(asked) == 3
    assert "at_first" not in programs.compare(Ways(), rows.ROWS[0], [], {"a": 1.0, "b": 2.0}, 25) and len(asked) == 4


def test_a_machine_is_described_as_a_cluster(tmp_path, monkeypatch):
    class Measured:
        def __init__(self, folder, cores):
            self.cores = len(cores)

        def read_bandwidth(self, size, seconds):
            return 15e9 + 5e9 * self.cores

    class Products:
        def rate(self, dtype, threads):
            return (1.2e11 if dtype == "bfloat16" else 6e10) * threads

    def sent(program, cores, rounds, seconds, sizes):
        times = {("ping-pong", 8): 60, ("memcpy", sizes[0]): 1e4, ("put", sizes[0]): 1e5, ("put, read", sizes[0]): sizes[0] / 5}
        return [{"mode": mode, "round": 0, "bytes": bytes, "median_ns": time} for (mode, bytes), time in times.items()]

    monkeypatch.setattr(machine, "Machine", Measured)
    monkeypatch.setattr(machine.windows, "program", lambda folder: folder)
    monkeypatch.setattr(machine.windows, "measure", sent)
    machine.write(tmp_path / "a" / "m.json", machine.describe(tmp_path, [0, 1], 8e9, Products()))
    cluster = json.loads((tmp_path / "a" / "m.json").read_text())
    assert cluster["local"] == {"bytesPerSecond": pytest.approx(5e9), "latency": pytest.approx(6e-8)}
    device = cluster["device"]
    assert device["cores"] == 2 and device["coreFlops"] == pytest.approx(1.2e11) and device["coreVectorFlops"] == pytest.approx(6e10)
    assert (device["coreBytesPerSecond"], device["memoryBytesPerSecond"]) == (20e9, 25e9)


def test_products_of_the_compiler_are_measured(tmp_path, monkeypatch):
    """The call's median time decides, and the program is compiled once."""
    monkeypatch.setattr(products, "ROWS", 5)
    monkeypatch.setattr(products, "REPEAT", 3)
    lines = []
    measured = products.Products(tmp_path, compiler(), lines.append)
    for dtype in products.TYPES:
        assert 0 < measured.rate(dtype, 1) < 1e15
    assert measured.rate("float32", 1) > 0 and lines == ["compile a product in bfloat16", "compile a product in float32"]

    def answer(command, environment=None):
        with open(command[-1], "w") as samples:
            samples.write('{"call_ns": 4000}\n{"call_ns": 1000}\n{"call_ns": 2000}\n')

    monkeypatch.setattr(products, "run", answer)
    assert measured.rate("float32", 1) == pytest.approx(2 * 5 * products.WIDTH**2 / 2e-6)
    monkeypatch.setattr(products, "REPEAT", 4)
    with pytest.raises(products.BenchError, match="was to be measured 4 times, not 3"):
        measured.rate("float32", 1)


@pytest.mark.parametrize("arguments, code", [(["--list"], 0), (["--list", "--rows", "nothing"], 1), (["--rounds", "0"], 1)])
def test_command_line(arguments, code, capsys):
    assert cli.main(arguments) == code
    if not code:
        assert capsys.readouterr().out.splitlines() == [row.name for row in rows.ROWS]
