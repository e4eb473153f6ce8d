"""Weights of a hand-written module from a .safetensors file."""

import ml_dtypes
import numpy as np
import pytest
from compiling import compile_model, expect_error, files
from safetensors.numpy import save_file

from moe_mlir import Executable

GRAPH = """module attributes {moe.level = "graph"} {
  func.func @main(%x: tensor<?x5xf32> {moe.name = "x"}) -> (tensor<?x3xf32> {moe.name = "y"}) {
    %w = moe.parameter ["layer.weight"] recipe [#moe.cast<f32>] : tensor<3x5xf32>
    %y = nn.linear %x, %w : tensor<?x5xf32>, tensor<3x5xf32> -> tensor<?x3xf32>
    return %y : tensor<?x3xf32>
  }
}
"""


@pytest.fixture
def source(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.mlir").write_text(GRAPH)
    return tmp_path / "in" / "a.mlir"


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float16])
def test_weights_are_found_by_name(source, tmp_path, dtype):
    weight = (np.arange(15).reshape(3, 5) - 7).astype(dtype)
    save_file({"layer.weight": weight, "other": np.ones(4, np.float64)}, source.parent / "w.safetensors")
    done = compile_model(source, "-o", tmp_path / "a", f"--weights={source.parent / 'w.safetensors'}", "-q")
    assert done.returncode == 0, done.stderr
    x = np.arange(10, dtype=np.float32).reshape(2, 5)
    np.testing.assert_array_equal(Executable(tmp_path / "a").run({"x": x})["y"], x @ weight.astype(np.float32).T)


@pytest.mark.parametrize("tensors, text", [
    ({"weight": np.zeros((3, 5), np.float32)}, "has no weight named 'layer.weight'"),
    ({"layer.weight": np.zeros((5, 3), np.float32)}, "the program expects 3x5xf32; '{path}' has 'layer.weight' of 5x3xf32"),
    # A shape of the same blocks, of another rank, and of none.
    ({"layer.weight": np.zeros((4, 5), np.float32)}, "the program expects 3x5xf32; '{path}' has 'layer.weight' of 4x5xf32"),
    ({"layer.weight": np.zeros(15, np.float32)}, "the program expects 3x5xf32; '{path}' has 'layer.weight' of 15xf32"),
    ({"layer.weight": np.zeros((), np.float32)}, "the program expects 3x5xf32; '{path}' has 'layer.weight' of f32"),
    ({"layer.weight": np.zeros((3, 5), np.int32)}, "no cast from i32 to f32"),
    (None, "is no safetensors file: it is shorter than 8 bytes"),
])
def test_weights_that_do_not_fit(source, tmp_path, tensors, text):
    path = source.parent / "w.safetensors"
    path.write_bytes(b"") if tensors is None else save_file(tensors, path)
    expect_error(compile_model(source, "-o", tmp_path / "a", f"--weights={path}", "-q"), 1, text.format(path=path))
    assert files(tmp_path) == ["in", "in/a.mlir", "in/w.safetensors"]
