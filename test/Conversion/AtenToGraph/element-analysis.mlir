// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s
//
// What an element of a mask is, as a condition on its coordinates. Attention shows what was understood: `causal` for
// key <= query in whatever form, `mask` for what has no form.

// Differences, negatives and casts of integers: -(key - query) >= 0.
// CHECK-LABEL: func.func @algebra(
// CHECK-NOT:     mask(
// CHECK:         nn.attention {{.*}} scale(2.500000e-01) causal :
func.func @algebra(%query: tensor<1x1x3x8xf32>, %key: tensor<1x1x6x8xf32>) -> tensor<1x1x3x8xf32> {
  %i = aten.call "aten.arange.default"() {end = 3 : i64} : () -> tensor<3xi64>
  %q = aten.call "aten.unsqueeze.default"(%i) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<3xi64>) -> tensor<3x1xi64>
  %j = aten.call "aten.arange.default"() {end = 6 : i64} : () -> tensor<6xi64>
  %d = aten.call "aten.sub.Tensor"(%j, %q) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<6xi64>, tensor<3x1xi64>) -> tensor<3x6xi64>
  %n = aten.call "aten.neg.default"(%d) {self = #aten.arg<0>} : (tensor<3x6xi64>) -> tensor<3x6xi64>
  %w = aten.call "aten.to.dtype"(%n) {self = #aten.arg<0>, dtype = i32} : (tensor<3x6xi64>) -> tensor<3x6xi32>
  %m = aten.call "aten.ge.Scalar"(%w) {self = #aten.arg<0>, other = 0 : i64} : (tensor<3x6xi32>) -> tensor<3x6xi1>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%query, %key, %key, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64} : (tensor<1x1x3x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<3x6xi1>) -> tensor<1x1x3x8xf32>
  return %o : tensor<1x1x3x8xf32>
}

// The same as a float has no form, nor has the square of a difference.
// CHECK-LABEL: func.func @float(
// CHECK:         nn.attention {{.*}} mask({{.*}} scale(2.500000e-01) :
func.func @float(%query: tensor<1x1x3x8xf32>, %key: tensor<1x1x6x8xf32>) -> tensor<1x1x3x8xf32> {
  %i = aten.call "aten.arange.default"() {end = 3 : i64} : () -> tensor<3xi64>
  %q = aten.call "aten.unsqueeze.default"(%i) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<3xi64>) -> tensor<3x1xi64>
  %j = aten.call "aten.arange.default"() {end = 6 : i64} : () -> tensor<6xi64>
  %d = aten.call "aten.sub.Tensor"(%j, %q) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<6xi64>, tensor<3x1xi64>) -> tensor<3x6xi64>
  %w = aten.call "aten.to.dtype"(%d) {self = #aten.arg<0>, dtype = f32} : (tensor<3x6xi64>) -> tensor<3x6xf32>
  %m = aten.call "aten.le.Scalar"(%w) {self = #aten.arg<0>, other = 0 : i64} : (tensor<3x6xf32>) -> tensor<3x6xi1>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%query, %key, %key, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64} : (tensor<1x1x3x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<3x6xi1>) -> tensor<1x1x3x8xf32>
  return %o : tensor<1x1x3x8xf32>
}
// CHECK-LABEL: func.func @square(
// CHECK:         nn.attention {{.*}} mask({{.*}} scale(2.500000e-01) :
func.func @square(%query: tensor<1x1x3x8xf32>, %key: tensor<1x1x6x8xf32>) -> tensor<1x1x3x8xf32> {
  %i = aten.call "aten.arange.default"() {end = 3 : i64} : () -> tensor<3xi64>
  %q = aten.call "aten.unsqueeze.default"(%i) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<3xi64>) -> tensor<3x1xi64>
  %j = aten.call "aten.arange.default"() {end = 6 : i64} : () -> tensor<6xi64>
  %d = aten.call "aten.sub.Tensor"(%j, %q) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<6xi64>, tensor<3x1xi64>) -> tensor<3x6xi64>
  %w = aten.call "aten.mul.Tensor"(%d, %d) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<3x6xi64>, tensor<3x6xi64>) -> tensor<3x6xi64>
  %m = aten.call "aten.le.Scalar"(%w) {self = #aten.arg<0>, other = 0 : i64} : (tensor<3x6xi64>) -> tensor<3x6xi1>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%query, %key, %key, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64} : (tensor<1x1x3x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<3x6xi1>) -> tensor<1x1x3x8xf32>
  return %o : tensor<1x1x3x8xf32>
}

