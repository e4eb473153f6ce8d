"""What the benchmarks' command lines have in common: exit codes, what a result file says about its command, preparing."""

import json
import os
import runpy
import subprocess
import sys

import pytest
from moe_bench import cli, commandline, report
from moe_bench.artifacts import REPOSITORY
from moe_bench.errors import BenchError
from moe_bench.layers import cli as layers_cli


@pytest.mark.parametrize("outcome, code, message", [
    (BenchError("no such layer", 2), 2, "error: no such layer\n"),
    (KeyboardInterrupt(), 130, "interrupted\n"),
    (None, 3, ""),
])
def test_exit_codes(capsys, outcome, code, message):
    def action(options):
        if outcome:
            raise outcome
        return 3

    assert commandline.run(cli.parser(), [], action) == code
    assert capsys.readouterr().err == message


def test_help_names_every_command():
    commands = runpy.run_path(str(REPOSITORY / "benchmarks" / "run"))["COMMANDS"]
    assert all(f"benchmarks/run {command} --help" in cli.EPILOG for command in commands)


def test_reader_that_leaves():
    command = [sys.executable, str(REPOSITORY / "benchmarks" / "run"), "layers", "--list"]
    for attempt in range(2):  # with and without a buffer
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "x" * attempt}) as run:
            run.stdout.close()
            assert (run.wait(), run.stderr.read()) == (141, b"")


@pytest.mark.parametrize("module", [cli, layers_cli])
def test_recorded_arguments_are_as_given(module):
    parser = module.parser()
    arguments = ["--rows=T1/,b4", "--dtype=float32", "--rounds=11", "--compiler=build/bin/moe-compile", "--name=first"]
    options = parser.parse_args([*arguments, "--compiler", str(REPOSITORY / "build" / "bin" / "moe-compile")])
    assert commandline.recorded(parser, options) == arguments
    assert commandline.recorded(parser, parser.parse_args([])) == []
    assert commandline.recorded(parser, parser.parse_args(["--prepare"])) == ["--prepare"]


def test_recorded_arguments_name_no_folder_outside(tmp_path):
    parser = layers_cli.parser()
    paths = ["--compiler", f"{tmp_path}/moe-compile", f"--results={tmp_path}", "--peer-folder", f"{tmp_path}/peers", "--figure", f"{tmp_path}/x.svg"]
    options = parser.parse_args([*paths, "--tables", f"{tmp_path}/a.jsonl", str(REPOSITORY / "benchmarks" / "results" / "b.jsonl")])
    expected = [
        "--compiler=moe-compile", "--peer-folder=peers", f"--results={tmp_path.name}", "--tables=a.jsonl,benchmarks/results/b.jsonl", "--figure=x.svg",
    ]  # fmt: skip
    assert commandline.recorded(parser, options) == expected


@pytest.mark.parametrize("module, flags", [(cli, ["--peers", "none"]), (layers_cli, ["--peers", "none"])])
def test_result_file_names_no_folder_of_the_machine(monkeypatch, tmp_path, module, flags):
    class Fake:
        def __init__(self, *arguments):
            self._results = next(a for a in arguments if isinstance(a, report.Results))

        def run(self, *rows):
            self._results.record({"type": "round"})
            raise BenchError("stopped", 70)

    monkeypatch.setattr(module, "Benchmark", Fake)
    monkeypatch.setenv("MOE_BUILD_DIR", str(tmp_path / "build"))
    assert module.main([*flags, "--compiler", str(tmp_path / "moe-compile"), "--results", str(tmp_path / "results")]) == 70
    (file,) = (tmp_path / "results").iterdir()
    text = file.read_text()
    assert "--compiler=moe-compile" in json.loads(text.splitlines()[0])["arguments"]
    assert str(tmp_path) not in text and str(REPOSITORY) not in text


def test_preparing_makes_each_layer_once(monkeypatch, tmp_path):
    made = []
    monkeypatch.setenv("MOE_BUILD_DIR", str(tmp_path))
    monkeypatch.setattr(layers_cli.LayerArtifacts, "library", lambda self, shape, dtype: made.append((shape.name, dtype)))
    assert layers_cli.main(["--prepare", "--shapes", "olmoe,mixtral", "--results", str(tmp_path / "results")]) == 0
    assert made == [(s, d) for s in ("olmoe", "mixtral") for d in ("bfloat16", "float32")]
    assert not (tmp_path / "results").exists()


def test_preparing_makes_what_the_parts_need(monkeypatch, tmp_path):
    made = []
    monkeypatch.setenv("MOE_BUILD_DIR", str(tmp_path))
    monkeypatch.setattr(cli.Artifacts, "exported", lambda self, model, dtype: made.append((model, dtype, "pt2")))
    monkeypatch.setattr(cli.Artifacts, "compiled", lambda self, model, dtype, emit: made.append((model, dtype, emit)))
    assert cli.main(["--prepare", "--models", "tiny", "--dtype", "float32"]) == 0
    assert made == [("tiny", "float32", kind) for kind in ("pt2", "exe", "lib")]
    assert cli.main(["--prepare", "--models", "tiny", "--dtype", "bfloat16", "--parts", "rows"]) == 0
    assert made[3:] == [("tiny", "bfloat16", kind) for kind in ("pt2", "lib")]
