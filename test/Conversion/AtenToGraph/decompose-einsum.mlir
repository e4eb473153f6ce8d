// RUN: moe-opt %s --aten-decompose | FileCheck %s
// RUN: moe-opt %s --aten-decompose --aten-decompose | FileCheck %s
// RUN: moe-opt %s --aten-decompose --convert-aten-to-linalg --canonicalize | FileCheck %s --check-prefix=LINALG

// LINALG-NOT: aten.call

// A matrix that has a row for each column of the result is transposed behind: a linear layer takes it as it is.
// CHECK-LABEL: func.func @router(
// CHECK-SAME:    %[[X:.*]]: tensor<?x4xbf16>, %[[W:.*]]: tensor<3x4xbf16>)
// CHECK-NEXT:    %[[T:.*]] = aten.call "aten.transpose.int"(%[[W]]) {dim0 = 0 : i64, dim1 = 1 : i64
// CHECK-NEXT:    %[[P:.*]] = aten.call "aten.matmul.default"(%[[X]], %[[T]]) {{.*}} -> tensor<?x3xbf16>
// CHECK-NEXT:    return %[[P]]
func.func @router(%x: tensor<?x4xbf16>, %w: tensor<3x4xbf16>) -> tensor<?x3xbf16> {
  %0 = aten.call "aten.einsum.default"(%x, %w) {equation = "td, ed -> te", tensors = [#aten.arg<0>, #aten.arg<1>]} : (tensor<?x4xbf16>, tensor<3x4xbf16>) -> tensor<?x3xbf16>
  return %0 : tensor<?x3xbf16>
}

// What is constant comes second, and the result is turned back.
// CHECK-LABEL: func.func @constant_first(
// CHECK-SAME:    %[[X:.*]]: tensor<?x4xf32>)
// CHECK-NEXT:    %[[W:.*]] = moe.parameter
// CHECK-NEXT:    %[[T:.*]] = aten.call "aten.transpose.int"(%[[W]])
// CHECK-NEXT:    %[[P:.*]] = aten.call "aten.matmul.default"(%[[X]], %[[T]])
// CHECK-NEXT:    %[[R:.*]] = aten.call "aten.transpose.int"(%[[P]]) {{.*}} -> tensor<3x?xf32>
// CHECK-NEXT:    return %[[R]]
func.func @constant_first(%x: tensor<?x4xf32>) -> tensor<3x?xf32> {
  %w = moe.parameter ["w"] : tensor<3x4xf32>
  %0 = aten.call "aten.einsum.default"(%w, %x) {equation = "ed,td->et", tensors = [#aten.arg<0>, #aten.arg<1>]} : (tensor<3x4xf32>, tensor<?x4xf32>) -> tensor<3x?xf32>
  return %0 : tensor<3x?xf32>
}

// A matrix for each place of the batch; as constant ones by a recipe where they are transposed.
// CHECK-LABEL: func.func @experts(
// CHECK-SAME:    %[[X:.*]]: tensor<?x3x4xf32>, %[[W:.*]]: tensor<3x4x5xf32>)
// CHECK-NEXT:    %[[T:.*]] = aten.call "aten.transpose.int"(%[[X]]) {dim0 = 0 : i64, dim1 = 1 : i64{{.*}} -> tensor<3x?x4xf32>
// CHECK-NEXT:    %[[P:.*]] = aten.call "aten.matmul.default"(%[[T]], %[[W]]) {{.*}} -> tensor<3x?x5xf32>
// CHECK-NEXT:    %[[R:.*]] = aten.call "aten.transpose.int"(%[[P]]) {{.*}} -> tensor<?x3x5xf32>
// CHECK-NEXT:    %[[U:.*]] = aten.call "aten.transpose.int"(%[[R]])
// CHECK-NEXT:    %[[V:.*]] = moe.parameter ["v"] recipe [#moe.transpose<[0, 2, 1]>] : tensor<3x5x4xf32>
// CHECK-NEXT:    %{{.*}} = aten.call "aten.matmul.default"(%[[U]], %[[V]]) {{.*}} -> tensor<3x?x4xf32>
func.func @experts(%x: tensor<?x3x4xf32>, %w: tensor<3x4x5xf32>) -> tensor<?x3x4xf32> {
  %v = moe.parameter ["v"] : tensor<3x4x5xf32>
  %0 = aten.call "aten.einsum.default"(%x, %w) {equation = "ted,edh->teh", tensors = [#aten.arg<0>, #aten.arg<1>]} : (tensor<?x3x4xf32>, tensor<3x4x5xf32>) -> tensor<?x3x5xf32>
  %1 = aten.call "aten.einsum.default"(%0, %v) {equation = "teh,edh->ted", tensors = [#aten.arg<0>, #aten.arg<1>]} : (tensor<?x3x5xf32>, tensor<3x4x5xf32>) -> tensor<?x3x4xf32>
  return %1 : tensor<?x3x4xf32>
}

// Weights of experts: a row for each token, whose dimension goes again.
// CHECK-LABEL: func.func @combine(
// CHECK-SAME:    %[[P:.*]]: tensor<?x3xf32>, %[[X:.*]]: tensor<?x3x5xf32>)
// CHECK-NEXT:    %[[R:.*]] = aten.call "aten.unsqueeze.default"(%[[P]]) {dim = 1 : i64{{.*}} -> tensor<?x1x3xf32>
// CHECK-NEXT:    %[[S:.*]] = aten.call "aten.matmul.default"(%[[R]], %[[X]]) {{.*}} -> tensor<?x1x5xf32>
// CHECK-NEXT:    %[[Q:.*]] = aten.call "aten.squeeze.dims"(%[[S]]) {dim = [1]
// CHECK-NEXT:    return %[[Q]]
func.func @combine(%p: tensor<?x3xf32>, %x: tensor<?x3x5xf32>) -> tensor<?x5xf32> {
  %0 = aten.call "aten.einsum.default"(%p, %x) {equation = "te,teh->th", tensors = [#aten.arg<0>, #aten.arg<1>]} : (tensor<?x3xf32>, tensor<?x3x5xf32>) -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}

// Rows of one matrix stay as they are; columns and what is summed are joined, and columns parted again.
// CHECK-LABEL: func.func @joined(
// CHECK-SAME:    %[[X:.*]]: tensor<?x?x4x5xf32>, %[[W:.*]]: tensor<4x5x2x3xf32>)
// CHECK-NEXT:    %[[L:.*]] = aten.call "aten.flatten.using_ints"(%[[X]]) {end_dim = 3 : i64, self = #aten.arg<0>, start_dim = 2 : i64} {{.*}} -> tensor<?x?x20xf32>
// CHECK-NEXT:    %[[A:.*]] = aten.call "aten.view.default"(%[[W]]) {{.*}} -> tensor<4x5x6xf32>
// CHECK-NEXT:    %[[M:.*]] = aten.call "aten.view.default"(%[[A]]) {{.*}} -> tensor<20x6xf32>
// CHECK-NEXT:    %[[P:.*]] = aten.call "aten.matmul.default"(%[[L]], %[[M]]) {{.*}} -> tensor<?x?x6xf32>
// CHECK-NEXT:    %[[B:.*]] = aten.call "aten.sym_size.int"(%[[X]]) {dim = 0 : i64
// CHECK-NEXT:    %[[T:.*]] = aten.call "aten.sym_size.int"(%[[X]]) {dim = 1 : i64
// CHECK-NEXT:    %{{.*}} = aten.call "aten.view.default"(%[[P]], %[[B]], %[[T]]) {self = #aten.arg<0>, size = [#aten.arg<1>, #aten.arg<2>, 2, 3]}
func.func @joined(%x: tensor<?x?x4x5xf32>, %w: tensor<4x5x2x3xf32>) -> tensor<?x?x2x3xf32> {
  %0 = aten.call "aten.einsum.default"(%x, %w) {equation = "bthd,hden->bten", tensors = [#aten.arg<0>, #aten.arg<1>]} : (tensor<?x?x4x5xf32>, tensor<4x5x2x3xf32>) -> tensor<?x?x2x3xf32>
  return %0 : tensor<?x?x2x3xf32>
}

// Nothing is contracted.
// CHECK-LABEL: func.func @outer(
// CHECK-SAME:    %[[X:.*]]: tensor<?xf32>, %[[Y:.*]]: tensor<?xf32>)
// CHECK-NEXT:    %[[R:.*]] = aten.call "aten.unsqueeze.default"(%[[X]]) {dim = 1 : i64
// CHECK-NEXT:    %{{.*}} = aten.call "aten.mul.Tensor"(%[[R]], %[[Y]]) {{.*}} -> tensor<?x?xf32>
func.func @outer(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?x?xf32> {
  %0 = aten.call "aten.einsum.default"(%x, %y) {equation = "i,j->ij", tensors = [#aten.arg<0>, #aten.arg<1>]} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// Letters of one operand alone are summed before; without an arrow, letters come by the alphabet. One element counts for all.
// CHECK-LABEL: func.func @sums(
// CHECK-SAME:    %[[X:.*]]: tensor<?x7x4xf32>, %[[Y:.*]]: tensor<1x4xf32>, %[[Z:.*]]: tensor<?x4xf32>)
// CHECK-NEXT:    %[[S:.*]] = aten.call "aten.sum.dim_IntList"(%[[X]]) {dim = [1], keepdim = false, {{.*}} -> tensor<?x4xf32>
// CHECK:         aten.call "aten.matmul.default"
// CHECK:         %[[Q:.*]] = aten.call "aten.squeeze.dims"(%[[Y]]) {dim = [0]
// CHECK-NEXT:    %{{.*}} = aten.call "aten.mul.Tensor"(%[[Z]], %[[Q]])
// CHECK:         aten.call "aten.permute.default"(%[[X]]) {dims = [2, 0, 1]
func.func @sums(%x: tensor<?x7x4xf32>, %y: tensor<1x4xf32>, %z: tensor<?x4xf32>) -> (tensor<?x?xf32>, tensor<?x4xf32>, tensor<4x?x7xf32>) {
  %0 = aten.call "aten.einsum.default"(%x, %z) {equation = "tsd,qd->tq", tensors = [#aten.arg<0>, #aten.arg<1>]} : (tensor<?x7x4xf32>, tensor<?x4xf32>) -> tensor<?x?xf32>
  %1 = aten.call "aten.einsum.default"(%z, %y) {equation = "td,td->td", tensors = [#aten.arg<0>, #aten.arg<1>]} : (tensor<?x4xf32>, tensor<1x4xf32>) -> tensor<?x4xf32>
  %2 = aten.call "aten.einsum.default"(%x) {equation = "bca", tensors = [#aten.arg<0>]} : (tensor<?x7x4xf32>) -> tensor<4x?x7xf32>
  return %0, %1, %2 : tensor<?x?xf32>, tensor<?x4xf32>, tensor<4x?x7xf32>
}

// All rows with each of several constant matrices.
// CHECK-LABEL: func.func @all_experts(
// CHECK-SAME:    %[[X:.*]]: tensor<?x4xf32>)
// CHECK-NEXT:    %[[W:.*]] = moe.parameter
// CHECK-NEXT:    %[[E:.*]] = aten.call "aten.expand.default"(%[[X]]) {self = #aten.arg<0>, size = [3, -1, -1]} {{.*}} -> tensor<3x?x4xf32>
// CHECK-NEXT:    %[[P:.*]] = aten.call "aten.matmul.default"(%[[E]], %[[W]]) {{.*}} -> tensor<3x?x5xf32>
// CHECK-NEXT:    %{{.*}} = aten.call "aten.transpose.int"(%[[P]]) {{.*}} -> tensor<?x3x5xf32>
func.func @all_experts(%x: tensor<?x4xf32>) -> tensor<?x3x5xf32> {
  %w = moe.parameter ["w"] : tensor<3x4x5xf32>
  %0 = aten.call "aten.einsum.default"(%x, %w) {equation = "td,edh->teh", tensors = [#aten.arg<0>, #aten.arg<1>]} : (tensor<?x4xf32>, tensor<3x4x5xf32>) -> tensor<?x3x5xf32>
  return %0 : tensor<?x3x5xf32>
}
