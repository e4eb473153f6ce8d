// RUN: moe-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @layer
func.func @layer(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %wr = moe.parameter ["gate"] : tensor<8x64xf32>
  %w1 = moe.parameter ["gate_up"] : tensor<8x64x64xf32>
  // CHECK: moe.parameter ["down"] recipe [#moe.transpose<[0, 2, 1]>, #moe.pack<columns = 64, pairs = 2>]
  %w2 = moe.parameter ["down"] recipe [#moe.transpose<[0, 2, 1]>, #moe.pack<columns = 64, pairs = 2>] : tensor<8x64x32xf32>
  %logits = nn.linear %x, %wr : tensor<?x64xf32>, tensor<8x64xf32> -> tensor<?x8xf32>
  // CHECK: moe.gate %{{.*}} top_k(2) score({{ ?}}softmax) renormalize({{ ?}}sum) capacity(<1.250000e+00, tutel>)
  %w, %e = moe.gate %logits top_k(2) score(softmax) renormalize(sum) capacity(<1.25, tutel>) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  // CHECK: moe.dispatch
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<8>
  // CHECK: moe.expert {{.*}} gated
  %y = moe.expert %rows, %layout, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    %s = nn.silu %g : f32
    %a = arith.mulf %s, %u : f32
    moe.yield %a : f32
  } : tensor<?x64xf32>, !moe.layout<8>, tensor<8x64x64xf32>, tensor<8x64x32xf32> -> tensor<?x64xf32>
  // CHECK: moe.combine
  %out = moe.combine %y, %layout weights(%w : tensor<?x2xf32>) : tensor<?x64xf32>, !moe.layout<8> -> tensor<?x64xf32>
  return %out : tensor<?x64xf32>
}
