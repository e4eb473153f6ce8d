// What the dense lowering leaves: no sort and no gather, the layout as two tensors, parameters and foreign ops as they are.
// RUN: moe-opt %s --moe-lower-to-dense | FileCheck %s
// RUN: moe-opt %s --moe-lower-to-dense -o %t && moe-opt %t --moe-lower-to-dense | diff %t -

// A layout that crosses a function is the expert and the row of each (token, slot).
// CHECK-LABEL: func.func @rows
// CHECK-SAME: -> (tensor<?x64xf32>, tensor<?x?xi32>, tensor<?x?xindex>)
func.func @rows(%x: tensor<?x64xf32>, %e: tensor<?x2xi64>) -> (tensor<?x64xf32>, !moe.layout<8>) {
  // CHECK-NOT: moe.
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x64xf32>, tensor<?x2xi64> -> tensor<?x64xf32>, !moe.layout<8>
  return %rows, %layout : tensor<?x64xf32>, !moe.layout<8>
}

// CHECK-LABEL: func.func @layer
func.func @layer(%x: tensor<?x64xf32>, %logits: tensor<?x8xf32>) -> tensor<?x64xf32> {
  // CHECK: %[[UP:.*]] = moe.parameter ["up"]
  // CHECK: moe.parameter ["down"]
  %w1 = moe.parameter ["up"] : tensor<8x32x64xf32>
  %w2 = moe.parameter ["down"] : tensor<8x64x32xf32>
  // CHECK-NOT: moe.
  // CHECK: nn.silu %{{.*}} : tensor<?x8xf32>
  // CHECK-NOT: moe.
  %s = nn.silu %logits : tensor<?x8xf32>
  %w, %e = moe.gate %s top_k(2) score(softmax) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  // CHECK: %[[ROWS:.*]]:3 = call @rows
  %id = arith.extsi %e : tensor<?x2xi32> to tensor<?x2xi64>
  %rows, %layout = call @rows(%x, %id) : (tensor<?x64xf32>, tensor<?x2xi64>) -> (tensor<?x64xf32>, !moe.layout<8>)
  // Every row meets every expert; those of other experts add nothing.
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction", "reduction"]
  // CHECK-SAME: ins(%{{.*}}, %[[ROWS]]#0, %[[UP]] : tensor<?xi32>, tensor<?x64xf32>, tensor<8x32x64xf32>)
  // CHECK: nn.silu %{{.*}} : f32
  %y = moe.expert %rows, %layout, %w1, %w2 {
  ^bb0(%v: f32):
    %a = nn.silu %v : f32
    moe.yield %a : f32
  } : tensor<?x64xf32>, !moe.layout<8>, tensor<8x32x64xf32>, tensor<8x64x32xf32> -> tensor<?x64xf32>
  // CHECK-NOT: moe.
  %out = moe.combine %y, %layout weights(%w : tensor<?x2xf32>) : tensor<?x64xf32>, !moe.layout<8> -> tensor<?x64xf32>
  return %out : tensor<?x64xf32>
}
