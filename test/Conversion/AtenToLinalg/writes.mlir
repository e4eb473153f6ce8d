// RUN: moe-opt %s --convert-aten-to-linalg --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @select
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32>, %[[Y:.*]]: tensor<?xf32>)
// CHECK: %[[ROW:.*]] = tensor.expand_shape %[[Y]] {{\[\[}}0, 1]]
// CHECK: tensor.insert_slice %[[ROW]] into %[[X]][0, 7] [%{{.*}}, 1] [1, 1]
func.func @select(%x: tensor<?x8xf32>, %y: tensor<?xf32>) -> tensor<?x8xf32> {
  %0 = aten.call "aten.select_scatter.default"(%x, %y) {self = #aten.arg<0>, src = #aten.arg<1>, dim = 1 : i64, index = -1 : i64}
      : (tensor<?x8xf32>, tensor<?xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// Every second column from the third on; the elements take the tensor's type.
// CHECK-LABEL: func.func @slice
// CHECK: linalg.generic
// CHECK: arith.sitofp
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 2] [4, 3] [1, 2]
func.func @slice(%x: tensor<4x8xf32>, %y: tensor<4x3xi64>) -> tensor<4x8xf32> {
  %0 = aten.call "aten.slice_scatter.default"(%x, %y) {self = #aten.arg<0>, src = #aten.arg<1>, dim = 1 : i64, start = 2 : i64, step = 2 : i64}
      : (tensor<4x8xf32>, tensor<4x3xi64>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @copy
// CHECK: linalg.generic
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: tensor.reshape
func.func @copy(%x: tensor<?x8xbf16>, %y: tensor<8xf32>, %z: tensor<?x2x4xbf16>) -> tensor<?x2x4xbf16> {
  %0 = aten.call "aten.copy.default"(%x, %y) {self = #aten.arg<0>, src = #aten.arg<1>} : (tensor<?x8xbf16>, tensor<8xf32>) -> tensor<?x8xbf16>
  %1 = aten.call "aten.view_as.default"(%0, %z) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x8xbf16>, tensor<?x2x4xbf16>) -> tensor<?x2x4xbf16>
  return %1 : tensor<?x2x4xbf16>
}
