"""The command line of the layer benchmark, up to its first measurement."""

import pytest
from moe_bench import report
from moe_bench.layers import cli
from moe_bench.layers.rows import all_rows
from moe_bench.layers.sides import PEERS


@pytest.mark.parametrize("arguments, message", [
    (["--shapes", "none"], "error: --shapes: 'none' is not known; choose from: olmoe, qwen3, mixtral"),
    (["--dtype", "int8"], "error: --dtype: 'int8' is not known; choose from: bfloat16, float32"),
    (["--peers", "ggml,tvm"], "error: --peers: 'tvm' is not known; choose from: pytorch, onednn, ggml, onnxruntime, openvino"),
    (["--rows", "T3"], "error: no row matches; --list shows their names"),
    (["--rounds", "0"], "error: --rounds must be at least 1, --turn-seconds and --row-seconds above 0"),
    (["--name", "a/b"], "error: --name: 'a/b' is part of a file name and cannot contain '/'"),
    (["--threads", "100000"], "error: --threads: 100000 is not between 1 and the"),
])
def test_wrong_input(capsys, arguments, message):
    assert cli.main(arguments) == 1
    assert capsys.readouterr().err.startswith(message)


def test_peers_are_not_installed(capsys, tmp_path):
    assert cli.main(["--peer-folder", str(tmp_path), "--results", str(tmp_path / "results")]) == 1
    assert "run scripts/bench-peers" in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


def test_list(capsys):
    assert cli.main(["--list", "--shapes", "mixtral", "--dtype", "bfloat16", "--rows", "T1/"]) == 0
    assert capsys.readouterr().out == "mixtral/bfloat16/T1/uniform\nmixtral/bfloat16/T1/zipf\n"


def test_groups_of_peers_share_the_seconds_of_a_row(monkeypatch, tmp_path):
    class Artifacts:
        folder = tmp_path
        library = lambda self, shape, dtype: tmp_path / shape.name / "layer.so"
        data = lambda self, shape: tmp_path / shape.name

    measured, evicted = [], []
    monkeypatch.setattr(cli, "Machine", lambda *arguments: None)
    monkeypatch.setattr(cli, "work_of", lambda *arguments: {})
    monkeypatch.setattr(cli, "summarize", lambda row, work, parts: {"row": row.name})
    monkeypatch.setattr(cli, "available_memory", lambda: 12e9)
    monkeypatch.setattr(cli, "evict", lambda path: evicted.append(path.relative_to(tmp_path).as_posix()))
    monkeypatch.setattr(cli.Benchmark, "_measure", lambda self, *given: measured.append([p.name for p in given[4]] + [given[6]]))
    options = cli.parser().parse_args(["--row-seconds", "9"])
    benchmark = cli.Benchmark(options, Artifacts(), None, report.Results(tmp_path / "results"), print)
    rows = [r for r in all_rows() if r.name.startswith(("mixtral/float32/T1/", "olmoe/float32/T1/"))]
    assert [s["row"] for s in benchmark.run(rows, PEERS)] == [r.name for r in rows]
    every = [p.name for p in PEERS]
    assert measured == [[*every, 9], [*every[:2], 3], [*every[2:4], 3], [*every[4:], 3]]
    # What a layer has in the page cache makes room for the next one.
    assert evicted == [f"{shape}/{file}" for shape in ("olmoe", "mixtral") for file in ("layer.so.weights", "weights.safetensors")]
