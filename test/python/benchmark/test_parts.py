"""The benchmark's rows, command line, samplers and limits."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from moe_bench import cli, compiling, executable, report
from moe_bench.errors import BenchError
from moe_bench.machine import Machine
from moe_bench.memory import PeakSampler
from moe_bench.rows import CACHE_LENGTH, Row, all_rows, select

RUN = Path(__file__).resolve().parents[3] / "benchmarks" / "run"


def test_rows():
    rows = all_rows()
    assert len(rows) == len({r.name for r in rows}) == 2 * 2 * 5 * 2 + 2 * 3
    assert max(r.position + r.new_tokens for r in rows) <= CACHE_LENGTH
    assert [r.name for r in select(rows, ["1b"], ["bfloat16"], ["decode-*/b1"])] == ["1b/bfloat16/decode-128/b1", "1b/bfloat16/decode-512/b1"]
    assert len(select(rows, patterns=["prefill-16/"])) == 8


def test_tokens_of_a_row():
    row = Row("tiny", "float32", "decode", 128, 4)
    context, tokens = row.tokens(50)
    assert [len(r) for r in context] == [128] * 4 and [len(r) for r in tokens] == [1] * 4
    assert {t for r in context for t in r} <= set(range(50)) and context[0] != context[1]
    assert Row("1b", "bfloat16", "decode", 128, 4).tokens(50) == (context, tokens)
    assert Row("tiny", "float32", "prefill", 16, 1).tokens(50)[0] == [[]]


def test_list():
    done = subprocess.run([sys.executable, RUN, "--list", "--models", "tiny", "--rows", "b4"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[:2] == ["tiny/float32/prefill-16/b4", "tiny/float32/prefill-128/b4"]


@pytest.mark.parametrize("arguments, message", [
    (["--models", "huge"], "error: --models: 'huge' is not known; choose from: tiny, 1b"),
    (["--models", "huge"], "choose from: tiny, 1b, 0.9b"),
    (["--dtype", "int8"], "error: --dtype: 'int8' is not known; choose from: float32, bfloat16"),
    (["--peers", "tvm"], "error: --peers: 'tvm' is not known; choose from: llama.cpp"),
    (["--peer-folder", "/nowhere"], "error: peers llama.cpp are not installed: run scripts/bench-peers, or choose others with --peers"),
    (["--rows", "prefill-17"], "error: no row matches; --list shows their names"),
    (["--threads", "0"], "error: --threads: 0 is not between 1 and the"),
    (["--rounds", "0"], "error: --rounds must be at least 1"),
    (["--name", "a/b"], "error: --name: 'a/b' is part of a file name and cannot contain '/'"),
    (["--rounds", "x"], "invalid int value: 'x'"),
])
def test_wrong_arguments(capsys, arguments, message):
    assert cli.main(arguments) == 1
    assert message in capsys.readouterr().err


def test_result_file_without_measurements_is_removed(tmp_path):
    results = report.Results(tmp_path / "a.jsonl")
    results.record({"type": "environment"})
    assert not results.close() and not results.path.exists()
    results = report.Results(tmp_path / "b.jsonl")
    results.record({"type": "environment"})
    results.record({"type": "round", "seconds": 1})
    assert results.close()
    assert [json.loads(line)["type"] for line in results.path.read_text().splitlines()] == ["environment", "round"]


def test_rows_below_their_goal_are_marked():
    summary = {
        "row": "tiny/float32/prefill-16/b1", "ratio": 0.97, "low": 0.9, "high": 1.1, "seconds": 0.0123, "tokens_per_second": 1300.0, "peer": "eager",
        "peer_seconds": 0.0119, "floor": 0.5, "peer_floor": 0.52, "bandwidth": 30e9, "logits_difference": 1e-6, "disturbed": 0,
    }
    assert report.row_line(summary).endswith("BELOW 1.0")
    assert "BELOW" not in report.row_line({**summary, "ratio": 1.0})
    assert "12.3 ms" in report.row_line(summary)


def test_phases_of_the_compiler():
    text = "[1/3]    0.25 s read model.pt2\nmoe-compile: error: 3 s\n[2/3]   12.50 s pack weights\n[3/3]    1.00 s link\n        13.75 s model\n"
    listed = compiling.phases(text)
    assert listed == [("read model.pt2", 0.25), ("pack weights", 12.5), ("link", 1.0)]
    assert compiling.copy_seconds(listed) == 12.5
    with pytest.raises(compiling.BenchError, match=r"no phase that copies the weights \(phases: link\)"):
        compiling.copy_seconds([("link", 1.0)])


def script(path, text):
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)
    return path


def test_compile_is_measured(tmp_path):
    compiler = script(tmp_path / "moe-compile", """
