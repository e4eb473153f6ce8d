// RUN: moe-opt %s --verify-roundtrip | FileCheck %s

// CHECK: #[[ORDER:order]] = #moe.order<[0, 3, 1, 2]>

// CHECK-LABEL: func.func @layer
func.func @layer(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %wr = moe.parameter ["gate"] : tensor<8x64xf32>
  %w1 = moe.parameter ["gate_up"] : tensor<8x64x64xf32>
  %w2 = moe.parameter ["down"] : tensor<8x64x32xf32>
  %logits = nn.linear %x, %wr : tensor<?x64xf32>, tensor<8x64xf32> -> tensor<?x8xf32>
  // CHECK: moe.gate %{{.*}} top_k(2) score(softmax) renormalize(sum) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %w, %e = moe.gate %logits top_k(2) score(softmax) renormalize(sum) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  // CHECK: moe.dispatch %{{.*}}, %{{.*}} num_experts(8) : {{.*}} -> tensor<?x64xf32>, !moe.layout<8>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<8>
  // CHECK: moe.expert %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} gated {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32):
  // CHECK: } : tensor<?x64xf32>, !moe.layout<8>, tensor<8x64x64xf32>, tensor<8x64x32xf32> -> tensor<?x64xf32>
  %y = moe.expert %rows, %layout, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    %s = nn.silu %g : f32
    %a = arith.mulf %s, %u : f32
    moe.yield %a : f32
  } : tensor<?x64xf32>, !moe.layout<8>, tensor<8x64x64xf32>, tensor<8x64x32xf32> -> tensor<?x64xf32>
  // CHECK: moe.combine %{{.*}}, %{{.*}} weights(%{{.*}} : tensor<?x2xf32>) : tensor<?x64xf32>, !moe.layout<8> -> tensor<?x64xf32>
  %out = moe.combine %y, %layout weights(%w : tensor<?x2xf32>) : tensor<?x64xf32>, !moe.layout<8> -> tensor<?x64xf32>
  return %out : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @parameter
