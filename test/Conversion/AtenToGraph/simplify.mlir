// RUN: moe-opt %s --aten-simplify | FileCheck %s
// RUN: moe-opt %s --aten-simplify -o %t && moe-opt %t --aten-simplify | diff %t -

// CHECK-LABEL: func.func @nothing(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x4xf32>
// CHECK-NEXT:    return %[[X]]
func.func @nothing(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  aten.call "aten._assert_tensor_metadata.default"(%x) {a = #aten.arg<0>, dtype = f32} : (tensor<?x4xf32>) -> ()
  %0 = aten.call "aten.to.dtype"(%x) {self = #aten.arg<0>, dtype = f32} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = aten.call "aten.slice.Tensor"(%0) {self = #aten.arg<0>, dim = 0 : i64, start = 0 : i64, end = 9223372036854775807 : i64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %2 = aten.call "aten.mul.Tensor"(%1) {self = #aten.arg<0>, other = 1.0 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %3 = aten.call "aten.transpose.int"(%2) {self = #aten.arg<0>, dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<?x4xf32>) -> tensor<4x?xf32>
  %4 = aten.call "aten.transpose.int"(%3) {self = #aten.arg<0>, dim0 = -1 : i64, dim1 = 0 : i64} : (tensor<4x?xf32>) -> tensor<?x4xf32>
  %5 = aten.call "aten.dropout.default"(%4) {input = #aten.arg<0>, p = 0.5 : f64, train = false} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %5 : tensor<?x4xf32>
}

// Each of these does something: it rounds, cuts, drops, or turns -0.0 into 0.0.
// CHECK-LABEL: func.func @something(
// CHECK:         aten.to.dtype
// CHECK:         aten.slice.Tensor
// CHECK:         aten.dropout.default
// CHECK:         aten.add.Scalar
func.func @something(%x: tensor<?x4xf32>) -> (tensor<?x4xbf16>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  %0 = aten.call "aten.to.dtype"(%x) {self = #aten.arg<0>, dtype = bf16} : (tensor<?x4xf32>) -> tensor<?x4xbf16>
  %1 = aten.call "aten.slice.Tensor"(%x) {self = #aten.arg<0>, dim = 0 : i64, start = 1 : i64, end = 9223372036854775807 : i64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %2 = aten.call "aten.dropout.default"(%x) {input = #aten.arg<0>, p = 0.5 : f64, train = true} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %3 = aten.call "aten.add.Scalar"(%x) {self = #aten.arg<0>, other = 0.0 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %0, %1, %2, %3 : tensor<?x4xbf16>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

// CHECK-LABEL: func.func @copy(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x4xbf16>, %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT:    %[[C:.*]] = aten.call "aten.to.dtype"(%[[Y]]) {dtype = bf16, self = #aten.arg<0>}
// CHECK-NEXT:    %[[E:.*]] = aten.call "aten.expand_as.default"(%[[C]], %[[X]])
// CHECK-NEXT:    return %[[E]]
func.func @copy(%x: tensor<2x4xbf16>, %y: tensor<4xf32>) -> tensor<2x4xbf16> {
  %0 = aten.call "aten.copy.default"(%x, %y) {self = #aten.arg<0>, src = #aten.arg<1>} : (tensor<2x4xbf16>, tensor<4xf32>) -> tensor<2x4xbf16>
  return %0 : tensor<2x4xbf16>
}

// Nothing has to be computed where there is no element.
// CHECK-LABEL: func.func @empty(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x12xf32>
// CHECK-NOT:     aten.call
// CHECK-DAG:     %[[N:.*]] = tensor.dim %[[X]], %{{.*}}
// CHECK-DAG:     %[[PART:.*]] = tensor.empty(%[[N]]) : tensor<?x0xf32>
// CHECK-DAG:     %[[TABLE:.*]] = tensor.empty() : tensor<0x5xf32>
// CHECK:         return %[[PART]], %[[TABLE]]
func.func @empty(%x: tensor<?x12xf32>) -> (tensor<?x0xf32>, tensor<0x5xf32>) {
  %0 = aten.call "aten.slice.Tensor"(%x) {self = #aten.arg<0>, dim = 1 : i64, start = 12 : i64, end = 9223372036854775807 : i64} : (tensor<?x12xf32>) -> tensor<?x0xf32>
  %1 = aten.call "aten.exp.default"(%0) {self = #aten.arg<0>} : (tensor<?x0xf32>) -> tensor<?x0xf32>
  %2 = aten.call "aten.anything.default"() {} : () -> tensor<0x5xf32>
  return %1, %2 : tensor<?x0xf32>, tensor<0x5xf32>
}

// A slice that starts where a number says is not the whole.
// CHECK-LABEL: func.func @from_a_number(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x4xf32>
// CHECK:         %[[PART:.*]] = aten.call "aten.slice.Tensor"
// CHECK:         aten.call "aten.sym_size.int"(%[[PART]])
func.func @from_a_number(%x: tensor<?x4xf32>, %n: i64) -> i64 {
  %0 = aten.call "aten.slice.Tensor"(%x, %n) {self = #aten.arg<0>, dim = 0 : i64, start = #aten.arg<1>, end = 9223372036854775807 : i64} : (tensor<?x4xf32>, i64) -> tensor<?x4xf32>
  %1 = aten.call "aten.sym_size.int"(%0) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<?x4xf32>) -> i64
  return %1 : i64
}

// Of no classes every value is outside, and a range of nothing may lie outside: the calls stay, for who checks them.
// CHECK-LABEL: func.func @empty_but_checked(
// CHECK:         aten.call "aten.one_hot.default"
// CHECK:         aten.call "aten.narrow.default"
func.func @empty_but_checked(%i: tensor<4xi64>, %s: i64) -> (tensor<4x0xi64>, tensor<0xi64>) {
  %0 = aten.call "aten.one_hot.default"(%i) {self = #aten.arg<0>, num_classes = 0 : i64} : (tensor<4xi64>) -> tensor<4x0xi64>
  %1 = aten.call "aten.narrow.default"(%i, %s) {self = #aten.arg<0>, dim = 0 : i64, start = #aten.arg<1>, length = 0 : i64} : (tensor<4xi64>, i64) -> tensor<0xi64>
  return %0, %1 : tensor<4x0xi64>, tensor<0xi64>
}
