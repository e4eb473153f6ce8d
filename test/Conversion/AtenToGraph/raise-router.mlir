// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s
// RUN: sed 's/bf16/f16/g' %s | moe-opt --raise-aten-to-graph | sed 's/f16/bf16/g' | FileCheck %s
// RUN: moe-opt %s --raise-aten-to-graph --raise-aten-to-graph | FileCheck %s

// softmax, top-k, renormalised; the logits are rounded to bf16 before, and the weights stay f32.
// CHECK-LABEL: func.func @mixtral(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x4xbf16>, %[[LOGITS:[a-z0-9]+]]: tensor<?x8xbf16>
// CHECK:         %[[W:.*]], %[[E:.*]] = moe.gate %[[LOGITS]] top_k(2) score(softmax) renormalize(sum) : tensor<?x8xbf16> -> tensor<?x2xf32>, tensor<?x2xi32>
// CHECK:         %[[ROWS:.*]], %[[LAYOUT:.*]] = moe.dispatch %[[X]], %[[E]] num_experts(8)
// CHECK:         %[[Y:.*]] = moe.expert %[[ROWS]], %[[LAYOUT]], %{{.*}}, %{{.*}} gated {
// CHECK:         moe.combine %[[Y]], %[[LAYOUT]] weights(%[[W]] : tensor<?x2xf32>)
func.func @mixtral(%x: tensor<?x4xbf16>, %logits: tensor<?x8xbf16>, %up: tensor<8x6x4xbf16>, %down: tensor<8x4x3xbf16>) -> tensor<?x4xbf16> {
  %l = aten.call "aten.to.dtype"(%logits) {self = #aten.arg<0>, dtype = f32} : (tensor<?x8xbf16>) -> tensor<?x8xf32>
  %p = aten.call "aten.softmax.int"(%l) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %t:2 = aten.call "aten.topk.default"(%p) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %sum = aten.call "aten.sum.dim_IntList"(%t#0) {self = #aten.arg<0>, dim = [-1], keepdim = true} : (tensor<?x2xf32>) -> tensor<?x1xf32>
  %w = aten.call "aten.div.Tensor"(%t#0, %sum) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x2xf32>, tensor<?x1xf32>) -> tensor<?x2xf32>
  %o = aten.call "moe_mlir.experts.default"(%x, %t#1, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "silu", gated = true, interleaved = false, transposed = false} : (tensor<?x4xbf16>, tensor<?x2xi64>, tensor<?x2xf32>, tensor<8x6x4xbf16>, tensor<8x4x3xbf16>) -> tensor<?x4xbf16>
  return %o : tensor<?x4xbf16>
}

// The weights are rounded to bf16 at the end.
// CHECK-LABEL: func.func @qwen(
// CHECK:         moe.gate %{{.*}} top_k(2) score(softmax) renormalize(sum) : tensor<?x8xbf16> -> tensor<?x2xbf16>, tensor<?x2xi32>
func.func @qwen(%x: tensor<?x4xbf16>, %logits: tensor<?x8xbf16>, %up: tensor<8x6x4xbf16>, %down: tensor<8x4x3xbf16>) -> tensor<?x4xbf16> {
  %p = aten.call "aten.softmax.int"(%logits) {self = #aten.arg<0>, dim = -1 : i64, dtype = f32} : (tensor<?x8xbf16>) -> tensor<?x8xf32>
  %t:2 = aten.call "aten.topk.default"(%p) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %sum = aten.call "aten.sum.dim_IntList"(%t#0) {self = #aten.arg<0>, dim = [-1], keepdim = true} : (tensor<?x2xf32>) -> tensor<?x1xf32>
  %v = aten.call "aten.div.Tensor"(%t#0, %sum) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x2xf32>, tensor<?x1xf32>) -> tensor<?x2xf32>
  %w = aten.call "aten.to.dtype"(%v) {self = #aten.arg<0>, dtype = bf16} : (tensor<?x2xf32>) -> tensor<?x2xbf16>
  %o = aten.call "moe_mlir.experts.default"(%x, %t#1, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "silu", gated = true, interleaved = false, transposed = false} : (tensor<?x4xbf16>, tensor<?x2xi64>, tensor<?x2xbf16>, tensor<8x6x4xbf16>, tensor<8x4x3xbf16>) -> tensor<?x4xbf16>
  return %o : tensor<?x4xbf16>
}

// CHECK-LABEL: func.func @olmoe(
// CHECK:         moe.gate %{{.*}} top_k(2) score(softmax) : tensor<?x8xf32>
func.func @olmoe(%x: tensor<?x4xf32>, %logits: tensor<?x8xf32>, %up: tensor<8x6x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<?x4xf32> {
  %p = aten.call "aten.softmax.int"(%logits) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %t:2 = aten.call "aten.topk.default"(%p) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %o = aten.call "moe_mlir.experts.default"(%x, %t#1, %t#0, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "silu", gated = true, interleaved = false, transposed = false} : (tensor<?x4xf32>, tensor<?x2xi64>, tensor<?x2xf32>, tensor<8x6x4xf32>, tensor<8x4x3xf32>) -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}

// top-k of the logits, softmax over what is chosen
// CHECK-LABEL: func.func @softmax_after(
// CHECK:         moe.gate %{{.*}} top_k(2) score(softmax_after) : tensor<?x8xf32>
func.func @softmax_after(%x: tensor<?x4xf32>, %logits: tensor<?x8xf32>, %up: tensor<8x6x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<?x4xf32> {
  %t:2 = aten.call "aten.topk.default"(%logits) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %w = aten.call "aten.softmax.int"(%t#0) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %o = aten.call "moe_mlir.experts.default"(%x, %t#1, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "silu", gated = true, interleaved = false, transposed = false} : (tensor<?x4xf32>, tensor<?x2xi64>, tensor<?x2xf32>, tensor<8x6x4xf32>, tensor<8x4x3xf32>) -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}

// sigmoid scores, a bias for the choice, the best 3 of 4 groups by the sum of their best two
// CHECK-LABEL: func.func @deepseek(
// CHECK-SAME:    %[[BIAS:[a-z0-9]+]]: tensor<8xf32>)
// CHECK:         moe.gate %{{.*}} bias(%[[BIAS]] : tensor<8xf32>) top_k(2) score(sigmoid) renormalize(sum) eps(9.9{{[0-9]*}}E-21) scale(2.500000e+00) groups(<4, keep = 3, top2_sum>)
func.func @deepseek(%x: tensor<?x4xf32>, %logits: tensor<?x8xf32>, %up: tensor<8x6x4xf32>, %down: tensor<8x4x3xf32>, %bias: tensor<8xf32>) -> tensor<?x4xf32> {
  %p = aten.call "aten.sigmoid.default"(%logits) {self = #aten.arg<0>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %b = aten.call "aten.add.Tensor"(%p, %bias) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %g = aten.call "aten.view.default"(%b) {self = #aten.arg<0>, size = [-1, 4, 2]} : (tensor<?x8xf32>) -> tensor<?x4x2xf32>
  %g2:2 = aten.call "aten.topk.default"(%g) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x4x2xf32>) -> (tensor<?x4x2xf32>, tensor<?x4x2xi64>)
  %gs = aten.call "aten.sum.dim_IntList"(%g2#0) {self = #aten.arg<0>, dim = [-1]} : (tensor<?x4x2xf32>) -> tensor<?x4xf32>
  %best:2 = aten.call "aten.topk.default"(%gs) {self = #aten.arg<0>, k = 3 : i64, dim = -1 : i64, sorted = false} : (tensor<?x4xf32>) -> (tensor<?x3xf32>, tensor<?x3xi64>)
  %z = aten.call "aten.zeros_like.default"(%gs) {self = #aten.arg<0>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %gm = aten.call "aten.scatter.value"(%z, %best#1) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>, value = 1 : i64} : (tensor<?x4xf32>, tensor<?x3xi64>) -> tensor<?x4xf32>
  %gu = aten.call "aten.unsqueeze.default"(%gm) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<?x4xf32>) -> tensor<?x4x1xf32>
  %ge = aten.call "aten.expand.default"(%gu) {self = #aten.arg<0>, size = [-1, 4, 2]} : (tensor<?x4x1xf32>) -> tensor<?x4x2xf32>
  %gf = aten.call "aten.reshape.default"(%ge) {self = #aten.arg<0>, shape = [-1, 8]} : (tensor<?x4x2xf32>) -> tensor<?x8xf32>
  %gb = aten.call "aten.to.dtype"(%gf) {self = #aten.arg<0>, dtype = i1} : (tensor<?x8xf32>) -> tensor<?x8xi1>
  %gn = aten.call "aten.bitwise_not.default"(%gb) {self = #aten.arg<0>} : (tensor<?x8xi1>) -> tensor<?x8xi1>
  %c = aten.call "aten.masked_fill.Scalar"(%b, %gn) {self = #aten.arg<0>, mask = #aten.arg<1>, value = 0xFFF0000000000000 : f64} : (tensor<?x8xf32>, tensor<?x8xi1>) -> tensor<?x8xf32>
  %t:2 = aten.call "aten.topk.default"(%c) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %ga = aten.call "aten.gather.default"(%p, %t#1) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  %sum = aten.call "aten.sum.dim_IntList"(%ga) {self = #aten.arg<0>, dim = [-1], keepdim = true} : (tensor<?x2xf32>) -> tensor<?x1xf32>
  %den = aten.call "aten.add.Tensor"(%sum) {self = #aten.arg<0>, other = 1.0e-20 : f64} : (tensor<?x1xf32>) -> tensor<?x1xf32>
  %v = aten.call "aten.div.Tensor"(%ga, %den) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x2xf32>, tensor<?x1xf32>) -> tensor<?x2xf32>
  %w = aten.call "aten.mul.Tensor"(%v) {self = #aten.arg<0>, other = 2.5 : f64} : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %o = aten.call "moe_mlir.experts.default"(%x, %t#1, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "silu", gated = true, interleaved = false, transposed = false} : (tensor<?x4xf32>, tensor<?x2xi64>, tensor<?x2xf32>, tensor<8x6x4xf32>, tensor<8x4x3xf32>) -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}

// With a bias a hidden expert at 0 may still be chosen: that is another router.
// CHECK-LABEL: func.func @hidden_at_zero(
// CHECK-SAME:    moe.plain = [{at = "{{.*}}", kind = "router", place = "{{.*}}", reason = "topk chooses by aten.masked_fill, which is neither the scores nor scores + bias", step = "choice"}]
// CHECK-NOT:     moe.gate
// CHECK:         moe.dispatch %{{.*}}, %{{.*}} num_experts(8) : tensor<?x4xf32>, tensor<?x2xi64>
func.func @hidden_at_zero(%x: tensor<?x4xf32>, %logits: tensor<?x8xf32>, %up: tensor<8x6x4xf32>, %down: tensor<8x4x3xf32>, %bias: tensor<8xf32>) -> tensor<?x4xf32> {
  %p = aten.call "aten.sigmoid.default"(%logits) {self = #aten.arg<0>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %b = aten.call "aten.add.Tensor"(%p, %bias) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %g = aten.call "aten.view.default"(%b) {self = #aten.arg<0>, size = [-1, 4, 2]} : (tensor<?x8xf32>) -> tensor<?x4x2xf32>
  %g2:2 = aten.call "aten.topk.default"(%g) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x4x2xf32>) -> (tensor<?x4x2xf32>, tensor<?x4x2xi64>)
  %gs = aten.call "aten.sum.dim_IntList"(%g2#0) {self = #aten.arg<0>, dim = [-1]} : (tensor<?x4x2xf32>) -> tensor<?x4xf32>
  %best:2 = aten.call "aten.topk.default"(%gs) {self = #aten.arg<0>, k = 3 : i64, dim = -1 : i64, sorted = false} : (tensor<?x4xf32>) -> (tensor<?x3xf32>, tensor<?x3xi64>)
  %z = aten.call "aten.zeros_like.default"(%gs) {self = #aten.arg<0>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %gm = aten.call "aten.scatter.value"(%z, %best#1) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>, value = 1 : i64} : (tensor<?x4xf32>, tensor<?x3xi64>) -> tensor<?x4xf32>
  %gu = aten.call "aten.unsqueeze.default"(%gm) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<?x4xf32>) -> tensor<?x4x1xf32>
  %ge = aten.call "aten.expand.default"(%gu) {self = #aten.arg<0>, size = [-1, 4, 2]} : (tensor<?x4x1xf32>) -> tensor<?x4x2xf32>
  %gf = aten.call "aten.reshape.default"(%ge) {self = #aten.arg<0>, shape = [-1, 8]} : (tensor<?x4x2xf32>) -> tensor<?x8xf32>
  %gb = aten.call "aten.to.dtype"(%gf) {self = #aten.arg<0>, dtype = i1} : (tensor<?x8xf32>) -> tensor<?x8xi1>
  %gn = aten.call "aten.bitwise_not.default"(%gb) {self = #aten.arg<0>} : (tensor<?x8xi1>) -> tensor<?x8xi1>
  %c = aten.call "aten.masked_fill.Scalar"(%b, %gn) {self = #aten.arg<0>, mask = #aten.arg<1>, value = 0.0 : f64} : (tensor<?x8xf32>, tensor<?x8xi1>) -> tensor<?x8xf32>
  %t:2 = aten.call "aten.topk.default"(%c) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %ga = aten.call "aten.gather.default"(%p, %t#1) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  %sum = aten.call "aten.sum.dim_IntList"(%ga) {self = #aten.arg<0>, dim = [-1], keepdim = true} : (tensor<?x2xf32>) -> tensor<?x1xf32>
  %den = aten.call "aten.add.Tensor"(%sum) {self = #aten.arg<0>, other = 1.0e-20 : f64} : (tensor<?x1xf32>) -> tensor<?x1xf32>
  %v = aten.call "aten.div.Tensor"(%ga, %den) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x2xf32>, tensor<?x1xf32>) -> tensor<?x2xf32>
  %w = aten.call "aten.mul.Tensor"(%v) {self = #aten.arg<0>, other = 2.5 : f64} : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %o = aten.call "moe_mlir.experts.default"(%x, %t#1, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "silu", gated = true, interleaved = false, transposed = false} : (tensor<?x4xf32>, tensor<?x2xi64>, tensor<?x2xf32>, tensor<8x6x4xf32>, tensor<8x4x3xf32>) -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}

// The choice is given; the weights still come from the logits.
// CHECK-LABEL: func.func @forced(
// CHECK-SAME:    %[[IDS:[a-z0-9]+]]: tensor<?x2xi64> {moe.range = [-1, 7]})
// CHECK:         moe.gate %{{.*}} ids(%[[IDS]] : tensor<?x2xi64>) top_k(2) score(softmax) : tensor<?x8xf32>
func.func @forced(%x: tensor<?x4xf32>, %logits: tensor<?x8xf32>, %up: tensor<8x6x4xf32>, %down: tensor<8x4x3xf32>, %ids: tensor<?x2xi64>) -> tensor<?x4xf32> {
  %p = aten.call "aten.softmax.int"(%logits) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %w = aten.call "aten.gather.default"(%p, %ids) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  %o = aten.call "moe_mlir.experts.default"(%x, %ids, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "silu", gated = true, interleaved = false, transposed = false} : (tensor<?x4xf32>, tensor<?x2xi64>, tensor<?x2xf32>, tensor<8x6x4xf32>, tensor<8x4x3xf32>) -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}

// A bias of bf16 is widened by the sum.
// CHECK-LABEL: func.func @narrow_bias(
// CHECK-SAME:    %[[BIAS:[a-z0-9]+]]: tensor<8xbf16>)
// CHECK:         moe.gate %{{.*}} bias(%[[BIAS]] : tensor<8xbf16>) top_k(2) score(sigmoid) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
func.func @narrow_bias(%x: tensor<?x4xf32>, %logits: tensor<?x8xf32>, %up: tensor<8x6x4xf32>, %down: tensor<8x4x3xf32>, %bias: tensor<8xbf16>) -> tensor<?x4xf32> {
  %p = aten.call "aten.sigmoid.default"(%logits) {self = #aten.arg<0>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %b = aten.call "aten.add.Tensor"(%p, %bias) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x8xf32>, tensor<8xbf16>) -> tensor<?x8xf32>
  %t:2 = aten.call "aten.topk.default"(%b) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %w = aten.call "aten.gather.default"(%p, %t#1) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  %o = aten.call "moe_mlir.experts.default"(%x, %t#1, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "silu", gated = true, interleaved = false, transposed = false} : (tensor<?x4xf32>, tensor<?x2xi64>, tensor<?x2xf32>, tensor<8x6x4xf32>, tensor<8x4x3xf32>) -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}

// A softmax of the chosen logits in bf16 is computed in f32 and rounded once, as the gate's is (GPT-OSS).
// CHECK-LABEL: func.func @rounds_weights(
// CHECK-SAME:    %{{.*}}: tensor<?x4xbf16>, %[[L:[a-z0-9]+]]: tensor<?x8xbf16>
// CHECK:         moe.gate %[[L]] top_k(2) score(softmax_after) : tensor<?x8xbf16> -> tensor<?x2xbf16>, tensor<?x2xi32>
// CHECK-NOT:     aten.call
func.func @rounds_weights(%x: tensor<?x4xbf16>, %logits: tensor<?x8xbf16>, %up: tensor<8x6x4xbf16>, %down: tensor<8x4x3xbf16>) -> tensor<?x4xbf16> {
  %t:2 = aten.call "aten.topk.default"(%logits) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x8xbf16>) -> (tensor<?x2xbf16>, tensor<?x2xi64>)
  %p = aten.call "aten.softmax.int"(%t#0) {self = #aten.arg<0>, dim = 1 : i64, dtype = bf16} : (tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %o = aten.call "moe_mlir.experts.default"(%x, %t#1, %p, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "silu", gated = true, interleaved = false, transposed = false} : (tensor<?x4xbf16>, tensor<?x2xi64>, tensor<?x2xbf16>, tensor<8x6x4xbf16>, tensor<8x4x3xbf16>) -> tensor<?x4xbf16>
  return %o : tensor<?x4xbf16>
}

// Scaled in bf16 they are rounded twice: they stay plain ops.
// CHECK-LABEL: func.func @rounds_twice(
// CHECK-SAME:    reason = "aten.mul computes them in another type than f32"
func.func @rounds_twice(%x: tensor<?x4xbf16>, %logits: tensor<?x8xbf16>, %up: tensor<8x6x4xbf16>, %down: tensor<8x4x3xbf16>) -> tensor<?x4xbf16> {
  %t:2 = aten.call "aten.topk.default"(%logits) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x8xbf16>) -> (tensor<?x2xbf16>, tensor<?x2xi64>)
  %p = aten.call "aten.softmax.int"(%t#0) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %w = aten.call "aten.mul.Tensor"(%p) {self = #aten.arg<0>, other = 2.5 : f64} : (tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %o = aten.call "moe_mlir.experts.default"(%x, %t#1, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "silu", gated = true, interleaved = false, transposed = false} : (tensor<?x4xbf16>, tensor<?x2xi64>, tensor<?x2xbf16>, tensor<8x6x4xbf16>, tensor<8x4x3xbf16>) -> tensor<?x4xbf16>
  return %o : tensor<?x4xbf16>
}

// A softmax in bf16 rounds before the choice: it stays plain ops.
// CHECK-LABEL: func.func @rounds_scores(
// CHECK-SAME:    moe.plain = [{kind = "router", place = "{{.*}}", reason = "aten.topk computes them in another type than f32", step = "weights"}]
// CHECK-NOT:     moe.gate
// CHECK:         aten.call "aten.topk.default"
// CHECK:         moe.dispatch
func.func @rounds_scores(%x: tensor<?x4xbf16>, %logits: tensor<?x8xbf16>, %up: tensor<8x6x4xbf16>, %down: tensor<8x4x3xbf16>) -> tensor<?x4xbf16> {
  %p = aten.call "aten.softmax.int"(%logits) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<?x8xbf16>) -> tensor<?x8xbf16>
  %t:2 = aten.call "aten.topk.default"(%p) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x8xbf16>) -> (tensor<?x2xbf16>, tensor<?x2xi64>)
  %o = aten.call "moe_mlir.experts.default"(%x, %t#1, %t#0, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "silu", gated = true, interleaved = false, transposed = false} : (tensor<?x4xbf16>, tensor<?x2xi64>, tensor<?x2xbf16>, tensor<8x6x4xbf16>, tensor<8x4x3xbf16>) -> tensor<?x4xbf16>
  return %o : tensor<?x4xbf16>
}

// A renormalisation in bf16 rounds the sum: the choice is the gate's, the sum stays plain.
// CHECK-LABEL: func.func @rounds_sum(
// CHECK:         %[[W:.*]], %[[E:.*]] = moe.gate %{{.*}} top_k(2) score(softmax) : tensor<?x8xbf16> -> tensor<?x2xf32>, tensor<?x2xi32>
// CHECK:         %[[H:.*]] = aten.call "aten.to.dtype"(%[[W]])
// CHECK:         aten.call "aten.div.Tensor"(%[[H]]
// CHECK:         moe.dispatch %{{.*}}, %[[E]]
func.func @rounds_sum(%x: tensor<?x4xbf16>, %logits: tensor<?x8xbf16>, %up: tensor<8x6x4xbf16>, %down: tensor<8x4x3xbf16>) -> tensor<?x4xbf16> {
  %p = aten.call "aten.softmax.int"(%logits) {self = #aten.arg<0>, dim = -1 : i64, dtype = f32} : (tensor<?x8xbf16>) -> tensor<?x8xf32>
  %t:2 = aten.call "aten.topk.default"(%p) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %h = aten.call "aten.to.dtype"(%t#0) {self = #aten.arg<0>, dtype = bf16} : (tensor<?x2xf32>) -> tensor<?x2xbf16>
  %sum = aten.call "aten.sum.dim_IntList"(%h) {self = #aten.arg<0>, dim = [-1], keepdim = true} : (tensor<?x2xbf16>) -> tensor<?x1xbf16>
  %w = aten.call "aten.div.Tensor"(%h, %sum) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x2xbf16>, tensor<?x1xbf16>) -> tensor<?x2xbf16>
  %o = aten.call "moe_mlir.experts.default"(%x, %t#1, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "silu", gated = true, interleaved = false, transposed = false} : (tensor<?x4xbf16>, tensor<?x2xi64>, tensor<?x2xbf16>, tensor<8x6x4xbf16>, tensor<8x4x3xbf16>) -> tensor<?x4xbf16>
  return %o : tensor<?x4xbf16>
}

// The smallest instead of the largest.
// CHECK-LABEL: func.func @smallest(
// CHECK-SAME:    moe.plain = [{kind = "router", place = "{{.*}}", reason = "topk does not take a known number of the largest scores of each token", step = "choice"}]
// CHECK-NOT:     moe.gate
// CHECK:         moe.combine
func.func @smallest(%x: tensor<?x4xf32>, %logits: tensor<?x8xf32>, %up: tensor<8x6x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<?x4xf32> {
  %p = aten.call "aten.softmax.int"(%logits) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %t:2 = aten.call "aten.topk.default"(%p) {self = #aten.arg<0>, k = 2 : i64, largest = false, dim = -1 : i64} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %o = aten.call "moe_mlir.experts.default"(%x, %t#1, %t#0, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "silu", gated = true, interleaved = false, transposed = false} : (tensor<?x4xf32>, tensor<?x2xi64>, tensor<?x2xf32>, tensor<8x6x4xf32>, tensor<8x4x3xf32>) -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}
