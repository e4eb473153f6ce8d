// RUN: moe-opt %s --moe-partition | FileCheck %s
// RUN: moe-opt %s --moe-partition -o %t && moe-opt %t --moe-partition | diff %t -

shard.grid @ep(shape = 2)

// What is divided already stays as it is.
// CHECK-LABEL: func.func @divided
// CHECK: moe.all_to_all
// CHECK: moe.all_to_all
// CHECK: moe.parameter ["w"] recipe [#moe.transpose<[0, 1]>]
func.func @divided(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  %send, %sent = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<2>
  %recv, %got = moe.all_to_all %send, %sent on @ep : tensor<?x4xf32>, !moe.layout<2> -> tensor<?x4xf32>, !moe.layout<1>
  %back, %gone = moe.all_to_all %recv, %got on @ep return : tensor<?x4xf32>, !moe.layout<1> -> tensor<?x4xf32>, !moe.layout<2>
  %y = moe.combine %back, %gone : tensor<?x4xf32>, !moe.layout<2> -> tensor<?x4xf32>
  %1 = moe.parameter ["w"] recipe [#moe.transpose<[0, 1]>] : tensor<4x8xf32>
  return %y : tensor<?x4xf32>
}
