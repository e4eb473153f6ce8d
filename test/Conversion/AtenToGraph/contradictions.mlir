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

// Masks made of tensors without dimensions, of which calls name dimension 0: there is no coordinate to change.
// CHECK-LABEL: func.func @slice_of_no_dimension(
// CHECK: nn.attention
func.func @slice_of_no_dimension(%q: tensor<1x1x3x8xf32>, %k: tensor<1x1x6x8xf32>) -> tensor<1x1x3x8xf32> {
  %p = aten.call "aten.arange.default"() {end = 1 : i64} : () -> tensor<1xi64>
  %n = aten.call "aten.arange.default"() {end = 3 : i64} : () -> tensor<i64>
  %c = aten.call "aten.slice.Tensor"(%n) {self = #aten.arg<0>, dim = 0 : i64, start = 1 : i64} : (tensor<i64>) -> tensor<i64>
  %j = aten.call "aten.arange.default"() {end = 6 : i64} : () -> tensor<6xi64>
  %e = aten.call "aten.expand.default"(%j) {self = #aten.arg<0>, size = [3, 6]} : (tensor<6xi64>) -> tensor<3x6xi64>
  %m = aten.call "aten.le.Tensor"(%e, %c) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<3x6xi64>, tensor<i64>) -> tensor<3x6xi1>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%q, %k, %k, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64} : (tensor<1x1x3x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<3x6xi1>) -> tensor<1x1x3x8xf32>
  return %o : tensor<1x1x3x8xf32>
}

// CHECK-LABEL: func.func @transpose_of_no_dimension(
// CHECK: nn.attention
func.func @transpose_of_no_dimension(%q: tensor<1x1x3x8xf32>, %k: tensor<1x1x6x8xf32>) -> tensor<1x1x3x8xf32> {
  %p = aten.call "aten.arange.default"() {end = 1 : i64} : () -> tensor<1xi64>
  %n = aten.call "aten.arange.default"() {end = 3 : i64} : () -> tensor<i64>
  %c = aten.call "aten.transpose.int"(%n) {self = #aten.arg<0>, dim0 = 0 : i64, dim1 = 0 : i64} : (tensor<i64>) -> tensor<i64>
  %j = aten.call "aten.arange.default"() {end = 6 : i64} : () -> tensor<6xi64>
  %e = aten.call "aten.expand.default"(%j) {self = #aten.arg<0>, size = [3, 6]} : (tensor<6xi64>) -> tensor<3x6xi64>
  %m = aten.call "aten.le.Tensor"(%e, %c) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<3x6xi64>, tensor<i64>) -> tensor<3x6xi1>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%q, %k, %k, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64} : (tensor<1x1x3x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<3x6xi1>) -> tensor<1x1x3x8xf32>
  return %o : tensor<1x1x3x8xf32>
}

// CHECK-LABEL: func.func @sum_along_no_dimension(
// CHECK: nn.attention
func.func @sum_along_no_dimension(%q: tensor<1x1x3x8xf32>, %k: tensor<1x1x6x8xf32>) -> tensor<1x1x3x8xf32> {
  %p = aten.call "aten.arange.default"() {end = 1 : i64} : () -> tensor<1xi64>
  %n = aten.call "aten.arange.default"() {end = 3 : i64} : () -> tensor<i64>
  %c = aten.call "aten.cumsum.default"(%n) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<i64>) -> tensor<i64>
  %j = aten.call "aten.arange.default"() {end = 6 : i64} : () -> tensor<6xi64>
  %e = aten.call "aten.expand.default"(%j) {self = #aten.arg<0>, size = [3, 6]} : (tensor<6xi64>) -> tensor<3x6xi64>
  %m = aten.call "aten.le.Tensor"(%e, %c) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<3x6xi64>, tensor<i64>) -> tensor<3x6xi1>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%q, %k, %k, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64} : (tensor<1x1x3x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<3x6xi1>) -> tensor<1x1x3x8xf32>
  return %o : tensor<1x1x3x8xf32>
}

// CHECK-LABEL: func.func @difference_of_no_dimension(
// CHECK: nn.attention
func.func @difference_of_no_dimension(%q: tensor<1x1x3x8xf32>, %k: tensor<1x1x6x8xf32>) -> tensor<1x1x3x8xf32> {
  %p = aten.call "aten.arange.default"() {end = 1 : i64} : () -> tensor<1xi64>
  %n = aten.call "aten.arange.default"() {end = 3 : i64} : () -> tensor<i64>
  %c = aten.call "aten.diff.default"(%n, %p) {self = #aten.arg<0>, prepend = #aten.arg<1>, dim = 0 : i64} : (tensor<i64>, tensor<1xi64>) -> tensor<i64>
  %j = aten.call "aten.arange.default"() {end = 6 : i64} : () -> tensor<6xi64>
  %e = aten.call "aten.expand.default"(%j) {self = #aten.arg<0>, size = [3, 6]} : (tensor<6xi64>) -> tensor<3x6xi64>
  %m = aten.call "aten.le.Tensor"(%e, %c) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<3x6xi64>, tensor<i64>) -> tensor<3x6xi1>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%q, %k, %k, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64} : (tensor<1x1x3x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<3x6xi1>) -> tensor<1x1x3x8xf32>
  return %o : tensor<1x1x3x8xf32>
}
