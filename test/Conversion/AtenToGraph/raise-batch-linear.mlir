// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s
// RUN: moe-opt %s --raise-aten-to-graph > %t && moe-opt %t --raise-aten-to-graph | diff %t -

// The transpose that makes heads the outer dimension goes away, and so does the one behind the product.
// CHECK-LABEL: func.func @heads(
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: tensor<?x?x4x8xf32>
// CHECK-NEXT:    %[[W:.*]] = moe.parameter ["w"] recipe [#moe.transpose<[0, 2, 1]>] : tensor<4x6x8xf32>
// CHECK-NEXT:    %[[Y:.*]] = nn.batch_linear %[[X]], %[[W]] : tensor<?x?x4x8xf32>, tensor<4x6x8xf32> -> tensor<?x?x4x6xf32>
// CHECK-NEXT:    return %[[Y]]
func.func @heads(%x: tensor<?x?x4x8xf32>) -> tensor<?x?x4x6xf32> {
  %w = moe.parameter ["w"] : tensor<4x8x6xf32>
  %t = aten.call "aten.transpose.int"(%x) {self = #aten.arg<0>, dim0 = 1 : i64, dim1 = 2 : i64} : (tensor<?x?x4x8xf32>) -> tensor<?x4x?x8xf32>
  %0 = aten.call "aten.matmul.default"(%t, %w) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x4x?x8xf32>, tensor<4x8x6xf32>) -> tensor<?x4x?x6xf32>
  %1 = aten.call "aten.transpose.int"(%0) {self = #aten.arg<0>, dim0 = 1 : i64, dim1 = 2 : i64} : (tensor<?x4x?x6xf32>) -> tensor<?x?x4x6xf32>
  return %1 : tensor<?x?x4x6xf32>
}

// Latent attention: parts of one weight, and parts of what is transposed.
// CHECK-LABEL: func.func @parts(
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: tensor<?x?x4x8xbf16>
// CHECK:         %[[KEYS:.*]] = moe.parameter ["w"] recipe [#moe.cut<dim = 0, parts = 4>, #moe.slice<1, 0, 5>, #moe.transpose<[0, 2, 1]>] : tensor<4x3x5xbf16>
// CHECK:         %[[Q:.*]] = aten.call "aten.slice.Tensor"(%[[X]]) {dim = 3 : i64, end = 5 : i64, self = #aten.arg<0>, start = 0 : i64}
// CHECK:         nn.batch_linear %[[Q]], %[[KEYS]]
// CHECK:         %[[VALUES:.*]] = moe.parameter ["w"] recipe [#moe.cut<dim = 0, parts = 4>, #moe.slice<1, 5, 2>] : tensor<4x2x3xbf16>
// CHECK:         %[[O:.*]] = aten.call "aten.slice.Tensor"(%[[X]]) {dim = 3 : i64, end = 7 : i64, self = #aten.arg<0>, start = 4 : i64}
// CHECK:         nn.batch_linear %[[O]], %[[VALUES]]
func.func @parts(%x: tensor<?x?x4x8xbf16>) -> (tensor<?x4x?x3xbf16>, tensor<?x4x?x3xbf16>, tensor<?x?x4x2xbf16>) {
  %w = moe.parameter ["w"] : tensor<28x3xbf16>
  %v = aten.call "aten.view.default"(%w) {self = #aten.arg<0>, size = [4, 7, 3]} : (tensor<28x3xbf16>) -> tensor<4x7x3xbf16>
  %keys, %values = aten.call "aten.split_with_sizes.default"(%v) {self = #aten.arg<0>, split_sizes = [5, 2], dim = 1 : i64} : (tensor<4x7x3xbf16>) -> (tensor<4x5x3xbf16>, tensor<4x2x3xbf16>)
  %t = aten.call "aten.permute.default"(%x) {self = #aten.arg<0>, dims = [0, 2, 1, 3]} : (tensor<?x?x4x8xbf16>) -> tensor<?x4x?x8xbf16>
  %q, %rest = aten.call "aten.split_with_sizes.default"(%t) {self = #aten.arg<0>, split_sizes = [5, 3], dim = -1 : i64} : (tensor<?x4x?x8xbf16>) -> (tensor<?x4x?x5xbf16>, tensor<?x4x?x3xbf16>)
  %0 = aten.call "aten.matmul.default"(%q, %keys) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x4x?x5xbf16>, tensor<4x5x3xbf16>) -> tensor<?x4x?x3xbf16>
  %o = aten.call "aten.slice.Tensor"(%t) {self = #aten.arg<0>, dim = 3 : i64, start = 4 : i64, end = 7 : i64} : (tensor<?x4x?x8xbf16>) -> tensor<?x4x?x3xbf16>
  %turned = aten.call "aten.transpose.int"(%values) {self = #aten.arg<0>, dim0 = 1 : i64, dim1 = 2 : i64} : (tensor<4x2x3xbf16>) -> tensor<4x3x2xbf16>
  %1 = aten.call "aten.matmul.default"(%o, %turned) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x4x?x3xbf16>, tensor<4x3x2xbf16>) -> tensor<?x4x?x2xbf16>
  %2 = aten.call "aten.transpose.int"(%1) {self = #aten.arg<0>, dim0 = 1 : i64, dim1 = 2 : i64} : (tensor<?x4x?x2xbf16>) -> tensor<?x?x4x2xbf16>
  return %0, %rest, %2 : tensor<?x4x?x3xbf16>, tensor<?x4x?x3xbf16>, tensor<?x?x4x2xbf16>
}

// bmm of something else than a transpose gets one.
// CHECK-LABEL: func.func @bmm(
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: tensor<4x?x8xf32>
// CHECK:         %[[T:.*]] = aten.call "aten.transpose.int"(%[[X]]) {{.*}} -> tensor<?x4x8xf32>
// CHECK:         %[[Y:.*]] = nn.batch_linear %[[T]], %{{.*}} -> tensor<?x4x6xf32>
// CHECK:         %[[R:.*]] = aten.call "aten.transpose.int"(%[[Y]]) {{.*}} -> tensor<4x?x6xf32>
// CHECK:         return %[[R]]
func.func @bmm(%x: tensor<4x?x8xf32>) -> tensor<4x?x6xf32> {
  %w = moe.parameter ["w"] : tensor<4x8x6xf32>
  %0 = aten.call "aten.bmm.default"(%x, %w) {self = #aten.arg<0>, mat2 = #aten.arg<1>} : (tensor<4x?x8xf32>, tensor<4x8x6xf32>) -> tensor<4x?x6xf32>
  return %0 : tensor<4x?x6xf32>
}

// One row for all matrices, one matrix for all rows, a dimension that may be one, matrices that are computed, f64.
// CHECK-LABEL: func.func @not_raised(
// CHECK-NOT:     nn.batch_linear
// CHECK:         return
func.func @not_raised(%rows: tensor<?x8xf32>, %x: tensor<2x4x3x8xf32>, %any: tensor<?x3x8xf32>, %a: tensor<4x8x6xf32>, %d: tensor<4x3x8xf64>)
    -> (tensor<4x?x6xf32>, tensor<2x4x3x6xf32>, tensor<4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<4x3x6xf64>) {
  %w = moe.parameter ["w"] : tensor<4x8x6xf32>
  %one = moe.parameter ["one"] : tensor<1x8x6xf32>
  %wd = moe.parameter ["d"] : tensor<4x8x6xf64>
  %0 = aten.call "aten.matmul.default"(%rows, %w) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x8xf32>, tensor<4x8x6xf32>) -> tensor<4x?x6xf32>
  %1 = aten.call "aten.matmul.default"(%x, %one) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<2x4x3x8xf32>, tensor<1x8x6xf32>) -> tensor<2x4x3x6xf32>
  %2 = aten.call "aten.matmul.default"(%any, %w) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x3x8xf32>, tensor<4x8x6xf32>) -> tensor<4x3x6xf32>
  %3 = aten.call "aten.matmul.default"(%x, %a) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<2x4x3x8xf32>, tensor<4x8x6xf32>) -> tensor<2x4x3x6xf32>
  %4 = aten.call "aten.bmm.default"(%d, %wd) {self = #aten.arg<0>, mat2 = #aten.arg<1>} : (tensor<4x3x8xf64>, tensor<4x8x6xf64>) -> tensor<4x3x6xf64>
  return %0, %1, %2, %3, %4 : tensor<4x?x6xf32>, tensor<2x4x3x6xf32>, tensor<4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<4x3x6xf64>
}

// CHECK-LABEL: func.func @half(
// CHECK:         nn.batch_linear {{.*}} -> tensor<?x4x6xf16>
func.func @half(%x: tensor<4x?x8xf16>) -> tensor<4x?x6xf16> {
  %w = moe.parameter ["w"] : tensor<4x8x6xf16>
  %0 = aten.call "aten.matmul.default"(%x, %w) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<4x?x8xf16>, tensor<4x8x6xf16>) -> tensor<4x?x6xf16>
  return %0 : tensor<4x?x6xf16>
}
