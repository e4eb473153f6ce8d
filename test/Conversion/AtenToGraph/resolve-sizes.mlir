// RUN: moe-opt %s --resolve-graph-sizes --canonicalize --cse | FileCheck %s
// RUN: moe-opt %s --resolve-graph-sizes --canonicalize --cse -o %t && moe-opt %t --resolve-graph-sizes --canonicalize --cse | diff %t -

// CHECK-LABEL: func.func @sizes(
// CHECK-SAME:    %[[I:[a-z0-9]+]]: tensor<?x?xi64>
// CHECK-DAG:     %[[B:.*]] = tensor.dim %[[I]], %c0
// CHECK-DAG:     %[[S:.*]] = tensor.dim %[[I]], %c1
// CHECK-DAG:     %[[T:.*]] = arith.muli %[[B]], %[[S]]
// CHECK:         return %[[B]], %[[S]], %[[T]], %[[B]]
func.func @sizes(%ids: tensor<?x?xi64> {moe.dims = ["batch", "seq"]}, %table: tensor<16x8xf32>, %w: tensor<8xf32>,
                 %cache: tensor<?x4xf32> {moe.dims = ["batch", ""]}) -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %h = nn.embedding %ids, %table : tensor<?x?xi64>, tensor<16x8xf32> -> tensor<?x?x8xf32>
  %n = nn.rms_norm %h, %w eps(1.0e-05) : tensor<?x?x8xf32>, tensor<8xf32>
  %f = tensor.collapse_shape %n [[0, 1], [2]] : tensor<?x?x8xf32> into tensor<?x8xf32>
  %b = tensor.dim %n, %c0 : tensor<?x?x8xf32>
  %s = tensor.dim %n, %c1 : tensor<?x?x8xf32>
  %t = tensor.dim %f, %c0 : tensor<?x8xf32>
  %d = tensor.dim %cache, %c0 : tensor<?x4xf32>
  return %b, %s, %t, %d : index, index, index, index
}
