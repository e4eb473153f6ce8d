// RUN: moe-opt %s --convert-host-to-moert --canonicalize --cse | FileCheck %s

kernel.func @k(%y: memref<?x?x8xf32>) {
  kernel.return
}

// One dimension becomes two dynamic ones: their sizes are the stated ones, since no rule could infer them.
// CHECK-LABEL: llvm.func @moe_run
// CHECK-DAG: %[[B:.*]] = moert.input_size %[[CTX:.*]], 0, 0
// CHECK-DAG: %[[S:.*]] = moert.input_size %[[CTX]], 0, 1
// CHECK-DAG: %[[X:.*]] = moert.input %[[CTX]], 1
// CHECK: moert.launch %[[CTX]], @k(%[[X]], %[[B]], %[[S]])
func.func @main(%ids: memref<?x?xi64> {moe.name = "ids", moe.dims = ["batch", "seq"]},
                %x: memref<?x8xf32> {moe.name = "x", moe.dims = ["rows", ""]})
    -> (memref<?x?xi64> {moe.name = "y", moe.dims = ["batch", "seq"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = memref.dim %ids, %c0 : memref<?x?xi64>
  %s = memref.dim %ids, %c1 : memref<?x?xi64>
  %e = memref.expand_shape %x [[0, 1], [2]] output_shape [%b, %s, 8] : memref<?x8xf32> into memref<?x?x8xf32>
  kernel.launch @k(%e) rows(%b) work(%c1) : memref<?x?x8xf32>
  return %ids : memref<?x?xi64>
}
