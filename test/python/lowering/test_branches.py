"""scf.if and loops in the activation of experts: numbers against NumPy, and large ones in some seconds."""

import itertools
import re
import resource
import subprocess

import numpy as np
import pytest
from graph import BIN, assert_close, graph

from moe_mlir.testing.full import sample


def row(count):
    """One branch after the other, each on what the one before gives."""
    lines = ["%v0 = arith.addf %g, %u : f32", "%half = arith.constant 0.5 : f32"]
    for i in range(count):
        lines.append(f"""%c{i} = arith.cmpf ogt, %v{i}, %u : f32
          %v{i + 1} = scf.if %c{i} -> f32 {{
            %q{i} = arith.mulf %v{i}, %half : f32
            scf.yield %q{i} : f32
          }} else {{
            %q{i} = arith.addf %v{i}, %g : f32
            scf.yield %q{i} : f32
          }}""")
    return "\n".join([*lines, f"moe.yield %v{count} : f32"])


def expected_row(count, g, u):
    value = g + u
    for _ in range(count):
        value = np.where(value > u, value * 0.5, value + g)
    return value


def nest(depth):
    """Each branch in the first one of the branch around it: u plus the first of the limits that |g| does not exceed."""
    lines = ["%size = math.absf %g : f32", "%step = arith.constant 0.25 : f32"]
    for i in range(depth):
        lines.append(f"""%k{i} = arith.constant {0.25 * i} : f32
          %c{i} = arith.cmpf ogt, %size, %k{i} : f32
          %z{i} = scf.if %c{i} -> f32 {{""")
    lines.append("scf.yield %u : f32")
    for i in reversed(range(depth)):
        lines.append(f"""}} else {{
            %n{i} = arith.addf %u, %k{i} : f32
            scf.yield %n{i} : f32
          }}
          {"moe.yield" if i == 0 else "scf.yield"} %z{i} : f32""")
    return "\n".join(lines)


def expected_nest(depth, g, u):
    limits = 0.25 * np.arange(depth)
    first = (np.abs(g)[..., None] > limits).argmin(-1)
    return np.where(np.abs(g) > limits[-1], u, u + limits[first])


# A branch that must not be computed where it is not taken, a loop, a value of the table: element by element.
DIVISION = """%i = arith.fptosi %g : f32 to i32
  %zero = arith.constant 0 : i32
  %ten = arith.constant 10 : i32
  %c = arith.cmpi ne, %i, %zero : i32
  %r = scf.if %c -> f32 {
    %d = arith.divsi %ten, %i : i32
    %f = arith.sitofp %d : i32 to f32
    scf.yield %f : f32
  } else {
    scf.yield %u : f32
  }
  moe.yield %r : f32"""
LOOP = """%first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %whole = math.absf %g : f32
  %number = arith.fptosi %whole : f32 to i32
  %last = arith.index_cast %number : i32 to index
  %r = scf.for %i = %first to %last step %step iter_args(%s = %u) -> f32 {
    %t = arith.addf %s, %g : f32
    scf.yield %t : f32
  }
  moe.yield %r : f32"""
TABLE = """%at = arith.constant 1 : index
  %c = arith.cmpf ogt, %g, %u : f32
  %r = scf.if %c -> f32 {
    %t = tensor.extract %table[%at] : tensor<?xf32>
    %p = arith.mulf %t, %g : f32
    scf.yield %p : f32
  } else {
    scf.yield %u : f32
  }
  moe.yield %r : f32"""
BODIES = {
    "one": (row(1), lambda g, u, t: expected_row(1, g, u)),
    "row": (row(9), lambda g, u, t: expected_row(9, g, u)),
    "nest": (nest(12), lambda g, u, t: expected_nest(12, g, u)),
    "division": (DIVISION, lambda g, u, t: np.where(np.trunc(g) != 0, np.trunc(10 / np.where(np.trunc(g) != 0, np.trunc(g), 1)), u)),
    "loop": (LOOP, lambda g, u, t: u + np.trunc(np.abs(g)) * g),
    "table": (TABLE, lambda g, u, t: np.where(g > u, t[1] * g, u)),
}


