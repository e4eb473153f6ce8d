"""A program of one rank whose launches run at the same time, as an executable on the emulated GPU: one launch, whose blocks wait for each other."""

import numpy as np
import pytest
from cuda_program import compile_model, needs_cuda
from emitted import cuda_text
from emulated_program import link

pytestmark = needs_cuda

# Squares of 16 elements in each of two phases, and their sums.
TEXT = """
module attributes {{kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>}} {{
  kernel.func @clear(%done: memref<2xi32>) {{
    %zero = arith.constant 0 : i32
    scf.forall (%i) in (2) {{
      memref.store %zero, %done[%i] : memref<2xi32>
    }}
    kernel.return
  }}
  kernel.func @square(%x: memref<32xf32>, %y: memref<32xf32>, %done: memref<2xi32>) {{
    %c16 = arith.constant 16 : index
    %phase = kernel.phase : index
    %first = arith.muli %phase, %c16 : index
    scf.forall (%i) in (16) {{
      %at = arith.addi %first, %i : index
      %v = memref.load %x[%at] : memref<32xf32>
      %square = arith.mulf %v, %v : f32
      memref.store %square, %y[%at] : memref<32xf32>
      kernel.arrive %done[%phase] : memref<2xi32>
    }}
    kernel.return
  }}
  kernel.func @sum(%y: memref<32xf32>, %done: memref<2xi32>, %sums: memref<2xf32>) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0.0 : f32
    %phase = kernel.phase : index
    scf.forall (%once) in (1) {{
      kernel.await_arrivals %done[%phase] reach %c16 : memref<2xi32>
      %first = arith.muli %phase, %c16 : index
      %sum = scf.for %i = %c0 to %c16 step %c1 iter_args(%before = %zero) -> (f32) {{
        %at = arith.addi %first, %i : index
        %v = memref.load %y[%at] : memref<32xf32>
        %next = arith.addf %before, %v : f32
        scf.yield %next : f32
      }}
      memref.store %sum, %sums[%phase] : memref<2xf32>
    }}
    kernel.return
  }}
  func.func @main(%x: memref<32xf32> {{moe.name = "x"}}) -> (memref<2xf32> {{moe.name = "sums"}}) {{
    %y = memref.alloc() : memref<32xf32>
    %sums = memref.alloc() : memref<2xf32>
    %done = memref.alloc() : memref<2xi32>
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    kernel.launch @clear(%done) single rows(%c2) work(%c2) : memref<2xi32>
    kernel.launch_group {{
      kernel.launch @square(%x, %y, %done) blocks({blocks}) phases(2) rows(%c32) work(%c32) : memref<32xf32>, memref<32xf32>, memref<2xi32>
      kernel.launch @sum(%y, %done, %sums) blocks(1) phases(2) lag(1) rows(%c2) work(%c32) : memref<32xf32>, memref<2xi32>, memref<2xf32>
    }}
    return %sums : memref<2xf32>
  }}
}}
"""


def build(blocks, folder):
    """The program, and its input's flags. The emulated GPU has three multiprocessors."""
    text = TEXT.format(blocks=blocks)
    (folder / "group.mlir").write_text(text)
    done = compile_model(folder / "group.mlir", "--from=kernel", "--emit=obj", "-q", "-o", folder / "group.o")
    assert (done.returncode, done.stderr) == (0, "")
    np.save(folder / "x.npy", np.arange(32, dtype=np.float32))
    program = link(folder / "group.o", cuda_text(text), folder)
    return lambda **options: program("--input", f"x=@{folder / 'x.npy'}", "--output-dir", folder / "out", **options)


def test_a_group_is_a_launch_of_a_program(tmp_path):
    program = build(2, tmp_path)
    for seed in (1, 2, 3):
        program(seed=seed)
        np.testing.assert_array_equal(np.load(tmp_path / "out" / "sums.npy"), (np.arange(32.0) ** 2).reshape(2, 16).sum(1))


def test_a_device_with_too_few_multiprocessors(tmp_path):
    """One line, before the launch."""
    program = build(16, tmp_path)
    with pytest.raises(AssertionError, match="need 17 multiprocessors, one for each block, and the device has 3; compile for it, or give them fewer"):
        program()
