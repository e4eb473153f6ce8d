"""Conversions between all types of numbers, and what is computed in types other than f32: bit for bit, and without functions that nobody has."""

import ctypes
import itertools

import numpy as np
import pytest
from graph import BF16, graph, host_has

from moe_mlir.testing.full import sample

FLOATS = {"f16": np.dtype(np.float16), "bf16": BF16, "f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
INTEGERS = {"i1": np.dtype(np.bool_), **{f"i{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)}}
TYPES = FLOATS | INTEGERS
WIDTH = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64, "i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
CPUS = ["x86-64-v3", "sapphirerapids"]  # without and with instructions for 16-bit floats


def program_of(bodies, cpu="native"):
    """`bodies`: (type, type, text that makes %r of %v). Inputs are a tensor of each type, results one of each body."""
    lines, results = "", []
    for n, (source, result, text) in enumerate(bodies):
        outer = "i64" if source == "index" else source
        if source == "index":
            text = f"%v = arith.index_cast %w : i64 to index\n{text}\n%q = arith.index_cast %r : index to i64"
            result = "i64"
        first, last = ("%w", "%q") if source == "index" else ("%v", "%r")
        lines += f"""
    %e{n} = tensor.empty(%count) : tensor<?x{result}>
    %o{n} = linalg.generic {{indexing_maps = [#map, #map], iterator_types = ["parallel"]}}
        ins(%in_{outer} : tensor<?x{outer}>) outs(%e{n} : tensor<?x{result}>) {{
    ^bb0({first}: {outer}, %old: {result}):
      {text}
      linalg.yield {last} : {result}
    }} -> tensor<?x{result}>"""
        results.append(result)
    arguments = ", ".join(f"%in_{name}: tensor<?x{name}>" for name in TYPES)
    types = ", ".join(f"tensor<?x{name}>" for name in results)
    return graph(f"""#map = affine_map<(d) -> (d)>
    func.func @main({arguments}) -> ({types}) {{
      %c0 = arith.constant 0 : index
      %count = tensor.dim %in_f32, %c0 : tensor<?xf32>{lines}
      return {", ".join(f"%o{n}" for n in range(len(results)))} : {types}
    }}""", cpu)


def conversions():
    for a, b in itertools.permutations(FLOATS, 2):
        if WIDTH[a] != WIDTH[b]:
            yield "extf" if WIDTH[a] < WIDTH[b] else "truncf", a, b
    for a, b in itertools.permutations(INTEGERS, 2):
        yield from ((name, a, b) for name in (("extsi", "extui") if WIDTH[a] < WIDTH[b] else ("trunci",)))
    for a, b in itertools.product(INTEGERS, FLOATS):
        yield from (("sitofp", a, b), ("uitofp", a, b), ("fptosi", b, a), ("fptoui", b, a))


CONVERSIONS = list(conversions())


def ties(precision, exponents):
    """Numbers that lie on ties of floats of so many bits, and so little beside them that f32 does not see it."""
    for exponent in exponents:
        for digit in (0, 1):  # of the last bit that stays: ties go up, or down
            tie = 1 + (digit + 0.5) * 2.0 ** (1 - precision)
            for beside in (0, 2.0**-50, -(2.0**-50), 2.0**-20, -(2.0**-20)):
                yield np.ldexp(tie + beside, exponent)


def values():
    """A column of each type, all of one length."""
    tiny16, tiny_b = 2.0**-24, 2.0**-133
    large = [65504.0, 65520.0, 65520 - 2.0**-30, 65519.9, 1e5, 3.3895e38, 3.4e38, 3.4028235677973366e38, 1e39, 1.7e308, np.inf, np.nan]
    subnormal = [tiny16, tiny16 / 2, tiny16 / 2 * (1 + 2.0**-40), tiny16 * 1.5, tiny16 * 1.5 * (1 - 2.0**-40), tiny_b / 2, tiny_b / 2 * (1 + 2.0**-40),
                 tiny_b * 1.5 * (1 - 2.0**-40), 2.0**-149, 2.0**-150, 1e-300, 0.0]
    wide = [*ties(11, (0, 9, -13)), *ties(8, (0, 100, -100)), *large, *subnormal]
    doubles = np.array([sign * x for x in wide for sign in (1, -1)])
    with np.errstate(all="ignore"):
        columns = {name: doubles.astype(kind) for name, kind in FLOATS.items()}
    integers = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, len(doubles)) >> np.arange(len(doubles)) % 64
    return columns | {name: integers.astype(kind) for name, kind in INTEGERS.items()}


def once(x, kind):
    """f64 to 16 bits in one rounding, which NumPy does for f16 and ml_dtypes, by way of f32, does not for bf16."""
    if kind != BF16:
        return x.astype(kind)
    bits = np.abs(x)
    step = np.ldexp(1.0, np.maximum(np.frexp(bits)[1] - 8, -133))
    with np.errstate(all="ignore"):
        rounded = np.where(np.isfinite(x), np.rint(bits / step) * step, bits)  # rint: ties to even
        return np.copysign(rounded, x).astype(np.float32).astype(kind)


def expected(name, x, kind):
    """None: not defined for all values."""
    if name == "truncf":
        return once(x, kind) if x.dtype == np.float64 and kind.itemsize == 2 else x.astype(kind)
    if name == "sitofp" and x.dtype == np.bool_:
        x = -x.astype(np.int8)
    if name in ("uitofp", "extui") and x.dtype != np.bool_:
        x = x.view(np.dtype(f"uint{8 * x.dtype.itemsize}"))
    if name == "extsi" and x.dtype == np.bool_:
        x = -x.astype(np.int8)
    if name == "trunci" and kind == np.bool_:
        return x & 1 != 0
    if name in ("sitofp", "uitofp") and kind.itemsize == 2:
        x = x.astype(np.float32)  # as PyTorch
    return x.astype(kind)


def same(a, b):
    """Bits, but of NaNs."""
    nan = np.isnan(a.astype(np.float64)) if a.dtype.kind not in "iub" else np.zeros(a.shape, bool)
    nan_b = np.isnan(b.astype(np.float64)) if b.dtype.kind not in "iub" else nan
    return a.dtype == b.dtype and np.array_equal(nan, nan_b) and a[~nan].tobytes() == b[~nan].tobytes()


@pytest.mark.parametrize("cpu", ["x86-64-v3", pytest.param("native", marks=pytest.mark.skipif(not host_has("avx512f"), reason="x86-64-v3 is all that there is"))])
def test_each_pair_of_types(cpu):
    """All that is defined; 'fpto..' of numbers that fit."""
    columns = values()
    chosen = [each for each in CONVERSIONS if not each[0].startswith("fpto")]
    program = program_of([(a, b, f"%r = arith.{name} %v : {a} to {b}") for name, a, b in chosen], cpu)
    results = program.run(list(columns.values()), outputs=[TYPES[b] for _, _, b in chosen])
    wrong = []
    with np.errstate(all="ignore"):
        for (name, a, b), result in zip(chosen, results):
            want = expected(name, columns[a], TYPES[b])
            # Instructions that round to bf16 take numbers below the smallest normal one for 0.
            kept = np.ones(len(want), bool) if cpu != "native" or b != "bf16" else ~(np.abs(want.astype(np.float64)) < 2.0**-126)
            if not same(result[kept], want[kept]):
                wrong.append(f"{name} {a} {b}: {[(x, y, z) for x, y, z in zip(columns[a], result, want) if y != z][:3]}")
    assert not wrong, "\n".join(wrong)


def test_floats_to_integers():
    numbers = np.float64([0, 0.5, 1, -1, 1.75, -1.75, 100, -100.5, 127, -128])
    columns = {name: (numbers.astype(kind) if name in FLOATS else numbers.astype(np.int64).astype(kind)) for name, kind in TYPES.items()}
    chosen = [each for each in CONVERSIONS if each[0] == "fptosi" and each[2] != "i1"]
    program = program_of([(a, b, f"%r = arith.{name} %v : {a} to {b}") for name, a, b in chosen])
    results = program.run(list(columns.values()), outputs=[TYPES[b] for _, _, b in chosen])
    for (name, a, b), result in zip(chosen, results):
        np.testing.assert_array_equal(result, np.trunc(columns[a].astype(np.float64)).astype(TYPES[b]), err_msg=f"{name} {a} {b}")


def test_fused_products_round_once():
    """Of f16; the numbers lie on ties but for what a second rounding loses."""
    one, bit, small = np.float16(1), np.float16(2.0**-10), np.float16(2.0**-24)
    cases = [(a, b, c) for a in (one + bit, one, np.float16(3)) for b in (one + bit, one - bit / 2, np.float16(2.0**-11)) for c in (small, -small, one, np.float16(0), np.float16(1024))]
    a, b, c = (np.array(column, np.float16) for column in zip(*cases))
    text = graph("""#map = affine_map<(d) -> (d)>
    func.func @main(%a: tensor<?xf16>, %b: tensor<?xf16>, %c: tensor<?xf16>) -> tensor<?xf16> {
      %y = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%a, %b : tensor<?xf16>, tensor<?xf16>) outs(%c : tensor<?xf16>) {
      ^bb0(%x: f16, %y: f16, %z: f16):
        %r = math.fma %x, %y, %z : f16
        linalg.yield %r : f16
      } -> tensor<?xf16>
      return %y : tensor<?xf16>
    }""", "x86-64-v3")
    result = text.run([a, b, c], outputs=[np.float16])[0]
    assert same(result, (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(np.float16))


UNARY = ("absf acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 floor log log10 log1p log2 round roundeven rsqrt sin sinh sqrt "
         "tan tanh trunc").split()
BODIES = {
    "conversions": [(a, b, f"%r = arith.{name} %v : {a} to {b}") for name, a, b in CONVERSIONS],
    "floats": [(f, f, text.replace("TYPE", f)) for f in FLOATS for text in [
        *(f"%r = math.{name} %v : TYPE" for name in UNARY), *(f"%r = math.{name} %v, %v : TYPE" for name in ("atan2", "copysign", "powf")),
        *(f"%r = arith.{name} %v, %v : TYPE" for name in "addf subf mulf divf remf maximumf minimumf maxnumf minnumf".split()),
        *(f"%k = arith.fptosi %v : TYPE to {i}\n%r = math.fpowi %v, %k : TYPE, {i}" for i in ("i16", "i32", "i64")),
        "%r = math.fma %v, %v, %v : TYPE", "%r = math.clampf %v to [%v, %v] : TYPE", "%r, %c = math.sincos %v : TYPE", "%r = arith.negf %v : TYPE",
        "%r = nn.silu %v : TYPE"]],
    "integers": [(i, i, text.replace("TYPE", i)) for i in (*INTEGERS, "index") for text in [
        *(f"%r = arith.{name} %v, %v : TYPE" for name in ("addi subi muli andi ori xori maxsi minsi maxui minui divsi floordivsi ceildivsi remsi divui "
                                                          "ceildivui remui shli shrsi shrui").split()),
        *(f"%r = math.{name} %v : TYPE" for name in ("absi", "ctlz", "cttz", "ctpop")),
        *(f"%l, %r = arith.{name} %v, %v : TYPE" for name in ("mulsi_extended", "mului_extended"))]],
}


# Integers are the same on both: on the newer one only in a full run.
@pytest.mark.parametrize("kind, cpu", sample(itertools.product(BODIES, CPUS), 0, 1, 2, 3, 4))
def test_all_functions_are_there(kind, cpu):
    """In the C library, or in the runtime: a program is linked with these alone."""
    libraries = [ctypes.CDLL("libm.so.6"), ctypes.CDLL("libc.so.6")]
    needed = program_of(BODIES[kind], cpu).symbols()
    missing = [name for name in sorted(needed) if not name.startswith("moert_") and not any(hasattr(library, name) for library in libraries)]
    assert needed and not missing, missing
