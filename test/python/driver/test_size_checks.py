"""A layer written by hand that takes rows for another layout's: an error of the program, not memory of somebody else."""

import re

import numpy as np
import pytest
import torch

from moe_mlir import Executable
from moe_mlir.errors import Error
from moe_mlir.executable import ExecutableError
from moe_mlir.testing.compiling import moe_compile

LAYER = """
func.func @main(%x: tensor<?x64xf32> {moe.name = "x", moe.dims = ["t", ""]},
                %experts: tensor<?x2xi32> {moe.name = "experts", moe.dims = ["t", ""]},
                %weights: tensor<?x2xf32> {moe.name = "weights", moe.dims = ["t", ""]},
                %y: tensor<?x64xf32> {moe.name = "y", moe.dims = ["r", ""]})
    -> (tensor<?x64xf32> {moe.name = "out", moe.dims = ["t", ""]}) {
  %rows, %layout = moe.dispatch %x, %experts num_experts(8) : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<8>
  %out = moe.combine %y, %layout weights(%weights : tensor<?x2xf32>) : tensor<?x64xf32>, !moe.layout<8> -> tensor<?x64xf32>
  return %out : tensor<?x64xf32>
}
"""


@pytest.fixture(scope="module")
def layer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layer")
    (folder / "layer.mlir").write_text(LAYER)
    return Executable(moe_compile(folder / "layer.mlir", folder / "layer", "--from=graph"))


def inputs(tokens, rows):
    return {"x": np.ones((tokens, 64), np.float32), "experts": np.tile(np.int32([0, 1]), (tokens, 1)),
            "weights": np.ones((tokens, 2), np.float32), "y": np.arange(rows * 64, dtype=np.float32).reshape(rows, 64)}


@pytest.mark.parametrize("tokens,rows", [(20_000, 20_000), (3, 5), (3, 7), (3, 0), (0, 1)])
def test_rows_of_another_layout(layer, tokens, rows):
    with pytest.raises(ExecutableError) as caught:
        layer.run(inputs(tokens, rows))
    assert caught.value.exit_code == 1
    lines = caught.value.stderr.strip().splitlines()
    assert len(lines) == 1 and f"R is {2 * tokens} in the layout but {rows} in rows (moe.combine at " in lines[0]
    assert "layer.mlir:8)" in lines[0]


@pytest.mark.parametrize("tokens", [0, 1, 70])
def test_rows_of_the_layout(layer, tokens):
    given = inputs(tokens, 2 * tokens)
    assert np.array_equal(layer.run(given)["out"], given["y"][:tokens] + given["y"][tokens:])


def test_rows_that_no_size_makes_right(tmp_path):
    """What the types show is an error of the compiler."""
    text = LAYER.replace("%experts: tensor<?x2xi32>", "%experts: tensor<3x2xi32>").replace('experts", moe.dims = ["t", ""]', 'experts"')
    text = text.replace("%y: tensor<?x64xf32>", "%y: tensor<3x64xf32>").replace('"y", moe.dims = ["r", ""]', '"y"')
    text = text.replace(", tensor<?x2xi32> ->", ", tensor<3x2xi32> ->").replace(": tensor<?x64xf32>, !moe.layout<8> ->", ": tensor<3x64xf32>, !moe.layout<8> ->")
    (tmp_path / "layer.mlir").write_text(text)
    with pytest.raises(Error, match="R is 6 in the layout but 3 in rows"):
        moe_compile(tmp_path / "layer.mlir", tmp_path / "layer", "--from=graph")
    assert [path.name for path in tmp_path.iterdir()] == ["layer.mlir"]


HUGE = """
func.func @main(%x: tensor<?xf32> {moe.name = "x", moe.dims = ["t"]}) -> (tensor<2xf32> {moe.name = "out"}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %most = arith.constant 2305843009213693952 : index
  %one = arith.constant 1.0 : f32
  %t = tensor.dim %x, %c0 : tensor<?xf32>
  %more = arith.muli %t, %most : index
  %n = arith.addi %more, %c2 : index
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %out = tensor.extract_slice %f[0] [2] [1] : tensor<?xf32> to tensor<2xf32>
  return %out : tensor<2xf32>
}
"""


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 8, 9])
def test_memory_that_no_machine_has(rows, tmp_path):
    """Times 4 bytes, the sizes are beyond 64 bits; 8 rows leave nothing of it, as for every number that wraps around."""
    (tmp_path / "layer.mlir").write_text(HUGE)
    program = Executable(moe_compile(tmp_path / "layer.mlir", tmp_path / "layer", "--from=graph"))
    given = {"x": np.ones(rows, np.float32)}
    if rows % 8 == 0:
        assert np.array_equal(program.run(given)["out"], np.ones(2, np.float32))
        return
    with pytest.raises(ExecutableError) as caught:
        program.run(given)
    text = caught.value.stderr.strip()
    assert caught.value.exit_code == 1 and "\n" not in text
    assert "out of memory: scratch memory needs 9223372036854775807 bytes" in text or " (tensor." in text


