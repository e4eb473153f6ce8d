// RUN: moe-opt %s --raise-aten-to-graph --canonicalize --cse | FileCheck %s
// RUN: moe-opt %s --raise-aten-to-graph -o %t && moe-opt %t --raise-aten-to-graph | diff %t -

// The dynamic sizes are named by the arguments, so that each dimension finds its place.
// CHECK-LABEL: func.func @heads(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x?x12xf32>
// CHECK-DAG:     %[[B:.*]] = tensor.dim %[[X]], %c0
// CHECK-DAG:     %[[S:.*]] = tensor.dim %[[X]], %c1
// CHECK:         %[[Y:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0], [1], [2, 3]] output_shape [%[[B]], %[[S]], 3, 4] : tensor<?x?x12xf32> into tensor<?x?x3x4xf32>
// CHECK:         tensor.collapse_shape %[[X]] {{\[\[}}0, 1], [2]] : tensor<?x?x12xf32> into tensor<?x12xf32>
func.func @heads(%x: tensor<?x?x12xf32> {moe.dims = ["batch", "seq", ""]}, %c: tensor<?x4xf32> {moe.dims = ["batch", ""]}) -> (tensor<?x?x3x4xf32>, tensor<?x12xf32>) {
  %b = aten.call "aten.sym_size.int"(%c) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<?x4xf32>) -> i64
  %s = aten.call "aten.sym_size.int"(%x) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<?x?x12xf32>) -> i64
  %0 = aten.call "aten.view.default"(%x, %b, %s) {self = #aten.arg<0>, size = [#aten.arg<1>, #aten.arg<2>, -1, 4]} : (tensor<?x?x12xf32>, i64, i64) -> tensor<?x?x3x4xf32>
  %1 = aten.call "aten.reshape.default"(%x) {self = #aten.arg<0>, shape = [-1, 12]} : (tensor<?x?x12xf32>) -> tensor<?x12xf32>
  return %0, %1 : tensor<?x?x3x4xf32>, tensor<?x12xf32>
}

// A reshape to the same sizes is nothing; one that exchanges two dynamic sizes is not.
// CHECK-LABEL: func.func @same(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x?xf32>
// CHECK:         tensor.collapse_shape %[[X]] {{\[\[}}0, 1]]
// CHECK:         %[[Z:.*]] = tensor.expand_shape
// CHECK:         return %[[X]], %[[Z]]
func.func @same(%x: tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %a = aten.call "aten.sym_size.int"(%x) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<?x?xf32>) -> i64
  %b = aten.call "aten.sym_size.int"(%x) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<?x?xf32>) -> i64
  %0 = aten.call "aten.view.default"(%x, %a, %b) {self = #aten.arg<0>, size = [#aten.arg<1>, #aten.arg<2>]} : (tensor<?x?xf32>, i64, i64) -> tensor<?x?xf32>
  %1 = aten.call "aten.view.default"(%x, %a, %b) {self = #aten.arg<0>, size = [#aten.arg<2>, #aten.arg<1>]} : (tensor<?x?xf32>, i64, i64) -> tensor<?x?xf32>
  return %0, %1 : tensor<?x?xf32>, tensor<?x?xf32>
}

// Sizes that nothing is known of stay a call.
// CHECK-LABEL: func.func @unknown(
// CHECK:         aten.call "aten.view.default"
func.func @unknown(%x: tensor<?xf32>, %n: i64) -> tensor<?x?xf32> {
  %0 = aten.call "aten.view.default"(%x, %n) {self = #aten.arg<0>, size = [#aten.arg<1>, -1]} : (tensor<?xf32>, i64) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// Two negative sizes have the right product, and would crash canonicalization as those of an expand_shape.
// CHECK-LABEL: func.func @negative(
// CHECK:         aten.call "aten.view.default"
func.func @negative(%x: tensor<2x64xf32>) -> tensor<?x?xf32> {
  %d = aten.call "aten.sym_size.int"(%x) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<2x64xf32>) -> i64
  %n = aten.call "_operator.sub"(%d) {a = #aten.arg<0>, b = 3 : i64} : (i64) -> i64
  %0 = aten.call "aten.view.default"(%x, %n) {self = #aten.arg<0>, size = [-1, #aten.arg<1>]} : (tensor<2x64xf32>, i64) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
