// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s

// Every expert on every token, as a mask of the chosen ones weighs the results: as Llama 4 does.
// CHECK-LABEL: func.func @dense(
// CHECK-SAME:    moe.plain = [{kind = "moe", layer = "layers.3.mlp", place = "model.py:12", reason = "all 8 experts run on every token", step = "products"}]
func.func @dense(%x: tensor<5x4xf32>, %router: tensor<8x4xf32>, %w: tensor<8x4x4xf32>) -> tensor<5x4xf32> {
  %l = aten.call "aten.linear.default"(%x, %router) {input = #aten.arg<0>, weight = #aten.arg<1>} : (tensor<5x4xf32>, tensor<8x4xf32>) -> tensor<5x8xf32>
  %t:2 = aten.call "aten.topk.default"(%l) {self = #aten.arg<0>, k = 2 : i64} : (tensor<5x8xf32>) -> (tensor<5x2xf32>, tensor<5x2xi64>)
  %z = aten.call "aten.zeros_like.default"(%l) {self = #aten.arg<0>} : (tensor<5x8xf32>) -> tensor<5x8xf32>
  %d = aten.call "aten.scatter.src"(%z, %t#1, %t#0) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>, src = #aten.arg<2>} : (tensor<5x8xf32>, tensor<5x2xi64>, tensor<5x2xf32>) -> tensor<5x8xf32>
  %dt = aten.call "aten.transpose.int"(%d) {self = #aten.arg<0>, dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<5x8xf32>) -> tensor<8x5xf32>
  %du = aten.call "aten.unsqueeze.default"(%dt) {self = #aten.arg<0>, dim = 2 : i64} : (tensor<8x5xf32>) -> tensor<8x5x1xf32>
  %y = aten.call "aten.matmul.default"(%x, %w) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<5x4xf32>, tensor<8x4x4xf32>) -> tensor<8x5x4xf32> loc("layers.3.mlp"("model.py":12:1))
  %s = aten.call "aten.silu.default"(%y) {self = #aten.arg<0>} : (tensor<8x5x4xf32>) -> tensor<8x5x4xf32>
  %p = aten.call "aten.mul.Tensor"(%s, %du) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<8x5x4xf32>, tensor<8x5x1xf32>) -> tensor<8x5x4xf32>
  %o = aten.call "aten.sum.dim_IntList"(%p) {self = #aten.arg<0>, dim = [0]} : (tensor<8x5x4xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// A linear layer per expert, with a mask: the choice says that this is a MoE layer. What follows the scores of the best
// groups belongs to the same choice.
// CHECK-LABEL: func.func @loop(
// CHECK-SAME:    moe.plain = [{kind = "moe", {{[^}]*}}reason = "a choice between 2 experts is made, and what follows is neither moe_mlir::experts nor the experts grouped_mm or batched_mm of transformers", step = "products"}]
func.func @loop(%x: tensor<5x4xf32>, %router: tensor<2x4xf32>, %w0: tensor<4x4xf32>, %w1: tensor<4x4xf32>) -> tensor<5x4xf32> {
  %l = aten.call "aten.linear.default"(%x, %router) {input = #aten.arg<0>, weight = #aten.arg<1>} : (tensor<5x4xf32>, tensor<2x4xf32>) -> tensor<5x2xf32>
  %t:2 = aten.call "aten.topk.default"(%l) {self = #aten.arg<0>, k = 1 : i64} : (tensor<5x2xf32>) -> (tensor<5x1xf32>, tensor<5x1xi64>)
  %m0 = aten.call "aten.eq.Scalar"(%t#1) {self = #aten.arg<0>, other = 0 : i64} : (tensor<5x1xi64>) -> tensor<5x1xi1>
  %y0 = aten.call "aten.linear.default"(%x, %w0) {input = #aten.arg<0>, weight = #aten.arg<1>} : (tensor<5x4xf32>, tensor<4x4xf32>) -> tensor<5x4xf32>
  %p0 = aten.call "aten.mul.Tensor"(%y0, %m0) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<5x4xf32>, tensor<5x1xi1>) -> tensor<5x4xf32>
  %m1 = aten.call "aten.eq.Scalar"(%t#1) {self = #aten.arg<0>, other = 1 : i64} : (tensor<5x1xi64>) -> tensor<5x1xi1>
  %y1 = aten.call "aten.linear.default"(%x, %w1) {input = #aten.arg<0>, weight = #aten.arg<1>} : (tensor<5x4xf32>, tensor<4x4xf32>) -> tensor<5x4xf32>
  %p1 = aten.call "aten.mul.Tensor"(%y1, %m1) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<5x4xf32>, tensor<5x1xi1>) -> tensor<5x4xf32>
  %o = aten.call "aten.add.Tensor"(%p0, %p1) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// Rows that are added where their tokens are.
// CHECK-LABEL: func.func @index_add(
// CHECK-SAME:    moe.plain = [{at = "{{[^"]*}}plain-experts.mlir:[[#@LINE+11]]", kind = "moe", place = "{{[^"]*}}plain-experts.mlir:[[#@LINE+4]]", reason = "the rows are added by aten.index_add, not by view(T, k, H).sum(1)", step = "sum"}]
func.func @index_add(%x: tensor<10x4xf32>, %ids: tensor<10xi64>, %rows: tensor<10xi64>, %w: tensor<8x4x4xf32>, %zeros: tensor<5x4xf32>) -> tensor<5x4xf32> {
  %c = aten.call "aten.index.Tensor"(%w, %ids) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<8x4x4xf32>, tensor<10xi64>) -> tensor<10x4x4xf32>
  %u = aten.call "aten.unsqueeze.default"(%x) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<10x4xf32>) -> tensor<10x4x1xf32>
  %b = aten.call "aten.bmm.default"(%c, %u) {self = #aten.arg<0>, mat2 = #aten.arg<1>} : (tensor<10x4x4xf32>, tensor<10x4x1xf32>) -> tensor<10x4x1xf32>
  %r = aten.call "aten.squeeze.dim"(%b) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<10x4x1xf32>) -> tensor<10x4xf32>
  %s = aten.call "aten.silu.default"(%r) {self = #aten.arg<0>} : (tensor<10x4xf32>) -> tensor<10x4xf32>
  %c2 = aten.call "aten.index.Tensor"(%w, %ids) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<8x4x4xf32>, tensor<10xi64>) -> tensor<10x4x4xf32>
  %u2 = aten.call "aten.unsqueeze.default"(%s) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<10x4xf32>) -> tensor<10x4x1xf32>
  %b2 = aten.call "aten.bmm.default"(%c2, %u2) {self = #aten.arg<0>, mat2 = #aten.arg<1>} : (tensor<10x4x4xf32>, tensor<10x4x1xf32>) -> tensor<10x4x1xf32>
  %r2 = aten.call "aten.squeeze.dim"(%b2) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<10x4x1xf32>) -> tensor<10x4xf32>
  %o = aten.call "aten.index_add.default"(%zeros, %rows, %r2) {self = #aten.arg<0>, dim = 0 : i64, index = #aten.arg<1>, source = #aten.arg<2>} : (tensor<5x4xf32>, tensor<10xi64>, tensor<10x4xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// Two layers that are alike are two.
// CHECK-LABEL: func.func @two(
// CHECK-SAME:    moe.plain = [{{{[^}]*}}kind = "moe", layer = "layers.0", {{[^}]*}}}, {{{[^}]*}}kind = "moe", layer = "layers.1", {{[^}]*}}}]
func.func @two(%x: tensor<10x4xf32>, %ids: tensor<10xi64>, %w: tensor<8x4x4xf32>) -> tensor<10x4xf32> {
  %c = aten.call "aten.index.Tensor"(%w, %ids) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<8x4x4xf32>, tensor<10xi64>) -> tensor<10x4x4xf32>
  %u = aten.call "aten.unsqueeze.default"(%x) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<10x4xf32>) -> tensor<10x4x1xf32>
  %b = aten.call "aten.bmm.default"(%c, %u) {self = #aten.arg<0>, mat2 = #aten.arg<1>} : (tensor<10x4x4xf32>, tensor<10x4x1xf32>) -> tensor<10x4x1xf32> loc("layers.0")
  %s = aten.call "aten.sum.dim_IntList"(%b) {self = #aten.arg<0>, dim = [2]} : (tensor<10x4x1xf32>) -> tensor<10x4xf32>
  %c2 = aten.call "aten.index.Tensor"(%w, %ids) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<8x4x4xf32>, tensor<10xi64>) -> tensor<10x4x4xf32>
  %u2 = aten.call "aten.unsqueeze.default"(%s) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<10x4xf32>) -> tensor<10x4x1xf32>
  %b2 = aten.call "aten.bmm.default"(%c2, %u2) {self = #aten.arg<0>, mat2 = #aten.arg<1>} : (tensor<10x4x4xf32>, tensor<10x4x1xf32>) -> tensor<10x4x1xf32> loc("layers.1")
  %s2 = aten.call "aten.sum.dim_IntList"(%b2) {self = #aten.arg<0>, dim = [2]} : (tensor<10x4x1xf32>) -> tensor<10x4xf32>
  return %s2 : tensor<10x4xf32>
}

// No MoE layer: a token of a vocabulary is chosen, and the next step begins with its embedding.
// CHECK-LABEL: func.func @sampling(
// CHECK-NOT:     moe.plain
func.func @sampling(%x: tensor<5x4xf32>, %head: tensor<50x4xf32>, %table: tensor<50x4xf32>) -> (tensor<5x4xf32>, tensor<5x3xf32>) {
  %l = aten.call "aten.linear.default"(%x, %head) {input = #aten.arg<0>, weight = #aten.arg<1>} : (tensor<5x4xf32>, tensor<50x4xf32>) -> tensor<5x50xf32>
  %t:2 = aten.call "aten.topk.default"(%l) {self = #aten.arg<0>, k = 3 : i64} : (tensor<5x50xf32>) -> (tensor<5x3xf32>, tensor<5x3xi64>)
  %p = aten.call "aten.softmax.int"(%t#0) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<5x3xf32>) -> tensor<5x3xf32>
  %b = aten.call "aten.select.int"(%t#1) {self = #aten.arg<0>, dim = 1 : i64, index = 0 : i64} : (tensor<5x3xi64>) -> tensor<5xi64>
  %e = aten.call "aten.embedding.default"(%table, %b) {weight = #aten.arg<0>, indices = #aten.arg<1>} : (tensor<50x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
  return %e, %p : tensor<5x4xf32>, tensor<5x3xf32>
}

// Numbers of an input that are chosen from are no logits.
// CHECK-LABEL: func.func @largest(
// CHECK-NOT:     moe.plain
func.func @largest(%x: tensor<5x4xf32>, %y: tensor<5x8xf32>) -> tensor<5x4xf32> {
  %t:2 = aten.call "aten.topk.default"(%y) {self = #aten.arg<0>, k = 1 : i64} : (tensor<5x8xf32>) -> (tensor<5x1xf32>, tensor<5x1xi64>)
  %o = aten.call "aten.mul.Tensor"(%x, %t#0) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<5x4xf32>, tensor<5x1xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// Nor has a layer whose ids and weights are the caller's a router.
// CHECK-LABEL: func.func @given(
// CHECK-NOT:     moe.plain
// CHECK:         moe.expert
func.func @given(%x: tensor<5x4xf32>, %ids: tensor<5x2xi64>, %w: tensor<5x2xf32>, %up: tensor<8x3x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<5x4xf32> {
  %o = aten.call "moe_mlir.experts.default"(%x, %ids, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "relu", gated = false} : (tensor<5x4xf32>, tensor<5x2xi64>, tensor<5x2xf32>, tensor<8x3x4xf32>, tensor<8x4x3xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}
