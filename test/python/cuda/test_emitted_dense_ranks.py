"""Dense layers that ranks share, on the emulated GPU: a part of a table, columns of products, their sums, and what ranks join.

Weights are small whole numbers, so that neither another order of a sum nor a rounding shows.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from rank_layers import TYPES, bits, kernel_level
from rank_program import RankedProgram

from moe_mlir.testing.full import FULL

ROWS, WIDTH, HIDDEN, COLUMNS = 32, 64, 96, 40


@dataclass(frozen=True)
class Dense:
    element: str

    def graph(self):
        element, wide = self.element, f"tensor<?x{HIDDEN}xf32>"
        square = f"  %a = arith.mulf %h, %h : {wide}" if element == "f32" else f"""  %f = arith.extf %h : tensor<?x{HIDDEN}x{element}> to {wide}
  %s = arith.mulf %f, %f : {wide}
  %a = arith.truncf %s : {wide} to tensor<?x{HIDDEN}x{element}>"""
        return f"""
func.func @main(%ids: tensor<?xi64> {{moe.dims = ["tokens"], moe.name = "ids"}}) -> (tensor<?x{COLUMNS}x{element}> {{moe.dims = ["tokens", ""], moe.name = "y"}}) {{
  %table = moe.parameter ["table"] : tensor<{ROWS}x{WIDTH}x{element}>
  %up = moe.parameter ["up"] : tensor<{HIDDEN}x{WIDTH}x{element}>
  %bias = moe.parameter ["bias"] : tensor<{HIDDEN}x{element}>
  %down = moe.parameter ["down"] : tensor<{WIDTH}x{HIDDEN}x{element}>
  %more = moe.parameter ["more"] : tensor<{WIDTH}x{element}>
  %head = moe.parameter ["head"] : tensor<{COLUMNS}x{WIDTH}x{element}>
  %x = nn.embedding %ids, %table : tensor<?xi64>, tensor<{ROWS}x{WIDTH}x{element}> -> tensor<?x{WIDTH}x{element}>
  %h = nn.linear %x, %up bias(%bias) : tensor<?x{WIDTH}x{element}>, tensor<{HIDDEN}x{WIDTH}x{element}>, tensor<{HIDDEN}x{element}> -> tensor<?x{HIDDEN}x{element}>
{square}
  %d = nn.linear %a, %down bias(%more) : tensor<?x{HIDDEN}x{element}>, tensor<{WIDTH}x{HIDDEN}x{element}>, tensor<{WIDTH}x{element}> -> tensor<?x{WIDTH}x{element}>
  %y = nn.linear %d, %head : tensor<?x{WIDTH}x{element}>, tensor<{COLUMNS}x{WIDTH}x{element}> -> tensor<?x{COLUMNS}x{element}>
  return %y : tensor<?x{COLUMNS}x{element}>
}}
"""


def weights(element):
    """Mostly zeros, so that sums stay small."""
    random = np.random.default_rng(7)
    shapes = {"table": (ROWS, WIDTH), "up": (HIDDEN, WIDTH), "bias": (HIDDEN,), "down": (WIDTH, HIDDEN), "more": (WIDTH,), "head": (COLUMNS, WIDTH)}
    return {name: (random.integers(-1, 2, shape) * (random.random(shape) < 0.06)).astype(TYPES[element]) for name, shape in shapes.items()}


def reference(ids, arrays):
    table, up, bias, down, more, head = (array.astype(np.float64) for array in arrays.values())
    return ((table[ids] @ up.T + bias) ** 2 @ down.T + more) @ head.T


@pytest.mark.parametrize("element,ranks", [("bf16", 2), *([("f32", 2), ("bf16", 4)] if FULL else [])])
def test_ranks_equal_numpy(element, ranks, tmp_path):
    text = kernel_level(Dense(element), ranks, "replicated", tmp_path, axis="tp")
    assert text.count("@give_sums") >= 2 and "@join_parts" in text
    program = RankedProgram(text, ranks, tmp_path / "kernels")
    ids, arrays = np.random.default_rng(1).integers(0, ROWS, 11), weights(element)
    expected = reference(ids, arrays)
    assert np.abs(expected).max() < 256 and len(np.unique(expected)) > 10
    for schedule in ({"seed": 1, "timing": "random"}, {"seed": 2, "timing": "eager", "skewed": True}):
        fault, outputs, status = program.run({"ids": ids}, bits(arrays), False, **schedule)
        assert fault == "" and status == [0] * ranks, (schedule, fault)
        for output in outputs:
            np.testing.assert_array_equal(output.view(TYPES[element]).astype(np.float64), expected, str(schedule))
