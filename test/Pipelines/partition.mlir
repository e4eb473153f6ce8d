// RUN: moe-opt %s --moe-partition | FileCheck %s
// RUN: moe-opt %s --moe-partition -o %t && moe-opt %t --moe-partition | diff %t -

shard.grid @one(shape = 1)
shard.grid @ep(shape = 4)

// CHECK-LABEL: func.func @alone
// CHECK-SAME: %[[R:.*]]: tensor<?x4xf32>, %[[L:.*]]: !moe.layout<8>
func.func @alone(%r: tensor<?x4xf32>, %l: !moe.layout<8>, %w: tensor<?x2xf32>) -> tensor<?x4xf32> {
  // CHECK-NOT: moe.all_to_all
  // CHECK: moe.combine %[[R]], %[[L]]
  %recv, %local = moe.all_to_all %r, %l on @one : tensor<?x4xf32>, !moe.layout<8> -> tensor<?x4xf32>, !moe.layout<8>
  %0 = moe.combine %recv, %local weights(%w : tensor<?x2xf32>) : tensor<?x4xf32>, !moe.layout<8> -> tensor<?x4xf32>
  // Nothing else is simplified.
  // CHECK: moe.parameter ["w"] recipe [#moe.transpose<[0, 1]>]
  %1 = moe.parameter ["w"] recipe [#moe.transpose<[0, 1]>] : tensor<4x8xf32>
  return %0 : tensor<?x4xf32>
}

// An exchange that is returned at once is none, whatever the grid.
// CHECK-LABEL: func.func @there_and_back
// CHECK-SAME: %[[R:.*]]: tensor<?x4xf32>
// CHECK-NEXT: return %[[R]]
func.func @there_and_back(%r: tensor<?x4xf32>, %l: !moe.layout<8>) -> tensor<?x4xf32> {
  %recv, %rl = moe.all_to_all %r, %l on @ep : tensor<?x4xf32>, !moe.layout<8> -> tensor<?x4xf32>, !moe.layout<2>
  %back, %bl = moe.all_to_all %recv, %rl on @ep return : tensor<?x4xf32>, !moe.layout<2> -> tensor<?x4xf32>, !moe.layout<8>
  return %back : tensor<?x4xf32>
}
