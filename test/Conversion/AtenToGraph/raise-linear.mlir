// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s
// RUN: sed 's/bf16/f16/g' %s | moe-opt --raise-aten-to-graph | sed 's/f16/bf16/g' | FileCheck %s
// RUN: moe-opt %s --raise-aten-to-graph --raise-aten-to-graph | FileCheck %s

// CHECK-LABEL: func.func @linear(
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: tensor<?x8xf32>, %[[W:[a-z0-9_]+]]: tensor<4x8xf32>, %[[B:[a-z0-9_]+]]: tensor<4xf32>
// CHECK:         nn.linear %[[X]], %[[W]] bias(%[[B]])
func.func @linear(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) -> tensor<?x4xf32> {
  %0 = aten.call "aten.linear.default"(%x, %w, %b) {input = #aten.arg<0>, weight = #aten.arg<1>, bias = #aten.arg<2>} : (tensor<?x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @addmm(
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: tensor<?x8xf32>, %[[W:[a-z0-9_]+]]: tensor<4x8xf32>, %[[B:[a-z0-9_]+]]: tensor<4xf32>
// CHECK:         nn.linear %[[X]], %[[W]] bias(%[[B]])
func.func @addmm(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) -> tensor<?x4xf32> {
  %t = aten.call "aten.t.default"(%w) {self = #aten.arg<0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %0 = aten.call "aten.addmm.default"(%b, %x, %t) {self = #aten.arg<0>, mat1 = #aten.arg<1>, mat2 = #aten.arg<2>} : (tensor<4xf32>, tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// A parameter is transposed where it is loaded.
// CHECK-LABEL: func.func @matmul_parameter(
// CHECK:         %[[W:[a-z0-9_]+]] = moe.parameter ["w"] recipe [#moe.transpose<[1, 0]>] : tensor<4x8xf32>
// CHECK:         nn.linear %{{.*}}, %[[W]] :
func.func @matmul_parameter(%x: tensor<?x8xf32>) -> tensor<?x4xf32> {
  %w = moe.parameter ["w"] : tensor<8x4xf32>
  %0 = aten.call "aten.matmul.default"(%x, %w) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @embedding(
// CHECK-SAME:    %[[I:[a-z0-9_]+]]: tensor<?x?xi64>, %[[T:[a-z0-9_]+]]: tensor<16x8xbf16>
// CHECK:         nn.embedding %[[I]], %[[T]]
func.func @embedding(%i: tensor<?x?xi64>, %t: tensor<16x8xbf16>) -> tensor<?x?x8xbf16> {
  %0 = aten.call "aten.embedding.default"(%t, %i) {weight = #aten.arg<0>, indices = #aten.arg<1>} : (tensor<16x8xbf16>, tensor<?x?xi64>) -> tensor<?x?x8xbf16>
  return %0 : tensor<?x?x8xbf16>
}

// f64 is not raised, nor a product of two activations.
// CHECK-LABEL: func.func @not_raised(
// CHECK-NOT:     nn.linear
func.func @not_raised(%x: tensor<?x8xf64>, %w: tensor<4x8xf64>, %a: tensor<2x8xf32>, %b: tensor<8x2xf32>) -> (tensor<?x4xf64>, tensor<2x2xf32>) {
  %0 = aten.call "aten.linear.default"(%x, %w) {input = #aten.arg<0>, weight = #aten.arg<1>} : (tensor<?x8xf64>, tensor<4x8xf64>) -> tensor<?x4xf64>
  %1 = aten.call "aten.matmul.default"(%a, %b) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<2x8xf32>, tensor<8x2xf32>) -> tensor<2x2xf32>
  return %0, %1 : tensor<?x4xf64>, tensor<2x2xf32>
}
