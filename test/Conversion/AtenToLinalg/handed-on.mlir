// RUN: moe-opt %s --convert-aten-to-linalg | FileCheck %s

// A call that hands its operand on is lowered to the result of another call; so may be the next one.

// CHECK-LABEL: func.func @chain(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x4xf32>
// CHECK:         %[[NEG:.*]] = linalg.generic
// CHECK:         tensor.dim %[[NEG]], %{{.*}}
// CHECK:         %[[EXP:.*]] = linalg.generic {{.*}} ins(%[[NEG]] : tensor<?x4xf32>)
// CHECK:         return %[[NEG]], %[[EXP]]
func.func @chain(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %0 = aten.call "aten.neg.default"(%x) {self = #aten.arg<0>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = aten.call "aten.detach.default"(%0) {self = #aten.arg<0>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %2 = aten.call "aten.contiguous.default"(%1) {self = #aten.arg<0>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %3 = aten.call "aten.exp.default"(%2) {self = #aten.arg<0>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %2, %3 : tensor<?x4xf32>, tensor<?x4xf32>
}