class Pairs(torch.nn.Module):
    """Takes two rows of `pairs` for each of `x`."""

    def forward(self, x, pairs):
        return x[:, None] + pairs.view(x.shape[0], 2, 4)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    t = torch.export.Dim("t", min=2, max=1000)
    program = torch.export.export(Pairs(), (torch.ones(3, 4), torch.ones(6, 4)), dynamic_shapes=({0: t}, {0: 2 * t}), strict=False)
    torch.export.save(program, folder / "m.pt2")
    assert re.search(r'moe.dims = \["2\*s\d+"', moe_compile(folder / "m.pt2", folder / "m.mlir", "--to=graph").read_text())
    return Executable(moe_compile(folder / "m.pt2", folder / "m"))


def test_a_size_that_is_computed_has_a_name(pairs):
    """The one by which `--size` gives it."""
    (rows, _), (others, columns) = [shape for _, shape in pairs.inputs.values()]
    assert (others, columns) == (f"2*{rows}", 4)
    said = pairs.call("--benchmark", "--repeat=1", "--size", f"{rows}=3", "--size", f"{others}=6").stdout.decode()
    assert f"{others} 6" in said and f"{others} (" in pairs.call("--info").stdout.decode()


@pytest.mark.parametrize("rows,others", [(3, 6), (5, 10), (3, 7), (3, 5), (3, 4), (4, 6), (9, 4)])
def test_an_input_of_twice_the_size_of_another(pairs, rows, others):
    """torch.export states the second size as 2*s77."""
    given = {"x": np.arange(rows * 4, dtype=np.float32).reshape(rows, 4), "pairs": np.ones((others, 4), np.float32)}
    if others == 2 * rows:
        [result] = pairs.run(given).values()
        assert np.array_equal(result, given["x"][:, None] + given["pairs"].reshape(rows, 2, 4))
        return
    with pytest.raises(ExecutableError) as caught:
        pairs.run(given)
    assert caught.value.exit_code == 1 and len(caught.value.stderr.strip().splitlines()) == 1
    assert f"{4 * others} elements are reshaped to {8 * rows} (tensor.reshape at test_size_checks.py:" in caught.value.stderr


@pytest.mark.parametrize("rows,others", [(3, 3), (4, 2), (3, 0)])
def test_an_input_of_less_than_twice_the_least_size(pairs, rows, others):
    """The range of t, from 2 on, gives 2*t one as well, which tells it before the program begins."""
    with pytest.raises(ExecutableError, match=f"input 'pairs' is {others} x 4 x f32, the program expects .* \\(4 to 2000\\) x 4 x f32"):
        pairs.run({"x": np.ones((rows, 4), np.float32), "pairs": np.ones((others, 4), np.float32)})


@pytest.mark.parametrize("columns", [4, 9, 3, 0])
def test_a_slice_of_a_dimension_that_may_be_too_short(tmp_path, columns):
    (tmp_path / "m.mlir").write_text("""
func.func @main(%x: tensor<?x?x4xf32> {moe.name = "x", moe.dims = ["b", "t", ""]}) -> (tensor<?x1x4xf32> {moe.name = "y", moe.dims = ["b", "", ""]}) {
  %c0 = arith.constant 0 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x4xf32>
  %y = tensor.extract_slice %x[0, 3, 0] [%b, 1, 4] [1, 1, 1] : tensor<?x?x4xf32> to tensor<?x1x4xf32>
  return %y : tensor<?x1x4xf32>
}
""")
    with Executable(moe_compile(tmp_path / "m.mlir", tmp_path / "m", "--from=graph")) as executable:
        x = np.arange(3 * columns * 4, dtype=np.float32).reshape(3, columns, 4)
        if columns > 3:
            assert np.array_equal(executable.run({"x": x})["y"], x[:, 3:4])
            return
        with pytest.raises(Error, match=f"dimension 1 must be at least 4 for the slice, but is {columns} "):
            executable.run({"x": x})
