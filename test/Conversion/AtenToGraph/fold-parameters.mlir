// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s
// RUN: moe-opt %s --raise-aten-to-graph > %t && moe-opt %t --raise-aten-to-graph | diff %t -

// Matrices of all experts one below the other, gate and up apart.
// CHECK-LABEL: func.func @flat(
// CHECK:         moe.parameter ["v2"] recipe [#moe.cut<dim = 0, parts = 4>, #moe.transpose<[0, 2, 1]>] : tensor<4x8x3xf32>
// CHECK:         moe.parameter ["v0", "v1"] recipe [#moe.concat<0>, #moe.cut<dim = 0, parts = 4, halves = true>] : tensor<4x6x8xf32>
// CHECK-NOT:     aten.call
func.func @flat() -> (tensor<4x6x8xf32>, tensor<4x8x3xf32>) {
  %w0 = moe.parameter ["v0"] : tensor<12x8xf32>
  %w1 = moe.parameter ["v1"] : tensor<12x8xf32>
  %w2 = moe.parameter ["v2"] : tensor<12x8xf32>
  %0 = aten.call "aten.view.default"(%w0) {self = #aten.arg<0>, size = [4, 3, 8]} : (tensor<12x8xf32>) -> tensor<4x3x8xf32>
  %1 = aten.call "aten.view.default"(%w1) {self = #aten.arg<0>, size = [4, 3, 8]} : (tensor<12x8xf32>) -> tensor<4x3x8xf32>
  %2 = aten.call "aten.cat.default"(%0, %1) {tensors = [#aten.arg<0>, #aten.arg<1>], dim = 1 : i64} : (tensor<4x3x8xf32>, tensor<4x3x8xf32>) -> tensor<4x6x8xf32>
  %3 = aten.call "aten.view.default"(%w2) {self = #aten.arg<0>, size = [4, 3, 8]} : (tensor<12x8xf32>) -> tensor<4x3x8xf32>
  %4 = aten.call "aten.transpose.int"(%3) {self = #aten.arg<0>, dim0 = 1 : i64, dim1 = 2 : i64} : (tensor<4x3x8xf32>) -> tensor<4x8x3xf32>
  return %2, %4 : tensor<4x6x8xf32>, tensor<4x8x3xf32>
}

// The first experts of more; two stacks.
// CHECK-LABEL: func.func @stacks(
// CHECK:         moe.parameter ["a"] recipe [#moe.slice<0, 0, 4>] : tensor<4x3x8xf32>
// CHECK:         moe.parameter ["b", "c"] recipe [#moe.concat<1>] : tensor<4x6x8xf32>
// CHECK-NOT:     aten.call
func.func @stacks() -> (tensor<4x3x8xf32>, tensor<4x6x8xf32>) {
  %a = moe.parameter ["a"] : tensor<6x3x8xf32>
  %b = moe.parameter ["b"] : tensor<4x3x8xf32>
  %c = moe.parameter ["c"] : tensor<4x3x8xf32>
  %0 = aten.call "aten.slice.Tensor"(%a) {self = #aten.arg<0>, dim = 0 : i64, start = 0 : i64, end = 4 : i64} : (tensor<6x3x8xf32>) -> tensor<4x3x8xf32>
  %1 = aten.call "aten.cat.default"(%b, %c) {tensors = [#aten.arg<0>, #aten.arg<1>], dim = 1 : i64} : (tensor<4x3x8xf32>, tensor<4x3x8xf32>) -> tensor<4x6x8xf32>
  return %0, %1 : tensor<4x3x8xf32>, tensor<4x6x8xf32>
}

// Parts of each matrix.
// CHECK-LABEL: func.func @parts(
// CHECK:         %[[A:.*]] = moe.parameter ["a"] recipe [#moe.cut<dim = 0, parts = 4>, #moe.slice<1, 0, 2>] : tensor<4x2x8xf32>
// CHECK:         %[[B:.*]] = moe.parameter ["a"] recipe [#moe.cut<dim = 0, parts = 4>, #moe.slice<1, 2, 1>, #moe.transpose<[0, 2, 1]>] : tensor<4x8x1xf32>
// CHECK-NOT:     aten.call
// CHECK:         return %[[A]], %[[B]]
func.func @parts() -> (tensor<4x2x8xf32>, tensor<4x8x1xf32>) {
  %a = moe.parameter ["a"] : tensor<12x8xf32>
  %0 = aten.call "aten.view.default"(%a) {self = #aten.arg<0>, size = [4, 3, 8]} : (tensor<12x8xf32>) -> tensor<4x3x8xf32>
  %1, %2 = aten.call "aten.split_with_sizes.default"(%0) {self = #aten.arg<0>, split_sizes = [2, 1], dim = 1 : i64} : (tensor<4x3x8xf32>) -> (tensor<4x2x8xf32>, tensor<4x1x8xf32>)
  %3 = aten.call "aten.transpose.int"(%2) {self = #aten.arg<0>, dim0 = 2 : i64, dim1 = 1 : i64} : (tensor<4x1x8xf32>) -> tensor<4x8x1xf32>
  return %1, %3 : tensor<4x2x8xf32>, tensor<4x8x1xf32>
}

// The weight of a router in f32; not what something else than a linear layer reads, and nothing that is rounded.
// CHECK-LABEL: func.func @casts(
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: tensor<?x8xf32>
// CHECK:         %[[W:.*]] = moe.parameter ["w"] recipe [#moe.cast<f32>] : tensor<4x8xf32>
// CHECK:         nn.linear %[[X]], %[[W]]
// CHECK-COUNT-2: aten.call "aten.to.dtype"
func.func @casts(%x: tensor<?x8xf32>, %y: tensor<?x8xbf16>) -> (tensor<?x4xf32>, tensor<4x8xf32>, tensor<?x4xbf16>) {
  %w = moe.parameter ["w"] : tensor<4x8xbf16>
  %v = moe.parameter ["v"] : tensor<4x8xbf16>
  %u = moe.parameter ["u"] : tensor<4x8xf32>
  %0 = aten.call "aten.to.dtype"(%w) {self = #aten.arg<0>, dtype = f32} : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %1 = aten.call "aten.linear.default"(%x, %0) {input = #aten.arg<0>, weight = #aten.arg<1>} : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  %2 = aten.call "aten.to.dtype"(%v) {self = #aten.arg<0>, dtype = f32} : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %3 = aten.call "aten.to.dtype"(%u) {self = #aten.arg<0>, dtype = bf16} : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  %4 = aten.call "aten.linear.default"(%y, %3) {input = #aten.arg<0>, weight = #aten.arg<1>} : (tensor<?x8xbf16>, tensor<4x8xbf16>) -> tensor<?x4xbf16>
  return %1, %2, %4 : tensor<?x4xf32>, tensor<4x8xf32>, tensor<?x4xbf16>
}

// A weight that something else reads stays as it is, and so do views that are none of these.
// CHECK-LABEL: func.func @kept(
// CHECK-NOT:     recipe
// CHECK:         return
func.func @kept() -> (tensor<12x8xf32>, tensor<4x3x8xf32>, tensor<3x4x8xf32>, tensor<3x4x8xf32>, tensor<2x3x8xf32>) {
  %w = moe.parameter ["w"] : tensor<12x8xf32>
  %v = moe.parameter ["v"] : tensor<4x3x8xf32>
  %u = moe.parameter ["u"] : tensor<24x4xf32>
  %t = moe.parameter ["t"] : tensor<4x3x8xf32>
  %0 = aten.call "aten.view.default"(%w) {self = #aten.arg<0>, size = [4, 3, 8]} : (tensor<12x8xf32>) -> tensor<4x3x8xf32>
  %1 = aten.call "aten.transpose.int"(%v) {self = #aten.arg<0>, dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<4x3x8xf32>) -> tensor<3x4x8xf32>
  %2 = aten.call "aten.view.default"(%u) {self = #aten.arg<0>, size = [3, 4, 8]} : (tensor<24x4xf32>) -> tensor<3x4x8xf32>
  %3 = aten.call "aten.slice.Tensor"(%t) {self = #aten.arg<0>, dim = 0 : i64, start = 1 : i64, end = 3 : i64} : (tensor<4x3x8xf32>) -> tensor<2x3x8xf32>
  return %w, %0, %1, %2, %3 : tensor<12x8xf32>, tensor<4x3x8xf32>, tensor<3x4x8xf32>, tensor<3x4x8xf32>, tensor<2x3x8xf32>
}
