// RUN: moe-opt %s --graph-decide --convert-graph-to-kernel --split-input-file | FileCheck %s

// Reshapes are views; a result that is an argument leaves in a buffer of its own.
// CHECK-LABEL: func.func @views
// CHECK-SAME: %[[X:.*]]: memref<?x8x4xf32>
// CHECK: %[[FLAT:.*]] = memref.collapse_shape %[[X]] {{\[\[}}0, 1], [2]]
// CHECK: %[[OUT:.*]] = memref.alloc
// CHECK: kernel.launch @copy_d_f32
// CHECK: return %[[OUT]]
func.func @views(%x: tensor<?x8x4xf32>) -> tensor<?x4xf32> {
  %y = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x8x4xf32> into tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

// The last position of each sequence.
// CHECK-LABEL: func.func @last
// CHECK: %[[LAST:.*]] = arith.subi
// CHECK: kernel.launch @copy_16_f32(%{{.*}}, %{{.*}}, %{{.*}}, %[[LAST]])
// CHECK: kernel.func @copy_16_f32(%[[FROM:.*]]: memref<?x?x16xf32>, %[[TO:.*]]: memref<?x16xf32>, %{{.*}}: index, %[[AT:.*]]: index)
// CHECK: memref.load %[[FROM]][%{{.*}}, %[[AT]], %{{.*}}]
func.func @last(%x: tensor<?x?x16xf32>) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x16xf32>
  %s = tensor.dim %x, %c1 : tensor<?x?x16xf32>
  %last = arith.subi %s, %c1 : index
  %y = tensor.extract_slice %x[0, %last, 0] [%b, 1, 16] [1, 1, 1] : tensor<?x?x16xf32> to tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// -----

// CHECK-LABEL: func.func @concat
// CHECK: %[[OUT:.*]] = memref.alloc() : memref<2x10xf32>
// CHECK: kernel.launch @copy_2x10_f32(
// CHECK: kernel.launch @copy_2x10_f32_v2(
// CHECK: kernel.func @copy_2x10_f32_v2
// CHECK: %[[SHIFTED:.*]] = arith.addi %{{.*}}, %c4
// CHECK: memref.store %{{.*}}, %{{.*}}[%{{.*}}, %[[SHIFTED]]]
func.func @concat(%a: tensor<2x4xf32>, %b: tensor<2x6xf32>) -> tensor<2x10xf32> {
  %y = tensor.concat dim(1) %a, %b : (tensor<2x4xf32>, tensor<2x6xf32>) -> tensor<2x10xf32>
  return %y : tensor<2x10xf32>
}

// -----

// CHECK: memref.global "private" constant @constant_3_f32 : memref<3xf32> = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]>
// CHECK-LABEL: func.func @constant
// CHECK: memref.get_global @constant_3_f32
func.func @constant() -> tensor<3xf32> {
  %c = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  return %c : tensor<3xf32>
}
