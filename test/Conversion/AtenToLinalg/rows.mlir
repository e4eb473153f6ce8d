// RUN: moe-opt %s --convert-aten-to-linalg --split-input-file | FileCheck %s

// The last write to a place counts; negative places count from the end.
// CHECK-LABEL: func.func @index_put
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32>, %[[I:.*]]: tensor<?xi64>, %[[V:.*]]: tensor<?x8xf32>)
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[I]], %[[V]] : tensor<?xi64>, tensor<?x8xf32>) outs(%[[X]] : tensor<?x8xf32>)
// CHECK: arith.cmpi slt
// CHECK: %[[HIT:.*]] = arith.cmpi eq
// CHECK: arith.select %[[HIT]]
func.func @index_put(%x: tensor<?x8xf32>, %i: tensor<?xi64>, %v: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = aten.call "aten.index_put.default"(%x, %i, %v) {self = #aten.arg<0>, indices = [#aten.arg<1>], values = #aten.arg<2>}
      : (tensor<?x8xf32>, tensor<?xi64>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// CHECK-LABEL: func.func @index_copy
// CHECK-NOT: arith.cmpi slt
// CHECK: arith.cmpi eq
func.func @index_copy(%x: tensor<4x8xf32>, %i: tensor<2xi64>, %v: tensor<4x2xf32>) -> tensor<4x8xf32> {
  %0 = aten.call "aten.index_copy.default"(%x, %i, %v) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>, source = #aten.arg<2>}
      : (tensor<4x8xf32>, tensor<2xi64>, tensor<4x2xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @repeat_interleave
// CHECK: %[[AT:.*]] = arith.divui %{{.*}}, %[[N:.*]] : index
// CHECK: tensor.extract %{{.*}}[%[[AT]], %{{.*}}]
func.func @repeat_interleave(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = aten.call "aten.repeat_interleave.self_int"(%x) {self = #aten.arg<0>, repeats = 3 : i64, dim = 0 : i64}
      : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// How many groups end before a row says which matrix it meets; rows behind the last group add nothing.
// CHECK-LABEL: func.func @grouped
// CHECK: arith.cmpi sle
// CHECK: linalg.generic
// CHECK: %[[IN:.*]] = arith.cmpi slt
// CHECK: tensor.extract %{{.*}} : tensor<3x4x8xbf16>
// CHECK: arith.mulf %{{.*}} : f32
// CHECK: arith.select %[[IN]]
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @grouped(%x: tensor<?x4xbf16>, %w: tensor<3x4x8xbf16>, %ends: tensor<3xi32>) -> tensor<?x8xbf16> {
  %0 = aten.call "aten._grouped_mm.default"(%x, %w, %ends) {self = #aten.arg<0>, mat2 = #aten.arg<1>, offs = #aten.arg<2>}
      : (tensor<?x4xbf16>, tensor<3x4x8xbf16>, tensor<3xi32>) -> tensor<?x8xbf16>
  return %0 : tensor<?x8xbf16>
}
