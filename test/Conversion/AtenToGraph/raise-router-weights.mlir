// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s --implicit-check-not=moe.plain
// RUN: moe-opt %s --raise-aten-to-graph --raise-aten-to-graph | FileCheck %s --implicit-check-not=moe.plain

// Routers whose scores come after the choice, whose weights are divided by something else than their sum, or whose logits are a part.

// The sigmoid of the chosen logits, by gather and by topk.
// CHECK-LABEL: func.func @sigmoid_after(
// CHECK:         moe.gate %{{.*}} bias(%{{.*}} : tensor<8xf32>) top_k(2) score(sigmoid_after) renormalize(sum) : tensor<?x8xf32>
func.func @sigmoid_after(%x: tensor<?x4xf32>, %logits: tensor<?x8xf32>, %bias: tensor<8xf32>, %up: tensor<8x3x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<?x4xf32> {
  %b = aten.call "aten.add.Tensor"(%logits, %bias) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %t:2 = aten.call "aten.topk.default"(%b) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %g = aten.call "aten.gather.default"(%logits, %t#1) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  %s = aten.call "aten.sigmoid.default"(%g) {self = #aten.arg<0>} : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %sum = aten.call "aten.sum.dim_IntList"(%s) {self = #aten.arg<0>, dim = [-1], keepdim = true} : (tensor<?x2xf32>) -> tensor<?x1xf32>
  %w = aten.call "aten.div.Tensor"(%s, %sum) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x2xf32>, tensor<?x1xf32>) -> tensor<?x2xf32>
  %o = aten.call "moe_mlir.experts.default"(%x, %t#1, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "relu", gated = false} : (tensor<?x4xf32>, tensor<?x2xi64>, tensor<?x2xf32>, tensor<8x3x4xf32>, tensor<8x4x3xf32>) -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @sigmoid_of_best(
// CHECK:         moe.gate %{{.*}} top_k(2) score(sigmoid_after) : tensor<?x8xf32>
func.func @sigmoid_of_best(%x: tensor<?x4xf32>, %logits: tensor<?x8xf32>, %up: tensor<8x3x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<?x4xf32> {
  %t:2 = aten.call "aten.topk.default"(%logits) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %w = aten.call "aten.sigmoid.default"(%t#0) {self = #aten.arg<0>} : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %o = aten.call "moe_mlir.experts.default"(%x, %t#1, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "relu", gated = false} : (tensor<?x4xf32>, tensor<?x2xi64>, tensor<?x2xf32>, tensor<8x3x4xf32>, tensor<8x4x3xf32>) -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @sqrt_softplus(
// CHECK:         moe.gate %{{.*}} top_k(2) score(sqrt_softplus) : tensor<?x8xf32>
func.func @sqrt_softplus(%x: tensor<?x4xf32>, %logits: tensor<?x8xf32>, %up: tensor<8x3x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<?x4xf32> {
  %p = aten.call "aten.softplus.default"(%logits) {self = #aten.arg<0>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = aten.call "aten.sqrt.default"(%p) {self = #aten.arg<0>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %t:2 = aten.call "aten.topk.default"(%r) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %o = aten.call "moe_mlir.experts.default"(%x, %t#1, %t#0, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "relu", gated = false} : (tensor<?x4xf32>, tensor<?x2xi64>, tensor<?x2xf32>, tensor<8x3x4xf32>, tensor<8x4x3xf32>) -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}

// The sum is bounded below.
// CHECK-LABEL: func.func @least(
// CHECK:         moe.gate %{{.*}} top_k(2) score(softmax) renormalize(sum) least(1.000000e-03) : tensor<?x8xf32>
func.func @least(%x: tensor<?x4xf32>, %logits: tensor<?x8xf32>, %up: tensor<8x3x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<?x4xf32> {
  %p = aten.call "aten.softmax.int"(%logits) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %t:2 = aten.call "aten.topk.default"(%p) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %sum = aten.call "aten.sum.dim_IntList"(%t#0) {self = #aten.arg<0>, dim = [-1], keepdim = true} : (tensor<?x2xf32>) -> tensor<?x1xf32>
  %c = aten.call "aten.clamp.default"(%sum) {self = #aten.arg<0>, min = 0.001 : f64} : (tensor<?x1xf32>) -> tensor<?x1xf32>
  %w = aten.call "aten.div.Tensor"(%t#0, %c) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x2xf32>, tensor<?x1xf32>) -> tensor<?x2xf32>
  %o = aten.call "moe_mlir.experts.default"(%x, %t#1, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "relu", gated = false} : (tensor<?x4xf32>, tensor<?x2xi64>, tensor<?x2xf32>, tensor<8x3x4xf32>, tensor<8x4x3xf32>) -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @norm(
// CHECK:         moe.gate %{{.*}} top_k(2) score(softmax) renormalize(pnorm) p(3.000000e+00) : tensor<?x8xf32>
func.func @norm(%x: tensor<?x4xf32>, %logits: tensor<?x8xf32>, %up: tensor<8x3x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<?x4xf32> {
  %p = aten.call "aten.softmax.int"(%logits) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %t:2 = aten.call "aten.topk.default"(%p) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %c = aten.call "aten.linalg_vector_norm.default"(%t#0) {self = #aten.arg<0>, ord = 3 : i64, dim = [-1], keepdim = true} : (tensor<?x2xf32>) -> tensor<?x1xf32>
  %w = aten.call "aten.div.Tensor"(%t#0, %c) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x2xf32>, tensor<?x1xf32>) -> tensor<?x2xf32>
  %o = aten.call "moe_mlir.experts.default"(%x, %t#1, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "relu", gated = false} : (tensor<?x4xf32>, tensor<?x2xi64>, tensor<?x2xf32>, tensor<8x3x4xf32>, tensor<8x4x3xf32>) -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}

// The values of the best experts of the two best groups; those of others are hidden at 0.
// CHECK-LABEL: func.func @best_of_groups(
// CHECK:         moe.gate %{{.*}} top_k(2) score(softmax) groups(<4, keep = 2, max>) : tensor<?x8xf32>
func.func @best_of_groups(%x: tensor<?x4xf32>, %logits: tensor<?x8xf32>, %up: tensor<8x3x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<?x4xf32> {
  %p = aten.call "aten.softmax.int"(%logits) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %g = aten.call "aten.view.default"(%p) {self = #aten.arg<0>, size = [-1, 4, 2]} : (tensor<?x8xf32>) -> tensor<?x4x2xf32>
  %m:2 = aten.call "aten.max.dim"(%g) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<?x4x2xf32>) -> (tensor<?x4xf32>, tensor<?x4xi64>)
  %best:2 = aten.call "aten.topk.default"(%m#0) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x4xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %z = aten.call "aten.zeros_like.default"(%m#0) {self = #aten.arg<0>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %gm = aten.call "aten.scatter.value"(%z, %best#1) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>, value = 1 : i64} : (tensor<?x4xf32>, tensor<?x2xi64>) -> tensor<?x4xf32>
  %gu = aten.call "aten.unsqueeze.default"(%gm) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<?x4xf32>) -> tensor<?x4x1xf32>
  %ge = aten.call "aten.expand.default"(%gu) {self = #aten.arg<0>, size = [-1, 4, 2]} : (tensor<?x4x1xf32>) -> tensor<?x4x2xf32>
  %gf = aten.call "aten.reshape.default"(%ge) {self = #aten.arg<0>, shape = [-1, 8]} : (tensor<?x4x2xf32>) -> tensor<?x8xf32>
  %gb = aten.call "aten.to.dtype"(%gf) {self = #aten.arg<0>, dtype = i1} : (tensor<?x8xf32>) -> tensor<?x8xi1>
  %gn = aten.call "aten.bitwise_not.default"(%gb) {self = #aten.arg<0>} : (tensor<?x8xi1>) -> tensor<?x8xi1>
  %c = aten.call "aten.masked_fill.Scalar"(%p, %gn) {self = #aten.arg<0>, mask = #aten.arg<1>, value = 0 : i64} : (tensor<?x8xf32>, tensor<?x8xi1>) -> tensor<?x8xf32>
  %t:2 = aten.call "aten.topk.default"(%c) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %o = aten.call "moe_mlir.experts.default"(%x, %t#1, %t#0, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "relu", gated = false} : (tensor<?x4xf32>, tensor<?x2xi64>, tensor<?x2xf32>, tensor<8x3x4xf32>, tensor<8x4x3xf32>) -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}

// Scores that are a part: the gate gets the same part of the logits. What follows the choice stays plain.
// CHECK-LABEL: func.func @part(
// CHECK-SAME:    %[[ALL:[a-z0-9]+]]: tensor<?x10xf32>
// CHECK:         %[[PART:.*]] = aten.call "aten.slice.Tensor"(%[[ALL]]) {{.*}} -> tensor<?x8xf32>
// CHECK:         %[[W:.*]], %[[E:.*]] = moe.gate %[[PART]] bias(%{{.*}} : tensor<8xf32>) top_k(2) score(sigmoid) : tensor<?x8xf32>
// CHECK:         %[[WIDE:.*]] = aten.call "aten.to.dtype"(%[[E]])
// CHECK:         aten.call "aten.gather.default"(%{{.*}}, %[[WIDE]])
// CHECK:         moe.dispatch %{{.*}}, %[[E]]
func.func @part(%x: tensor<?x4xf32>, %all: tensor<?x10xf32>, %bias: tensor<8xf32>, %up: tensor<8x3x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<?x4xf32> {
  %p = aten.call "aten.sigmoid.default"(%all) {self = #aten.arg<0>} : (tensor<?x10xf32>) -> tensor<?x10xf32>
  %r = aten.call "aten.slice.Tensor"(%p) {self = #aten.arg<0>, dim = 1 : i64, start = 0 : i64, end = -2 : i64} : (tensor<?x10xf32>) -> tensor<?x8xf32>
  %b = aten.call "aten.add.Tensor"(%r, %bias) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %t:2 = aten.call "aten.topk.default"(%b) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %l = aten.call "aten.slice.Tensor"(%all) {self = #aten.arg<0>, dim = 1 : i64, start = 0 : i64, end = -2 : i64} : (tensor<?x10xf32>) -> tensor<?x8xf32>
  %g = aten.call "aten.gather.default"(%l, %t#1) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  %w = aten.call "aten.exp.default"(%g) {self = #aten.arg<0>} : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %o = aten.call "moe_mlir.experts.default"(%x, %t#1, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "relu", gated = false} : (tensor<?x4xf32>, tensor<?x2xi64>, tensor<?x2xf32>, tensor<8x3x4xf32>, tensor<8x4x3xf32>) -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}

// The scores multiply the tokens, each of which is a row for every expert that it chose: the choice is the gate's.
// CHECK-LABEL: func.func @scores_of_tokens(
// CHECK:         %[[W:.*]], %[[E:.*]] = moe.gate %{{.*}} top_k(2) score(sigmoid_after) : tensor<?x8xf32>
// CHECK-NOT:     moe.plain
// CHECK:         tensor.collapse_shape %[[W]]
// CHECK:         moe.dispatch
func.func @scores_of_tokens(%x: tensor<?x4xf32>, %logits: tensor<?x8xf32>, %up: tensor<8x3x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<?x4xf32> {
  %t:2 = aten.call "aten.topk.default"(%logits) {self = #aten.arg<0>, k = 2 : i64, dim = 1 : i64} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %s = aten.call "aten.sigmoid.default"(%t#0) {self = #aten.arg<0>} : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %rows = aten.call "aten.view.default"(%s) {self = #aten.arg<0>, size = [-1, 1]} : (tensor<?x2xf32>) -> tensor<?x1xf32>
  %h = aten.call "aten.mul.Tensor"(%x, %rows) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x4xf32>, tensor<?x1xf32>) -> tensor<?x4xf32>
  %ids = aten.call "aten.view.default"(%t#1) {self = #aten.arg<0>, size = [-1, 1]} : (tensor<?x2xi64>) -> tensor<?x1xi64>
  %ones = aten.call "aten.ones_like.default"(%rows) {self = #aten.arg<0>} : (tensor<?x1xf32>) -> tensor<?x1xf32>
  %y = aten.call "moe_mlir.experts.default"(%h, %ids, %ones, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "silu", gated = false, transposed = false, interleaved = false} : (tensor<?x4xf32>, tensor<?x1xi64>, tensor<?x1xf32>, tensor<8x3x4xf32>, tensor<8x4x3xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
