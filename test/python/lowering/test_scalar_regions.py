"""Every op of arith and math in the body of a linalg op and in an activation, on a CPU, against NumPy; and those that cannot stand there."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from graph import BIN, assert_close, graph

SMALL, LARGE = "%small", "%large"  # 0.3 x and |x| + 1: where a function is not defined everywhere
erf = np.vectorize(__import__("math").erf, otypes=[np.float64])


def unary(name, argument="%x"):
    return f"%r = {name} {argument} : f32"


def binary(name):
    return f"%r = {name} %x, %y : f32"


def integer(line):
    """`line` makes %k of the i32 values %i and %j."""
    return line + "\n%r = arith.sitofp %k : i32 to f32"


def truth(line):
    """`line` makes the truth value %b."""
    return line + "\n%r = arith.select %b, %x, %y : f32"


def divide(x, y):
    safe = np.where(y == 0, 1, y)
    return np.where(y == 0, 0, x // safe)


def truncated(x, y):
    return np.where(y == 0, 0, np.trunc(x / np.where(y == 0, 1, y)).astype(np.int64))


def unsigned(x):
    return x.astype(np.int64) % 2**32


def signed(x):
    return (x + 2**31) % 2**32 - 2**31


COMPARISONS = {"oeq": np.equal, "ogt": np.greater, "oge": np.greater_equal, "olt": np.less, "ole": np.less_equal, "one": np.not_equal,
               "ueq": np.equal, "ugt": np.greater, "uge": np.greater_equal, "ult": np.less, "ule": np.less_equal, "une": np.not_equal,
               "ord": lambda x, y: x == x, "uno": lambda x, y: x != x, "true": lambda x, y: x == x, "false": lambda x, y: x != x}

# op -> (text, expected value of x, y, i, j, small, large)
FLOATS = {
    **{"math." + name: (unary("math." + name), lambda v, f=function: f(v.x)) for name, function in {
        "absf": np.abs, "asinh": np.arcsinh, "atan": np.arctan, "cbrt": np.cbrt, "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh,
        "erf": erf, "erfc": lambda x: 1 - erf(x), "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "floor": np.floor,
        "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), "roundeven": np.rint, "sin": np.sin, "sinh": np.sinh,
        "tan": np.tan, "tanh": np.tanh, "trunc": np.trunc}.items()},
    **{"math." + name: (unary("math." + name, SMALL), lambda v, f=function: f(v.small)) for name, function in {
        "acos": np.arccos, "asin": np.arcsin, "atanh": np.arctanh}.items()},
    **{"math." + name: (unary("math." + name, LARGE), lambda v, f=function: f(v.large)) for name, function in {
        "acosh": np.arccosh, "log": np.log, "log10": np.log10, "log1p": np.log1p, "log2": np.log2, "rsqrt": lambda x: x**-0.5,
        "sqrt": np.sqrt}.items()},
    "math.atan2": (binary("math.atan2"), lambda v: np.arctan2(v.x, v.y)),
    "math.copysign": (binary("math.copysign"), lambda v: np.copysign(v.x, v.y)),
    "math.powf": ("%r = math.powf %large, %y : f32", lambda v: v.large**v.y),
    "math.fpowi": ("%r = math.fpowi %large, %j : f32, i32", lambda v: v.large**v.j),
    "math.fma": ("%r = math.fma %x, %y, %large : f32", lambda v: v.x * v.y + v.large),
    "math.clampf": ("%r = math.clampf %x to [%small, %large] : f32", lambda v: np.minimum(np.maximum(v.x, v.small), v.large)),
    "math.sincos": ("%s, %c = math.sincos %x : f32\n%r = arith.addf %s, %c : f32", lambda v: np.sin(v.x) + np.cos(v.x)),
    **{"math." + name: (truth(f"%zero = arith.constant 0.0 : f32\n%q = arith.divf %y, %zero : f32\n%b = math.{name} %q : f32"),
                        lambda v, t=holds: np.where(t(v.y), v.x, v.y))
       for name, holds in {"isinf": lambda y: y != 0, "isnan": lambda y: y == 0, "isfinite": lambda y: y != y,
                           "isnormal": lambda y: y != y}.items()},
    **{"arith." + name: (binary("arith." + name), lambda v, f=function: f(v.x, v.y)) for name, function in {
        "addf": np.add, "subf": np.subtract, "mulf": np.multiply, "maximumf": np.maximum, "minimumf": np.minimum, "maxnumf": np.fmax,
        "minnumf": np.fmin}.items()},
    "arith.divf": ("%r = arith.divf %x, %large : f32", lambda v: v.x / v.large),
    "arith.remf": ("%r = arith.remf %x, %large : f32", lambda v: np.fmod(v.x, v.large)),
    "arith.negf": (unary("arith.negf"), lambda v: -v.x),
    "arith.constant": ("%r = arith.constant 2.5 : f32", lambda v: v.x * 0 + 2.5),
    "arith.select": (truth("%b = arith.cmpf olt, %x, %y : f32"), lambda v: np.minimum(v.x, v.y)),
    **{f"arith.cmpf {name}": (truth(f"%b = arith.cmpf {name}, %x, %y : f32"), lambda v, f=function: np.where(f(v.x, v.y), v.x, v.y))
       for name, function in COMPARISONS.items()},
    "arith.extf": ("%d = arith.extf %x : f32 to f64\n%e = math.erf %d : f64\n%r = arith.truncf %e : f64 to f32", lambda v: erf(v.x)),
    "arith.truncf": ("%h = arith.truncf %y : f32 to f16\n%r = arith.extf %h : f16 to f32", lambda v: v.y.astype(np.float16)),
    "arith.bitcast": ("%h = arith.bitcast %x : f32 to i32\n%r = arith.bitcast %h : i32 to f32", lambda v: v.x),
}
INTEGERS = {
    **{"arith." + name: (integer(f"%k = arith.{name} %i, %j : i32"), lambda v, f=function: f(v.i, v.j)) for name, function in {
        "addi": np.add, "subi": np.subtract, "muli": np.multiply, "andi": np.bitwise_and, "ori": np.bitwise_or, "xori": np.bitwise_xor,
        "maxsi": np.maximum, "minsi": np.minimum, "maxui": lambda i, j: signed(np.maximum(unsigned(i), unsigned(j))),
        "minui": lambda i, j: signed(np.minimum(unsigned(i), unsigned(j))), "divsi": truncated, "floordivsi": divide,
        "ceildivsi": lambda i, j: -divide(-i, j), "remsi": lambda i, j: np.where(j == 0, 0, i - j * truncated(i, j)),
        "divui": lambda i, j: signed(divide(unsigned(i), unsigned(j))),
        "ceildivui": lambda i, j: signed(-divide(-unsigned(i), unsigned(j))),
        "remui": lambda i, j: signed(np.where(j == 0, 0, unsigned(i) - unsigned(j) * divide(unsigned(i), unsigned(j)))),
    }.items()},
    **{"arith." + name: (integer(f"%c = arith.constant 3 : i32\n%k = arith.{name} %i, %c : i32"), lambda v, f=function: f(v.i))
       for name, function in {"shli": lambda i: i << 3, "shrsi": lambda i: i >> 3, "shrui": lambda i: unsigned(i) >> 3}.items()},
    "math.absi": (integer("%k = math.absi %i : i32"), lambda v: np.abs(v.i)),
    "math.ctlz": (integer("%k = math.ctlz %i : i32"), lambda v: np.array([32 - int(n).bit_length() for n in unsigned(v.i)])),
    "math.cttz": (integer("%k = math.cttz %i : i32"),
                  lambda v: np.array([(int(n) & -int(n)).bit_length() - 1 if n else 32 for n in unsigned(v.i)])),
    "math.ctpop": (integer("%k = math.ctpop %i : i32"), lambda v: np.array([bin(n).count("1") for n in unsigned(v.i)])),
    **{f"arith.cmpi {name}": (truth(f"%b = arith.cmpi {name}, %i, %j : i32"), lambda v, f=function: np.where(f(v), v.x, v.y))
       for name, function in {
           "eq": lambda v: v.i == v.j, "ne": lambda v: v.i != v.j, "slt": lambda v: v.i < v.j, "sle": lambda v: v.i <= v.j,
           "sgt": lambda v: v.i > v.j, "sge": lambda v: v.i >= v.j, "ult": lambda v: unsigned(v.i) < unsigned(v.j),
           "ule": lambda v: unsigned(v.i) <= unsigned(v.j), "ugt": lambda v: unsigned(v.i) > unsigned(v.j),
           "uge": lambda v: unsigned(v.i) >= unsigned(v.j)}.items()},
    "arith.addui_extended": (integer("%k, %o = arith.addui_extended %i, %j : i32, i1"), lambda v: v.i + v.j),
    "arith.mulsi_extended": (integer("%l, %k = arith.mulsi_extended %i, %j : i32"), lambda v: (v.i * v.j) >> 32),
    "arith.mului_extended": (integer("%l, %k = arith.mului_extended %i, %j : i32"), lambda v: signed(unsigned(v.i) * unsigned(v.j) >> 32)),
    "arith.trunci": (integer("%n = arith.trunci %i : i32 to i8\n%k = arith.extsi %n : i8 to i32"), lambda v: v.i.astype(np.int8)),
    "arith.extsi": (integer("%n = arith.extsi %i : i32 to i64\n%k = arith.trunci %n : i64 to i32"), lambda v: v.i),
    "arith.extui": (integer("%n = arith.trunci %i : i32 to i8\n%k = arith.extui %n : i8 to i32"), lambda v: v.i.astype(np.uint8)),
    "arith.index_cast": (integer("%n = arith.index_cast %i : i32 to index\n%k = arith.index_cast %n : index to i32"), lambda v: v.i),
    "arith.index_castui": (integer("%n = arith.index_castui %i : i32 to index\n%k = arith.index_castui %n : index to i32"), lambda v: v.i),
    "arith.fptosi": (integer("%k = arith.fptosi %x : f32 to i32"), lambda v: np.trunc(v.x)),
    "arith.fptoui": (integer("%k = arith.fptoui %large : f32 to i32"), lambda v: np.trunc(v.large)),
    "arith.sitofp": ("%r = arith.sitofp %i : i32 to f32", lambda v: v.i),
    "arith.uitofp": ("%n = arith.trunci %i : i32 to i8\n%r = arith.uitofp %n : i8 to f32", lambda v: v.i.astype(np.uint8)),
}
OTHERS = {
    "nn.silu": (unary("nn.silu"), lambda v: v.x / (1 + np.exp(-v.x))),
    "scf.if": ("""%b = arith.cmpf olt, %x, %y : f32
                  %r = scf.if %b -> f32 {
                    %s = nn.silu %x : f32
                    scf.yield %s : f32
                  } else {
                    scf.yield %y : f32
                  }""", lambda v: np.where(v.x < v.y, v.x / (1 + np.exp(-v.x)), v.y)),
    "tensor.extract": ("""%at = arith.constant 2 : index
                          %t = tensor.extract %table[%at] : tensor<?xf32>
                          %r = arith.mulf %x, %t : f32""", lambda v: v.x * v.table[2]),
    "tensor.dim": ("""%d0 = arith.constant 0 : index
                      %d = tensor.dim %table, %d0 : tensor<?xf32>
                      %n = arith.index_cast %d : index to i64
                      %f = arith.sitofp %n : i64 to f32
                      %r = arith.addf %x, %f : f32""", lambda v: v.x + len(v.table)),
}
CASES = FLOATS | INTEGERS | OTHERS
# Those that no scalar region holds: on 8-bit floats and scales of blocks of them, and a power without a form in LLVM.
REFUSED = {"arith.scaling_extf", "arith.scaling_truncf", "math.ipowi"}


def prepared(x, y):
    """Text that makes what the cases use of two f32 values."""
    return f"""%x = arith.addf {x}, %none : f32
      %y = arith.addf {y}, %none : f32
      %i = arith.fptosi %x : f32 to i32
      %j = arith.fptosi %y : f32 to i32
      %third = arith.constant 0.3 : f32
      %small = arith.mulf %x, %third : f32
      %size = math.absf %x : f32
      %one = arith.constant 1.0 : f32
      %large = arith.addf %size, %one : f32
