// RUN: moe-opt %s --aten-simplify | FileCheck %s

// A split where a cat has joined gives what it has joined; elsewhere it stays, and so it does in another dimension.
// CHECK-LABEL: func.func @split(
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: tensor<?x3xf32>, %[[B:[a-z0-9_]+]]: tensor<?x5xf32>
// CHECK:         %[[CAT:.*]] = aten.call "aten.cat.default"
// CHECK:         %[[REST:.*]]:2 = aten.call "aten.split_with_sizes.default"(%[[CAT]])
// CHECK-NOT:     aten.call
// CHECK:         return %[[A]], %[[B]], %[[REST]]#0, %[[REST]]#1
func.func @split(%a: tensor<?x3xf32>, %b: tensor<?x5xf32>) -> (tensor<?x3xf32>, tensor<?x5xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  %0 = aten.call "aten.cat.default"(%a, %b) {tensors = [#aten.arg<0>, #aten.arg<1>], dim = 1 : i64} : (tensor<?x3xf32>, tensor<?x5xf32>) -> tensor<?x8xf32>
  %1, %2 = aten.call "aten.split_with_sizes.default"(%0) {self = #aten.arg<0>, split_sizes = [3, 5], dim = -1 : i64} : (tensor<?x8xf32>) -> (tensor<?x3xf32>, tensor<?x5xf32>)
  %3, %4 = aten.call "aten.split_with_sizes.default"(%0) {self = #aten.arg<0>, split_sizes = [4, 4], dim = 1 : i64} : (tensor<?x8xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  return %1, %2, %3, %4 : tensor<?x3xf32>, tensor<?x5xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

// CHECK-LABEL: func.func @other_dimension(
// CHECK:         aten.call "aten.split_with_sizes.default"
func.func @other_dimension(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %0 = aten.call "aten.cat.default"(%a, %b) {tensors = [#aten.arg<0>, #aten.arg<1>]} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %1, %2 = aten.call "aten.split_with_sizes.default"(%0) {self = #aten.arg<0>, split_sizes = [2, 2], dim = 1 : i64} : (tensor<4x4xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>)
  return %1, %2 : tensor<4x2xf32>, tensor<4x2xf32>
}

// Only the piece that is not transposed yet is transposed.
// CHECK-LABEL: func.func @pieces(
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: tensor<?x2x3xf32>, %[[B:[a-z0-9_]+]]: tensor<2x?x5xf32>
// CHECK-NEXT:    %[[T:.*]] = aten.call "aten.transpose.int"(%[[B]]) {{.*}} -> tensor<?x2x5xf32>
// CHECK-NEXT:    %[[CAT:.*]] = aten.call "aten.cat.default"(%[[A]], %[[T]]) {dim = 2 : i64, {{.*}} -> tensor<?x2x8xf32>
// CHECK-NEXT:    return %[[CAT]]
func.func @pieces(%a: tensor<?x2x3xf32>, %b: tensor<2x?x5xf32>) -> tensor<?x2x8xf32> {
  %0 = aten.call "aten.transpose.int"(%a) {self = #aten.arg<0>, dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<?x2x3xf32>) -> tensor<2x?x3xf32>
  %1 = aten.call "aten.cat.default"(%0, %b) {tensors = [#aten.arg<0>, #aten.arg<1>], dim = -1 : i64} : (tensor<2x?x3xf32>, tensor<2x?x5xf32>) -> tensor<2x?x8xf32>
  %2 = aten.call "aten.transpose.int"(%1) {self = #aten.arg<0>, dim0 = 1 : i64, dim1 = 0 : i64} : (tensor<2x?x8xf32>) -> tensor<?x2x8xf32>
  return %2 : tensor<?x2x8xf32>
}

// A part of the source, behind a split, a slice and a permute; nothing of a permute alone.
// CHECK-LABEL: func.func @parts(
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: tensor<?x2x8xf32>
// CHECK:         %[[P:.*]] = aten.call "aten.slice.Tensor"(%[[X]]) {dim = 2 : i64, end = 8 : i64, self = #aten.arg<0>, start = 3 : i64}
// CHECK:         %[[S:.*]] = aten.call "aten.slice.Tensor"(%[[X]]) {dim = 2 : i64, end = 7 : i64, self = #aten.arg<0>, start = 4 : i64}
// CHECK:         return %[[P]], %[[S]], %[[X]]
func.func @parts(%x: tensor<?x2x8xf32>) -> (tensor<?x2x5xf32>, tensor<?x2x3xf32>, tensor<?x2x8xf32>) {
  %t = aten.call "aten.permute.default"(%x) {self = #aten.arg<0>, dims = [1, 0, 2]} : (tensor<?x2x8xf32>) -> tensor<2x?x8xf32>
  %0, %1 = aten.call "aten.split_with_sizes.default"(%t) {self = #aten.arg<0>, split_sizes = [3, 5], dim = -1 : i64} : (tensor<2x?x8xf32>) -> (tensor<2x?x3xf32>, tensor<2x?x5xf32>)
  %2 = aten.call "aten.slice.Tensor"(%t) {self = #aten.arg<0>, dim = 2 : i64, start = 4 : i64, end = 7 : i64} : (tensor<2x?x8xf32>) -> tensor<2x?x3xf32>
  %3 = aten.call "aten.transpose.int"(%1) {self = #aten.arg<0>, dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<2x?x5xf32>) -> tensor<?x2x5xf32>
  %4 = aten.call "aten.transpose.int"(%2) {self = #aten.arg<0>, dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<2x?x3xf32>) -> tensor<?x2x3xf32>
  %5 = aten.call "aten.transpose.int"(%t) {self = #aten.arg<0>, dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<2x?x8xf32>) -> tensor<?x2x8xf32>
  return %3, %4, %5 : tensor<?x2x5xf32>, tensor<?x2x3xf32>, tensor<?x2x8xf32>
}

// Other dimensions, steps, and a dimension that the transpose moves.
// CHECK-LABEL: func.func @kept(
// CHECK-COUNT-3: aten.call "aten.transpose.int"({{.*}} -> tensor<?x2x
// CHECK:         return
func.func @kept(%x: tensor<?x2x8xf32>, %y: tensor<2x8x?xf32>) -> (tensor<?x2x8xf32>, tensor<?x2x4xf32>, tensor<?x2x3xf32>) {
  %a = aten.call "aten.permute.default"(%y) {self = #aten.arg<0>, dims = [0, 2, 1]} : (tensor<2x8x?xf32>) -> tensor<2x?x8xf32>
  %0 = aten.call "aten.transpose.int"(%a) {self = #aten.arg<0>, dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<2x?x8xf32>) -> tensor<?x2x8xf32>
  %t = aten.call "aten.transpose.int"(%x) {self = #aten.arg<0>, dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<?x2x8xf32>) -> tensor<2x?x8xf32>
  %b = aten.call "aten.slice.Tensor"(%t) {self = #aten.arg<0>, dim = 2 : i64, start = 0 : i64, end = 8 : i64, step = 2 : i64} : (tensor<2x?x8xf32>) -> tensor<2x?x4xf32>
  %1 = aten.call "aten.transpose.int"(%b) {self = #aten.arg<0>, dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<2x?x4xf32>) -> tensor<?x2x4xf32>
  %u = aten.call "aten.transpose.int"(%y) {self = #aten.arg<0>, dim0 = 1 : i64, dim1 = 2 : i64} : (tensor<2x8x?xf32>) -> tensor<2x?x8xf32>
  %c = aten.call "aten.slice.Tensor"(%u) {self = #aten.arg<0>, dim = 2 : i64, start = 0 : i64, end = 3 : i64} : (tensor<2x?x8xf32>) -> tensor<2x?x3xf32>
  %2 = aten.call "aten.transpose.int"(%c) {self = #aten.arg<0>, dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<2x?x3xf32>) -> tensor<?x2x3xf32>
  return %0, %1, %2 : tensor<?x2x8xf32>, tensor<?x2x4xf32>, tensor<?x2x3xf32>
}
