// Five experts of two groups of two: the fifth is one of those that are hidden, which no gate chooses.
// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s

// CHECK-LABEL: func.func @beyond_the_groups(
// CHECK-SAME:    moe.plain = [{{{.*}}kind = "router"{{.*}}reason = "the experts that topk does not see are not those outside of the best groups{{.*}}", step = "groups"}]
// CHECK-NOT:     moe.gate
// CHECK:         moe.dispatch
func.func @beyond_the_groups(%x: tensor<?x4xf32>, %logits: tensor<?x8xf32>, %up: tensor<8x3x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<?x4xf32> {
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
  %t:2 = aten.call "aten.topk.default"(%c) {self = #aten.arg<0>, k = 5 : i64, dim = -1 : i64} : (tensor<?x8xf32>) -> (tensor<?x5xf32>, tensor<?x5xi64>)
  %o = aten.call "moe_mlir.experts.default"(%x, %t#1, %t#0, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "relu", gated = false} : (tensor<?x4xf32>, tensor<?x5xi64>, tensor<?x5xf32>, tensor<8x3x4xf32>, tensor<8x4x3xf32>) -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}
