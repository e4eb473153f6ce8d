// Each host function becomes a program of its own; kernels and parameters are shared.
// RUN: moe-opt %s --kernel-to-runtime | FileCheck %s
// RUN: moe-opt %s --kernel-to-runtime -o %t.mlir && moe-opt %t.mlir | diff %t.mlir -

// CHECK: module attributes {{{.*}}moert.parameters = [{key = "a", recipe = [], sources = ["a"], type = memref<4xf32>}, {key = "b", recipe = [], sources = ["b"], type = memref<4xf32>}]
// CHECK: llvm.func @add(
// CHECK-NOT: llvm.func @add
// CHECK-LABEL: llvm.func @moe_run_first(
// CHECK-SAME: moert.program = {inputs = [{dims = array<i64: 0>, name = "x", type = memref<?x4xf32>}], outputs = [{dims = array<i64: 0>, name = "y", type = memref<?x4xf32>}], states = [], symbols = ["n"]}
// CHECK: moert.parameter %{{.*}}, 0
// CHECK-LABEL: llvm.func @moe_run_second(
// CHECK-SAME: moert.program = {inputs = [{dims = array<i64: 0>, name = "z",
// CHECK-SAME: symbols = ["m"]}
// CHECK-DAG: moert.parameter %{{.*}}, 0
// CHECK-DAG: moert.parameter %{{.*}}, 1
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>} {
  kernel.func @add(%x: memref<?x4xf32>, %w: memref<4xf32>, %y: memref<?x4xf32>) {
    %c0 = arith.constant 0 : index
    %n = memref.dim %x, %c0 : memref<?x4xf32>
    scf.forall (%i, %j) in (%n, 4) {
      %a = memref.load %x[%i, %j] : memref<?x4xf32>
      %b = memref.load %w[%j] : memref<4xf32>
      %s = arith.addf %a, %b : f32
      memref.store %s, %y[%i, %j] : memref<?x4xf32>
    }
    kernel.return
  }
  func.func @first(%x: memref<?x4xf32> {moe.name = "x", moe.dims = ["n", ""]}) -> (memref<?x4xf32> {moe.name = "y", moe.dims = ["n", ""]}) {
    %c0 = arith.constant 0 : index
    %n = memref.dim %x, %c0 : memref<?x4xf32>
    %w = moe.parameter ["a"] : memref<4xf32>
    %y = memref.alloc(%n) : memref<?x4xf32>
    kernel.launch @add(%x, %w, %y) rows(%n) work(%n) : memref<?x4xf32>, memref<4xf32>, memref<?x4xf32>
    return %y : memref<?x4xf32>
  }
  func.func @second(%z: memref<?x4xf32> {moe.name = "z", moe.dims = ["m", ""]}) -> (memref<?x4xf32> {moe.name = "y", moe.dims = ["m", ""]}) {
    %c0 = arith.constant 0 : index
    %n = memref.dim %z, %c0 : memref<?x4xf32>
    %a = moe.parameter ["a"] : memref<4xf32>
    %b = moe.parameter ["b"] : memref<4xf32>
    %t = memref.alloc(%n) : memref<?x4xf32>
    %y = memref.alloc(%n) : memref<?x4xf32>
    kernel.launch @add(%z, %a, %t) rows(%n) work(%n) : memref<?x4xf32>, memref<4xf32>, memref<?x4xf32>
    kernel.launch @add(%t, %b, %y) rows(%n) work(%n) : memref<?x4xf32>, memref<4xf32>, memref<?x4xf32>
    return %y : memref<?x4xf32>
  }
}
