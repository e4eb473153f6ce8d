// Norms of PyTorch that nn.rms_norm does not say.
// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s

// CHECK-LABEL: func.func @weight_of_one(
// CHECK-SAME:    reason = "it is not a vector of the type of the rows", step = "weight"
func.func @weight_of_one(%x: tensor<5x8xf32>, %w: tensor<1xf32>) -> tensor<5x8xf32> {
  %y = aten.call "aten.layer_norm.default"(%x, %w) {input = #aten.arg<0>, weight = #aten.arg<1>, normalized_shape = [8], eps = 1.0e-05 : f64} : (tensor<5x8xf32>, tensor<1xf32>) -> tensor<5x8xf32>
  return %y : tensor<5x8xf32>
}

// CHECK-LABEL: func.func @bias_of_other_type(
// CHECK-SAME:    reason = "it is not a vector of the type of the rows", step = "bias"
func.func @bias_of_other_type(%x: tensor<5x8xf32>, %b: tensor<8xbf16>) -> tensor<5x8xf32> {
  %y = aten.call "aten.layer_norm.default"(%x, %b) {input = #aten.arg<0>, bias = #aten.arg<1>, normalized_shape = [8], eps = 1.0e-05 : f64} : (tensor<5x8xf32>, tensor<8xbf16>) -> tensor<5x8xf32>
  return %y : tensor<5x8xf32>
}

// CHECK-LABEL: func.func @f64(
// CHECK-SAME:    reason = "the rows are not of f32, bf16 or f16", step = "types"
func.func @f64(%x: tensor<5x8xf64>) -> tensor<5x8xf64> {
  %y = aten.call "aten.rms_norm.default"(%x) {input = #aten.arg<0>, normalized_shape = [8], eps = 1.0e-05 : f64} : (tensor<5x8xf64>) -> tensor<5x8xf64>
  return %y : tensor<5x8xf64>
}

// CHECK-LABEL: func.func @eps_of_bf16(
// CHECK-SAME:    reason = "none is given, and that of the type is not known", step = "eps"
func.func @eps_of_bf16(%x: tensor<5x8xbf16>) -> tensor<5x8xbf16> {
  %y = aten.call "aten.rms_norm.default"(%x) {input = #aten.arg<0>, normalized_shape = [8]} : (tensor<5x8xbf16>) -> tensor<5x8xbf16>
  return %y : tensor<5x8xbf16>
}

// CHECK-LABEL: func.func @two_dimensions(
// CHECK-SAME:    reason = "it is not over the last dimension alone", step = "mean"
func.func @two_dimensions(%x: tensor<5x4x8xf32>, %w: tensor<4x8xf32>) -> tensor<5x4x8xf32> {
  %y = aten.call "aten.rms_norm.default"(%x, %w) {input = #aten.arg<0>, weight = #aten.arg<1>, normalized_shape = [4, 8], eps = 1.0e-05 : f64} : (tensor<5x4x8xf32>, tensor<4x8xf32>) -> tensor<5x4x8xf32>
  return %y : tensor<5x4x8xf32>
}

// CHECK-LABEL: func.func @variance(
// CHECK-SAME:    reason = "the root is not rsqrt(mean(x^2) + eps)", step = "eps"
func.func @variance(%x: tensor<5x8xf32>) -> tensor<5x8xf32> {
  %v = aten.call "aten.var.correction"(%x) {self = #aten.arg<0>, dim = [-1], correction = 0 : i64, keepdim = true} : (tensor<5x8xf32>) -> tensor<5x1xf32>
  %e = aten.call "aten.add.Tensor"(%v) {self = #aten.arg<0>, other = 1.0e-05 : f64} : (tensor<5x1xf32>) -> tensor<5x1xf32>
  %r = aten.call "aten.rsqrt.default"(%e) {self = #aten.arg<0>} : (tensor<5x1xf32>) -> tensor<5x1xf32>
  %y = aten.call "aten.mul.Tensor"(%x, %r) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<5x8xf32>, tensor<5x1xf32>) -> tensor<5x8xf32>
  return %y : tensor<5x8xf32>
}

// CHECK-LABEL: func.func @columns_unknown(
// CHECK-SAME:    reason = "their number is not known", step = "columns"
func.func @columns_unknown(%x: tensor<5x?xf32>) -> tensor<5x?xf32> {
  %s = aten.call "aten.square.default"(%x) {self = #aten.arg<0>} : (tensor<5x?xf32>) -> tensor<5x?xf32>
  %m = aten.call "aten.mean.dim"(%s) {self = #aten.arg<0>, dim = [-1], keepdim = true} : (tensor<5x?xf32>) -> tensor<5x1xf32>
  %e = aten.call "aten.add.Tensor"(%m) {self = #aten.arg<0>, other = 1.0e-05 : f64} : (tensor<5x1xf32>) -> tensor<5x1xf32>
  %r = aten.call "aten.rsqrt.default"(%e) {self = #aten.arg<0>} : (tensor<5x1xf32>) -> tensor<5x1xf32>
  %y = aten.call "aten.mul.Tensor"(%x, %r) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<5x?xf32>, tensor<5x1xf32>) -> tensor<5x?xf32>
  return %y : tensor<5x?xf32>
}

// Another way to spell the inverse root.
// CHECK-LABEL: func.func @divided(
// CHECK-SAME:    reason = "it is aten.sqrt instead of aten.rsqrt", step = "root"
func.func @divided(%x: tensor<5x8xf32>) -> tensor<5x8xf32> {
  %s = aten.call "aten.square.default"(%x) {self = #aten.arg<0>} : (tensor<5x8xf32>) -> tensor<5x8xf32>
  %m = aten.call "aten.mean.dim"(%s) {self = #aten.arg<0>, dim = [-1], keepdim = true} : (tensor<5x8xf32>) -> tensor<5x1xf32>
  %r = aten.call "aten.sqrt.default"(%m) {self = #aten.arg<0>} : (tensor<5x1xf32>) -> tensor<5x1xf32>
  %y = aten.call "aten.div.Tensor"(%x, %r) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<5x8xf32>, tensor<5x1xf32>) -> tensor<5x8xf32>
  return %y : tensor<5x8xf32>
}

// The inverse root of something else is no norm.
// CHECK-LABEL: func.func @distance(
// CHECK-NOT:     moe.plain
func.func @distance(%x: tensor<5x8xf32>) -> tensor<5x8xf32> {
  %r = aten.call "aten.rsqrt.default"(%x) {self = #aten.arg<0>} : (tensor<5x8xf32>) -> tensor<5x8xf32>
  %y = aten.call "aten.mul.Tensor"(%x, %r) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  return %y : tensor<5x8xf32>
}