"""


class Values:
    def __init__(self, x, y, table):
        self.x, self.y, self.table = x.astype(np.float64), y.astype(np.float64), table.astype(np.float64)
        self.i, self.j = np.trunc(x).astype(np.int64), np.trunc(y).astype(np.int64)
        self.small, self.large = self.x * 0.3, np.abs(self.x) + 1


def expected(name, values):
    with np.errstate(all="ignore"):
        return np.asarray(CASES[name][1](values), np.float64)


def renamed(text, suffix):
    """The text with names of its own for what it defines."""
    for name in dict.fromkeys(re.findall(r"%\w+", " ".join(line.split(" = ")[0] for line in text.splitlines() if " = " in line))):
        text = re.sub(re.escape(name) + r"\b", name + suffix, text)
    return text


INPUTS = [np.float32([-2.75, -1.5, -0.5, 0.5, 1.25, 2.5, 2.5, 1.5, -2.5, 0, 2]),
          np.float32([1.5, -1.25, 2.0, -0.75, 0.5, 2.5, -2.5, 0.25, -1, 1, 0])]
TABLE = np.float32([1, -2, 3])


@pytest.mark.parametrize("part", range(3))
def test_bodies_of_linalg_ops(part):
    names = list(CASES)[part::3]
    args = "%first: tensor<?xf32>, %second: tensor<?xf32>, %table: tensor<?xf32>"
    ops = "".join(f"""
    %o{n} = linalg.generic {{indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}}
        ins(%first, %second : tensor<?xf32>, tensor<?xf32>) outs(%empty : tensor<?xf32>) {{
    ^bb0(%in: f32, %other: f32, %old: f32):
      {prepared("%in", "%other")}
      {CASES[name][0]}
      linalg.yield %r : f32
    }} -> tensor<?xf32>""" for n, name in enumerate(names))
    results = ", ".join(f"%o{n}" for n in range(len(names)))
    types = ", ".join(["tensor<?xf32>"] * len(names))
    program = graph(f"""#map = affine_map<(d) -> (d)>
    func.func @main({args}) -> ({types}) {{
      %c0 = arith.constant 0 : index
      %none = arith.constant -0.0 : f32
      %count = tensor.dim %first, %c0 : tensor<?xf32>
      %empty = tensor.empty(%count) : tensor<?xf32>{ops}
      return {results} : {types}
    }}""")
    values = Values(*INPUTS, TABLE)
    wrong = []
    for name, result in zip(names, program.run([*INPUTS, TABLE], outputs=[np.float32] * len(names))):
        if not np.allclose(result, expected(name, values), rtol=2e-5, atol=2e-6, equal_nan=True):
            wrong.append(f"{name}: {result}, expected {expected(name, values)}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("part", range(8))
def test_activations(part):
    """The sum of some, each at most 8, in one activation, which sees (gate, up) as they are: the first product copies its row."""
    names = list(CASES)[part::8]
    lines = prepared("%g", "%u") + """%sum0 = arith.constant 0.0 : f32
      %least = arith.constant -8.0 : f32
      %most = arith.constant 8.0 : f32
