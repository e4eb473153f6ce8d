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

// What the values of a tensor would have to say, three operands, an ellipsis, a diagonal, and types that do not meet.
// CHECK-LABEL: func.func @others(
// CHECK-NEXT:    %{{.*}} = aten.call "aten.one_hot.default"
// CHECK-NEXT:    aten.call "aten.einsum.default"
// CHECK-NEXT:    aten.call "aten.einsum.default"
// CHECK-NEXT:    aten.call "aten.einsum.default"
// CHECK-NEXT:    aten.call "aten.einsum.default"
// CHECK-NEXT:    aten.call "aten.var.correction"
// CHECK-NEXT:    aten.call "aten.addmv.default"
// CHECK-NEXT:    return
func.func @others(%x: tensor<4x4xf32>, %h: tensor<4x4xbf16>, %i: tensor<4xi64>, %d: tensor<?x4xf32>, %j: tensor<4x4xi64>) -> (tensor<4x?xi64>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xi64>) {
  %0 = aten.call "aten.one_hot.default"(%i) {self = #aten.arg<0>} : (tensor<4xi64>) -> tensor<4x?xi64>
  %1 = aten.call "aten.einsum.default"(%x, %x, %x) {equation = "ij,jk,kl->il", tensors = [#aten.arg<0>, #aten.arg<1>, #aten.arg<2>]} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = aten.call "aten.einsum.default"(%x, %x) {equation = "...j,jk->...k", tensors = [#aten.arg<0>, #aten.arg<1>]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = aten.call "aten.einsum.default"(%x) {equation = "ii->i", tensors = [#aten.arg<0>]} : (tensor<4x4xf32>) -> tensor<4xf32>
  %4 = aten.call "aten.einsum.default"(%x, %h) {equation = "ij,jk->ik", tensors = [#aten.arg<0>, #aten.arg<1>]} : (tensor<4x4xf32>, tensor<4x4xbf16>) -> tensor<4x4xf32>
  %5 = aten.call "aten.var.correction"(%d) {self = #aten.arg<0>, dim = [0], correction = 0.5 : f64} : (tensor<?x4xf32>) -> tensor<4xf32>
  %6 = aten.call "aten.addmv.default"(%i, %j, %i) {self = #aten.arg<0>, mat = #aten.arg<1>, vec = #aten.arg<2>, beta = 0.5 : f64} : (tensor<4xi64>, tensor<4x4xi64>, tensor<4xi64>) -> tensor<4xi64>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<4x?xi64>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xi64>
}
