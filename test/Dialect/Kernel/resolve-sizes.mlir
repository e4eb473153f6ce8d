// RUN: moe-opt %s --kernel-resolve-sizes | FileCheck %s
// RUN: moe-opt %s --kernel-resolve-sizes --kernel-resolve-sizes | FileCheck %s

// Sizes of views become products of argument sizes, and "batch" is one value whichever argument it is read from.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[^:]*]]: memref<?x?x96xf32>
func.func @main(%x: memref<?x?x96xf32> {moe.dims = ["batch", "seq", ""]}, %p: memref<?xi64> {moe.dims = ["batch"]}) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c96 = arith.constant 96 : index
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
  // CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
  // CHECK-DAG: %[[B:.*]] = memref.dim %[[X]], %[[C0]]
  // CHECK-DAG: %[[S:.*]] = memref.dim %[[X]], %[[C1]]
  // CHECK: %[[T:.*]] = arith.muli %[[B]], %[[S]]
  // CHECK-NOT: arith.divui
  // CHECK-NOT: memref.dim
  // CHECK: return %[[T]], %[[B]], %[[T]]
  %rows = memref.collapse_shape %x [[0, 1], [2]] : memref<?x?x96xf32> into memref<?x96xf32>
  %t = memref.dim %rows, %c0 : memref<?x96xf32>
  %b = memref.dim %p, %c0 : memref<?xi64>
  %elements = arith.muli %t, %c96 : index
  %again = arith.divui %elements, %c96 : index
  return %t, %b, %again : index, index, index
}

shard.grid @ep(shape = 2)

// The size of a part is what its window was made with.
// CHECK-LABEL: func.func @part
// CHECK-SAME: (%[[N:.*]]: index)
// CHECK-NOT: memref.dim
// CHECK: return %[[N]]
func.func @part(%n: index) -> index {
  %c0 = arith.constant 0 : index
  %w = kernel.window(%n) on @ep as "w" : !kernel.window<?x8xf32>
  %own = kernel.part %w : !kernel.window<?x8xf32> -> memref<?x8xf32>
  %size = memref.dim %own, %c0 : memref<?x8xf32>
  return %size : index
}

// Dimensions that are not there stay as they are; kernel-verify-dimensions refuses them.
// CHECK-LABEL: func.func @no_such_dimension
// CHECK-COUNT-3: memref.dim
// CHECK-NOT: memref.dim
func.func @no_such_dimension(%x: memref<?x?x96xf32> {moe.dims = ["batch", "seq", ""]}, %p: memref<?xi64> {moe.dims = ["batch"]}) -> (index, index, index) {
  %minus = arith.constant -1 : index
  %three = arith.constant 3 : index
  %rows = memref.collapse_shape %x [[0, 1], [2]] : memref<?x?x96xf32> into memref<?x96xf32>
  %a = memref.dim %p, %minus : memref<?xi64>
  %b = memref.dim %x, %three : memref<?x?x96xf32>
  %c = memref.dim %rows, %three : memref<?x96xf32>
  return %a, %b, %c : index, index, index
}