import sys, time
assert sys.argv[1].endswith("model.pt2") and sys.argv[2] == "-o" and sys.argv[4] == "--emit=exe", sys.argv
x = bytearray(b"1") * (64 << 20)
time.sleep(0.2)
open(sys.argv[3], "w").close()
print("[1/2]    0.10 s lower to graph", file=sys.stderr)
print("[2/2]    0.07 s pack weights", file=sys.stderr)
""")
    exported = tmp_path / "model.pt2"
    exported.write_bytes(b"exported")
    result = compiling.measure(compiler, exported, "1b", "float32")
    assert result["weights_seconds"] == 0.07 and result["seconds"] > 0.2
    assert 64 << 20 < result["private_bytes"] < 100 << 20
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.pt2", "moe-compile"]
    script(compiler, "import sys; sys.exit('moe-compile: error: unsupported')")
    with pytest.raises(compiling.BenchError, match="failed with exit code 1:\nmoe-compile: error: unsupported"):
        compiling.measure(compiler, exported, "1b", "float32")


def test_executable_is_measured(tmp_path):
    model = script(tmp_path / "model", """
import sys, time
assert sys.argv[1:3] == ["--ids", "--generate"] and sys.argv[4] == "--max-new-tokens", sys.argv
if len(sys.argv[3].split()) == 128:
    x = bytearray(b"1") * (64 << 20)
    time.sleep(0.2)
""")
    (tmp_path / "model.weights").write_bytes(bytes(5 << 20))
    result = executable.measure(model, "tiny", "float32")
    assert len(result["samples"]) == executable.STARTS and 0 < result["start_seconds"] < 5
    assert len(result["cold_samples"]) == len(result["read_samples"]) == executable.COLD_STARTS
    assert result["cold_seconds"] > 0 < result["read_seconds"]
    assert result["bytes"] == (5 << 20) + model.stat().st_size
    header, line = report.process_table([result], {}).splitlines()
    assert header.split()[3:8] == ["cold", "s", "(read)", "files", "MiB"] and line.split()[5] == "5.0"
    assert 64 << 20 < result["anonymous"] < result["resident"] < 120 << 20


def test_limits_of_compiling():
    def result(model, seconds, weights, mib):
        return {"model": model, "dtype": "float32", "seconds": seconds, "weights_seconds": weights, "private_bytes": mib << 20}

    assert compiling.failures([result("tiny", 4.9, 0.1, 100), result("1b", 69, 10, 299)]) == []
    assert compiling.failures([result("tiny", 5.3, 0.1, 100), result("1b", 71, 10, 301)]) == [
        "compile tiny float32: 5.2 s without the weights, at most 5 s is the goal",
        "compile 1b float32: 61.0 s without the weights, at most 60 s is the goal",
        "compile 1b float32: 201 MiB of private memory more than the tiny model, at most 200 is the goal",
    ]


def test_private_memory_of_a_process_and_its_child():
    grow = "import time; x = bytearray(b'1') * (48 << 20); time.sleep(0.3)"
    both = f"import subprocess, sys; x = bytearray(b'1') * (48 << 20); subprocess.run([sys.executable, '-c', {grow!r}])"
    process = subprocess.Popen([sys.executable, "-c", both])
    with PeakSampler(process.pid, "smaps_rollup", ("Private_Dirty",)) as sampler:
        assert process.wait() == 0
    assert 96 << 20 < sampler.peaks["Private_Dirty"] < 140 << 20


def test_machine(tmp_path):
    machine = Machine(tmp_path, [0])
    assert machine.read_bandwidth(1 << 20, seconds=0.01) > 1e8
    (tmp_path / "weights").write_bytes(b"\1" * (1 << 20))
    assert machine.file_bandwidth(tmp_path / "weights", seconds=0.01) > 1e8
    for unreadable in ("none", "empty"):
        (tmp_path / "empty").touch()
        with pytest.raises(BenchError, match="cannot map"):
            machine.file_bandwidth(tmp_path / unreadable)
    assert machine.peak("bfloat16", seconds=0.01) > 1e8 and machine.peak("float32", seconds=0.01) > 1e8
