"""A program of two ranks, written at the kernel level, that exchanges as the compiler's programs do not yet: a launch puts and signals, another
one waits row by row, and a product reads by TMA what came."""

import numpy as np
from emitted import to_bf16
from gpu_check.arrays import pack

# More rows than the form of a product for few rows takes, which copies them without TMA.
RANKS, ROWS, COLUMNS, WIDTH = 2, 12, 96, 40

LEVEL = """
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  shard.grid @ep(shape = 2)
  func.func @main(%x: memref<12x96xbf16> {moe.name = "x"}, %w: memref<1x2x128x64xbf16> {moe.name = "w"}) -> (memref<?x40xbf16>, memref<?x96xbf16>) {
    %c1 = arith.constant 1 : index
    %c24 = arith.constant 24 : index
    %me = kernel.rank on @ep : index
    %rows = kernel.window(%c24) on @ep as "rows" : !kernel.window<?x96xbf16>
    %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
    %given = kernel.part %rows : !kernel.window<?x96xbf16> -> memref<?x96xbf16>
    %copy = memref.alloc(%c24) : memref<?x96xbf16>
    %y = memref.alloc(%c24) : memref<?x40xbf16>
    kernel.launch @begin(%came) single rows(%c1) work(%c1) : !kernel.window<2xi32>
    kernel.launch @give(%x, %rows, %came, %me) rows(%c24) work(%c24) : memref<12x96xbf16>, !kernel.window<?x96xbf16>, !kernel.window<2xi32>, index
    kernel.launch @take(%given, %came, %copy) rows(%c24) work(%c24) : memref<?x96xbf16>, !kernel.window<2xi32>, memref<?x96xbf16>
    kernel.launch @linear(%given, %w, %y) rows(%c24) work(%c24) : memref<?x96xbf16>, memref<1x2x128x64xbf16>, memref<?x40xbf16>
    return %y, %copy : memref<?x40xbf16>, memref<?x96xbf16>
  }
  kernel.func @begin(%came: !kernel.window<2xi32>) {
    kernel.advance %came : !kernel.window<2xi32>
    kernel.return
  }
  kernel.func @give(%x: memref<12x96xbf16>, %rows: !kernel.window<?x96xbf16>, %came: !kernel.window<2xi32>, %me: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c12 = arith.constant 12 : index
    %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
    %first = arith.muli %me, %c12 : index
    scf.forall (%peer) in (2) {
      scf.for %i = %c0 to %c12 step %c1 {
        %to = arith.addi %first, %i : index
        kernel.put %x[%i], %rows[%peer][%to] : memref<12x96xbf16>, !kernel.window<?x96xbf16>
      }
      kernel.signal %came[%peer][%me], %epoch : !kernel.window<2xi32>
    }
    kernel.return
  }
  kernel.func @take(%given: memref<?x96xbf16>, %came: !kernel.window<2xi32>, %copy: memref<?x96xbf16>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c12 = arith.constant 12 : index
    %c96 = arith.constant 96 : index
    %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
    scf.forall (%row) in (24) {
      %source = arith.divui %row, %c12 : index
      kernel.await %came[%source] reach %epoch from %source : !kernel.window<2xi32>
      scf.for %c = %c0 to %c96 step %c1 {
        %v = memref.load %given[%row, %c] : memref<?x96xbf16>
        memref.store %v, %copy[%row, %c] : memref<?x96xbf16>
      }
    }
    kernel.return
  }
  kernel.func @linear(%x: memref<?x96xbf16>, %w: memref<1x2x128x64xbf16>, %y: memref<?x40xbf16>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c96 = arith.constant 96 : index
    %rows = memref.dim %x, %c0 : memref<?x96xbf16>
    scf.forall (%block) in (1) {
      kernel.row_tile %rows max 128 {
        %index = kernel.row_indices %c0 {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : <128>
        %zero = kernel.zero : <128x128xf32>
        %acc = scf.for %k = %c0 to %c96 step %c64 iter_args(%a = %zero) -> (!kernel.acc<128x128xf32>) {
          %next = kernel.mma %a, %x[%index, %k], %w[%block, %k, %c0] : !kernel.acc<128x128xf32>, memref<?x96xbf16>, memref<1x2x128x64xbf16>
          scf.yield %next : !kernel.acc<128x128xf32>
        }
        kernel.store_tile %acc -> %y[%index, %c0] {
        ^bb0(%r: index, %c: index, %v: f32):
          %o = arith.truncf %v : f32 to bf16
          kernel.yield %o : bf16
        } : (!kernel.acc<128x128xf32>), memref<?x40xbf16>
      }
    }
    kernel.return
  }
}
"""


def data():
    """(inputs of all ranks, what each rank's two results are)"""
    random = np.random.default_rng(3)
    x = random.integers(-2, 3, (RANKS * ROWS, COLUMNS)).astype(np.float32)
    w = random.integers(-1, 2, (WIDTH, COLUMNS)).astype(np.float32)
    packed = pack(to_bf16(w), "[#moe.pack<columns = 128, pairs = 64>]")
    return {"x": to_bf16(x), "w": np.concatenate([packed] * RANKS)}, (to_bf16(x @ w.T), to_bf16(x))


def run(program, **schedule):
    """What is wrong, or ""."""
    inputs, expected = data()
    fault, _, status = program.run(inputs, {}, True, **schedule)
    if fault:
        return fault
    if any(status):
        return f"status {status}"
    right = all(np.array_equal(program.output(rank, i), expected[i]) for rank in range(RANKS) for i in (0, 1))
    return "" if right else "wrong result"
