// Norms of PyTorch that nn.rms_norm does not say.
// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s

// CHECK-LABEL: func.func @layer_norm(
// CHECK-SAME:    moe.plain = [{kind = "norm", {{[^}]*}}reason = "aten.layer_norm takes the mean away, which nn.rms_norm does not", step = "mean"}]
func.func @layer_norm(%x: tensor<5x8xf32>, %w: tensor<8xf32>) -> tensor<5x8xf32> {
  %y = aten.call "aten.layer_norm.default"(%x, %w) {input = #aten.arg<0>, weight = #aten.arg<1>, normalized_shape = [8], eps = 1.0e-05 : f64} : (tensor<5x8xf32>, tensor<8xf32>) -> tensor<5x8xf32>
  return %y : tensor<5x8xf32>
}

// CHECK-LABEL: func.func @no_weight(
// CHECK-SAME:    reason = "there is none", step = "weight"
func.func @no_weight(%x: tensor<5x8xf32>) -> tensor<5x8xf32> {
  %y = aten.call "aten.rms_norm.default"(%x) {input = #aten.arg<0>, normalized_shape = [8], eps = 1.0e-05 : f64} : (tensor<5x8xf32>) -> tensor<5x8xf32>
  return %y : tensor<5x8xf32>
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

// Other ways to spell the inverse root.
// CHECK-LABEL: func.func @power(
// CHECK-SAME:    reason = "it is aten.pow instead of aten.rsqrt", step = "root"
func.func @power(%x: tensor<5x8xf32>) -> tensor<5x8xf32> {
  %s = aten.call "aten.square.default"(%x) {self = #aten.arg<0>} : (tensor<5x8xf32>) -> tensor<5x8xf32>
  %m = aten.call "aten.mean.dim"(%s) {self = #aten.arg<0>, dim = [-1], keepdim = true} : (tensor<5x8xf32>) -> tensor<5x1xf32>
  %e = aten.call "aten.add.Tensor"(%m) {self = #aten.arg<0>, other = 1.0e-05 : f64} : (tensor<5x1xf32>) -> tensor<5x1xf32>
  %r = aten.call "aten.pow.Tensor_Scalar"(%e) {self = #aten.arg<0>, exponent = -0.5 : f64} : (tensor<5x1xf32>) -> tensor<5x1xf32>
  %y = aten.call "aten.mul.Tensor"(%x, %r) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<5x8xf32>, tensor<5x1xf32>) -> tensor<5x8xf32>
  return %y : tensor<5x8xf32>
}

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