# 64 columns, and sizes of which a tile is cut.
@pytest.mark.parametrize("width, cpu", sample(itertools.product([64, 100, 3], ["x86-64-v3", "native"]), 3, 4))
@pytest.mark.parametrize("name", BODIES)
def test_numbers(name, cpu, width):
    body, expected = BODIES[name]
    program = graph(f"""
    func.func @main(%x: tensor<?x{2 * width}xf32>, %e: tensor<?x1xi32>, %w1: tensor<2x{2 * width}x{2 * width}xf32>,
                    %w2: tensor<2x{width}x{width}xf32>, %table: tensor<?xf32>) -> tensor<?x{width}xf32> {{
      %rows, %layout = moe.dispatch %x, %e num_experts(2) : tensor<?x{2 * width}xf32>, tensor<?x1xi32> -> tensor<?x{2 * width}xf32>, !moe.layout<2>
      %y = moe.expert %rows, %layout, %w1, %w2 gated {{
      ^bb0(%g: f32, %u: f32):
        {body}
      }} : tensor<?x{2 * width}xf32>, !moe.layout<2>, tensor<2x{2 * width}x{2 * width}xf32>, tensor<2x{width}x{width}xf32> -> tensor<?x{width}xf32>
      %out = moe.combine %y, %layout : tensor<?x{width}xf32>, !moe.layout<2> -> tensor<?x{width}xf32>
      return %out : tensor<?x{width}xf32>
    }}""", cpu)
    random = np.random.default_rng(0)
    table = np.float32([1, -2, 3])
    # The products copy their rows: the activation sees (gate, up) as they are, in quarters so that all sums are exact.
    identity = [np.stack([np.eye(size, dtype=np.float32)] * 2) for size in (2 * width, width)]
    for tokens in (1, 7, 40):
        g, u = (np.round(4 * random.standard_normal((tokens, width)) * 2).astype(np.float32) / 4 for _ in range(2))
        experts = random.integers(0, 2, (tokens, 1)).astype(np.int32)
        result = program.run([np.concatenate([g, u], 1), experts, *identity, table], blocks=2)[0]
        assert_close(result, expected(g.astype(np.float64), u.astype(np.float64), table))


def repeated(body, count):
    """The body several times, each on what the one before gives."""
    texts = []
    for i in range(count):
        text = re.sub(r"%(?!g\b|u\b)(\w+)", rf"%\1_{i}", body)
        texts.append(text.replace("%u", f"%r_{i - 1}") if i else text)
    return "\n".join([text.rsplit("moe.yield", 1)[0] for text in texts]) + f"moe.yield %r_{count - 1} : f32"


def limit():
    """Of the processor's time: other work on the machine takes none of it."""
    resource.setrlimit(resource.RLIMIT_CPU, (30, 30))


# Each body was copied for each element of each tile: eight branches took half a minute, and a nest of 150 did not end.
@pytest.mark.parametrize("body", [row(24), nest(150), repeated(DIVISION, 10), repeated(LOOP, 10)], ids=["row", "nest", "division", "loop"])
def test_large_bodies(body, tmp_path):
    (tmp_path / "a.mlir").write_text(f"""module attributes {{moe.level = "graph"}} {{
      func.func @main(%x: tensor<?x8xf32>, %e: tensor<?x1xi32>, %w1: tensor<2x8x8xf32>, %w2: tensor<2x8x4xf32>) -> tensor<?x8xf32> {{
        %rows, %layout = moe.dispatch %x, %e num_experts(2) : tensor<?x8xf32>, tensor<?x1xi32> -> tensor<?x8xf32>, !moe.layout<2>
        %y = moe.expert %rows, %layout, %w1, %w2 gated {{
        ^bb0(%g: f32, %u: f32):
          {body}
        }} : tensor<?x8xf32>, !moe.layout<2>, tensor<2x8x8xf32>, tensor<2x8x4xf32> -> tensor<?x8xf32>
        %out = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<2> -> tensor<?x8xf32>
        return %out : tensor<?x8xf32>
      }}
    }}""")
    subprocess.run([BIN / "moe-compile", tmp_path / "a.mlir", "--to=runtime", "-o", tmp_path / "a.out", "-q"], check=True, preexec_fn=limit)
