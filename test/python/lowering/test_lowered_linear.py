"""nn.linear: types, odd sizes, leading dimensions, weights from the archive and computed ones."""

import numpy as np
import pytest

from graph import BF16, CPUS, assert_close, graph, pack, random, tensor

from moe_mlir.testing.full import sample


SIZES = [(96, 32), (7, 5), (64, 64), (130, 33)]
# Every size in f32; of the other types one with everything odd, as what they change is not the size's.
TYPES = [(size, dtype) for dtype in (np.float32, BF16, np.float16) for size in SIZES]


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("size,dtype", sample(TYPES, 0, 1, 2, 3, 7, 11))
def test_any_size(size, dtype, cpu):
    n, k = size
    x_type, w_type, y_type = (tensor(s, dtype) for s in [(None, k), (n, k), (None, n)])
    program = graph(f"""
    func.func @main(%x: {x_type}, %b: {tensor((n,), dtype)}) -> {y_type} {{
      %w = moe.parameter ["w"] : {w_type}
      %y = nn.linear %x, %w bias(%b) : {x_type}, {w_type}, {tensor((n,), dtype)} -> {y_type}
      return %y : {y_type}
    }}""", cpu)
    w, b = random((n, k), dtype, 1), random((n,), dtype, 2)
    for rows in (0, 1, 6, 7, 50, 103):
        x = random((rows, k), dtype)
        for blocks in (1, 3):
            [y] = program.run([x, b], [pack(w, 2 if dtype == BF16 else 1)], [dtype], blocks=blocks)
            expected = x.astype(np.float64) @ w.astype(np.float64).T + b.astype(np.float64)
            assert_close(y, expected, dtype)


def test_float32_result_of_bfloat16():
    program = graph("""
    func.func @main(%x: tensor<?x33xbf16>, %w: tensor<9x33xbf16>) -> tensor<?x9xf32> {
      %y = nn.linear %x, %w : tensor<?x33xbf16>, tensor<9x33xbf16> -> tensor<?x9xf32>
      return %y : tensor<?x9xf32>
    }""")
    x, w = random((5, 33), BF16), random((9, 33), BF16, 1)
    [y] = program.run([x, w])
    assert_close(y, x.astype(np.float64) @ w.astype(np.float64).T)


def test_leading_dimensions_and_computed_weight():
    program = graph("""
    func.func @main(%x: tensor<?x?x40xf32>, %w: tensor<?x40xf32>) -> tensor<?x?x?xf32> {
      %y = nn.linear %x, %w : tensor<?x?x40xf32>, tensor<?x40xf32> -> tensor<?x?x?xf32>
      return %y : tensor<?x?x?xf32>
    }""")
    x, w = random((3, 5, 40)), random((70, 40), seed=1)
    [y] = program.run([x, w])
    assert_close(y, x @ w.T)
