"""Elements of tensors by which the host program decides, on the emulated GPU: it waits for the kernel that makes them, and reads them there."""

import numpy as np
import pytest
from cuda_program import needs_cuda
from emulated_program import build

pytestmark = needs_cuda
X = np.arange(36, dtype=np.float32).reshape(9, 4)
# y: two rows of x from the element i[1] on, doubled. z: the rows i of x. The sum i = k + j is a kernel's, so that nobody knows its elements before.
# w: the first m rows of x, doubled.
GRAPH = """
func.func @main(%x: tensor<9x4xf32> {moe.name = "x"}, %k: tensor<?xi64> {moe.name = "k", moe.dims = ["n"]}, %j: tensor<?xi64> {moe.name = "j", moe.dims = ["n"]},
                %m: tensor<i64> {moe.name = "m"})
    -> (tensor<2x4xf32> {moe.name = "y"}, tensor<?x4xf32> {moe.name = "z", moe.dims = ["n", ""]}, tensor<?x4xf32> {moe.name = "w", moe.dims = ["m", ""]}) {
  %wanted = tensor.extract %m[] : tensor<i64>
  %count = arith.index_cast %wanted : i64 to index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %k, %c0 : tensor<?xi64>
  %numbers = tensor.empty(%n) : tensor<?xi64>
  %i = linalg.add ins(%k, %j : tensor<?xi64>, tensor<?xi64>) outs(%numbers : tensor<?xi64>) -> tensor<?xi64>
  %second = tensor.extract %i[%c1] : tensor<?xi64>
  %at = arith.index_cast %second : i64 to index
  %two = tensor.extract_slice %x[%at, 0] [2, 4] [1, 1] : tensor<9x4xf32> to tensor<2x4xf32>
  %pair = tensor.empty() : tensor<2x4xf32>
  %y = linalg.add ins(%two, %two : tensor<2x4xf32>, tensor<2x4xf32>) outs(%pair : tensor<2x4xf32>) -> tensor<2x4xf32>
  %rows = tensor.empty(%n) : tensor<?x4xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]} ins(%i : tensor<?xi64>) outs(%rows : tensor<?x4xf32>) {
  ^bb0(%index: i64, %unused: f32):
    %row = arith.index_cast %index : i64 to index
    %column = linalg.index 1 : index
    %element = tensor.extract %x[%row, %column] : tensor<9x4xf32>
    linalg.yield %element : f32
  } -> tensor<?x4xf32>
  %first = tensor.extract_slice %x[0, 0] [%count, 4] [1, 1] : tensor<9x4xf32> to tensor<?x4xf32>
  %some = tensor.empty(%count) : tensor<?x4xf32>
  %w = linalg.add ins(%first, %first : tensor<?x4xf32>, tensor<?x4xf32>) outs(%some : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %y, %z, %w : tensor<2x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reads")
    run = build(GRAPH, folder)
    text = (folder / "ir" / "4_runtime.mlir").read_text()
    assert "moert.read" in text

    def call(k, j, device="cuda:0", m=5, **options):
        for name, value in {"x": X, "k": np.array(k), "j": np.array(j), "m": np.array(m)}.items():
            np.save(folder / f"{name}.npy", value)
        arguments = [word for name in "xkjm" for word in ("--input", f"{name}=@{folder / name}.npy")]
        done = run(*arguments, "--output-dir", folder / "out", "--device", device, **options)
        return done if done.returncode else tuple(np.load(folder / "out" / f"{name}.npy") for name in "yzw")

    return call


@pytest.mark.parametrize("indices", [[2, 7, 0], [8, 0], [3, 5, 8, 8, 1] * 20])
def test_rows_at_elements(program, indices):
    part = np.arange(len(indices)) - 3
    for seed, m in ((1, 9), (2, 0)):  # whichever warp is first
        y, z, w = program(indices - part, part, m=m, seed=seed)
        np.testing.assert_array_equal(y, 2 * X[indices[1] : indices[1] + 2])
        np.testing.assert_array_equal(z, X[indices])
        np.testing.assert_array_equal(w, 2 * X[:m])


@pytest.mark.parametrize("indices", [[2, 8, 0], [2, -1, 0], [2, 7, 9], [-1, 7, 0], [2, 2**40, 0], [3]])
def test_errors_are_those_of_a_cpu(program, indices):
    part = np.full(len(indices), 5)
    on_gpu, on_cpu = (program(indices - part, part, device, fails=True) for device in ("cuda:0", "cpu"))
    assert on_gpu.returncode == on_cpu.returncode == 1
    assert on_gpu.stderr == on_cpu.stderr and "graph.mlir:" in on_gpu.stderr


@pytest.mark.parametrize("m", [10, -1])
def test_errors_of_sizes(program, m):
    on_gpu, on_cpu = (program([2, 3], [0, 0], device, m=m, fails=True) for device in ("cuda:0", "cpu"))
    assert on_gpu.returncode == on_cpu.returncode == 1
    assert on_gpu.stderr == on_cpu.stderr and str(m) in on_gpu.stderr
