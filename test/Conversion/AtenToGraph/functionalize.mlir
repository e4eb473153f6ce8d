// RUN: moe-opt %s --split-input-file --aten-functionalize | FileCheck %s
// RUN: moe-opt %s --split-input-file --aten-functionalize --aten-functionalize | FileCheck %s

// What the function makes of an input is a further result; nobody has named either here.
// CHECK-LABEL: func.func @argument(
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
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

// The result has the input's name and sizes, or a name beside it that no other result has. State stays state.
// CHECK-LABEL: func.func @named(
// CHECK-SAME:    %[[X:.*]]: tensor<?xf32> {moe.dims = ["n"], moe.name = "x"}, %[[Y:.*]]: tensor<4xf32> {moe.name = "y"},
// CHECK-SAME:    %[[S:.*]]: tensor<4xf32> {moe.name = "s", moe.state})
// CHECK-SAME:    -> (tensor<4xf32> {moe.name = "y"}, tensor<4xf32> {moe.name = "y_1"}, tensor<?xf32> {moe.dims = ["n"], moe.name = "x"},
// CHECK-SAME:        tensor<4xf32> {moe.name = "y_2"}, tensor<4xf32> {moe.state_of = 2 : i64})
// CHECK:         %[[NEWX:.*]] = aten.call "aten.add.Scalar"(%[[X]])
// CHECK:         %[[NEWY:.*]] = aten.call "aten.add.Scalar"(%[[Y]])
// CHECK:         %[[NEWS:.*]] = aten.call "aten.add.Scalar"(%[[S]])
// CHECK:         return %{{.*}}, %[[NEWS]], %[[NEWX]], %[[NEWY]], %[[NEWS]] :
func.func @named(%x: tensor<?xf32> {moe.dims = ["n"], moe.name = "x"}, %y: tensor<4xf32> {moe.name = "y"},
                 %s: tensor<4xf32> {moe.name = "s", moe.state})
    -> (tensor<4xf32> {moe.name = "y"}, tensor<4xf32> {moe.name = "y_1"}) attributes {aten.mutable} {
  %old = aten.call "aten.alias.default"(%s) {self = #aten.arg<0>} : (tensor<4xf32>) -> tensor<4xf32>
  %0 = aten.call "aten.add_.Scalar"(%x) {self = #aten.arg<0>, other = 1 : i64} : (tensor<?xf32>) -> tensor<?xf32>
  %1 = aten.call "aten.add_.Scalar"(%y) {self = #aten.arg<0>, other = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.call "aten.add_.Scalar"(%s) {self = #aten.arg<0>, other = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %old, %s : tensor<4xf32>, tensor<4xf32>
}

// -----

// Buffers, parameters and constants that are written become states. One that does not start as zeros is the archive's
// until the program has started; -0.0 is not zero.
// CHECK-LABEL: func.func @stored(
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32>,
// CHECK-SAME:    %[[BIAS:[a-z0-9]+]]: tensor<4xf32> {moe.name = "bias", moe.state},
// CHECK-SAME:    %[[STARTED:[a-z0-9]+]]: tensor<i1> {moe.name = "started", moe.state},
// CHECK-SAME:    %[[CACHE:[a-z0-9]+]]: tensor<4xf32> {moe.name = "cache", moe.state},
// CHECK-SAME:    %[[STEP:[a-z0-9]+]]: tensor<i64> {moe.name = "step", moe.state},
// CHECK-SAME:    %[[MINUS:[a-z0-9]+]]: tensor<f32> {moe.name = "minus", moe.state})
// CHECK-SAME:    -> (tensor<4xf32>, tensor<4xf32>, tensor<i1> {moe.state_of = 2 : i64}, tensor<4xf32> {moe.state_of = 1 : i64},
// CHECK-SAME:        tensor<4xf32> {moe.state_of = 3 : i64}, tensor<i64> {moe.state_of = 4 : i64}, tensor<f32> {moe.state_of = 5 : i64})
// CHECK-NOT:     moe.initial
// CHECK:         %[[GIVEN:.*]] = moe.parameter ["bias"] : tensor<4xf32>
// CHECK-NEXT:    %[[OLD:.*]] = aten.call "aten.where.self"(%[[STARTED]], %[[BIAS]], %[[GIVEN]])
// CHECK-SAME:      {condition = #aten.arg<0>, other = #aten.arg<2>, self = #aten.arg<1>}
// CHECK:         %[[KEPT:.*]] = moe.parameter ["kept"] : tensor<4xf32>
// CHECK-NEXT:    %[[ZERO:.*]] = arith.constant dense<-0.000000e+00>
// CHECK-NEXT:    %[[OLDER:.*]] = aten.call "aten.where.self"(%[[STARTED]], %[[MINUS]], %[[ZERO]])
// CHECK-NEXT:    aten.call "aten.neg.default"(%[[OLD]])
// CHECK:         %[[NEW:.*]] = aten.call "aten.add.Tensor"(%[[OLD]], %[[KEPT]])
// CHECK:         aten.call "aten.add.Scalar"(%[[OLDER]])
// CHECK:         %[[TRUE:.*]] = arith.constant dense<true> : tensor<i1>
// CHECK:         return %[[X]], %{{.*}}, %[[TRUE]], %[[NEW]],
func.func @stored(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {aten.mutable} {
  %cache = moe.parameter ["cache"] {moe.initial = "zero"} : tensor<4xf32>
  %bias = moe.parameter ["bias"] {moe.initial = "given"} : tensor<4xf32>
  %kept = moe.parameter ["kept"] {moe.initial = "zero"} : tensor<4xf32>
  %step = arith.constant {moe.key = "step"} dense<0> : tensor<i64>
  %minus = arith.constant {moe.key = "minus"} dense<-0.0> : tensor<f32>
  %before = aten.call "aten.neg.default"(%bias) {self = #aten.arg<0>} : (tensor<4xf32>) -> tensor<4xf32>
  %0 = aten.call "aten.copy_.default"(%cache, %x) {self = #aten.arg<0>, src = #aten.arg<1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.call "aten.add_.Tensor"(%bias, %kept) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.call "aten.add_.Scalar"(%step) {self = #aten.arg<0>, other = 1 : i64} : (tensor<i64>) -> tensor<i64>
  %3 = aten.call "aten.add_.Scalar"(%minus) {self = #aten.arg<0>, other = 1 : i64} : (tensor<f32>) -> tensor<f32>
  return %x, %before : tensor<4xf32>, tensor<4xf32>
}

// Views by other names: a constant range, and an equation that only moves dimensions. What is not known to be there stays.
// CHECK-LABEL: func.func @renamed_views(
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32>, %[[D:.*]]: tensor<?x8xf32>)
// CHECK:         %[[V:.*]] = aten.call "aten.slice.Tensor"(%{{.*}}) {dim = 1 : i64, end = 7 : i64, self = #aten.arg<0>, start = 5 : i64}
// CHECK:         aten.call "aten.slice_scatter.default"
// CHECK:         aten.call "aten.permute.default"(%{{.*}}) {dims = [1, 0]
// CHECK:         aten.call "aten.slice.Tensor"(%[[D]]) {dim = 0 : i64, end = 3 : i64, self = #aten.arg<0>, start = 1 : i64}
// CHECK:         aten.call "aten.narrow.default"(%[[D]]) {dim = 0 : i64, length = 2 : i64, self = #aten.arg<0>, start = -2 : i64}
func.func @renamed_views(%x: tensor<4x8xf32>, %d: tensor<?x8xf32>) -> (tensor<8x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>) attributes {aten.mutable} {
  %c = aten.call "aten.clone.default"(%x) {self = #aten.arg<0>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = aten.call "aten.narrow.default"(%c) {self = #aten.arg<0>, dim = -1 : i64, start = -3 : i64, length = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x2xf32>
  %1 = aten.call "aten.neg_.default"(%0) {self = #aten.arg<0>} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %2 = aten.call "aten.einsum.default"(%c) {equation = "ij->ji", tensors = [#aten.arg<0>]} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %3 = aten.call "aten.narrow.default"(%d) {self = #aten.arg<0>, dim = 0 : i64, start = 1 : i64, length = 2 : i64} : (tensor<?x8xf32>) -> tensor<2x8xf32>
  %4 = aten.call "aten.narrow.default"(%d) {self = #aten.arg<0>, dim = 0 : i64, start = -2 : i64, length = 2 : i64} : (tensor<?x8xf32>) -> tensor<2x8xf32>
  return %2, %3, %4 : tensor<8x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>
}
