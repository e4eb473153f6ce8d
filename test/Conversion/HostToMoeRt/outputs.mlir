// RUN: moe-opt %s --convert-host-to-moert --canonicalize --cse --split-input-file | FileCheck %s

// An argument that is returned is copied, and so is a buffer that is returned a second time.
// CHECK-LABEL: llvm.func @moe_run
// CHECK: %[[X:.*]] = moert.input
// CHECK: %[[FIRST:.*]] = moert.output %{{.*}}, 0
// CHECK: %[[COPY:.*]] = moert.output %{{.*}}, 1
// CHECK: "llvm.intr.memcpy"(%[[COPY]], %[[FIRST]]
// CHECK: %[[SECOND:.*]] = moert.output %{{.*}}, 2
// CHECK: "llvm.intr.memcpy"(%[[SECOND]], %[[X]]
func.func @main(%x: memref<4xf32>) -> (memref<4xf32>, memref<4xf32>, memref<4xf32>) {
  %y = memref.alloc() : memref<4xf32>
  return %y, %y, %x : memref<4xf32>, memref<4xf32>, memref<4xf32>
}

// -----

// Constants become globals of the object.
// CHECK: llvm.mlir.global private constant @table(dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>)
// CHECK: llvm.mlir.addressof @table
kernel.func @k(%t: memref<2xf32>) {
  kernel.return
}
memref.global "private" constant @table : memref<2xf32> = dense<[1.0, 2.0]>
func.func @main() {
  %n = arith.constant 2 : index
  %t = memref.get_global @table : memref<2xf32>
  kernel.launch @k(%t) rows(%n) work(%n) : memref<2xf32>
  return
}