// True and false take part in any logic; two conditions of which one holds are no conjunction.
// CHECK-LABEL: func.func @logic(
// CHECK-NOT:     mask(
// CHECK:         nn.attention {{.*}} scale(2.500000e-01) causal :
func.func @logic(%query: tensor<1x1x3x8xf32>, %key: tensor<1x1x6x8xf32>) -> tensor<1x1x3x8xf32> {
  %i = aten.call "aten.arange.default"() {end = 3 : i64} : () -> tensor<3xi64>
  %q = aten.call "aten.unsqueeze.default"(%i) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<3xi64>) -> tensor<3x1xi64>
  %j = aten.call "aten.arange.default"() {end = 6 : i64} : () -> tensor<6xi64>
  %c = aten.call "aten.le.Tensor"(%j, %q) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<6xi64>, tensor<3x1xi64>) -> tensor<3x6xi1>
  %f = aten.call "aten.new_zeros.default"(%c) {self = #aten.arg<0>, size = [3, 6]} : (tensor<3x6xi1>) -> tensor<3x6xi1>
  %t = aten.call "aten.ones_like.default"(%c) {self = #aten.arg<0>} : (tensor<3x6xi1>) -> tensor<3x6xi1>
  %e = aten.call "aten.logical_or.default"(%c, %f) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<3x6xi1>, tensor<3x6xi1>) -> tensor<3x6xi1>
  %m = aten.call "aten.bitwise_and.Tensor"(%t, %e) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<3x6xi1>, tensor<3x6xi1>) -> tensor<3x6xi1>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%query, %key, %key, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64} : (tensor<1x1x3x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<3x6xi1>) -> tensor<1x1x3x8xf32>
  return %o : tensor<1x1x3x8xf32>
}
// CHECK-LABEL: func.func @either(
// CHECK:         nn.attention {{.*}} mask({{.*}} scale(2.500000e-01) :
func.func @either(%query: tensor<1x1x3x8xf32>, %key: tensor<1x1x6x8xf32>) -> tensor<1x1x3x8xf32> {
  %i = aten.call "aten.arange.default"() {end = 3 : i64} : () -> tensor<3xi64>
  %q = aten.call "aten.unsqueeze.default"(%i) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<3xi64>) -> tensor<3x1xi64>
  %j = aten.call "aten.arange.default"() {end = 6 : i64} : () -> tensor<6xi64>
  %c = aten.call "aten.le.Tensor"(%j, %q) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<6xi64>, tensor<3x1xi64>) -> tensor<3x6xi1>
  %g = aten.call "aten.ge.Scalar"(%j) {self = #aten.arg<0>, other = 4 : i64} : (tensor<6xi64>) -> tensor<6xi1>
  %m = aten.call "aten.logical_or.default"(%c, %g) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<3x6xi1>, tensor<6xi1>) -> tensor<3x6xi1>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%query, %key, %key, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64} : (tensor<1x1x3x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<3x6xi1>) -> tensor<1x1x3x8xf32>
  return %o : tensor<1x1x3x8xf32>
}

