// RUN: moe-opt %s --convert-aten-to-linalg --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @linear_of_integers
// CHECK: arith.muli
// CHECK: arith.addi
// CHECK: arith.addi %{{.*}} : i32
func.func @linear_of_integers(%x: tensor<?x8xi32>, %w: tensor<3x8xi32>, %b: tensor<3xi32>) -> tensor<?x3xi32> {
  %0 = aten.call "aten.linear.default"(%x, %w, %b) {input = #aten.arg<0>, weight = #aten.arg<1>, bias = #aten.arg<2>}
      : (tensor<?x8xi32>, tensor<3x8xi32>, tensor<3xi32>) -> tensor<?x3xi32>
  return %0 : tensor<?x3xi32>
}

// -----

// CHECK-LABEL: func.func @addmm_of_integers
// CHECK: arith.addi
// CHECK: arith.addi %{{.*}} : i8
func.func @addmm_of_integers(%b: tensor<3xi8>, %x: tensor<?x8xi8>, %w: tensor<8x3xi8>) -> tensor<?x3xi8> {
  %0 = aten.call "aten.addmm.default"(%b, %x, %w) {self = #aten.arg<0>, mat1 = #aten.arg<1>, mat2 = #aten.arg<2>}
      : (tensor<3xi8>, tensor<?x8xi8>, tensor<8x3xi8>) -> tensor<?x3xi8>
  return %0 : tensor<?x3xi8>
}

// -----

// The bias is added to the sum in f32, which is rounded once.
// CHECK-LABEL: func.func @linear_of_floats
// CHECK: arith.mulf %{{.*}} : f32
// CHECK: arith.addf %{{.*}} : f32
// CHECK: arith.addf %{{.*}} : f32
// CHECK-NEXT: arith.truncf %{{.*}} : f32 to bf16
func.func @linear_of_floats(%x: tensor<?x8xbf16>, %w: tensor<3x8xbf16>, %b: tensor<3xbf16>) -> tensor<?x3xbf16> {
  %0 = aten.call "aten.linear.default"(%x, %w, %b) {input = #aten.arg<0>, weight = #aten.arg<1>, bias = #aten.arg<2>}
      : (tensor<?x8xbf16>, tensor<3x8xbf16>, tensor<3xbf16>) -> tensor<?x3xbf16>
  return %0 : tensor<?x3xbf16>
}
