// RUN: moe-opt %s --convert-host-to-moert --canonicalize --cse | FileCheck %s

// A constant stands in the object file. The runtime brings it to where kernels can read it: truth values have a byte each.
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  memref.global "private" constant @table : memref<2x3xbf16> = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> {alignment = 64 : i64}
  memref.global "private" constant @truth : memref<3xi1> = dense<[true, false, true]>
  kernel.func @k(%t: memref<2x3xbf16>, %m: memref<3xi1>, %y: memref<?x3xbf16>) {
    kernel.return
  }

  // CHECK-LABEL: llvm.func @moe_run
  // CHECK-SAME: (%[[CTX:.*]]: !llvm.ptr)
  // CHECK-DAG: %[[AT:.*]] = llvm.mlir.addressof @table : !llvm.ptr
  // CHECK-DAG: %[[BITS:.*]] = llvm.mlir.addressof @truth : !llvm.ptr
  // CHECK: %[[T:.*]] = moert.constant %[[CTX]], %[[AT]], 12
  // CHECK: %[[M:.*]] = moert.constant %[[CTX]], %[[BITS]], 3
  // CHECK: moert.launch %[[CTX]], @k(%[[T]], %[[M]],
  func.func @main(%x: memref<?x3xbf16> {moe.name = "x", moe.dims = ["n", ""]}) -> (memref<?x3xbf16> {moe.name = "y", moe.dims = ["n", ""]}) {
    %c0 = arith.constant 0 : index
    %n = memref.dim %x, %c0 : memref<?x3xbf16>
    %y = memref.alloc(%n) : memref<?x3xbf16>
    %t = memref.get_global @table : memref<2x3xbf16>
    %m = memref.get_global @truth : memref<3xi1>
    kernel.launch @k(%t, %m, %y) rows(%n) work(%n) : memref<2x3xbf16>, memref<3xi1>, memref<?x3xbf16>
    return %y : memref<?x3xbf16>
  }
}
