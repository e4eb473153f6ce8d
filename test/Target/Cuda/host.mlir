// A program for a GPU: the host function becomes calls of the runtime, kernels become text with what a launch needs.
// RUN: moe-opt %s --kernel-to-runtime | FileCheck %s
// RUN: moe-opt %s --kernel-to-runtime -o %t && moe-opt %t --moe-verify-level=level=runtime | diff %t -
// Without machine code there is no object; the kernels of the table have no function.
// RUN: not moe-translate --moe-to-object %t 2>&1 | FileCheck %s --check-prefix=OBJECT
// RUN: moe-opt %t --convert-moert-to-llvm | FileCheck %s --check-prefix=TABLE

// CHECK-DAG:   llvm.func @moe_run(%[[CTX:.*]]: !llvm.ptr) -> i32 attributes {moert.program
// CHECK-DAG:   moert.launch %[[CTX]], @twice(
// CHECK-DAG:   emitc.func @twice(%{{.*}}: !emitc.ptr<f32>, %{{.*}}: i64, %{{.*}}: !emitc.ptr<f32>, %{{.*}}: i64) attributes {cuda.blocks_per_sm
// CHECK-NOT:   kernel.func
// OBJECT:      error: CUDA kernels without machine code; moe-compile makes programs for a GPU
// TABLE:       llvm.mlir.global internal constant @moert_kernels()
// TABLE:         llvm.mlir.zero : !llvm.ptr
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  kernel.func @twice(%x: memref<?xf32>, %y: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %m = memref.dim %x, %c0 : memref<?xf32>
    scf.forall (%i) in (%m) {
      %a = memref.load %x[%i] : memref<?xf32>
      %s = arith.addf %a, %a : f32
      memref.store %s, %y[%i] : memref<?xf32>
    }
    kernel.return
  }
  func.func @main(%x: memref<?xf32> {moe.name = "x", moe.dims = ["n"]}) -> (memref<?xf32> {moe.name = "y", moe.dims = ["n"]}) {
    %c0 = arith.constant 0 : index
    %m = memref.dim %x, %c0 : memref<?xf32>
    %y = memref.alloc(%m) : memref<?xf32>
    kernel.launch @twice(%x, %y) rows(%m) work(%m) : memref<?xf32>, memref<?xf32>
    return %y : memref<?xf32>
  }
}
