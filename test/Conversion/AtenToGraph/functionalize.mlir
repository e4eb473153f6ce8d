// RUN: moe-opt %s --split-input-file --aten-functionalize | FileCheck %s
// RUN: moe-opt %s --split-input-file --aten-functionalize --aten-functionalize | FileCheck %s

// A changed argument is state; its last value is a result.
// CHECK-LABEL: func.func @argument(
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32> {moe.state_of = 0 : i64}) {
// CHECK-NEXT:    %[[A:.*]] = aten.call "aten.add.Scalar"(%[[X]])
// CHECK-NEXT:    %[[N:.*]] = aten.call "aten.neg.default"(%[[A]])
// CHECK-NEXT:    return %[[N]], %[[A]]
func.func @argument(%x: tensor<4xf32>) -> tensor<4xf32> attributes {aten.mutable} {
  %0 = aten.call "aten.add_.Scalar"(%x) {self = #aten.arg<0>, other = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.call "aten.neg.default"(%x) {self = #aten.arg<0>} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Writes through a view reach the base and other views of it.
// CHECK-LABEL: func.func @views(
// CHECK-SAME:    %[[X:.*]]: tensor<2x4xf32>)
// CHECK:         %[[C:.*]] = aten.call "aten.clone.default"(%[[X]])
// CHECK:         %[[S:.*]] = aten.call "aten.select.int"(%[[C]])
// CHECK:         %[[A:.*]] = aten.call "aten.add.Scalar"(%[[S]])
// CHECK:         %[[B:.*]] = aten.call "aten.select_scatter.default"(%[[C]], %[[A]]) {dim = 0 : i64, index = 1 : i64, self = #aten.arg<0>, src = #aten.arg<1>}
// CHECK:         %[[T:.*]] = aten.call "aten.transpose.int"(%[[B]])
// CHECK:         return %[[B]], %[[T]]
func.func @views(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>) attributes {aten.mutable} {
  %0 = aten.call "aten.clone.default"(%x) {self = #aten.arg<0>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = aten.call "aten.transpose.int"(%0) {self = #aten.arg<0>, dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %2 = aten.call "aten.select.int"(%0) {self = #aten.arg<0>, dim = 0 : i64, index = 1 : i64} : (tensor<2x4xf32>) -> tensor<4xf32>
  %3 = aten.call "aten.add_.Scalar"(%2) {self = #aten.arg<0>, other = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<4x2xf32>
}

// -----

// A value that was computed before a write keeps its elements.
// CHECK-LABEL: func.func @before(
// CHECK:         %[[N:.*]] = aten.call "aten.neg.default"
// CHECK:         aten.call "aten.mul.Tensor"
// CHECK:         return %[[N]],
func.func @before(%x: tensor<4xf32>) -> tensor<4xf32> attributes {aten.mutable} {
  %0 = aten.call "aten.neg.default"(%x) {self = #aten.arg<0>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.call "aten.mul_.Tensor"(%x, %x) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Buffers and constants that are written become arguments; those that start as zeros belong to the executable.
// CHECK-LABEL: func.func @stored(
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32>,
// CHECK-SAME:    %[[CACHE:.*]]: tensor<4xf32> {moe.name = "cache", moe.state},
// CHECK-SAME:    %[[BIAS:.*]]: tensor<4xf32> {moe.name = "bias"},
// CHECK-SAME:    %[[STEP:.*]]: tensor<i64> {moe.name = "step", moe.state})
// CHECK-SAME:    -> (tensor<4xf32>, tensor<4xf32> {moe.state_of = 1 : i64}, tensor<4xf32> {moe.state_of = 2 : i64}, tensor<i64> {moe.state_of = 3 : i64})
// CHECK:         moe.parameter ["kept"] : tensor<4xf32>
func.func @stored(%x: tensor<4xf32>) -> tensor<4xf32> attributes {aten.mutable} {
  %cache = moe.parameter ["cache"] {moe.initial = "zero"} : tensor<4xf32>
  %bias = moe.parameter ["bias"] {moe.initial = "given"} : tensor<4xf32>
  %kept = moe.parameter ["kept"] {moe.initial = "zero"} : tensor<4xf32>
  %step = arith.constant {moe.key = "step"} dense<0> : tensor<i64>
  %0 = aten.call "aten.copy_.default"(%cache, %x) {self = #aten.arg<0>, src = #aten.arg<1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.call "aten.add_.Tensor"(%bias, %kept) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.call "aten.add_.Scalar"(%step) {self = #aten.arg<0>, other = 1 : i64} : (tensor<i64>) -> tensor<i64>
  return %x : tensor<4xf32>
}
