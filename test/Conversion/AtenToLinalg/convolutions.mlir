// RUN: moe-opt %s --convert-aten-to-linalg --split-input-file | FileCheck %s

// Channels of a group meet those of its outputs, places are `stride` apart and taps `dilation`.
// CHECK: #[[X:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d3 * 2 + d5 * 3)>
// CHECK-LABEL: func.func @conv1d
// CHECK-SAME: %[[X_ARG:.*]]: tensor<?x8x?xf32>
// CHECK: %[[PADDED:.*]] = tensor.concat dim(2) %{{.*}}, %[[X_ARG]], %{{.*}} : (tensor<?x8x1xf32>, tensor<?x8x?xf32>, tensor<?x8x1xf32>)
// CHECK: tensor.expand_shape %[[PADDED]] {{\[\[}}0], [1, 2], [3]]
// CHECK: linalg.generic
// CHECK-SAME: indexing_maps = [#[[X]],
// CHECK: tensor.collapse_shape {{.*}} : tensor<?x2x3x?xf32> into tensor<?x6x?xf32>
func.func @conv1d(%x: tensor<?x8x?xf32>, %w: tensor<6x4x2xf32>, %v: tensor<6xf32>) -> tensor<?x6x?xf32> {
  %0 = aten.call "aten.conv1d.default"(%x, %w, %v) {input = #aten.arg<0>, weight = #aten.arg<1>, bias = #aten.arg<2>,
      stride = [2], padding = [1], dilation = [3], groups = 2 : i64}
      : (tensor<?x8x?xf32>, tensor<6x4x2xf32>, tensor<6xf32>) -> tensor<?x6x?xf32>
  return %0 : tensor<?x6x?xf32>
}

// -----

// From the last dimension on; negative numbers take elements away.
// CHECK-LABEL: func.func @pad
// CHECK: %[[CUT:.*]] = tensor.extract_slice %{{.*}}[0, 2] [%{{.*}}, 6] [1, 1] : tensor<?x8xf32> to tensor<?x6xf32>
// CHECK: %[[WIDE:.*]] = tensor.concat dim(1) %[[CUT]], %{{.*}} : (tensor<?x6xf32>, tensor<?x1xf32>) -> tensor<?x7xf32>
// CHECK: tensor.concat dim(0) %{{.*}}, %[[WIDE]]
func.func @pad(%x: tensor<?x8xf32>) -> tensor<?x7xf32> {
  %0 = aten.call "aten.pad.default"(%x) {self = #aten.arg<0>, pad = [-2, 1, 3, 0], mode = "constant", value = 5.0e-01 : f64}
      : (tensor<?x8xf32>) -> tensor<?x7xf32>
  return %0 : tensor<?x7xf32>
}

// -----

// CHECK-LABEL: func.func @triu
// CHECK: %[[KEPT:.*]] = arith.cmpi sge
// CHECK: arith.select %[[KEPT]]
func.func @triu(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = aten.call "aten.triu.default"(%x) {self = #aten.arg<0>, diagonal = 1 : i64} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// -----

// CHECK-LABEL: func.func @eye
// CHECK: linalg.index 0
// CHECK: linalg.index 1
func.func @eye(%n: i64) -> tensor<?x?xi64> {
  %0 = aten.call "aten.eye.default"(%n) {n = #aten.arg<0>} : (i64) -> tensor<?x?xi64>
  return %0 : tensor<?x?xi64>
}

// -----

// As in Python: the rest has the sign of the divisor.
// CHECK-LABEL: func.func @modulo
// CHECK: %[[WHOLE:.*]] = arith.floordivsi %[[A:.*]], %[[B:.*]] : i64
// CHECK: %[[MUL:.*]] = arith.muli %[[WHOLE]], %[[B]] : i64
// CHECK: arith.subi %[[A]], %[[MUL]] : i64
func.func @modulo(%a: i64, %b: i64) -> i64 {
  %0 = aten.call "_operator.mod"(%a, %b) {a = #aten.arg<0>, b = #aten.arg<1>} : (i64, i64) -> i64
  return %0 : i64
}
