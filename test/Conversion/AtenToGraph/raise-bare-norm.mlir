// Norms whose rows no vector of their type multiplies: with ones, in f32.
// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s --implicit-check-not=moe.plain
// RUN: moe-opt %s --raise-aten-to-graph --raise-aten-to-graph | FileCheck %s --implicit-check-not=moe.plain

// CHECK-LABEL: func.func @bare(
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: tensor<?x4x8xf32>
// CHECK-NEXT:    %[[ONES:[a-z0-9_]+]] = arith.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:    %[[Y:[a-z0-9_]+]] = nn.rms_norm %[[X]], %[[ONES]] eps(1.000000e-05) fused_scale : tensor<?x4x8xf32>, tensor<8xf32>
// CHECK-NEXT:    return %[[Y]]
func.func @bare(%x: tensor<?x4x8xf32>) -> tensor<?x4x8xf32> {
  %s = aten.call "aten.square.default"(%x) {self = #aten.arg<0>} : (tensor<?x4x8xf32>) -> tensor<?x4x8xf32>
  %m = aten.call "aten.mean.dim"(%s) {self = #aten.arg<0>, dim = [-1], keepdim = true} : (tensor<?x4x8xf32>) -> tensor<?x4x1xf32>
  %e = aten.call "aten.add.Tensor"(%m) {self = #aten.arg<0>, other = 1.0e-05 : f64} : (tensor<?x4x1xf32>) -> tensor<?x4x1xf32>
  %r = aten.call "aten.rsqrt.default"(%e) {self = #aten.arg<0>} : (tensor<?x4x1xf32>) -> tensor<?x4x1xf32>
  %y = aten.call "aten.mul.Tensor"(%x, %r) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x4x8xf32>, tensor<?x4x1xf32>) -> tensor<?x4x8xf32>
  return %y : tensor<?x4x8xf32>
}

// Of narrow rows, with the root as a power, and a factor for each row behind: the norm is wide, the rest stays.
// CHECK-LABEL: func.func @power(
// CHECK:         %[[WIDE:[a-z0-9_]+]] = aten.call "aten.to.dtype"
// CHECK:         %[[N:[a-z0-9_]+]] = nn.rms_norm %[[WIDE]], %{{.*}} eps(1.000000e-05) fused_scale : tensor<?x8xf32>, tensor<8xf32>
// CHECK:         %[[H:[a-z0-9_]+]] = aten.call "aten.to.dtype"(%[[N]])
// CHECK:         aten.call "aten.mul.Tensor"(%{{.*}}, %[[H]])
func.func @power(%x: tensor<?x8xbf16>, %rows: tensor<?x1xbf16>) -> tensor<?x8xbf16> {
  %x32 = aten.call "aten.to.dtype"(%x) {self = #aten.arg<0>, dtype = f32} : (tensor<?x8xbf16>) -> tensor<?x8xf32>
  %s = aten.call "aten.pow.Tensor_Scalar"(%x32) {self = #aten.arg<0>, exponent = 2 : i64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %m = aten.call "aten.mean.dim"(%s) {self = #aten.arg<0>, dim = [-1], keepdim = true} : (tensor<?x8xf32>) -> tensor<?x1xf32>
  %e = aten.call "aten.add.Tensor"(%m) {self = #aten.arg<0>, other = 1.0e-05 : f64} : (tensor<?x1xf32>) -> tensor<?x1xf32>
  %r = aten.call "aten.pow.Tensor_Scalar"(%e) {self = #aten.arg<0>, exponent = -0.5 : f64} : (tensor<?x1xf32>) -> tensor<?x1xf32>
  %n = aten.call "aten.mul.Tensor"(%x32, %r) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x8xf32>
  %h = aten.call "aten.to.dtype"(%n) {self = #aten.arg<0>, dtype = bf16} : (tensor<?x8xf32>) -> tensor<?x8xbf16>
  %y = aten.call "aten.mul.Tensor"(%rows, %h) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x1xbf16>, tensor<?x8xbf16>) -> tensor<?x8xbf16>
  return %y : tensor<?x8xbf16>
}
