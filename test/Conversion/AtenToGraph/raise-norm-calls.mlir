// Norms of PyTorch in one call: a layer norm is nn.rms_norm of what is left when the mean is taken away.
// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s --implicit-check-not=moe.plain

// CHECK-LABEL: func.func @layer_norm(
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: tensor<?x8xf32>, %[[W:[a-z0-9_]+]]: tensor<8xf32>, %[[B:[a-z0-9_]+]]: tensor<8xf32>
// CHECK-NEXT:    %[[MEAN:[a-z0-9_]+]] = aten.call "aten.mean.dim"(%[[X]]) {dim = [-1], keepdim = true,
// CHECK-NEXT:    %[[LEFT:[a-z0-9_]+]] = aten.call "aten.sub.Tensor"(%[[X]], %[[MEAN]])
// CHECK-NEXT:    %[[N:[a-z0-9_]+]] = nn.rms_norm %[[LEFT]], %[[W]] eps(1.000000e-03) fused_scale
// CHECK-NEXT:    %[[Y:[a-z0-9_]+]] = aten.call "aten.add.Tensor"(%[[N]], %[[B]])
// CHECK-NEXT:    return %[[Y]]
func.func @layer_norm(%x: tensor<?x8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %y = aten.call "aten.layer_norm.default"(%x, %w, %b) {input = #aten.arg<0>, weight = #aten.arg<1>, bias = #aten.arg<2>, normalized_shape = [8], eps = 1.0e-03 : f64} : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// In f32, whatever the rows are, with PyTorch's epsilon.
// CHECK-LABEL: func.func @narrow(
// CHECK:         aten.call "aten.to.dtype"(%{{.*}}) {dtype = f32,
// CHECK:         nn.rms_norm %{{.*}}, %{{.*}} eps(1.000000e-05) fused_scale : tensor<5x8xf32>, tensor<8xf32>
// CHECK:         aten.call "aten.to.dtype"(%{{.*}}) {dtype = bf16,
func.func @narrow(%x: tensor<5x8xbf16>, %w: tensor<8xbf16>) -> tensor<5x8xbf16> {
  %y = aten.call "aten.layer_norm.default"(%x, %w) {input = #aten.arg<0>, weight = #aten.arg<1>, normalized_shape = [8]} : (tensor<5x8xbf16>, tensor<8xbf16>) -> tensor<5x8xbf16>
  return %y : tensor<5x8xbf16>
}

// CHECK-LABEL: func.func @no_weight(
// CHECK:         %[[ONES:[a-z0-9_]+]] = arith.constant dense<1.000000e+00> : tensor<8xbf16>
// CHECK:         nn.rms_norm %{{.*}}, %[[ONES]] eps(1.000000e-05) fused_scale : tensor<5x8xbf16>, tensor<8xbf16>
func.func @no_weight(%x: tensor<5x8xbf16>) -> tensor<5x8xbf16> {
  %y = aten.call "aten.rms_norm.default"(%x) {input = #aten.arg<0>, normalized_shape = [8], eps = 1.0e-05 : f64} : (tensor<5x8xbf16>) -> tensor<5x8xbf16>
  return %y : tensor<5x8xbf16>
}

// CHECK-LABEL: func.func @eps_of_f32(
// CHECK:         nn.rms_norm %{{.*}}, %{{.*}} eps(1.1920928955078125E-7) fused_scale
func.func @eps_of_f32(%x: tensor<5x8xf32>) -> tensor<5x8xf32> {
  %y = aten.call "aten.rms_norm.default"(%x) {input = #aten.arg<0>, normalized_shape = [8]} : (tensor<5x8xf32>) -> tensor<5x8xf32>
  return %y : tensor<5x8xf32>
}
