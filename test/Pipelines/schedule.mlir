// RUN: moe-opt %s --moe-schedule --remarks-filter=moe-schedule --remark-format=emitRemark 2>&1 | FileCheck %s
// RUN: moe-opt %s --moe-schedule -o %t && moe-opt %t --moe-schedule | diff %t -
// A schedule that is there is no decision.
// RUN: moe-opt %t --moe-schedule --remarks-filter=moe-schedule --remark-format=emitRemark -o %t.again 2>&1 | count 0

// CHECK: schedule.mlir:[[#@LINE+15]]:8: remark: [Analysis] Schedule
// CHECK-SAME: Function=experts
// CHECK-SAME: plain: the layer does not communicate
// CHECK-SAME: experts=8
// CHECK: remark: [Analysis] Schedule
// CHECK-SAME: Function=ranks
// CHECK-SAME: plain: it exchanges no tokens: each rank has all of them (tokens=replicated)
// CHECK-SAME: experts=8
// CHECK-NOT: remark
// CHECK-LABEL: func.func @experts
// CHECK: moe.expert %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} schedule(<plain>) {
// CHECK: moe.expert %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} schedule(<plain>) {
func.func @experts(%x: tensor<?x64xf32>, %layout: !moe.layout<8>) -> tensor<?x64xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x32x64xf32>
  %w2 = moe.parameter ["down"] : tensor<8x64x32xf32>
  %y = moe.expert %x, %layout, %w1, %w2 {
  ^bb0(%u: f32):
    moe.yield %u : f32
  } : tensor<?x64xf32>, !moe.layout<8>, tensor<8x32x64xf32>, tensor<8x64x32xf32> -> tensor<?x64xf32>
  // This one is written by hand.
  %z = moe.expert %y, %layout, %w1, %w2 schedule(<plain>) {
  ^bb0(%u: f32):
    moe.yield %u : f32
  } : tensor<?x64xf32>, !moe.layout<8>, tensor<8x32x64xf32>, tensor<8x64x32xf32> -> tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

shard.grid @ep(shape = 2)

func.func @ranks(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>) -> tensor<?x64xf32> {
  %w1 = moe.parameter ["up"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<8x32x64xf32>
  %w2 = moe.parameter ["down"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<8x64x32xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(16) at @ep : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w2 {
  ^bb0(%u: f32):
    moe.yield %u : f32
  } : tensor<?x64xf32>, !moe.layout<8>, tensor<8x32x64xf32>, tensor<8x64x32xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