func.func @parameter() {
  // CHECK: moe.parameter ["a", "b"] recipe [#moe.stack, #moe.transpose<[0, 2, 1]>, #moe.slice<1, 0, 32>, #moe.cast<bf16>] : tensor<2x32x64xbf16>
  %0 = moe.parameter ["a", "b"] recipe [#moe.stack, #moe.transpose<[0, 2, 1]>, #moe.slice<1, 0, 32>, #moe.cast<bf16>] : tensor<2x32x64xbf16>
  // CHECK: moe.parameter ["a", "b"] recipe [#moe.concat<0>] : tensor<128x64xf32>
  %1 = moe.parameter ["a", "b"] recipe [#moe.concat<0>] : tensor<128x64xf32>
  // CHECK: moe.parameter ["down"] recipe [#moe.transpose<[0, 2, 1]>, #moe.pack<columns = 64, pairs = 2>] : memref<8x2x32x64x2xbf16>
  %2 = moe.parameter ["down"] recipe [#moe.transpose<[0, 2, 1]>, #moe.pack<columns = 64, pairs = 2>] : memref<8x2x32x64x2xbf16>
  // CHECK: recipe [#moe.pack<columns = 64, pairs = 1, halves = true, interleaved = true>] : memref<8x2x32x64xf32>
  %3 = moe.parameter ["up"] recipe [#moe.pack<columns = 64, pairs = 1, halves = true, interleaved = true>] : memref<8x2x32x64xf32>
  return
}

// CHECK-LABEL: func.func @gate
func.func @gate(%l: tensor<?x8xbf16>, %b: tensor<8xf32>, %i: tensor<?x2xi64>) {
  // CHECK: moe.gate %{{.*}} bias(%{{.*}} : tensor<8xf32>) top_k(2) score(sigmoid) renormalize(sum) eps(9.9999999999999995E-21) scale(2.500000e+00) groups(<4, keep = 2, top2_sum>)
  %0:2 = moe.gate %l bias(%b : tensor<8xf32>) top_k(2) score(sigmoid) renormalize(sum) eps(1.0e-20) scale(2.5) groups(<4, keep = 2, top2_sum>) : tensor<?x8xbf16> -> tensor<?x2xbf16>, tensor<?x2xi32>
  // CHECK: moe.gate %{{.*}} ids(%{{.*}} : tensor<?x2xi64>) top_k(2) score(softmax_after) : tensor
  %1:2 = moe.gate %l ids(%i : tensor<?x2xi64>) top_k(2) score(softmax_after) : tensor<?x8xbf16> -> tensor<?x2xf32>, tensor<?x2xi32>
  // CHECK: moe.gate %{{.*}} top_k(2) score(sigmoid_after) renormalize(sum) eps(1.000000e-09) least(5.000000e-01) scale(2.000000e+00)
  %4:2 = moe.gate %l top_k(2) score(sigmoid_after) renormalize(sum) eps(1.0e-9) least(0.5) scale(2.0) : tensor<?x8xbf16> -> tensor<?x2xf32>, tensor<?x2xi32>
  // CHECK: moe.gate %{{.*}} top_k(2) score(sparsemixer) jitter(1.000000e-02) : tensor
  %5:2 = moe.gate %l top_k(2) score(sparsemixer) jitter(0.01) : tensor<?x8xbf16> -> tensor<?x2xf32>, tensor<?x2xi32>
  // CHECK: moe.gate %{{.*}} top_k(2) score(sqrt_softplus) renormalize(pnorm) p(2.000000e+00) capacity(<-1.500000e+00, tutel>)
  %2:2 = moe.gate %l top_k(2) score(sqrt_softplus) renormalize(pnorm) p(2.0) capacity(<-1.5, tutel>) : tensor<?x8xbf16> -> tensor<?x2xf32>, tensor<?x2xi32>
  // A k beyond the number of experts means all of them.
  // CHECK: moe.gate %{{.*}} top_k(11) score(softmax) renormalize(after) capacity(<0.000000e+00, deepspeed>) : tensor<?x8xbf16> -> tensor<?x8xf32>, tensor<?x8xi32>
  %3:2 = moe.gate %l top_k(11) score(softmax) renormalize(after) capacity(<0.0, deepspeed>) : tensor<?x8xbf16> -> tensor<?x8xf32>, tensor<?x8xi32>
  return
}

// CHECK-LABEL: func.func @biases_and_pre_score
func.func @biases_and_pre_score(%x: tensor<3x8xbf16>, %e: tensor<3x2xi32>, %w: tensor<3x2xbf16>, %w1: tensor<4x32x8xbf16>,
                                %w2: tensor<4x8x16xbf16>, %b1: tensor<4x32xbf16>, %b2: tensor<4x8xbf16>) -> tensor<3x8xbf16> {
  // CHECK: moe.dispatch %{{.*}}, %{{.*}} weights(%{{.*}} : tensor<3x2xbf16>) num_experts(4) placement(gathered) :
  %rows, %layout = moe.dispatch %x, %e weights(%w : tensor<3x2xbf16>) num_experts(4) placement(gathered) : tensor<3x8xbf16>, tensor<3x2xi32> -> tensor<6x8xbf16>, !moe.layout<4>
  // CHECK: moe.expert %{{.*}} bias_in(%{{.*}} : tensor<4x32xbf16>) bias_out(%{{.*}} : tensor<4x8xbf16>) gated interleaved schedule(<plain>) {
  %y = moe.expert %rows, %layout, %w1, %w2 bias_in(%b1 : tensor<4x32xbf16>) bias_out(%b2 : tensor<4x8xbf16>) gated interleaved schedule(<plain>) {
  ^bb0(%g: f32, %u: f32):
    %a = arith.mulf %g, %u : f32
    moe.yield %a : f32
  } : tensor<6x8xbf16>, !moe.layout<4>, tensor<4x32x8xbf16>, tensor<4x8x16xbf16> -> tensor<6x8xf32>
  // CHECK: moe.combine %{{.*}}, %{{.*}} : tensor<6x8xf32>, !moe.layout<4> -> tensor<3x8xbf16>
  %out = moe.combine %y, %layout : tensor<6x8xf32>, !moe.layout<4> -> tensor<3x8xbf16>
  return %out : tensor<3x8xbf16>
}

shard.grid @ep(shape = 2) {moe.axes = ["ep"]}
shard.grid @etp(shape = 4) {moe.axes = ["etp"]}

// CHECK-LABEL: func.func @slices
// CHECK-SAME: moe.split = [@ep, @etp]
func.func @slices(%x: tensor<?x64xbf16> {moe.split = [@ep, @etp]}) {
  // CHECK: recipe [#moe.shard<dim = 1, grid = @etp, ranks = 4, halves = true>, #moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x32x64xbf16>
  %w1 = moe.parameter ["up"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 4, halves = true>, #moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x32x64xbf16>
  // CHECK: recipe [#moe.shard<dim = 2, grid = @etp, ranks = 4>, #moe.shard<dim = 0, grid = @ep, ranks = 2>, #moe.pack<columns = 64, pairs = 2>] : memref<4x1x16x64x2xbf16>
  %w2 = moe.parameter ["down"] recipe [#moe.shard<dim = 2, grid = @etp, ranks = 4>, #moe.shard<dim = 0, grid = @ep, ranks = 2>, #moe.pack<columns = 64, pairs = 2>] : memref<4x1x16x64x2xbf16>
  // CHECK: recipe [#moe.once<grid = @etp, ranks = 4>, #moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x64xbf16>
  %b = moe.parameter ["bias"] recipe [#moe.once<grid = @etp, ranks = 4>, #moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x64xbf16>
  return
}

// CHECK-LABEL: func.func @ranks
// CHECK-SAME: moe.split = @ep
// CHECK-SAME: -> (tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.name = "y", moe.split = @ep})
func.func @ranks(%x: tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.name = "x", moe.split = @ep}, %e: tensor<?x2xi32>, %w: tensor<?x2xbf16>)
    -> (tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.name = "y", moe.split = @ep}) {
  // CHECK: moe.parameter ["up"] recipe [#moe.cast<bf16>, #moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x32x64xbf16>
  %w1 = moe.parameter ["up"] recipe [#moe.cast<bf16>, #moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x32x64xbf16>
  %w2 = moe.parameter ["down"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x64x32xbf16>
  // CHECK: recipe [#moe.shard<dim = 0, grid = @ep, ranks = 2>, #moe.pack<columns = 64, pairs = 2>] : memref<4x1x16x64x2xbf16>
  %w3 = moe.parameter ["down"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 2>, #moe.pack<columns = 64, pairs = 2>] : memref<4x1x16x64x2xbf16>
  // CHECK: moe.dispatch %{{.*}}, %{{.*}} num_experts(8) to @ep : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<2>
  %send, %sent = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<2>
  // CHECK: moe.all_to_all %{{.*}}, %{{.*}} on @ep with(%{{.*}}, %{{.*}} : tensor<?x2xi32>, tensor<?x2xbf16>) via(direct) : tensor<?x64xbf16>, !moe.layout<2> -> tensor<?x64xbf16>, !moe.layout<1>, tensor<?x2xi32>, tensor<?x2xbf16>
  %recv, %got, %re, %rw = moe.all_to_all %send, %sent on @ep with(%e, %w : tensor<?x2xi32>, tensor<?x2xbf16>) via(direct) : tensor<?x64xbf16>, !moe.layout<2> -> tensor<?x64xbf16>, !moe.layout<1>, tensor<?x2xi32>, tensor<?x2xbf16>
  // CHECK: moe.dispatch %{{.*}}, %{{.*}} num_experts(8) at @ep placement(in_place) : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<4>
  %rows, %here = moe.dispatch %recv, %re num_experts(8) at @ep placement(in_place) : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<4>
  %y = moe.expert %rows, %here, %w1, %w2 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x64xbf16>, !moe.layout<4>, tensor<4x32x64xbf16>, tensor<4x64x32xbf16> -> tensor<?x64xbf16>
  // CHECK: moe.combine %{{.*}}, %{{.*}} weights(%{{.*}} : tensor<?x2xbf16>) sum(<tree, groups = 4>) : tensor<?x64xbf16>, !moe.layout<4> -> tensor<?x64xf32>
  %part = moe.combine %y, %here weights(%rw : tensor<?x2xbf16>) sum(<tree, groups = 4>) : tensor<?x64xbf16>, !moe.layout<4> -> tensor<?x64xf32>
  // CHECK: moe.all_to_all %{{.*}}, %{{.*}} on @ep return : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
  %back, %gone = moe.all_to_all %part, %got on @ep return : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
  // CHECK: moe.combine %{{.*}}, %{{.*}} sum(<tree, groups = 2>) : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xbf16>
  %out = moe.combine %back, %gone sum(<tree, groups = 2>) : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xbf16>
  return %out : tensor<?x64xbf16>
}

// An order is an alias: what names it changes with it.
// CHECK-LABEL: func.func @ordered
func.func @ordered(%x: tensor<?x64xbf16>, %e: tensor<?x2xi32>) -> tensor<2x32x64xbf16> {
  // CHECK: moe.parameter ["up"] recipe [#[[ORDER]], #moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<2x32x64xbf16>
  %w = moe.parameter ["up"] recipe [#moe.order<[0, 3, 1, 2]>, #moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<2x32x64xbf16>
  // CHECK: moe.dispatch %{{.*}}, %{{.*}} num_experts(4) order(#[[ORDER]]) : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<4>
  %all, %layout = moe.dispatch %x, %e num_experts(4) order(<[0, 3, 1, 2]>) : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<4>
  // CHECK: num_experts(4) order(#[[ORDER]]) to @ep :
  %send, %sent = moe.dispatch %x, %e num_experts(4) order(#moe.order<[0, 3, 1, 2]>) to @ep : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<2>
  // CHECK: num_experts(4) order(#[[ORDER]]) at @ep placement(in_place) :
  %rows, %here = moe.dispatch %x, %e num_experts(4) order(<[0, 3, 1, 2]>) at @ep placement(in_place) : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<2>
  return %w : tensor<2x32x64xbf16>
}

// Static numbers of tokens: a row per token and rank, or per token and slot.
// CHECK-LABEL: func.func @static
func.func @static(%x: tensor<3x8xf32>, %e: tensor<3x4xi32>, %w: tensor<3x4xf32>) {
  // CHECK: to @ep : {{.*}} -> tensor<6x8xf32>, !moe.layout<2>
  %send, %sent = moe.dispatch %x, %e num_experts(8) to @ep : tensor<3x8xf32>, tensor<3x4xi32> -> tensor<6x8xf32>, !moe.layout<2>
  // CHECK: weights(%{{.*}} : tensor<3x4xf32>) num_experts(8) at @ep : {{.*}} -> tensor<12x8xf32>, !moe.layout<4>
  %rows, %here = moe.dispatch %x, %e weights(%w : tensor<3x4xf32>) num_experts(8) at @ep : tensor<3x8xf32>, tensor<3x4xi32> -> tensor<12x8xf32>, !moe.layout<4>
  return
}
