// What CheckChoices.cpp asks before a choice among elements whose number is not known.
// RUN: moe-opt %s --aten-check-indices | FileCheck %s
// RUN: moe-opt %s --aten-check-indices --convert-aten-to-linalg | FileCheck %s --check-prefix=LINALG

// LINALG-NOT: aten.call

// CHECK-LABEL: func.func @choices(
// CHECK:         cf.assert %{{.*}}, "there are fewer elements in dimension 0 than are to be chosen (aten.topk.default at
// CHECK:         aten.call "aten.topk.default"
// CHECK:         cf.assert %{{.*}}, "dimension 0 has no element to choose (aten.amax.default at
// CHECK-NEXT:    aten.call "aten.amax.default"
// CHECK-NOT:     cf.assert
// CHECK:         aten.call "aten.amax.default"
// CHECK:         cf.assert %{{.*}}, "dimension 0 has no element to choose (aten.argmax.default at
// CHECK-NEXT:    aten.call "aten.argmax.default"
func.func @choices(%x: tensor<?x8xf32>) -> (tensor<3x8xf32>, tensor<8xf32>, tensor<?xf32>, tensor<8xi64>) {
  %t:2 = aten.call "aten.topk.default"(%x) {self = #aten.arg<0>, k = 3 : i64, dim = 0 : i64} : (tensor<?x8xf32>) -> (tensor<3x8xf32>, tensor<3x8xi64>)
  %0 = aten.call "aten.amax.default"(%x) {self = #aten.arg<0>, dim = [-2]} : (tensor<?x8xf32>) -> tensor<8xf32>
  %1 = aten.call "aten.amax.default"(%x) {self = #aten.arg<0>, dim = [1]} : (tensor<?x8xf32>) -> tensor<?xf32>
  %2 = aten.call "aten.argmax.default"(%x) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<?x8xf32>) -> tensor<8xi64>
  return %t#0, %0, %1, %2 : tensor<3x8xf32>, tensor<8xf32>, tensor<?xf32>, tensor<8xi64>
}

// Of a size that the type says, tracing has made sure; the maximum of two tensors chooses among two numbers.
// CHECK-LABEL: func.func @none_to_ask(
// CHECK-NOT:     cf.assert
// CHECK:         return
func.func @none_to_ask(%x: tensor<?x8xf32>) -> (tensor<?x3xf32>, tensor<?xf32>, tensor<?x8xf32>) {
  %t:2 = aten.call "aten.topk.default"(%x) {self = #aten.arg<0>, k = 3 : i64} : (tensor<?x8xf32>) -> (tensor<?x3xf32>, tensor<?x3xi64>)
  %0 = aten.call "aten.amax.default"(%x) {self = #aten.arg<0>, dim = [1]} : (tensor<?x8xf32>) -> tensor<?xf32>
  %1 = aten.call "aten.maximum.default"(%x, %x) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %t#0, %0, %1 : tensor<?x3xf32>, tensor<?xf32>, tensor<?x8xf32>
}
