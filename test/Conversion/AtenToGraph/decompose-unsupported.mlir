// RUN: moe-opt %s --aten-decompose | FileCheck %s

// Dropout and shapes that do not fit each other stay as they are: convert-aten-to-linalg reports them.
// CHECK-LABEL: func.func @dropout(
// CHECK-NEXT:    aten.call "aten.scaled_dot_product_attention.default"
func.func @dropout(%q: tensor<1x2x3x8xf32>) -> tensor<1x2x3x8xf32> {
  %0 = aten.call "aten.scaled_dot_product_attention.default"(%q, %q, %q) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, dropout_p = 0.5 : f64} : (tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>) -> tensor<1x2x3x8xf32>
  return %0 : tensor<1x2x3x8xf32>
}

// CHECK-LABEL: func.func @shapes(
// CHECK-NEXT:    aten.call "aten.rms_norm.default"
// CHECK-NEXT:    aten.call "aten.diff.default"
func.func @shapes(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = aten.call "aten.rms_norm.default"(%x) {input = #aten.arg<0>, normalized_shape = [2, 4]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.call "aten.diff.default"(%x) {self = #aten.arg<0>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
