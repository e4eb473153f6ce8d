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

// Each dimension of a product comes from the operand that has it: the columns of rows times their own transpose are
// the rows, whatever they have in common.
// CHECK-LABEL: func.func @products(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x4xf32>
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<?x4xf32>
// CHECK-SAME:    %[[G:[a-z0-9]+]]: tensor<?x3x4xf32>
// CHECK-SAME:    %[[H:[a-z0-9]+]]: tensor<3x?x4xf32>
// CHECK-SAME:    %[[I:[a-z0-9]+]]: tensor<?xi64>
// CHECK-SAME:    %[[E:[a-z0-9]+]]: tensor<16x?xf32>
// CHECK-DAG:     %[[T:.*]] = tensor.dim %[[X]], %c0
// CHECK-DAG:     %[[N:.*]] = tensor.dim %[[W]], %c0
// CHECK-DAG:     %[[U:.*]] = tensor.dim %[[G]], %c0
// CHECK-DAG:     %[[M:.*]] = tensor.dim %[[H]], %c1
// CHECK-DAG:     %[[S:.*]] = tensor.dim %[[I]], %c0
// CHECK-DAG:     %[[D:.*]] = tensor.dim %[[E]], %c1
// CHECK:         return %[[T]], %[[T]], %[[T]], %[[N]], %[[U]], %[[M]], %[[S]], %[[D]]
func.func @products(%x: tensor<?x4xf32> {moe.dims = ["t", ""]}, %w: tensor<?x4xf32> {moe.dims = ["n", ""]},
                    %g: tensor<?x3x4xf32> {moe.dims = ["u", "", ""]}, %h: tensor<3x?x4xf32> {moe.dims = ["", "m", ""]},
                    %ids: tensor<?xi64> {moe.dims = ["s"]}, %table: tensor<16x?xf32> {moe.dims = ["", "d"]})
    -> (index, index, index, index, index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %own = nn.linear %x, %x : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x?xf32>
  %other = nn.linear %x, %w : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x?xf32>
  %groups = nn.batch_linear %g, %h : tensor<?x3x4xf32>, tensor<3x?x4xf32> -> tensor<?x3x?xf32>
  %e = nn.embedding %ids, %table : tensor<?xi64>, tensor<16x?xf32> -> tensor<?x?xf32>
  %a = tensor.dim %own, %c0 : tensor<?x?xf32>
  %b = tensor.dim %own, %c1 : tensor<?x?xf32>
  %c = tensor.dim %other, %c0 : tensor<?x?xf32>
  %d = tensor.dim %other, %c1 : tensor<?x?xf32>
  %f = tensor.dim %groups, %c0 : tensor<?x3x?xf32>
  %i = tensor.dim %groups, %c2 : tensor<?x3x?xf32>
  %j = tensor.dim %e, %c0 : tensor<?x?xf32>
  %k = tensor.dim %e, %c1 : tensor<?x?xf32>
  return %a, %b, %c, %d, %f, %i, %j, %k : index, index, index, index, index, index, index, index
}