// Neither "not (a and b)" nor "not equal" is a conjunction.
// CHECK-LABEL: func.func @not_both(
// CHECK:         nn.attention {{.*}} mask({{.*}} scale(2.500000e-01) :
func.func @not_both(%query: tensor<1x1x3x8xf32>, %key: tensor<1x1x6x8xf32>) -> tensor<1x1x3x8xf32> {
  %i = aten.call "aten.arange.default"() {end = 3 : i64} : () -> tensor<3xi64>
  %q = aten.call "aten.unsqueeze.default"(%i) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<3xi64>) -> tensor<3x1xi64>
  %j = aten.call "aten.arange.default"() {end = 6 : i64} : () -> tensor<6xi64>
  %c = aten.call "aten.gt.Tensor"(%j, %q) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<6xi64>, tensor<3x1xi64>) -> tensor<3x6xi1>
  %g = aten.call "aten.ge.Scalar"(%j) {self = #aten.arg<0>, other = 4 : i64} : (tensor<6xi64>) -> tensor<6xi1>
  %e = aten.call "aten.logical_and.default"(%c, %g) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<3x6xi1>, tensor<6xi1>) -> tensor<3x6xi1>
  %m = aten.call "aten.logical_not.default"(%e) {self = #aten.arg<0>} : (tensor<3x6xi1>) -> tensor<3x6xi1>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%query, %key, %key, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64} : (tensor<1x1x3x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<3x6xi1>) -> tensor<1x1x3x8xf32>
  return %o : tensor<1x1x3x8xf32>
}
// CHECK-LABEL: func.func @not_equal(
// CHECK:         nn.attention {{.*}} mask({{.*}} scale(2.500000e-01) :
func.func @not_equal(%query: tensor<1x1x3x8xf32>, %key: tensor<1x1x6x8xf32>) -> tensor<1x1x3x8xf32> {
  %i = aten.call "aten.arange.default"() {end = 3 : i64} : () -> tensor<3xi64>
  %q = aten.call "aten.unsqueeze.default"(%i) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<3xi64>) -> tensor<3x1xi64>
  %j = aten.call "aten.arange.default"() {end = 6 : i64} : () -> tensor<6xi64>
  %m = aten.call "aten.ne.Tensor"(%q, %j) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<3x1xi64>, tensor<6xi64>) -> tensor<3x6xi1>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%query, %key, %key, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64} : (tensor<1x1x3x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<3x6xi1>) -> tensor<1x1x3x8xf32>
  return %o : tensor<1x1x3x8xf32>
}

