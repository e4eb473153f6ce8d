// RUN: moe-opt %s --convert-aten-to-linalg --split-input-file | FileCheck %s

// The size -1 is what is left over.
// CHECK-LABEL: func.func @view
// CHECK: arith.divui
// CHECK: tensor.reshape
func.func @view(%x: tensor<?x?x8xf32>, %b: i64) -> tensor<?x?x4xf32> {
  %0 = aten.call "aten.view.default"(%x, %b) {self = #aten.arg<0>, size = [#aten.arg<1>, -1, 4]}
      : (tensor<?x?x8xf32>, i64) -> tensor<?x?x4xf32>
  return %0 : tensor<?x?x4xf32>
}

// -----

// CHECK-LABEL: func.func @unsqueeze
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1], [2]]
func.func @unsqueeze(%x: tensor<?x8xf32>) -> tensor<?x1x8xf32> {
  %0 = aten.call "aten.unsqueeze.default"(%x) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<?x8xf32>) -> tensor<?x1x8xf32>
  return %0 : tensor<?x1x8xf32>
}

// -----

// Negative bounds count from the end, and the end is clamped.
// CHECK-LABEL: func.func @slice
// CHECK: tensor.extract_slice %{{.*}}[0, 5] [4, 3] [1, 1]
func.func @slice(%x: tensor<4x8xf32>) -> tensor<4x3xf32> {
  %0 = aten.call "aten.slice.Tensor"(%x) {self = #aten.arg<0>, dim = 1 : i64, start = -3 : i64, end = 9223372036854775807 : i64}
      : (tensor<4x8xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

// CHECK-DAG: #[[IN:.*]] = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
// CHECK-LABEL: func.func @transpose
// CHECK: linalg.generic {indexing_maps = [#[[IN]]
func.func @transpose(%x: tensor<2x3x4xf32>) -> tensor<2x4x3xf32> {
  %0 = aten.call "aten.transpose.int"(%x) {self = #aten.arg<0>, dim0 = -1 : i64, dim1 = 1 : i64}
      : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  return %0 : tensor<2x4x3xf32>
}

// -----

// CHECK: #[[MAP:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func.func @numpy_T
// CHECK: linalg.generic {indexing_maps = [#[[MAP]],
func.func @numpy_T(%x: tensor<4x?xf32>) -> tensor<?x4xf32> {
  %0 = aten.call "aten.numpy_T.default"(%x) {self = #aten.arg<0>} : (tensor<4x?xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

// The last place less the index.
// CHECK-LABEL: func.func @flip
// CHECK: %[[LAST:.*]] = arith.subi %{{.*}}, %{{.*}} : index
// CHECK: %[[ROW:.*]] = linalg.index 0
// CHECK: %[[FROM:.*]] = arith.subi %[[LAST]], %[[ROW]]
// CHECK: %[[COLUMN:.*]] = linalg.index 1
// CHECK: tensor.extract %{{.*}}[%[[FROM]], %[[COLUMN]]]
func.func @flip(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = aten.call "aten.flip.default"(%x) {self = #aten.arg<0>, dims = [-2]} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// Three windows of a dimension of eight, of which the last place is in none.
// CHECK-LABEL: func.func @unfold
// CHECK: %[[STEP:.*]] = arith.constant 2 : index
// CHECK: %[[ROW:.*]] = linalg.index 0
// CHECK: %[[WINDOW:.*]] = linalg.index 1
// CHECK: %[[FIRST:.*]] = arith.muli %[[WINDOW]], %[[STEP]]
// CHECK: %[[PLACE:.*]] = linalg.index 2
// CHECK: %[[FROM:.*]] = arith.addi %[[FIRST]], %[[PLACE]]
// CHECK: tensor.extract %{{.*}}[%[[ROW]], %[[FROM]]]
func.func @unfold(%x: tensor<?x8xf32>) -> tensor<?x3x3xf32> {
  %0 = aten.call "aten.unfold.default"(%x) {self = #aten.arg<0>, dimension = 1 : i64, size = 3 : i64, step = 2 : i64}
      : (tensor<?x8xf32>) -> tensor<?x3x3xf32>
  return %0 : tensor<?x3x3xf32>
}

// -----

// As many windows as there are places for their first elements.
// CHECK-LABEL: func.func @unfold_dynamic
// CHECK: %[[BEHIND:.*]] = arith.subi %{{.*}}, %{{.*}} : index
// CHECK: %[[STEPS:.*]] = arith.floordivsi %[[BEHIND]]
// CHECK: %[[COUNT:.*]] = arith.addi %[[STEPS]]
// CHECK: %[[SOME:.*]] = arith.maxsi %[[COUNT]]
// CHECK: tensor.empty(%[[SOME]])
func.func @unfold_dynamic(%x: tensor<?xf32>) -> tensor<?x4xf32> {
  %0 = aten.call "aten.unfold.default"(%x) {self = #aten.arg<0>, dimension = 0 : i64, size = 4 : i64, step = 1 : i64}
      : (tensor<?xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
