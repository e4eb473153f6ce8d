"""Constants of a graph on the emulated GPU, which finds them in its own memory: of several types, large ones, and results that are nothing else."""

import ml_dtypes
import numpy as np
from cuda_program import needs_cuda
from emulated_program import build, call

pytestmark = needs_cuda
N = 300
NUMBERS = np.sin(np.arange(N)).astype(np.float32)
HALVES = np.arange(6).reshape(2, 3) / 2
PLACES = np.array([7, -(2**40), 3])
TRUTH = np.array([True, False, False, True, True])


def dense(values):
    return "dense<[" + ", ".join(str(value).lower() for value in values) + "]>"


def test_constants(tmp_path):
    program = build(f"""
    func.func @main(%x: tensor<{N}xf32> {{moe.name = "x"}}, %h: tensor<2x3xbf16> {{moe.name = "h"}}, %i: tensor<3xi64> {{moe.name = "i"}}, %b: tensor<5xi1> {{moe.name = "b"}})
        -> (tensor<{N}xf32> {{moe.name = "numbers"}}, tensor<2x3xbf16> {{moe.name = "halves"}}, tensor<3xi64> {{moe.name = "places"}}, tensor<5xi1> {{moe.name = "truth"}},
            tensor<{N}xf32> {{moe.name = "itself"}}, tensor<4xf32> {{moe.name = "same"}}, tensor<40xf32> {{moe.name = "filled"}}) {{
      %numbers = arith.constant {dense(map(float, NUMBERS))} : tensor<{N}xf32>
      %halves = arith.constant dense<[{", ".join(str(row) for row in HALVES.tolist())}]> : tensor<2x3xbf16>
      %places = arith.constant {dense(PLACES)} : tensor<3xi64>
      %truth = arith.constant {dense(TRUTH)} : tensor<5xi1>
      %0 = arith.addf %x, %numbers : tensor<{N}xf32>
      %1 = arith.addf %h, %halves : tensor<2x3xbf16>
      %2 = arith.addi %i, %places : tensor<3xi64>
      %3 = arith.xori %b, %truth : tensor<5xi1>
      %same = arith.constant dense<2.5> : tensor<4xf32>
      %filled = arith.constant dense<3.5> : tensor<40xf32>
      return %0, %1, %2, %3, %numbers, %same, %filled
          : tensor<{N}xf32>, tensor<2x3xbf16>, tensor<3xi64>, tensor<5xi1>, tensor<{N}xf32>, tensor<4xf32>, tensor<40xf32>
    }}""", tmp_path)  # fmt: skip
    inputs = {"x": np.ones(N, np.float32), "h": HALVES.astype(ml_dtypes.bfloat16), "i": np.array([1, 2, 3]), "b": np.array([True, True, False, False, True])}
    call(program, tmp_path, inputs)
    out = {name: np.load(tmp_path / "out" / f"{name}.npy") for name in ("numbers", "halves", "places", "truth", "itself", "same", "filled")}
    np.testing.assert_array_equal(out["numbers"], NUMBERS + 1)
    np.testing.assert_array_equal(out["halves"].astype(np.float32), 2 * HALVES)
    np.testing.assert_array_equal(out["places"], inputs["i"] + PLACES)
    np.testing.assert_array_equal(out["truth"], inputs["b"] ^ TRUTH)
    np.testing.assert_array_equal(out["itself"], NUMBERS)
    assert (out["same"] == 2.5).all() and (out["filled"] == 3.5).all()