// Filling with false is a condition more; with true it is one of two.
// CHECK-LABEL: func.func @filled(
// CHECK:         %[[FIVE:.*]] = arith.constant 5 : i64
// CHECK:         %[[N:.*]] = linalg.fill ins(%[[FIVE]] : i64)
// CHECK:         nn.attention {{.*}} lengths(%[[N]] : tensor<1xi64>) scale(2.500000e-01) causal :
func.func @filled(%query: tensor<1x1x3x8xf32>, %key: tensor<1x1x6x8xf32>) -> tensor<1x1x3x8xf32> {
  %i = aten.call "aten.arange.default"() {end = 3 : i64} : () -> tensor<3xi64>
  %q = aten.call "aten.unsqueeze.default"(%i) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<3xi64>) -> tensor<3x1xi64>
  %j = aten.call "aten.arange.default"() {end = 6 : i64} : () -> tensor<6xi64>
  %c = aten.call "aten.le.Tensor"(%j, %q) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<6xi64>, tensor<3x1xi64>) -> tensor<3x6xi1>
  %g = aten.call "aten.gt.Scalar"(%j) {self = #aten.arg<0>, other = 4 : i64} : (tensor<6xi64>) -> tensor<6xi1>
  %m = aten.call "aten.masked_fill.Scalar"(%c, %g) {self = #aten.arg<0>, mask = #aten.arg<1>, value = false} : (tensor<3x6xi1>, tensor<6xi1>) -> tensor<3x6xi1>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%query, %key, %key, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64} : (tensor<1x1x3x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<3x6xi1>) -> tensor<1x1x3x8xf32>
  return %o : tensor<1x1x3x8xf32>
}
// CHECK-LABEL: func.func @filled_true(
// CHECK:         nn.attention {{.*}} mask({{.*}} scale(2.500000e-01) :
func.func @filled_true(%query: tensor<1x1x3x8xf32>, %key: tensor<1x1x6x8xf32>) -> tensor<1x1x3x8xf32> {
  %i = aten.call "aten.arange.default"() {end = 3 : i64} : () -> tensor<3xi64>
  %q = aten.call "aten.unsqueeze.default"(%i) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<3xi64>) -> tensor<3x1xi64>
  %j = aten.call "aten.arange.default"() {end = 6 : i64} : () -> tensor<6xi64>
  %c = aten.call "aten.le.Tensor"(%j, %q) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<6xi64>, tensor<3x1xi64>) -> tensor<3x6xi1>
  %g = aten.call "aten.ge.Scalar"(%j) {self = #aten.arg<0>, other = 4 : i64} : (tensor<6xi64>) -> tensor<6xi1>
  %m = aten.call "aten.masked_fill.Scalar"(%c, %g) {self = #aten.arg<0>, mask = #aten.arg<1>, value = true} : (tensor<3x6xi1>, tensor<6xi1>) -> tensor<3x6xi1>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%query, %key, %key, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64} : (tensor<1x1x3x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<3x6xi1>) -> tensor<1x1x3x8xf32>
  return %o : tensor<1x1x3x8xf32>
}

// Elements are followed through slices, selections, transposes and dimensions of size one.
// CHECK-LABEL: func.func @moved(
// CHECK-NOT:     mask(
// CHECK:         nn.attention {{.*}} scale(2.500000e-01) causal :
func.func @moved(%query: tensor<1x1x3x8xf32>, %key: tensor<1x1x6x8xf32>) -> tensor<1x1x3x8xf32> {
  %i = aten.call "aten.arange.default"() {end = 9 : i64} : () -> tensor<9xi64>
  %s = aten.call "aten.slice.Tensor"(%i) {self = #aten.arg<0>, dim = 0 : i64, start = 2 : i64, end = 5 : i64} : (tensor<9xi64>) -> tensor<3xi64>
  %q = aten.call "aten.sub.Scalar"(%s) {self = #aten.arg<0>, other = 2 : i64} : (tensor<3xi64>) -> tensor<3xi64>
  %j = aten.call "aten.arange.default"() {end = 6 : i64} : () -> tensor<6xi64>
  %jv = aten.call "aten.view.default"(%j) {self = #aten.arg<0>, size = [6, 1]} : (tensor<6xi64>) -> tensor<6x1xi64>
  %c = aten.call "aten.le.Tensor"(%jv, %q) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<6x1xi64>, tensor<3xi64>) -> tensor<6x3xi1>
  %x = aten.call "aten.transpose.int"(%c) {self = #aten.arg<0>, dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<6x3xi1>) -> tensor<3x6xi1>
  %u = aten.call "aten.unsqueeze.default"(%x) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<3x6xi1>) -> tensor<1x3x6xi1>
  %v = aten.call "aten.expand.default"(%u) {self = #aten.arg<0>, size = [4, -1, -1]} : (tensor<1x3x6xi1>) -> tensor<4x3x6xi1>
  %m = aten.call "aten.select.int"(%v) {self = #aten.arg<0>, dim = 0 : i64, index = 3 : i64} : (tensor<4x3x6xi1>) -> tensor<3x6xi1>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%query, %key, %key, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64} : (tensor<1x1x3x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<3x6xi1>) -> tensor<1x1x3x8xf32>
  return %o : tensor<1x1x3x8xf32>
}

// A view that mixes dimensions is not followed, nor is one counted from the end.
// CHECK-LABEL: func.func @mixed(
// CHECK:         nn.attention {{.*}} mask({{.*}} scale(2.500000e-01) :
func.func @mixed(%query: tensor<1x1x3x8xf32>, %key: tensor<1x1x6x8xf32>) -> tensor<1x1x3x8xf32> {
  %q = aten.call "aten.arange.default"() {end = 3 : i64} : () -> tensor<3xi64>
  %j = aten.call "aten.arange.default"() {end = 6 : i64} : () -> tensor<6xi64>
  %jv = aten.call "aten.view.default"(%j) {self = #aten.arg<0>, size = [6, 1]} : (tensor<6xi64>) -> tensor<6x1xi64>
  %c = aten.call "aten.le.Tensor"(%jv, %q) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<6x1xi64>, tensor<3xi64>) -> tensor<6x3xi1>
  %m = aten.call "aten.view.default"(%c) {self = #aten.arg<0>, size = [3, 6]} : (tensor<6x3xi1>) -> tensor<3x6xi1>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%query, %key, %key, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64} : (tensor<1x1x3x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<3x6xi1>) -> tensor<1x1x3x8xf32>
  return %o : tensor<1x1x3x8xf32>
}
// CHECK-LABEL: func.func @from_the_end(
// CHECK:         nn.attention {{.*}} mask({{.*}} scale(2.500000e-01) :
func.func @from_the_end(%query: tensor<1x1x3x8xf32>, %key: tensor<1x1x6x8xf32>) -> tensor<1x1x3x8xf32> {
  %l = aten.call "aten.arange.default"() {end = 5 : i64} : () -> tensor<5xi64>
  %i = aten.call "aten.slice.Tensor"(%l) {self = #aten.arg<0>, dim = 0 : i64, start = -3 : i64} : (tensor<5xi64>) -> tensor<3xi64>
  %q = aten.call "aten.unsqueeze.default"(%i) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<3xi64>) -> tensor<3x1xi64>
  %j = aten.call "aten.arange.default"() {end = 6 : i64} : () -> tensor<6xi64>
  %m = aten.call "aten.le.Tensor"(%j, %q) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<6xi64>, tensor<3x1xi64>) -> tensor<3x6xi1>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%query, %key, %key, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64} : (tensor<1x1x3x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<3x6xi1>) -> tensor<1x1x3x8xf32>
  return %o : tensor<1x1x3x8xf32>
}

// Running sums of a constant count; sums of anything else are not known.
// CHECK-LABEL: func.func @counted(
// CHECK-NOT:     mask(
// CHECK:         nn.attention {{.*}} scale(2.500000e-01) causal :
func.func @counted(%query: tensor<1x1x3x8xf32>, %key: tensor<1x1x6x8xf32>) -> tensor<1x1x3x8xf32> {
  %i = aten.call "aten.arange.default"() {end = 3 : i64} : () -> tensor<3xi64>
  %q = aten.call "aten.unsqueeze.default"(%i) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<3xi64>) -> tensor<3x1xi64>
  %1 = aten.call "aten.ones.default"() {size = [6]} : () -> tensor<6xi64>
  %s = aten.call "aten.cumsum.default"(%1) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<6xi64>) -> tensor<6xi64>
  %j = aten.call "aten.sub.Scalar"(%s) {self = #aten.arg<0>, other = 1 : i64} : (tensor<6xi64>) -> tensor<6xi64>
  %m = aten.call "aten.le.Tensor"(%j, %q) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<6xi64>, tensor<3x1xi64>) -> tensor<3x6xi1>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%query, %key, %key, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64} : (tensor<1x1x3x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<3x6xi1>) -> tensor<1x1x3x8xf32>
  return %o : tensor<1x1x3x8xf32>
}
// CHECK-LABEL: func.func @summed(
// CHECK:         nn.attention {{.*}} mask({{.*}} scale(2.500000e-01) :
func.func @summed(%query: tensor<1x1x3x8xf32>, %key: tensor<1x1x6x8xf32>) -> tensor<1x1x3x8xf32> {
  %i = aten.call "aten.arange.default"() {end = 3 : i64} : () -> tensor<3xi64>
  %q = aten.call "aten.unsqueeze.default"(%i) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<3xi64>) -> tensor<3x1xi64>
  %k = aten.call "aten.arange.default"() {end = 6 : i64} : () -> tensor<6xi64>
  %j = aten.call "aten.cumsum.default"(%k) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<6xi64>) -> tensor<6xi64>
  %m = aten.call "aten.le.Tensor"(%j, %q) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<6xi64>, tensor<3x1xi64>) -> tensor<3x6xi1>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%query, %key, %key, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64} : (tensor<1x1x3x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<3x6xi1>) -> tensor<1x1x3x8xf32>
  return %o : tensor<1x1x3x8xf32>
}

