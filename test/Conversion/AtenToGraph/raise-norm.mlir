// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s
// RUN: sed 's/bf16/f16/g' %s | moe-opt --raise-aten-to-graph | sed 's/f16/bf16/g' | FileCheck %s
// RUN: moe-opt %s --raise-aten-to-graph --raise-aten-to-graph | FileCheck %s

// The weight multiplies after the rounding to the type of x, as in Llama and its descendants.
// CHECK-LABEL: func.func @rounded(
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: tensor<?x8xbf16>, %[[W:[a-z0-9_]+]]: tensor<8xbf16>
// CHECK-NEXT:    %[[Y:[a-z0-9_]+]] = nn.rms_norm %[[X]], %[[W]] eps(1.000000e-05) : tensor<?x8xbf16>, tensor<8xbf16>
// CHECK-NEXT:    return %[[Y]]
func.func @rounded(%x: tensor<?x8xbf16>, %w: tensor<8xbf16>) -> tensor<?x8xbf16> {
  %x32 = aten.call "aten.to.dtype"(%x) {self = #aten.arg<0>, dtype = f32} : (tensor<?x8xbf16>) -> tensor<?x8xf32>
  %sq = aten.call "aten.pow.Tensor_Scalar"(%x32) {self = #aten.arg<0>, exponent = 2 : i64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %m = aten.call "aten.mean.dim"(%sq) {self = #aten.arg<0>, dim = [-1], keepdim = true} : (tensor<?x8xf32>) -> tensor<?x1xf32>
  %e = aten.call "aten.add.Tensor"(%m) {self = #aten.arg<0>, other = 1.0e-05 : f64} : (tensor<?x1xf32>) -> tensor<?x1xf32>
  %r = aten.call "aten.rsqrt.default"(%e) {self = #aten.arg<0>} : (tensor<?x1xf32>) -> tensor<?x1xf32>
  %n = aten.call "aten.mul.Tensor"(%x32, %r) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x8xf32>
  %h = aten.call "aten.to.dtype"(%n) {self = #aten.arg<0>, dtype = bf16} : (tensor<?x8xf32>) -> tensor<?x8xbf16>
  %y = aten.call "aten.mul.Tensor"(%w, %h) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<8xbf16>, tensor<?x8xbf16>) -> tensor<?x8xbf16>
  return %y : tensor<?x8xbf16>
}

// The weight multiplies in f32.
// CHECK-LABEL: func.func @fused(
// CHECK:         nn.rms_norm %{{.*}}, %{{.*}} eps(1.000000e-05) fused_scale
// CHECK-NOT:     aten.call
func.func @fused(%x: tensor<?x8xbf16>, %w: tensor<8xbf16>) -> tensor<?x8xbf16> {
  %x32 = aten.call "aten.to.dtype"(%x) {self = #aten.arg<0>, dtype = f32} : (tensor<?x8xbf16>) -> tensor<?x8xf32>
  %sq = aten.call "aten.pow.Tensor_Scalar"(%x32) {self = #aten.arg<0>, exponent = 2 : i64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %m = aten.call "aten.mean.dim"(%sq) {self = #aten.arg<0>, dim = [-1], keepdim = true} : (tensor<?x8xf32>) -> tensor<?x1xf32>
  %e = aten.call "aten.add.Tensor"(%m) {self = #aten.arg<0>, other = 1.0e-05 : f64} : (tensor<?x1xf32>) -> tensor<?x1xf32>
  %r = aten.call "aten.rsqrt.default"(%e) {self = #aten.arg<0>} : (tensor<?x1xf32>) -> tensor<?x1xf32>
  %n = aten.call "aten.mul.Tensor"(%x32, %r) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x8xf32>
  %p = aten.call "aten.mul.Tensor"(%w, %n) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<8xbf16>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %y = aten.call "aten.to.dtype"(%p) {self = #aten.arg<0>, dtype = bf16} : (tensor<?x8xf32>) -> tensor<?x8xbf16>
  return %y : tensor<?x8xbf16>
}

// CHECK-LABEL: func.func @torch(
// CHECK:         nn.rms_norm %{{.*}}, %{{.*}} eps(9.9999999999999995E-7) fused_scale
func.func @torch(%x: tensor<?x4x8xbf16>, %w: tensor<8xbf16>) -> tensor<?x4x8xbf16> {
  %0 = aten.call "aten.rms_norm.default"(%x, %w) {input = #aten.arg<0>, weight = #aten.arg<1>, normalized_shape = [8], eps = 1.0e-06 : f64} : (tensor<?x4x8xbf16>, tensor<8xbf16>) -> tensor<?x4x8xbf16>
  return %0 : tensor<?x4x8xbf16>
}

// The mean over another dimension is another norm.
// CHECK-LABEL: func.func @columns(
// CHECK-SAME:    moe.plain = [{at = "{{.*}}", kind = "norm", place = "{{.*}}", reason = "it is not over the last dimension alone", step = "mean"}]
// CHECK-NOT:     nn.rms_norm
func.func @columns(%x: tensor<?x8xbf16>, %w: tensor<8xbf16>) -> tensor<?x8xbf16> {
  %x32 = aten.call "aten.to.dtype"(%x) {self = #aten.arg<0>, dtype = f32} : (tensor<?x8xbf16>) -> tensor<?x8xf32>
  %sq = aten.call "aten.pow.Tensor_Scalar"(%x32) {self = #aten.arg<0>, exponent = 2 : i64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %m = aten.call "aten.mean.dim"(%sq) {self = #aten.arg<0>, dim = [0], keepdim = true} : (tensor<?x8xf32>) -> tensor<1x8xf32>
  %e = aten.call "aten.add.Tensor"(%m) {self = #aten.arg<0>, other = 1.0e-05 : f64} : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %r = aten.call "aten.rsqrt.default"(%e) {self = #aten.arg<0>} : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %n = aten.call "aten.mul.Tensor"(%x32, %r) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x8xf32>, tensor<1x8xf32>) -> tensor<?x8xf32>
  %h = aten.call "aten.to.dtype"(%n) {self = #aten.arg<0>, dtype = bf16} : (tensor<?x8xf32>) -> tensor<?x8xbf16>
  %y = aten.call "aten.mul.Tensor"(%w, %h) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<8xbf16>, tensor<?x8xbf16>) -> tensor<?x8xbf16>
  return %y : tensor<?x8xbf16>
}
