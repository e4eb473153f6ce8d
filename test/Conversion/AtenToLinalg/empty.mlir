// RUN: moe-opt %s --convert-aten-to-linalg --canonicalize --split-input-file | FileCheck %s

// An empty part may start behind the last element in PyTorch; nothing of it is left in a join.

// CHECK-LABEL: func.func @join(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: tensor<?x12xf32>
// CHECK-NEXT:    return %[[Q]]
func.func @join(%q: tensor<?x12xf32>) -> tensor<?x12xf32> {
  %0 = aten.call "aten.slice.Tensor"(%q) {self = #aten.arg<0>, dim = 1 : i64, start = 12 : i64, end = 9223372036854775807 : i64} : (tensor<?x12xf32>) -> tensor<?x0xf32>
  %1 = aten.call "aten.cat.default"(%q, %0) {tensors = [#aten.arg<0>, #aten.arg<1>], dim = -1 : i64} : (tensor<?x12xf32>, tensor<?x0xf32>) -> tensor<?x12xf32>
  return %1 : tensor<?x12xf32>
}

// -----

// CHECK-LABEL: func.func @join_nothing(
// CHECK:         return %{{.*}} : tensor<?x0xf32>
func.func @join_nothing(%q: tensor<?x0xf32>) -> tensor<?x0xf32> {
  %0 = aten.call "aten.cat.default"(%q, %q) {tensors = [#aten.arg<0>, #aten.arg<0>], dim = -1 : i64} : (tensor<?x0xf32>, tensor<?x0xf32>) -> tensor<?x0xf32>
  return %0 : tensor<?x0xf32>
}

// -----

// CHECK-LABEL: func.func @split(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: tensor<?x12xf32>
// CHECK:         %[[END:.*]] = tensor.extract_slice %[[Q]][0, 0] [%{{.*}}, 0] [1, 1]
// CHECK:         return %{{.*}}, %[[END]]
func.func @split(%q: tensor<?x12xf32>) -> (tensor<?x12xf32>, tensor<?x0xf32>) {
  %0:2 = aten.call "aten.split_with_sizes.default"(%q) {self = #aten.arg<0>, split_sizes = [12, 0], dim = 1 : i64} : (tensor<?x12xf32>) -> (tensor<?x12xf32>, tensor<?x0xf32>)
  return %0#0, %0#1 : tensor<?x12xf32>, tensor<?x0xf32>
}

// -----

// How long the part is, is known when it runs: an empty one then starts at the first element.
// CHECK-LABEL: func.func @tail(
// CHECK:         arith.subi %{{.*}}, %[[BOUND:.*]] : index
// CHECK:         %[[LENGTH:.*]] = arith.maxsi
// CHECK:         %[[EMPTY:.*]] = arith.cmpi eq, %[[LENGTH]], %{{.*}}
// CHECK:         %[[START:.*]] = arith.select %[[EMPTY]], %{{.*}}, %[[BOUND]] : index
// CHECK:         tensor.extract_slice %{{.*}}[0, %[[START]]] [%{{.*}}, %[[LENGTH]]] [1, 1]
func.func @tail(%q: tensor<?x12xf32>, %n: i64) -> tensor<?x?xf32> {
  %0 = aten.call "aten.slice.Tensor"(%q, %n) {self = #aten.arg<0>, dim = 1 : i64, start = #aten.arg<1>, end = 9223372036854775807 : i64} : (tensor<?x12xf32>, i64) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// -----

// CHECK-LABEL: func.func @insert(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: tensor<?x12xf32>
// CHECK:         return %[[Q]]
func.func @insert(%q: tensor<?x12xf32>, %p: tensor<?x0xf32>) -> tensor<?x12xf32> {
  %0 = aten.call "aten.slice_scatter.default"(%q, %p) {self = #aten.arg<0>, src = #aten.arg<1>, dim = 1 : i64, start = 12 : i64, end = 12 : i64} : (tensor<?x12xf32>, tensor<?x0xf32>) -> tensor<?x12xf32>
  return %0 : tensor<?x12xf32>
}

// -----

// Of a dimension of which padding leaves nothing, what comes instead is all that there is.
// CHECK-LABEL: func.func @padded_beside_nothing
// CHECK: %[[FILL:.*]] = linalg.fill {{.*}} -> tensor<4x2xf32>
// CHECK-NOT: tensor.concat
// CHECK: return %[[FILL]]
func.func @padded_beside_nothing(%x: tensor<4x1xf32>) -> tensor<4x2xf32> {
  %0 = aten.call "aten.pad.default"(%x) {self = #aten.arg<0>, pad = [-1, 2]} : (tensor<4x1xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

// Nothing has no place behind the last element.
// CHECK-LABEL: func.func @cut_to_nothing
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [4, 0] [1, 1]
func.func @cut_to_nothing(%x: tensor<4x3xf32>) -> tensor<4x0xf32> {
  %0 = aten.call "aten.pad.default"(%x) {self = #aten.arg<0>, pad = [-3, 0]} : (tensor<4x3xf32>) -> tensor<4x0xf32>
  return %0 : tensor<4x0xf32>
}