"""
    for n, name in enumerate(names):
        lines += f"""{renamed(CASES[name][0], f"_{n}")}
          %clamped{n} = math.clampf %r_{n} to [%least, %most] : f32
          %sum{n + 1} = arith.addf %sum{n}, %clamped{n} : f32
"""
    program = graph(f"""
    func.func @main(%t: tensor<?x32xf32>, %e: tensor<?x1xi32>, %w1: tensor<1x32x32xf32>, %w2: tensor<1x16x16xf32>, %table: tensor<?xf32>)
        -> tensor<?x16xf32> {{
      %rows, %layout = moe.dispatch %t, %e num_experts(1) : tensor<?x32xf32>, tensor<?x1xi32> -> tensor<?x32xf32>, !moe.layout<1>
      %y = moe.expert %rows, %layout, %w1, %w2 gated {{
      ^bb0(%g: f32, %u: f32):
        %none = arith.constant -0.0 : f32
        {lines}
        moe.yield %sum{len(names)} : f32
      }} : tensor<?x32xf32>, !moe.layout<1>, tensor<1x32x32xf32>, tensor<1x16x16xf32> -> tensor<?x16xf32>
      %out = moe.combine %y, %layout : tensor<?x16xf32>, !moe.layout<1> -> tensor<?x16xf32>
      return %out : tensor<?x16xf32>
    }}""", "x86-64-v3")
    gate, up = (np.resize(values, (3, 16)).astype(np.float32) for values in INPUTS)
    tokens = np.concatenate([gate, up], 1)
    identity = [np.eye(32, dtype=np.float32)[None], np.eye(16, dtype=np.float32)[None]]
    result = program.run([tokens, np.zeros((3, 1), np.int32), *identity, TABLE])[0]
    values = Values(gate.reshape(-1), up.reshape(-1), TABLE)
    assert_close(result, sum(np.clip(expected(name, values), -8, 8) for name in names).reshape(3, 16))


def test_the_table_is_whole():
    """Each op of arith and math is computed above, or refused."""
    config = Path(os.environ.get("MOE_BUILD_DIR", BIN.parent)) / "CMakeCache.txt"
    folder = re.search(r"^MLIR_DIR:\w+=(.*)/lib/cmake/mlir$", config.read_text(), re.M).group(1)
    known = {name.split()[0] for name in CASES} | REFUSED
    for dialect in ("Arith", "Math"):
        text = (Path(folder) / f"include/mlir/Dialect/{dialect}/IR/{dialect}Ops.td").read_text()
        ops = {f"{dialect.lower()}.{name}" for name in re.findall(r'^def \w+Op\s*:\s*\w+<"(\w+)"', text, re.M)}
        assert len(ops) > 40 and ops <= known, ops - known


@pytest.mark.parametrize("name,text", [
    ("math.ipowi", "%k = math.ipowi %i, %i : i32"),
    ("arith.truncf", "%k8 = arith.truncf %v : f32 to f8E4M3FN"),
    ("arith.extsi", "%k = arith.extsi %i : i32 to i128"),
    ("tensor.from_elements", "%k = tensor.from_elements %v : tensor<1xf32>"),
    ("cf.assert", 'cf.assert %b, "no"'),
])
def test_refused_at_once(name, text):
    """At level graph, by a sentence that names the op."""
    done = subprocess.run([BIN / "moe-opt", "-", "--moe-verify-level=level=graph"], text=True, capture_output=True, input=f"""
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
      %y = linalg.generic {{indexing_maps = [affine_map<(d) -> (d)>], iterator_types = ["parallel"]}} outs(%x : tensor<4xf32>) {{
      ^bb0(%v: f32):
        %i = arith.fptosi %v : f32 to i32
        %b = arith.cmpi eq, %i, %i : i32
        {text}
        linalg.yield %v : f32
      }} -> tensor<4xf32>
      return %y : tensor<4xf32>
    }}""")
    assert done.returncode == 1 and f"level graph: '{name}' cannot stand in a scalar region" in done.stderr, done.stderr
