// RUN: moe-opt %s --convert-aten-to-linalg --split-input-file | FileCheck %s

// A truth value is no signed number of one bit, of which true would be the least, and two of them would make false.
// CHECK-LABEL: func.func @sum
// CHECK: arith.muli
// CHECK: arith.ori
// CHECK-NOT: arith.addi
func.func @sum(%x: tensor<4xi1>, %y: tensor<4xi1>) -> tensor<4xi1> {
  %0 = aten.call "aten.add.Tensor"(%x, %y) {self = #aten.arg<0>, other = #aten.arg<1>, alpha = 2 : i64} : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

// CHECK-LABEL: func.func @extrema
// CHECK: arith.ori
// CHECK: arith.andi
func.func @extrema(%x: tensor<4xi1>, %y: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>) {
  %0 = aten.call "aten.maximum.default"(%x, %y) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %1 = aten.call "aten.minimum.default"(%x, %y) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return %0, %1 : tensor<4xi1>, tensor<4xi1>
}

// -----

// CHECK-LABEL: func.func @reduced
// CHECK: %[[FALSE:.*]] = arith.constant false
// CHECK: linalg.fill ins(%[[FALSE]] : i1)
// CHECK: arith.ori
// CHECK: arith.ori
func.func @reduced(%x: tensor<4xi1>, %y: tensor<4xi64>) -> (tensor<i1>, tensor<i1>) {
  %0 = aten.call "aten.max.default"(%x) {self = #aten.arg<0>} : (tensor<4xi1>) -> tensor<i1>
  %1 = aten.call "aten.sum.default"(%y) {self = #aten.arg<0>, dtype = i1} : (tensor<4xi64>) -> tensor<i1>
  return %0, %1 : tensor<i1>, tensor<i1>
}

// -----

// CHECK-LABEL: func.func @index_add
// CHECK: arith.ori
func.func @index_add(%x: tensor<4x2xi1>, %i: tensor<3xi64>, %s: tensor<3x2xi1>) -> tensor<4x2xi1> {
  %0 = aten.call "aten.index_add.default"(%x, %i, %s) {self = #aten.arg<0>, dim = 0 : i64, index = #aten.arg<1>, source = #aten.arg<2>}
      : (tensor<4x2xi1>, tensor<3xi64>, tensor<3x2xi1>) -> tensor<4x2xi1>
  return %0 : tensor<4x2xi1>
}
