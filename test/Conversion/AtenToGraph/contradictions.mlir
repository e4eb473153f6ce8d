// Patterns on graphs whose types contradict each other, as only a damaged one has them.
// RUN: moe-opt %s --raise-aten-to-graph --canonicalize | FileCheck %s

// Two queries for no key head: the call stays.
// CHECK-LABEL: func.func @no_key_heads(
// CHECK: aten.call "aten.scaled_dot_product_attention.default"
func.func @no_key_heads(%q: tensor<1x2x3x8xf32>, %k: tensor<1x0x6x8xf32>, %v: tensor<1x0x6x8xf32>) -> tensor<1x2x3x8xf32> {
  %o = aten.call "aten.scaled_dot_product_attention.default"(%q, %k, %v) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, scale = 2.5e-01 : f64} : (tensor<1x2x3x8xf32>, tensor<1x0x6x8xf32>, tensor<1x0x6x8xf32>) -> tensor<1x2x3x8xf32>
  return %o : tensor<1x2x3x8xf32>
}

// A size that the call names, and its result's type does not.
// CHECK-LABEL: func.func @size_that_the_type_lacks(
// CHECK: tensor.expand_shape
func.func @size_that_the_type_lacks(%x: tensor<?x12xf32> {moe.dims = ["n", ""]}) -> tensor<?x3x?xf32> {
  %n = aten.call "aten.sym_size.int"(%x) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<?x12xf32>) -> i64
  %0 = aten.call "aten.view.default"(%x, %n) {self = #aten.arg<0>, size = [#aten.arg<1>, -1, 4]} : (tensor<?x12xf32>, i64) -> tensor<?x3x?xf32>
  return %0 : tensor<?x3x?xf32>
}