// The detection of packed sequences: positions that always grow by one never begin a second sequence.
// CHECK-LABEL: func.func @packed(
// CHECK-NOT:     mask(
// CHECK:         nn.attention {{.*}} scale(2.500000e-01) causal :
func.func @packed(%query: tensor<1x1x3x8xf32>, %key: tensor<1x1x6x8xf32>) -> tensor<1x1x3x8xf32> {
  %i = aten.call "aten.arange.default"() {end = 6 : i64} : () -> tensor<6xi64>
  %p = aten.call "aten.unsqueeze.default"(%i) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<6xi64>) -> tensor<1x6xi64>
  %f = aten.call "aten.slice.Tensor"(%p) {self = #aten.arg<0>, dim = 1 : i64, start = 0 : i64, end = 1 : i64} : (tensor<1x6xi64>) -> tensor<1x1xi64>
  %b = aten.call "aten.sub.Scalar"(%f) {self = #aten.arg<0>, other = 1 : i64} : (tensor<1x1xi64>) -> tensor<1x1xi64>
  %d = aten.call "aten.diff.default"(%p, %b) {self = #aten.arg<0>, prepend = #aten.arg<1>, n = 1 : i64, dim = -1 : i64} : (tensor<1x6xi64>, tensor<1x1xi64>) -> tensor<1x6xi64>
  %n = aten.call "aten.ne.Scalar"(%d) {self = #aten.arg<0>, other = 1 : i64} : (tensor<1x6xi64>) -> tensor<1x6xi1>
  %s = aten.call "aten.cumsum.default"(%n) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<1x6xi1>) -> tensor<1x6xi64>
  %z = aten.call "aten.zeros.default"() {size = [1, 1]} : () -> tensor<1x1xi64>
  %r = aten.call "aten.arange.default"() {end = 3 : i64} : () -> tensor<3xi64>
  %q = aten.call "aten.unsqueeze.default"(%r) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<3xi64>) -> tensor<3x1xi64>
  %sq = aten.call "aten.index.Tensor"(%s, %z, %q) {self = #aten.arg<0>, indices = [#aten.arg<1>, #aten.arg<2>]} : (tensor<1x6xi64>, tensor<1x1xi64>, tensor<3x1xi64>) -> tensor<3x1xi64>
  %sk = aten.call "aten.index.Tensor"(%s, %z, %p) {self = #aten.arg<0>, indices = [#aten.arg<1>, #aten.arg<2>]} : (tensor<1x6xi64>, tensor<1x1xi64>, tensor<1x6xi64>) -> tensor<1x6xi64>
  %pq = aten.call "aten.index.Tensor"(%p, %z, %q) {self = #aten.arg<0>, indices = [#aten.arg<1>, #aten.arg<2>]} : (tensor<1x6xi64>, tensor<1x1xi64>, tensor<3x1xi64>) -> tensor<3x1xi64>
  %pk = aten.call "aten.index.Tensor"(%p, %z, %p) {self = #aten.arg<0>, indices = [#aten.arg<1>, #aten.arg<2>]} : (tensor<1x6xi64>, tensor<1x1xi64>, tensor<1x6xi64>) -> tensor<1x6xi64>
  %e = aten.call "aten.eq.Tensor"(%sq, %sk) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<3x1xi64>, tensor<1x6xi64>) -> tensor<3x6xi1>
  %c = aten.call "aten.le.Tensor"(%pk, %pq) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<1x6xi64>, tensor<3x1xi64>) -> tensor<3x6xi1>
  %m = aten.call "aten.__and__.Tensor"(%c, %e) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<3x6xi1>, tensor<3x6xi1>) -> tensor<3x6xi1>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%query, %key, %key, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64} : (tensor<1x1x3x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<3x6xi1>) -> tensor<1x1x3x8xf32>
  return %o : tensor<1x1x3x8xf32>
}

// Here the first position does not follow what stands before it: a sequence begins there.
// CHECK-LABEL: func.func @packed_gap(
// CHECK:         nn.attention {{.*}} mask({{.*}} scale(2.500000e-01) :
func.func @packed_gap(%query: tensor<1x1x3x8xf32>, %key: tensor<1x1x6x8xf32>) -> tensor<1x1x3x8xf32> {
  %i = aten.call "aten.arange.default"() {end = 6 : i64} : () -> tensor<6xi64>
  %p = aten.call "aten.unsqueeze.default"(%i) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<6xi64>) -> tensor<1x6xi64>
  %f = aten.call "aten.slice.Tensor"(%p) {self = #aten.arg<0>, dim = 1 : i64, start = 0 : i64, end = 1 : i64} : (tensor<1x6xi64>) -> tensor<1x1xi64>
  %b = aten.call "aten.sub.Scalar"(%f) {self = #aten.arg<0>, other = 2 : i64} : (tensor<1x1xi64>) -> tensor<1x1xi64>
  %d = aten.call "aten.diff.default"(%p, %b) {self = #aten.arg<0>, prepend = #aten.arg<1>, n = 1 : i64, dim = -1 : i64} : (tensor<1x6xi64>, tensor<1x1xi64>) -> tensor<1x6xi64>
  %n = aten.call "aten.ne.Scalar"(%d) {self = #aten.arg<0>, other = 1 : i64} : (tensor<1x6xi64>) -> tensor<1x6xi1>
  %s = aten.call "aten.cumsum.default"(%n) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<1x6xi1>) -> tensor<1x6xi64>
  %z = aten.call "aten.zeros.default"() {size = [1, 1]} : () -> tensor<1x1xi64>
  %r = aten.call "aten.arange.default"() {end = 3 : i64} : () -> tensor<3xi64>
  %q = aten.call "aten.unsqueeze.default"(%r) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<3xi64>) -> tensor<3x1xi64>
  %sq = aten.call "aten.index.Tensor"(%s, %z, %q) {self = #aten.arg<0>, indices = [#aten.arg<1>, #aten.arg<2>]} : (tensor<1x6xi64>, tensor<1x1xi64>, tensor<3x1xi64>) -> tensor<3x1xi64>
  %sk = aten.call "aten.index.Tensor"(%s, %z, %p) {self = #aten.arg<0>, indices = [#aten.arg<1>, #aten.arg<2>]} : (tensor<1x6xi64>, tensor<1x1xi64>, tensor<1x6xi64>) -> tensor<1x6xi64>
  %pq = aten.call "aten.index.Tensor"(%p, %z, %q) {self = #aten.arg<0>, indices = [#aten.arg<1>, #aten.arg<2>]} : (tensor<1x6xi64>, tensor<1x1xi64>, tensor<3x1xi64>) -> tensor<3x1xi64>
  %pk = aten.call "aten.index.Tensor"(%p, %z, %p) {self = #aten.arg<0>, indices = [#aten.arg<1>, #aten.arg<2>]} : (tensor<1x6xi64>, tensor<1x1xi64>, tensor<1x6xi64>) -> tensor<1x6xi64>
  %e = aten.call "aten.eq.Tensor"(%sq, %sk) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<3x1xi64>, tensor<1x6xi64>) -> tensor<3x6xi1>
  %c = aten.call "aten.le.Tensor"(%pk, %pq) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<1x6xi64>, tensor<3x1xi64>) -> tensor<3x6xi1>
  %m = aten.call "aten.__and__.Tensor"(%c, %e) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<3x6xi1>, tensor<3x6xi1>) -> tensor<3x6xi1>
  %o = aten.call "aten.scaled_dot_product_attention.default"(%query, %key, %key, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64} : (tensor<1x1x3x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<3x6xi1>) -> tensor<1x1x3x8xf32>
  return %o : tensor<1x1x3x8xf32>
}
