// RUN: moe-opt %s --moe-schedule --remarks-filter=moe-schedule --remark-format=emitRemark 2>&1 | FileCheck %s

// CHECK: remark: [Analysis] Schedule
// CHECK-SAME: plain: the layer does not communicate
// CHECK-NOT: remark
// CHECK: moe.schedule = "plain"
// CHECK: moe.schedule = "chosen by hand"
func.func @experts(%x: tensor<?x64xf32>, %layout: !moe.layout<8>) -> tensor<?x64xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x32x64xf32>
  %w2 = moe.parameter ["down"] : tensor<8x64x32xf32>
  %y = moe.expert %x, %layout, %w1, %w2 {
  ^bb0(%u: f32):
    moe.yield %u : f32
  } : tensor<?x64xf32>, !moe.layout<8>, tensor<8x32x64xf32>, tensor<8x64x32xf32> -> tensor<?x64xf32>
  %z = moe.expert %y, %layout, %w1, %w2 {
  ^bb0(%u: f32):
    moe.yield %u : f32
  } {moe.schedule = "chosen by hand"} : tensor<?x64xf32>, !moe.layout<8>, tensor<8x32x64xf32>, tensor<8x64x32xf32> -> tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}
