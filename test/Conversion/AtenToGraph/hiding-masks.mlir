// RUN: moe-opt %s --raise-aten-to-graph --split-input-file | FileCheck %s

// Zeros, and the lowest number where a key is hidden: the mask of those that are seen.
// CHECK-LABEL: func.func @filled
// CHECK-SAME: %[[KEEP:[a-z0-9]+]]: tensor<1x2x3x6xi1>
// CHECK: nn.attention {{.*}} mask(%[[KEEP]] : tensor<1x2x3x6xi1>)
func.func @filled(%q: tensor<1x2x3x8xf32>, %k: tensor<1x2x6x8xf32>, %keep: tensor<1x2x3x6xi1>) -> tensor<1x2x3x8xf32> {
  %z = aten.call "aten.zeros.default"() {size = [1, 2, 3, 6]} : () -> tensor<1x2x3x6xf32>
  %h = aten.call "aten.bitwise_not.default"(%keep) {self = #aten.arg<0>} : (tensor<1x2x3x6xi1>) -> tensor<1x2x3x6xi1>
  %m = aten.call "aten.masked_fill.Scalar"(%z, %h) {self = #aten.arg<0>, mask = #aten.arg<1>, value = -3.4028234663852886E+38 : f64} : (tensor<1x2x3x6xf32>, tensor<1x2x3x6xi1>) -> tensor<1x2x3x6xf32>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%q, %k, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<1>, attn_mask = #aten.arg<2>, scale = 2.5e-01 : f64} : (tensor<1x2x3x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x3x6xf32>) -> tensor<1x2x3x8xf32>
  return %o : tensor<1x2x3x8xf32>
}

// -----

// CHECK-LABEL: func.func @chosen
// CHECK-SAME: %[[KEEP:[a-z0-9]+]]: tensor<1x1x3x6xi1>
// CHECK: nn.attention {{.*}} mask(%[[KEEP]] : tensor<1x1x3x6xi1>)
func.func @chosen(%q: tensor<1x2x3x8xf32>, %k: tensor<1x2x6x8xf32>, %keep: tensor<1x1x3x6xi1>) -> tensor<1x2x3x8xf32> {
  %m = aten.call "aten.where.Scalar"(%keep) {condition = #aten.arg<0>, self = 0.0 : f64, other = 0xFFF0000000000000 : f64} : (tensor<1x1x3x6xi1>) -> tensor<1x1x3x6xf32>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%q, %k, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<1>, attn_mask = #aten.arg<2>, scale = 2.5e-01 : f64} : (tensor<1x2x3x8xf32>, tensor<1x2x6x8xf32>, tensor<1x1x3x6xf32>) -> tensor<1x2x3x8xf32>
  return %o : tensor<1x2x3x8xf32>
}

// -----

// A hidden key still counts a little here.
// CHECK-LABEL: func.func @weighted
// CHECK: nn.attention {{.*}} bias(
func.func @weighted(%q: tensor<1x2x3x8xf32>, %k: tensor<1x2x6x8xf32>, %hidden: tensor<1x1x3x6xi1>) -> tensor<1x2x3x8xf32> {
  %z = aten.call "aten.zeros.default"() {size = [1, 1, 3, 6]} : () -> tensor<1x1x3x6xf32>
  %m = aten.call "aten.masked_fill.Scalar"(%z, %hidden) {self = #aten.arg<0>, mask = #aten.arg<1>, value = -1.0 : f64} : (tensor<1x1x3x6xf32>, tensor<1x1x3x6xi1>) -> tensor<1x1x3x6xf32>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%q, %k, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<1>, attn_mask = #aten.arg<2>, scale = 2.5e-01 : f64} : (tensor<1x2x3x8xf32>, tensor<1x2x6x8xf32>, tensor<1x1x3x6xf32>) -> tensor<1x2x3x8xf32>
  return %o : tensor<1x2x3x8xf32>
}

// -----

// What is seen is not all the same.
// CHECK-LABEL: func.func @biased
// CHECK: nn.attention {{.*}} bias(
func.func @biased(%q: tensor<1x2x3x8xf32>, %k: tensor<1x2x6x8xf32>, %hidden: tensor<1x1x3x6xi1>) -> tensor<1x2x3x8xf32> {
  %z = aten.call "aten.ones.default"() {size = [1, 1, 3, 6]} : () -> tensor<1x1x3x6xf32>
  %m = aten.call "aten.masked_fill.Scalar"(%z, %hidden) {self = #aten.arg<0>, mask = #aten.arg<1>, value = 0xFFF0000000000000 : f64} : (tensor<1x1x3x6xf32>, tensor<1x1x3x6xi1>) -> tensor<1x1x3x6xf32>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%q, %k, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<1>, attn_mask = #aten.arg<2>, scale = 2.5e-01 : f64} : (tensor<1x2x3x8xf32>, tensor<1x2x6x8xf32>, tensor<1x1x3x6xf32>) -> tensor<1x2x3x8xf32>
  return %o : tensor<1x2x3x8xf32>
}
