"""Matrix products through register tiles: every number of rows, odd sizes, gathers, epilogues, CPUs and block counts."""

import numpy as np
import pytest

from compiled import BF16, Program, host_has, pack

from moe_mlir.testing.full import sample

# Products of bf16 on matrix registers (AMX), 32 rows at a time.
HAS_MATRIX = host_has("amx_bf16")

# Tile of the target: columns of the accumulator.
CPUS = {"native": None, "x86-64-v3": 16, "x86-64-v4": 64}
if host_has("avx512_bf16"):
    CPUS["znver4"] = 64


def tile_columns(cpu):
    return CPUS[cpu] or (64 if host_has("avx512vl") else 16)


def linear_text(k, n, dtype="f32", out="f32", cpu="native", gather=False, epilogue=None, extra=(), tile_rows=6):
    """A linear layer of K inputs and N outputs with a bias-like epilogue given as text that defines %o from %v."""
    pairs = 2 if dtype == "bf16" else 1
    blocks, columns = -(-n // 64), tile_columns(cpu)
    x, y = f"memref<?x{k}x{dtype}>", f"memref<?x{n}x{out}>"
    w = f"memref<{blocks}x{-(-k // pairs)}x64{'x2' if pairs == 2 else ''}x{dtype}>"
    rows, index = ("%row = memref.load %map[%i] : memref<?xi32>\n %j = arith.index_cast %row : i32 to index", "%j") if gather else ("", "%i")
    body = epilogue or ("%o = arith.truncf %v : f32 to bf16" if out == "bf16" else "%o = arith.addf %v, %zero : f32")
    arguments = [("%x", x), ("%w", w)] + ([("%map", "memref<?xi32>")] if gather else []) + list(extra)
    signature = ", ".join(f"{name}: {type}" for name, type in arguments)
    acc = f"!kernel.acc<{tile_rows}x{columns}xf32>"
    count = "%map" if gather else "%x"
    count_type = "memref<?xi32>" if gather else x
    host = [a for a in arguments if a[0] != "%w"]
    # As the compiler writes it: strips where a block of columns has several.
    strips = ("%strip = arith.constant 0 : index", "") if columns == 64 else ("scf.for %strip = %c0 to %c64 step %tile {", "}")
    return f"""
    kernel.func @linear({signature}, %y: {y}) {{
      %c0 = arith.constant 0 : index
      %step = arith.constant {pairs} : index
      %rows = arith.constant {tile_rows} : index
      %c64 = arith.constant 64 : index
      %tile = arith.constant {columns} : index
      %k = arith.constant {k} : index
      %zero = arith.constant 0.0 : f32
      %m = memref.dim {count}, %c0 : {count_type}
      scf.forall (%n) in ({blocks}) {{
        scf.for %r = %c0 to %m step %rows {{
          %left = arith.subi %m, %r : index
          kernel.row_tile %left max {tile_rows} {{
            %from = kernel.row_indices %r {{
            ^bb0(%i: index):
              {rows}
              kernel.yield {index} : index
            }} : !kernel.rows<{tile_rows}>
            %to = kernel.row_indices %r {{
            ^bb0(%i: index):
              kernel.yield %i : index
            }} : !kernel.rows<{tile_rows}>
            {strips[0]}
              %first = arith.muli %n, %c64 : index
              %col = arith.addi %first, %strip : index
              %init = kernel.zero : {acc}
              %acc = scf.for %kk = %c0 to %k step %step iter_args(%a = %init) -> ({acc}) {{
                %next = kernel.mma %a, %x[%from, %kk], %w[%n, %kk, %strip] : {acc}, {x}, {w}
                scf.yield %next : {acc}
              }}
              kernel.store_tile %acc -> %y[%to, %col] {{
              ^bb0(%row: index, %c: index, %v: f32):
                {body}
                kernel.yield %o : {out}
              }} : ({acc}), {y}
            {strips[1]}
          }}
        }}
      }}
      kernel.return
    }}
    func.func @main({", ".join(f"{name}: {type}" for name, type in host)}) -> {y} {{
      %c0 = arith.constant 0 : index
      %m = memref.dim {count}, %c0 : {count_type}
      %w = moe.parameter ["w"] recipe [#moe.pack<columns = 64, pairs = {pairs}>] : {w}
      %y = memref.alloc(%m) : {y}
      kernel.launch @linear({", ".join(name for name, _ in arguments)}, %y) rows(%m) work(%m)
        : {", ".join(type for _, type in arguments)}, {y}
      return %y : {y}
    }}"""


def numbers(rng, shape, dtype=np.float32):
    return (rng.standard_normal(shape) / 4).astype(dtype)


def check(result, expected, k, dtype):
    # Sums of k products of numbers around 1/4, each product rounded once.
    tolerance = 2e-7 * k + 1e-6
    if dtype == BF16:
        tolerance += 2.0**-8 * np.abs(expected).max()
    assert np.abs(result.astype(np.float64) - expected).max() <= tolerance


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("k,n", sample([(64, 64), (37, 100), (1, 1), (130, 65)], 1, 3))
def test_all_row_counts(cpu, dtype, k, n):
    program = Program(linear_text(k, n, dtype, cpu=cpu), cpu)
    rng = np.random.default_rng(1)
    np_dtype = BF16 if dtype == "bf16" else np.float32
    w = numbers(rng, (n, k), np_dtype)
    packed = pack(w, 2 if dtype == "bf16" else 1)
    for m in range(0, 14):
        x = numbers(rng, (m, k), np_dtype)
        expected = x.astype(np.float64) @ w.astype(np.float64).T
        results = [program.run([x], [packed], blocks=blocks)[0] for blocks in (1, 2, 5)]
        assert results[0].shape == (m, n)
        if m:
            check(results[0], expected, k, np.float32)
        for other in results[1:]:
            assert np.array_equal(results[0], other), "results depend on the number of blocks"


@pytest.mark.parametrize("cpu", CPUS)
def test_row_results_do_not_depend_on_other_rows(cpu):
    program = Program(linear_text(96, 130, "bf16", cpu=cpu), cpu)
    rng = np.random.default_rng(2)
    packed = pack(numbers(rng, (130, 96), BF16), 2)
    x = numbers(rng, (13, 96), BF16)
    together = program.run([x], [packed])[0]
    for m in range(13):
        assert np.array_equal(program.run([x[m:m + 1]], [packed])[0][0], together[m])


@pytest.mark.parametrize("cpu", [cpu for cpu in CPUS if cpu != "native" or not HAS_MATRIX])
def test_pair_order_is_that_of_the_dot_instruction(cpu):
    """acc = fma(odd), then fma(even), over k: bitwise, so that an emulating target equals the instruction."""
    program = Program(linear_text(10, 64, "bf16", cpu=cpu), cpu)
    rng = np.random.default_rng(3)
    w, x = numbers(rng, (64, 10), BF16), numbers(rng, (4, 10), BF16)
    result = program.run([x], [pack(w, 2)])[0]
    expected = np.zeros((4, 64), np.float32)
    # A product of two bf16 is exact in f32 and the sum of two f32 in f64 is exact here, so rounding it is one fma.
    x64, w64 = x.astype(np.float64), w.astype(np.float64)
    for k in range(0, 10, 2):
        for lane in (k + 1, k):
            expected = (expected.astype(np.float64) + x64[:, lane, None] * w64[None, :, lane]).astype(np.float32)
    assert np.array_equal(result, expected)


@pytest.mark.skipif(not HAS_MATRIX, reason="this CPU has no matrix registers")
@pytest.mark.parametrize("k", [10, 64, 96])
def test_order_of_matrix_registers(k):
    """Over 32 elements the even ones and the odd ones are added up apart, then both to the sum: bitwise."""
    program = Program(linear_text(k, 64, "bf16"))
    rng = np.random.default_rng(3)
    w, x = numbers(rng, (64, k), BF16), numbers(rng, (4, k), BF16)
    result = program.run([x], [pack(w, 2)])[0]
    expected = np.zeros((4, 64), np.float32)
    x64, w64 = x.astype(np.float64), w.astype(np.float64)
    for first in range(0, k, 32):
        halves = [np.zeros((4, 64), np.float32) for _ in range(2)]
        for i in range(first, min(first + 32, k)):
            halves[i % 2] = (halves[i % 2].astype(np.float64) + x64[:, i, None] * w64[None, :, i]).astype(np.float32)
        expected += halves[0] + halves[1]
    assert np.array_equal(result, expected)


@pytest.mark.skipif(not HAS_MATRIX, reason="this CPU has no matrix registers")
@pytest.mark.parametrize("gather", [False, True])
@pytest.mark.parametrize("k,n", [(64, 64), (37, 100), (1, 1), (130, 65)])
def test_row_counts_of_matrix_registers(k, n, gather):
    program = Program(linear_text(k, n, "bf16", gather=gather, tile_rows=32))
    rng = np.random.default_rng(5)
    w, x = numbers(rng, (n, k), BF16), numbers(rng, (70, k), BF16)
    packed, order = pack(w, 2), rng.integers(0, 70, 70).astype(np.int32)
    alone = None
    for m in [70, *range(0, 35), 48, 49, 64, 65]:
        rows = x[order[:m]] if gather else x[:m]
        [result] = program.run([x, order[:m]] if gather else [rows], [packed], blocks=1 + m % 3)
        assert result.shape == (m, n)
        alone = result if alone is None else alone
        if m:
            check(result, rows.astype(np.float64) @ w.astype(np.float64).T, k, np.float32)
        assert np.array_equal(result, alone[:m]), "a row's result depends on the number of rows"


LONG = [("f32", "x86-64-v4", 1100, 6), ("f32", "native", 1100, 6), ("bf16", "x86-64-v4", 2055, 6)]
LONG += [("bf16", "native", k, rows) for k, rows in [(2055, 32), (4160, 32), (2055, 6)]] if HAS_MATRIX else []


@pytest.mark.parametrize("gather", [False, True])
@pytest.mark.parametrize("dtype,cpu,k,tile_rows", LONG)
def test_long_k_in_chunks(dtype, cpu, k, tile_rows, gather):
    """Column blocks of more than 256 KiB: tiles of up to 384 rows take turns with a chunk of K; bits are those of a row alone."""
    program = Program(linear_text(k, 70, dtype, cpu=cpu, gather=gather, tile_rows=tile_rows), cpu)
    rng = np.random.default_rng(6)
    np_dtype = BF16 if dtype == "bf16" else np.float32
    w, x = numbers(rng, (70, k), np_dtype), numbers(rng, (400, k), np_dtype)
    packed, order = pack(w, 2 if dtype == "bf16" else 1), rng.integers(0, 400, 400).astype(np.int32)
    source = x[order] if gather else x
    run = lambda m: program.run([x, order[:m]] if gather else [x[:m]], [packed], blocks=1 + m % 3)[0]
    together = run(400)
    check(together, source.astype(np.float64) @ w.astype(np.float64).T, k, np.float32)
    for m in (0, 1, 5, 6, 7, 12, 13, 16, 17, 33, 384, 385, 399):
        assert np.array_equal(run(m), together[:m]), f"results differ with {m} rows"


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("dtype,k", [("f32", 40), ("bf16", 41)])
def test_gathered_rows(cpu, dtype, k):
    program = Program(linear_text(k, 70, dtype, cpu=cpu, gather=True), cpu)
    rng = np.random.default_rng(4)
    np_dtype = BF16 if dtype == "bf16" else np.float32
    w, x = numbers(rng, (70, k), np_dtype), numbers(rng, (5, k), np_dtype)
    for m in (1, 6, 9):
        rows = rng.integers(0, 5, m).astype(np.int32)
        result = program.run([x, rows], [pack(w, 2 if dtype == "bf16" else 1)])[0]
        check(result, x[rows].astype(np.float64) @ w.astype(np.float64).T, k, np.float32)


def test_odd_k_reads_nothing_behind_a_row():
    """NaN stands where the missing half of the last pair would be read from: the next row, and behind the matrix."""
    program = Program(linear_text(7, 64, "bf16", gather=True))
    rng = np.random.default_rng(5)
    w, x = numbers(rng, (64, 7), BF16), numbers(rng, (4, 7), BF16)
    x[1::2] = np.nan
    padded = np.full(4 * 7 + 8, np.nan, BF16)
    padded[:28] = x.reshape(-1)
    result = program.run([padded[:28].reshape(4, 7), np.array([0, 2], np.int32)], [pack(w, 2)])[0]
    check(result, x[[0, 2]].astype(np.float64) @ w.astype(np.float64).T, 7, np.float32)


@pytest.mark.parametrize("cpu", CPUS)
def test_bf16_output(cpu):
    program = Program(linear_text(64, 100, "bf16", "bf16", cpu=cpu), cpu)
    rng = np.random.default_rng(6)
    w, x = numbers(rng, (100, 64), BF16), numbers(rng, (7, 64), BF16)
    result = program.run([x], [pack(w, 2)], outputs=[BF16])[0]
    exact = Program(linear_text(64, 100, "bf16", cpu=cpu), cpu).run([x], [pack(w, 2)])[0]
    assert np.array_equal(result.view(np.uint16), exact.astype(BF16).view(np.uint16))


EPILOGUES = {
    # contiguous load (bias), broadcast load (row scale), residual at a column with an offset
    "loads": ("""%b = memref.load %bias[%c] : memref<?xf32>
                 %s = memref.load %scale[%row] : memref<?xf32>
                 %t = arith.mulf %v, %s : f32
                 %o = arith.addf %t, %b : f32""",
              lambda v, bias, scale: v * scale[:len(v), None] + bias[None, :v.shape[1]]),
    # a load that is neither: every third element; and index arithmetic as a number
    "strided": ("""%c3 = arith.constant 3 : index
                   %at = arith.muli %c, %c3 : index
                   %b = memref.load %bias[%at] : memref<?xf32>
                   %i = arith.index_cast %c : index to i64
                   %f = arith.sitofp %i : i64 to f32
                   %t = arith.addf %v, %b : f32
                   %o = arith.addf %t, %f : f32""",
                lambda v, bias, scale: v + bias[3 * np.arange(v.shape[1])] + np.arange(v.shape[1])),
    # contiguous, at an offset from the column
    "shifted": ("""%c5 = arith.constant 5 : index
                   %at = arith.addi %c, %c5 : index
                   %b = memref.load %bias[%at] : memref<?xf32>
                   %o = arith.addf %t0, %b : f32""".replace("%t0", "%v"),
                lambda v, bias, scale: v + bias[5:5 + v.shape[1]]),
    # control flow cannot run on vectors: element by element
    "branch": ("""%p = arith.cmpf ogt, %v, %zero : f32
                  %o = scf.if %p -> (f32) {
                    %b = memref.load %bias[%c] : memref<?xf32>
                    scf.yield %b : f32
                  } else {
                    scf.yield %v : f32
                  }""",
               lambda v, bias, scale: np.where(v > 0, bias[None, :v.shape[1]], v)),
    "silu": ("""%neg = arith.negf %v : f32
                %e = math.exp %neg : f32
                %one = arith.constant 1.0 : f32
                %d = arith.addf %e, %one : f32
                %o = arith.divf %v, %d : f32""",
             lambda v, bias, scale: v / (1 + np.exp(-v))),
}


@pytest.mark.parametrize("name", EPILOGUES)
@pytest.mark.parametrize("n,cpu", sample([(64, "native"), (77, "native"), (77, "x86-64-v3")], 1, 2))
def test_epilogues(cpu, name, n):
    body, reference = EPILOGUES[name]
    extra = [("%bias", "memref<?xf32>"), ("%scale", "memref<?xf32>")]
    program = Program(linear_text(32, n, cpu=cpu, epilogue=body, extra=extra), cpu)
    rng = np.random.default_rng(7)
    w, x = numbers(rng, (n, 32)), numbers(rng, (8, 32))
    length = {"strided": 3 * n - 2, "shifted": n + 5}.get(name, n)
    bias, scale = numbers(rng, (length,)), numbers(rng, (8,))
    result = program.run([x, bias, scale], [pack(w)])[0]
    expected = reference(x.astype(np.float64) @ w.astype(np.float64).T, bias.astype(np.float64), scale.astype(np.float64))
    assert np.abs(result - expected).max() < 1e-5


@pytest.mark.parametrize("cpu", CPUS)
def test_only_runtime_functions_are_needed(cpu):
    """No __truncsfbf2 and the like, on any CPU."""
    body = "%o = arith.truncf %v : f32 to bf16"
    symbols = Program(linear_text(32, 100, "bf16", "bf16", cpu=cpu, epilogue=body), cpu).symbols()
    assert all(name.startswith("moert_") for name in symbols), symbols
