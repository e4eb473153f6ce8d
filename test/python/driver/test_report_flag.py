"""`moe-compile --report` as a flag: where the report goes, when it appears, what is refused. Numbers: numerics/."""

import json
import pathlib
import re

import pytest

from compiling import compile_model, expect_error, files

LAYER = """module attributes {moe.level = "graph"} {
  func.func @main(%x: tensor<?x64xf32> {moe.name = "x", moe.dims = ["tokens", ""]}, %w: tensor<32x64xf32>)
      -> (tensor<?x32xf32> {moe.name = "y", moe.dims = ["tokens", ""]}) {
    %y = nn.linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
    return %y : tensor<?x32xf32>
  }
}
"""


@pytest.fixture
def layer(tmp_path):
    path = tmp_path / "in" / "layer.mlir"
    path.parent.mkdir()
    path.write_text(LAYER)
    return path


def test_table_goes_to_standard_output(layer, tmp_path):
    done = compile_model(layer, "-o", tmp_path / "program", "--report")
    assert done.returncode == 0, done.stderr
    assert "linear_32x64_f32" in done.stdout and "\ntotal" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("linear_32x64_f32  #x86.plan<")
    assert files(tmp_path) == ["in", "in/layer.mlir", "program", "program.weights"]


def test_same_table_and_json_in_files(layer, tmp_path):
    table = compile_model(layer, "--to=kernel", "-o", tmp_path / "k.mlir", "--report").stdout
    for name in ("report.txt", "report.json"):
        assert compile_model(layer, "--to=kernel", "-o", tmp_path / "k.mlir",
                             f"--report={tmp_path / name}").returncode == 0
    assert (tmp_path / "report.txt").read_text() == table
    report = json.loads((tmp_path / "report.json").read_text())
    assert [each["name"] for each in report["layers"]] == ["main"]
    linear = report["layers"][0]["launches"][-1]
    assert linear["flops"] == {"expression": "4096*tokens", "size 128": 2 * 128 * 64 * 32, "size 1": 2 * 64 * 32}
    # A later level and another run say the same.
    assert compile_model(tmp_path / "k.mlir", "-o", tmp_path / "program",
                         f"--report={tmp_path / 'again.json'}").returncode == 0
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "report.json").read_bytes()


def test_nothing_appears_when_compilation_fails(layer, tmp_path):
    layer.write_text(LAYER.replace('["tokens", ""]}, %w', '["tokens"]}, %w'))
    done = compile_model(layer, "-o", tmp_path / "program", f"--report={tmp_path / 'report.json'}")
    assert done.returncode != 0
    assert files(tmp_path) == ["in", "in/layer.mlir"]


def test_refused(layer, tmp_path):
    report = f"--report={tmp_path / 'report.json'}"
    expect_error(compile_model(layer, "--to=scheduled", report), 1, "--report describes level kernel, which --to=scheduled "
                 "does not reach")
    expect_error(compile_model(layer, "--to=kernel", "--report"), 1, "the IR and the report would both go to standard output")
    expect_error(compile_model(layer, "-o", tmp_path / "program", f"--report={tmp_path / 'none' / 'report.json'}"), 1,
                 "cannot write", "there is no folder")
    expect_error(compile_model(layer, "-o", tmp_path / "program", f"--report={tmp_path}"), 1, "it is a folder")
    runtime = tmp_path / "runtime.mlir"
    assert compile_model(layer, "--to=runtime", "-o", runtime).returncode == 0
    expect_error(compile_model(runtime, "-o", tmp_path / "program", report), 1,
                 "--report describes level kernel; the input is at level runtime already")
    assert files(tmp_path) == ["in", "in/layer.mlir", "runtime.mlir"]


def test_device_full(layer, tmp_path):
    expect_error(compile_model(layer, "--to=kernel", "-o", tmp_path / "k.mlir", "--report=/dev/full"), 1, "/dev/full")


def test_documentation_lists_the_flags():
    """The table in docs/Compiler.md has the flags of --help, with the same words."""
    in_help = {}
    for line in compile_model("--help").stdout.split("Options:\n")[-1].splitlines():
        if match := re.match(r"  (-\S+(?: <file>)?) +- (.*)", line):
            in_help[match[1]] = match[2]
    docs = pathlib.Path(__file__).parents[3] / "docs" / "Compiler.md"
    in_docs = dict(re.findall(r"^\| `(-[^`]+)` \| (.*) \|$", docs.read_text(), re.MULTILINE))
    assert in_docs == in_help
