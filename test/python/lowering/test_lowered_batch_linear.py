"""nn.batch_linear: types, odd sizes, leading dimensions, weights from the archive and computed ones, epilogues."""

import numpy as np
import pytest

from graph import BF16, CPUS, MLIR_TYPES, assert_close, graph, launches, pack, random, tensor

from moe_mlir.testing.full import sample


def product(x, w):
    return np.einsum("...gk,gnk->...gn", x.astype(np.float64), w.astype(np.float64))


SIZES = [(3, 96, 32), (5, 7, 5), (1, 64, 64), (2, 130, 33)]
# Every size in f32; of the other types one with everything odd, as what they change is not the size's.
TYPES = [(size, dtype) for dtype in (np.float32, BF16, np.float16) for size in SIZES]


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("size,dtype", sample(TYPES, 0, 1, 2, 3, 7, 11))
def test_any_size(size, dtype, cpu):
    g, n, k = size
    x_type, w_type, y_type, b_type = (tensor(s, dtype) for s in [(None, g, k), (g, n, k), (None, g, n), (g, n)])
    program = graph(f"""
    func.func @main(%x: {x_type}, %b: {b_type}) -> {y_type} {{
      %w = moe.parameter ["w"] : {w_type}
      %y = nn.batch_linear %x, %w bias(%b) : {x_type}, {w_type}, {b_type} -> {y_type}
      return %y : {y_type}
    }}""", cpu)
    w, b = random((g, n, k), dtype, 1), random((g, n), dtype, 2)
    for rows in (0, 1, 6, 7, 50, 103):
        x = random((rows, g, k), dtype)
        results = [program.run([x, b], [pack(w, 2 if dtype == BF16 else 1)], [dtype], blocks=blocks)[0] for blocks in (1, 3)]
        assert_close(results[0], product(x, w) + b.astype(np.float64), dtype)
        np.testing.assert_array_equal(*(result.view(np.uint8) for result in results))


def test_float32_result_of_bfloat16():
    program = graph("""
    func.func @main(%x: tensor<?x3x33xbf16>, %w: tensor<3x9x33xbf16>) -> tensor<?x3x9xf32> {
      %y = nn.batch_linear %x, %w : tensor<?x3x33xbf16>, tensor<3x9x33xbf16> -> tensor<?x3x9xf32>
      return %y : tensor<?x3x9xf32>
    }""")
    x, w = random((5, 3, 33), BF16), random((3, 9, 33), BF16, 1)
    [y] = program.run([x, w])
    assert_close(y, product(x, w))


def test_leading_dimensions_and_computed_weight():
    program = graph("""
    func.func @main(%x: tensor<?x?x?x40xf32>, %w: tensor<?x?x40xf32>) -> tensor<?x?x?x?xf32> {
      %y = nn.batch_linear %x, %w : tensor<?x?x?x40xf32>, tensor<?x?x40xf32> -> tensor<?x?x?x?xf32>
      return %y : tensor<?x?x?x?xf32>
    }""")
    for shape in [(3, 5, 4), (1, 1, 2), (0, 5, 4), (2, 3, 0)]:
        x, w = random((*shape, 40)), random((shape[-1], 70, 40), seed=1)
        [y] = program.run([x, w])
        assert_close(y, product(x, w))


def test_no_row_dimension():
    """A row for each matrix, as in a step of one token."""
    program = graph("""
    func.func @main(%x: tensor<4x16xf32>, %w: tensor<4x20x16xf32>) -> tensor<4x20xf32> {
      %y = nn.batch_linear %x, %w : tensor<4x16xf32>, tensor<4x20x16xf32> -> tensor<4x20xf32>
      return %y : tensor<4x20xf32>
    }""")
    x, w = random((4, 16)), random((4, 20, 16), seed=1)
    [y] = program.run([x, w])
    assert_close(y, product(x, w))


@pytest.mark.parametrize("dtype", [np.float32, BF16])
def test_epilogue(dtype):
    """What is elementwise runs where the product is computed, also behind a reshape."""
    name = MLIR_TYPES[np.dtype(dtype)]
    x_type, w_type, y_type, flat = (tensor(s, dtype) for s in [(None, 3, 20), (3, 33, 20), (None, 3, 33), (None, 33)])
    program = graph(f"""
    func.func @main(%x: {x_type}, %w: {w_type}, %r: {flat}) -> {flat} {{
      %y = nn.batch_linear %x, %w : {x_type}, {w_type} -> {y_type}
      %f = tensor.collapse_shape %y [[0, 1], [2]] : {y_type} into {flat}
      %s = arith.addf %r, %f : {flat}
      return %s : {flat}
    }}""")
    assert [n for n in launches(program) if not n.startswith("pack")] == [f"batch_linear_3x33x20_{name}_addf"]
    x, w, r = random((7, 3, 20), dtype), random((3, 33, 20), dtype, 1), random((21, 33), dtype, 2)
    [y] = program.run([x, w, r], outputs=[dtype], blocks=2)
    assert_close(y, product(x, w).reshape(21, 33) + r.astype(np.float64), dtype)
