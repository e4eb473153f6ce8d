// RUN: moe-opt %s --graph-decide --convert-graph-to-kernel --split-input-file | FileCheck %s

// Gate, layout, two products, combine; no gathered tensor, the sum over the second product stays f32.
// CHECK-LABEL: func.func @layer
// CHECK-SAME: %[[X:.*]]: memref<?x64xbf16>
// CHECK: kernel.launch @gate_8_top2_softmax
// CHECK: %[[TOKENS:.*]] = memref.alloc(%{{.*}}) : memref<?xi32>
// CHECK: kernel.launch @layout_8({{.*}}) rows({{.*}}) work({{.*}})
// CHECK-SAME: moe.expert_load = {layer = "layers.3.mlp", offsets = 1 : i64}
// CHECK-NOT: gather
// CHECK: moe.parameter ["layers.3.mlp.experts.gate_up"] recipe [#moe.pack<columns = 64, pairs = 2, halves = true>] {moe.shape = array<i64: 8, 96, 64>} : memref<8x2x32x64x2xbf16>
// CHECK: %[[H:.*]] = memref.alloc(%{{.*}}) : memref<?x48xbf16>
// CHECK: %[[Y:.*]] = memref.alloc(%{{.*}}) : memref<?x64xf32>
// CHECK: kernel.launch @experts_up_8x96x64_bf16_gated(%[[X]], %[[TOKENS]], %{{.*}}, %[[H]], %{{.*}}, %{{.*}})
// CHECK: kernel.launch @experts_down_8x64x48_bf16(%[[H]], %{{.*}}, %[[Y]], %{{.*}}, %{{.*}})
// CHECK: kernel.launch @combine_64_bf16_top2(%[[Y]],
func.func @layer(%x: tensor<?x64xbf16>, %logits: tensor<?x8xbf16>) -> tensor<?x64xbf16> {
  %w1 = moe.parameter ["layers.3.mlp.experts.gate_up"] : tensor<8x96x64xbf16>
  %w2 = moe.parameter ["layers.3.mlp.experts.down"] : tensor<8x64x48xbf16>
  %w, %e = moe.gate %logits top_k(2) score(softmax) renormalize(sum) : tensor<?x8xbf16> -> tensor<?x2xbf16>, tensor<?x2xi32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    %s = nn.silu %g : f32
    %a = arith.mulf %s, %u : f32
    moe.yield %a : f32
  } : tensor<?x64xbf16>, !moe.layout<8>, tensor<8x96x64xbf16>, tensor<8x64x48xbf16> -> tensor<?x64xbf16>
  %out = moe.combine %y, %layout weights(%w : tensor<?x2xbf16>) : tensor<?x64xbf16>, !moe.layout<8> -> tensor<?x64xbf16>
  return %out : tensor<?x64xbf16>
}
// CHECK-LABEL: kernel.func @experts_up_8x96x64_bf16_gated(
// CHECK-SAME: %[[KX:.*]]: memref<?x64xbf16>, %[[KT:.*]]: memref<?xi32>,
// CHECK: scf.forall (%[[N:.*]], %{{.*}}) in (2, %{{.*}}) {
// CHECK: %[[ROWS:.*]] = kernel.row_indices
// CHECK: %[[TOKEN:.*]] = memref.load %[[KT]]
// CHECK: kernel.mma %{{.*}}, %[[KX]][%{{.*}}, %[[K:.*]]], %{{.*}}[%[[E:.*]], %[[N]], %[[K]], %c0] : !kernel.acc<6x32xf32>
// CHECK: kernel.mma %{{.*}}, %[[KX]][%{{.*}}, %[[K]]], %{{.*}}[%[[E]], %[[N]], %[[K]], %c32] : !kernel.acc<6x32xf32>
// CHECK: kernel.store_tile %{{.*}}#0, %{{.*}}#1 ->
// CHECK: math.exp
// CHECK: arith.truncf %{{.*}} : f32 to bf16

// -----

// Pre-score: rows are gathered with their weights, and the combine has none. Biases, one accumulator, an argument as weight.
// CHECK-LABEL: func.func @pre_score
// CHECK: kernel.launch @gather_16_f32_weighted
// CHECK: kernel.launch @pack_4x8x16_f32
// CHECK: kernel.launch @experts_up_4x8x16_f32(
// CHECK: kernel.launch @combine_12_f32(
func.func @pre_score(%x: tensor<?x16xf32>, %e: tensor<?x2xi64>, %w: tensor<?x2xf32>, %w1: tensor<4x8x16xf32>,
                     %w2: tensor<4x12x8xf32>, %b1: tensor<4x8xf32>, %b2: tensor<4x12xf32>) -> tensor<?x12xf32> {
  %rows, %layout = moe.dispatch %x, %e weights(%w : tensor<?x2xf32>) num_experts(4) : tensor<?x16xf32>, tensor<?x2xi64> -> tensor<?x16xf32>, !moe.layout<4>
  %y = moe.expert %rows, %layout, %w1, %w2 bias_in(%b1 : tensor<4x8xf32>) bias_out(%b2 : tensor<4x12xf32>) {
  ^bb0(%v: f32):
    %zero = arith.constant 0.0 : f32
    %a = arith.maximumf %v, %zero : f32
    moe.yield %a : f32
  } : tensor<?x16xf32>, !moe.layout<4>, tensor<4x8x16xf32>, tensor<4x12x8xf32> -> tensor<?x12xf32>
  %out = moe.combine %y, %layout : tensor<?x12xf32>, !moe.layout<4> -> tensor<?x12xf32>
  return %out : tensor<?x12xf32>
}

// -----

// A capacity needs one block that sees all pairs; factor 0 drops nothing and needs none.
// CHECK-LABEL: func.func @capacity
// CHECK: kernel.launch @gate_4_top2_sigmoid
// CHECK: kernel.launch @locations_4_top2({{.*}}) single
// CHECK: kernel.launch @capacity_4_top2({{.*}}) rows
// CHECK: kernel.launch @gate_4_top2_sigmoid_v2
// CHECK-NOT: kernel.launch @{{locations|capacity}}
// CHECK: return
func.func @capacity(%l: tensor<?x4xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>) {
  %w, %e = moe.gate %l top_k(2) score(sigmoid) renormalize(after) capacity(<1.25, tutel>) : tensor<?x4xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %w0, %e0 = moe.gate %l top_k(2) score(sigmoid) renormalize(after) capacity(<0.0, tutel>) : tensor<?x4xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return %w, %w0 : tensor<?x2xf32>, tensor<?x2xf32>
}

// -----

// A grid that nothing names is not left.
// CHECK-NOT: shard.grid
// CHECK-LABEL: func.func @no_ranks
// CHECK: kernel.launch @layout_
// CHECK: kernel.launch @combine_
// CHECK-NOT: shard.grid
shard.grid @one(shape = 1)
func.func @no_ranks(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>) -> tensor<?x64xf32> {
  %r, %l = moe.dispatch %x, %e num_experts(8) : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<8>
  %y = moe.combine %r, %l : tensor<?x64xf32>, !moe.layout<8> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
