"""Elementwise ops that run in the epilogue of a product or a combine."""

import numpy as np
import pytest

from graph import BF16, CPUS, MLIR_TYPES, assert_close, graph, launches, random, tensor

from moe_mlir.testing.full import FULL


@pytest.mark.parametrize("dtype,cpu", [(dtype, cpu) for cpu in CPUS for dtype in (np.float32, BF16, np.float16) if FULL or cpu == "native" or dtype == BF16])
def test_residual_and_activation(dtype, cpu):
    """Dense layer: silu(gate) * up in the epilogue of up, the residual in that of down, through a reshape."""
    name = MLIR_TYPES[np.dtype(dtype)]
    x, h, w, d = (tensor(s, dtype) for s in [(None, None, 20), (None, None, 33), (33, 20), (20, 33)])
    flat, out = tensor((None, 33), dtype), tensor((None, 20), dtype)
    program = graph(f"""
    func.func @main(%x: {x}, %g: {w}, %u: {w}, %d: {d}) -> {x} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %b = tensor.dim %x, %c0 : {x}
      %s = tensor.dim %x, %c1 : {x}
      %gate = nn.linear %x, %g : {x}, {w} -> {h}
      %up = nn.linear %x, %u : {x}, {w} -> {h}
      %a = nn.silu %gate : {h}
      %m = arith.mulf %a, %up : {h}
      %f = tensor.collapse_shape %m [[0, 1], [2]] : {h} into {flat}
      %y = nn.linear %f, %d : {flat}, {d} -> {out}
      %e = tensor.expand_shape %y [[0, 1], [2]] output_shape [%b, %s, 20] : {out} into {x}
      %r = arith.addf %x, %e : {x}
      return %r : {x}
    }}""", cpu)
    assert [n for n in launches(program) if not n.startswith("pack")] == [
        f"linear_33x20_{name}", f"linear_33x20_{name}_fused", f"linear_20x33_{name}_addf"]
    xv = random((2, 5, 20), dtype)
    g, u, d = random((33, 20), dtype, 1, 0.2), random((33, 20), dtype, 2, 0.2), random((20, 33), dtype, 3, 0.2)
    [y] = program.run([xv, g, u, d], outputs=[dtype], blocks=2)
    x64, g64, u64, d64 = (v.astype(np.float64) for v in (xv, g, u, d))
    gate = x64 @ g64.T
    assert_close(y, x64 + (gate / (1 + np.exp(-gate)) * (x64 @ u64.T)) @ d64.T, dtype)


def test_combine_with_residual():
    program = graph("""
    func.func @main(%y: tensor<1x3x10xf32>, %rows: tensor<3x10xf32>, %ids: tensor<3x2xi32>, %w: tensor<3x2xf32>,
                    %w1: tensor<2x4x10xf32>, %w2: tensor<2x10x4xf32>) -> tensor<1x3x10xf32> {
      %r, %layout = moe.dispatch %rows, %ids num_experts(2)
          : tensor<3x10xf32>, tensor<3x2xi32> -> tensor<?x10xf32>, !moe.layout<2>
      %e = moe.expert %r, %layout, %w1, %w2 {
      ^bb0(%v: f32):
        moe.yield %v : f32
      } : tensor<?x10xf32>, !moe.layout<2>, tensor<2x4x10xf32>, tensor<2x10x4xf32> -> tensor<?x10xf32>
      %c = moe.combine %e, %layout weights(%w : tensor<3x2xf32>)
          : tensor<?x10xf32>, !moe.layout<2> -> tensor<3x10xf32>
      %x = tensor.expand_shape %c [[0, 1], [2]] output_shape [1, 3, 10] : tensor<3x10xf32> into tensor<1x3x10xf32>
      %s = arith.addf %y, %x : tensor<1x3x10xf32>
      return %s : tensor<1x3x10xf32>
    }""")
    assert launches(program)[-1] == "combine_10_f32_top2_addf"
    y, x, weights = random((1, 3, 10)), random((3, 10), seed=1), random((3, 2), seed=2)
    ids = np.array([[0, 1], [1, -1], [0, 0]], np.int32)
    w1, w2 = random((2, 4, 10), seed=3), random((2, 10, 4), seed=4)
    [out] = program.run([y, x, ids, weights, w1, w2])
    expected = y.copy()
    for t in range(3):
        for j in range(2):
            if ids[t, j] >= 0:
                expected[0, t] += weights[t, j] * (x[t] @ w1[ids[t, j]].T @ w2[ids[t, j]].T)
    assert_close(out, expected)
