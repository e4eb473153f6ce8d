"""The file of weights that --weights names is recorded in every level: a dump compiles alone, from anywhere."""

import re

import numpy as np
import pytest
from compiling import compile_model, expect_error, files, pack
from safetensors.numpy import save_file

from moe_mlir import Executable

LEVELS = ["0_graph", "1_spmd", "2_scheduled", "3_kernel", "4_runtime"]
LAYER = """module attributes {moe.level = "graph"} {
  func.func @main(%x: tensor<?x5xf32> {moe.name = "x"}) -> (tensor<?x3xf32> {moe.name = "y"}) {
    %w = moe.parameter ["w"] : tensor<3x5xf32>
    %y = nn.linear %x, %w : tensor<?x5xf32>, tensor<3x5xf32> -> tensor<?x3xf32>
    return %y : tensor<?x3xf32>
  }
}
"""
X = np.arange(10, dtype=np.float32).reshape(2, 5)
WEIGHT = np.arange(15, dtype=np.float32).reshape(3, 5) - 7


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "else").mkdir()
    (tmp_path / "in" / "a.mlir").write_text(LAYER)
    save_file({"w": WEIGHT}, tmp_path / "in" / "w.safetensors")
    return tmp_path


def compiled(folder, *arguments):
    done = compile_model(*arguments, "-q", cwd=folder)
    assert done.returncode == 0, done.stderr


def result(program):
    return Executable(program).run({"x": X})["y"]


@pytest.mark.parametrize("level", LEVELS)
def test_a_dump_compiles_alone(folder, level):
    """From another folder than the one that the weights' name was relative to."""
    compiled(folder / "in", "a.mlir", "--weights=w.safetensors", "-o", "b", "--dump-intermediates=ir")
    compiled(folder / "else", f"../in/ir/{level}.mlir", "-o", "b")
    np.testing.assert_array_equal(result(folder / "else" / "b"), X @ WEIGHT.T)


@pytest.mark.parametrize("level", ["graph", "kernel", "runtime"])
def test_so_does_what_is_printed(folder, level):
    compiled(folder / "in", "a.mlir", "--weights=../in/w.safetensors", f"--to={level}", "-o", "../else/level.mlir")
    compiled(folder, "else/level.mlir", "-o", "else/b")
    np.testing.assert_array_equal(result(folder / "else" / "b"), X @ WEIGHT.T)


def test_the_flag_replaces_what_the_module_names(folder):
    save_file({"w": 2 * WEIGHT}, folder / "in" / "w2.safetensors")
    compiled(folder / "in", "a.mlir", "--weights=w.safetensors", "--to=graph", "-o", "one.mlir")
    compiled(folder / "in", "one.mlir", "--weights=w2.safetensors", "--to=scheduled", "-o", "two.mlir")
    compiled(folder / "in", "two.mlir", "-o", "b")
    np.testing.assert_array_equal(result(folder / "in" / "b"), X @ (2 * WEIGHT).T)


def test_weights_that_changed(folder):
    """The dump names the content: other weights in the same place are not taken for them."""
    compiled(folder / "in", "a.mlir", "--weights=w.safetensors", "--to=graph", "-o", "level.mlir")
    save_file({"w": 2 * WEIGHT}, folder / "in" / "w.safetensors")
    before = files(folder)
    done = compile_model("level.mlir", "-o", "b", "--progress=none", cwd=folder / "in")
    expect_error(done, 1, f"'{folder / 'in' / 'w.safetensors'}' has changed: its content id is ")
    assert files(folder) == before


def test_a_name_that_the_module_gives(folder):
    """It is relative to where the module is compiled, and absolute in what is printed."""
    (folder / "in" / "a.mlir").write_text(LAYER.replace('"graph"', '"graph", moe.weights = {source = "w.safetensors"}'))
    compiled(folder / "in", "a.mlir", "--to=graph", "-o", "../else/level.mlir")
    compiled(folder / "else", "level.mlir", "-o", "b")
    np.testing.assert_array_equal(result(folder / "else" / "b"), X @ WEIGHT.T)


def test_no_weights_are_recorded_too(folder):
    compiled(folder / "in", "a.mlir", "--weights=none", "--to=graph", "-o", "level.mlir")
    done = compile_model("level.mlir", "-o", "b", "--progress=none", cwd=folder / "in")
    assert (done.returncode, done.stderr) == (0, "  note: the program has no weights: run it with --random-weights\n")
    # And the flag still says otherwise.
    compiled(folder / "in", "level.mlir", "-o", "c", "--weights=w.safetensors")
    np.testing.assert_array_equal(result(folder / "in" / "c"), X @ WEIGHT.T)


def test_a_level_of_an_exported_model(tmp_path):
    """--weights with a .pt2: the other file's content id is recorded, not the model's own."""
    pack(tmp_path / "a.pt2", "tiny.json")
    pack(tmp_path / "other.pt2", "tiny.json", "set", "data", '{"proj.weight": "%s", "one": "0000803f"}' % np.arange(6, dtype=np.float32).tobytes().hex())
    compiled(tmp_path, "a.pt2", "--to=graph", "-o", "plain.mlir")
    compiled(tmp_path, "a.pt2", "--weights=other.pt2", "--to=graph", "-o", "level.mlir")
    plain, level = (re.search('id = "(.*?)", source = "(.*?)"', (tmp_path / name).read_text()).groups() for name in ("plain.mlir", "level.mlir"))
    assert plain[1] == str(tmp_path / "a.pt2") and level[1] == str(tmp_path / "other.pt2") and plain[0] != level[0]


def test_where_weights_lie_does_not_change_the_program(folder):
    """The same weights in another place give the same bits."""
    (folder / "else" / "w.safetensors").write_bytes((folder / "in" / "w.safetensors").read_bytes())
    for place in ("in", "else"):
        compiled(folder / place, folder / "in" / "a.mlir", "--weights=w.safetensors", "-o", "b")
    for name in ("b", "b.weights"):
        assert (folder / "in" / name).read_bytes() == (folder / "else" / name).read_bytes()


def test_missing_weights_are_found_before_the_work(folder):
    done = compile_model("a.mlir", "--weights=none.safetensors", "-o", "b", "--dump-intermediates=ir", "--progress=none", cwd=folder / "in")
    expect_error(done, 1, "cannot read 'none.safetensors': No such file or directory")
    assert not (folder / "in" / "ir").exists()
