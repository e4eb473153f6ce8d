"""Row programs: embedding, norm, rope, elementwise chains, reductions, slices."""

import numpy as np
import pytest

from graph import BF16, CPUS, assert_close, graph, launches, random, tensor

from moe_mlir.testing.full import FULL


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("dtype", [np.float32, BF16, np.float16])
def test_embedding(dtype, cpu):
    table_type, y_type = tensor((50, 13), dtype), tensor((None, None, 13), dtype)
    program = graph(f"""
    func.func @main(%ids: tensor<?x?xi64>, %t: {table_type}) -> {y_type} {{
      %y = nn.embedding %ids, %t : tensor<?x?xi64>, {table_type} -> {y_type}
      return %y : {y_type}
    }}""", cpu)
    table, ids = random((50, 13), dtype), np.random.default_rng(0).integers(0, 50, (2, 5))
    [y] = program.run([ids, table], outputs=[dtype], blocks=3)
    assert np.array_equal(y, table[ids])


TYPES = (np.float32, BF16, np.float16)


# In an ordinary run the other CPU has one form of each.
@pytest.mark.parametrize("dtype,fused,cpu", [
    (dtype, fused, cpu) for cpu in CPUS for fused in ("", " fused_scale") for dtype in TYPES if FULL or cpu == "native" or (fused == "") == (dtype == BF16)])
def test_rms_norm(dtype, fused, cpu):
    x_type = tensor((None, 37), dtype)
    program = graph(f"""
    func.func @main(%x: {x_type}, %w: {tensor((37,), dtype)}) -> {x_type} {{
      %y = nn.rms_norm %x, %w eps(1.0e-3){fused} : {x_type}, {tensor((37,), dtype)}
      return %y : {x_type}
    }}""", cpu)
    x, w = random((5, 37), dtype), random((37,), dtype, 1)
    [y] = program.run([x, w], outputs=[dtype], blocks=2)
    x64 = x.astype(np.float64)
    scaled = x64 / np.sqrt((x64**2).mean(-1, keepdims=True) + 1e-3)
    if not fused:
        scaled = scaled.astype(dtype).astype(np.float64)
    assert_close(y, scaled * w.astype(np.float64), dtype)


@pytest.mark.parametrize("dtype,batch,cpu", [
    (dtype, batch, cpu) for cpu in CPUS for batch in (1, 3) for dtype in TYPES if FULL or cpu == "native" or (batch == 1) == (dtype == BF16)])
def test_rope(dtype, batch, cpu):
    x_type, a_type = tensor((None, None, 3, 10), dtype), tensor((None, None, 10), dtype)
    program = graph(f"""
    func.func @main(%x: {x_type}, %c: {a_type}, %s: {a_type}) -> {x_type} {{
      %y = nn.rope %x, %c, %s : {x_type}, {a_type}, {a_type}
      return %y : {x_type}
    }}""", cpu)
    x = random((3, 4, 3, 10), dtype)
    c, s = random((batch, 4, 10), dtype, 1), random((batch, 4, 10), dtype, 2)
    [y] = program.run([x, c, s], outputs=[dtype], blocks=2)
    x64, c64, s64 = (v.astype(np.float64) for v in (x, c, s))
    turned = np.concatenate([-x64[..., 5:], x64[..., :5]], -1)
    assert_close(y, x64 * c64[:, :, None] + turned * s64[:, :, None], dtype)


def test_elementwise_chain_is_one_kernel():
    program = graph("""
    func.func @main(%a: tensor<?x33xf32>, %b: tensor<?x33xf32>) -> tensor<?x33xf32> {
      %s = nn.silu %a : tensor<?x33xf32>
      %p = arith.mulf %s, %b : tensor<?x33xf32>
      %y = arith.addf %p, %a : tensor<?x33xf32>
      return %y : tensor<?x33xf32>
    }""")
    assert launches(program) == ["fused_33_f32"]
    a, b = random((70, 33)), random((70, 33), seed=1)
    [y] = program.run([a, b], blocks=3)
    assert_close(y, a / (1 + np.exp(-a)) * b + a)


def test_reductions_and_broadcast():
    program = graph("""
    func.func @main(%x: tensor<?x33xf32>, %w: tensor<33xf32>) -> (tensor<?x33xf32>, tensor<33xf32>) {
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0.0 : f32
      %n = tensor.dim %x, %c0 : tensor<?x33xf32>
      %e = tensor.empty(%n) : tensor<?xf32>
      %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
      %rows = linalg.reduce {arith.addf} ins(%x : tensor<?x33xf32>) outs(%f : tensor<?xf32>) dimensions = [1]
      %columns = linalg.reduce {arith.maximumf} ins(%x : tensor<?x33xf32>) outs(%w : tensor<33xf32>) dimensions = [0]
      %o = tensor.empty(%n) : tensor<?x33xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                                            affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                           iterator_types = ["parallel", "parallel"]}
          ins(%x, %rows, %w : tensor<?x33xf32>, tensor<?xf32>, tensor<33xf32>) outs(%o : tensor<?x33xf32>) {
      ^bb0(%a: f32, %r: f32, %b: f32, %old: f32):
        %p = arith.mulf %a, %b : f32
        %q = arith.addf %p, %r : f32
        linalg.yield %q : f32
      } -> tensor<?x33xf32>
      return %y, %columns : tensor<?x33xf32>, tensor<33xf32>
    }""")
    x, w = random((9, 33)), random((33,), seed=1)
    y, columns = program.run([x, w], outputs=[np.float32] * 2, blocks=2)
    assert_close(y, x * w + x.sum(-1, keepdims=True))
    assert np.array_equal(columns, np.maximum(w, x.max(0)))


def test_data_movement():
    program = graph("""
    func.func @main(%x: tensor<?x?x6xf32>, %z: tensor<2x6xf32>)
        -> (tensor<?x6xf32>, tensor<?x?x6xf32>, tensor<4x6xf32>, tensor<3x8xf32>, tensor<2x6xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %b = tensor.dim %x, %c0 : tensor<?x?x6xf32>
      %s = tensor.dim %x, %c1 : tensor<?x?x6xf32>
      %last = arith.subi %s, %c1 : index
      %y = tensor.extract_slice %x[0, %last, 0] [%b, 1, 6] [1, 1, 1] : tensor<?x?x6xf32> to tensor<?x6xf32>
      %i = tensor.insert_slice %z into %x[1, 2, 0] [1, 2, 6] [1, 1, 1] : tensor<2x6xf32> into tensor<?x?x6xf32>
      %c = tensor.concat dim(0) %z, %z : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
      %seven = arith.constant 7.0 : f32
      %p = tensor.pad %z low[1, 0] high[0, 2] {
      ^bb0(%u: index, %v: index):
        tensor.yield %seven : f32
      } : tensor<2x6xf32> to tensor<3x8xf32>
      return %y, %i, %c, %p, %z : tensor<?x6xf32>, tensor<?x?x6xf32>, tensor<4x6xf32>, tensor<3x8xf32>, tensor<2x6xf32>
    }""")
    x, z = random((3, 5, 6)), random((2, 6), seed=1)
    y, inserted, joined, padded, same = program.run([x, z], outputs=[np.float32] * 5, blocks=2)
    assert np.array_equal(y, x[:, -1])
    expected = x.copy()
    expected[1, 2:4] = z
    assert np.array_equal(inserted, expected)
    assert np.array_equal(joined, np.concatenate([z, z]))
    assert np.array_equal(padded, np.pad(z, ((1, 0), (0, 2)), constant_values=7))
    assert np.array_equal(same, z)
