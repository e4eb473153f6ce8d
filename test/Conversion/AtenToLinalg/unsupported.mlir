// RUN: not moe-opt %s --convert-aten-to-linalg --split-input-file -o - 2>&1 | FileCheck %s

// Everything that is not supported is reported at once, with where it first occurs.
// CHECK: error: 3 call(s) of 2 operator(s) are not supported; see docs/Ops.md for what is
// CHECK: unsupported.mlir:[[#@LINE+5]]:{{.*}}: note: aten.fft_fft.default (2)
// CHECK: unsupported.mlir:[[#@LINE+6]]:{{.*}}: note: aten.sort.default (1): this form of the operator
// CHECK-NOT: linalg
func.func @three(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>) {
  %0 = aten.call "aten.neg.default"(%x) {self = #aten.arg<0>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.call "aten.fft_fft.default"(%0) {self = #aten.arg<0>} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.call "aten.fft_fft.default"(%1) {self = #aten.arg<0>} : (tensor<4xf32>) -> tensor<4xf32>
  %3:2 = aten.call "aten.sort.default"(%2) {self = #aten.arg<0>, dim = 1 : i64, descending = false}
      : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  return %3#0, %3#1 : tensor<4xf32>, tensor<4xi64>
}

// -----

// What is chosen by name is named.
// CHECK: note: moe_mlir.experts.default (1), activation = 'swish9'
// CHECK: note: aten.gelu.default (1), approximate = 'quick': this form of the operator
// CHECK: note: aten.div.Tensor_mode (1), rounding_mode = 'up': this form of the operator
func.func @names(%x: tensor<4xf32>, %h: tensor<1x4xf32>, %ids: tensor<1x2xi64>, %p: tensor<1x2xf32>, %up: tensor<8x6x4xf32>, %down: tensor<8x4x6xf32>)
    -> tensor<4xf32> {
  %e = aten.call "moe_mlir.experts.default"(%h, %ids, %p, %up, %down)
      {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "swish9"}
      : (tensor<1x4xf32>, tensor<1x2xi64>, tensor<1x2xf32>, tensor<8x6x4xf32>, tensor<8x4x6xf32>) -> tensor<1x4xf32>
  %0 = aten.call "aten.view.default"(%e) {self = #aten.arg<0>, size = [4]} : (tensor<1x4xf32>) -> tensor<4xf32>
  %1 = aten.call "aten.gelu.default"(%0) {self = #aten.arg<0>, approximate = "quick"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.call "aten.div.Tensor_mode"(%0, %1) {self = #aten.arg<0>, other = #aten.arg<1>, rounding_mode = "up"}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// Arguments that change the function are not ignored.
// CHECK: error: 3 call(s) of 3 operator(s) are not supported
// CHECK: note: aten.round.decimals (1): this form of the operator
// CHECK: note: aten.softplus.default (1): this form of the operator
// CHECK: note: aten.exp.default (1): this form of the operator
func.func @forms(%x: tensor<4xf32>, %i: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xi64>) {
  %0 = aten.call "aten.round.decimals"(%x) {self = #aten.arg<0>, decimals = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.call "aten.softplus.default"(%0) {self = #aten.arg<0>, beta = 2.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.call "aten.exp.default"(%i) {self = #aten.arg<0>} : (tensor<4xi64>) -> tensor<4xi64>
  return %1, %2 : tensor<4xf32>, tensor<4xi64>
}

// -----

// Writes that add up or that are not whole rows, a histogram without a range.
// CHECK: error: 3 call(s) of 2 operator(s) are not supported
// CHECK: note: aten.index_put.default (2): this form of the operator
// CHECK: note: aten.histc.default (1): this form of the operator
func.func @rows(%x: tensor<4x8xf32>, %i: tensor<2xi64>, %v: tensor<2x8xf32>, %u: tensor<2xf32>, %y: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<5xf32>) {
  %0 = aten.call "aten.index_put.default"(%x, %i, %v) {self = #aten.arg<0>, indices = [#aten.arg<1>], values = #aten.arg<2>, accumulate = true}
      : (tensor<4x8xf32>, tensor<2xi64>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %1 = aten.call "aten.index_put.default"(%0, %i, %i, %u) {self = #aten.arg<0>, indices = [#aten.arg<1>, #aten.arg<2>], values = #aten.arg<3>}
      : (tensor<4x8xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xf32>) -> tensor<4x8xf32>
  %2 = aten.call "aten.histc.default"(%y) {self = #aten.arg<0>, bins = 5 : i64} : (tensor<4xf32>) -> tensor<5xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<5xf32>
}
