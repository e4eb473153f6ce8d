// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s
// RUN: sed 's/bf16/f16/g' %s | moe-opt --raise-aten-to-graph | sed 's/f16/bf16/g' | FileCheck %s
// RUN: moe-opt %s --raise-aten-to-graph -o %t && moe-opt %t --raise-aten-to-graph | diff %t -

// CHECK-LABEL: func.func @convolution(
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: tensor<?x8x?xbf16>, %[[W:[a-z0-9_]+]]: tensor<8x4xbf16>, %[[B:[a-z0-9_]+]]: tensor<8xbf16>
// CHECK:         nn.causal_conv %[[X]], %[[W]] bias(%[[B]] : tensor<8xbf16>) silu : tensor<?x8x?xbf16>, tensor<8x4xbf16> -> tensor<?x8x?xbf16>
// CHECK:         nn.causal_conv %[[X]], %[[W]] : tensor<?x8x?xbf16>, tensor<8x4xbf16> -> tensor<?x8x?xbf16>
func.func @convolution(%x: tensor<?x8x?xbf16>, %w: tensor<8x4xbf16>, %b: tensor<8xbf16>) -> (tensor<?x8x?xbf16>, tensor<?x8x?xbf16>) {
  %0 = aten.call "moe_mlir.causal_conv.default"(%x, %w, %b) {x = #aten.arg<0>, weight = #aten.arg<1>, bias = #aten.arg<2>, activation = "silu"} : (tensor<?x8x?xbf16>, tensor<8x4xbf16>, tensor<8xbf16>) -> tensor<?x8x?xbf16>
  %1 = aten.call "moe_mlir.causal_conv.default"(%x, %w) {x = #aten.arg<0>, weight = #aten.arg<1>, activation = ""} : (tensor<?x8x?xbf16>, tensor<8x4xbf16>) -> tensor<?x8x?xbf16>
  return %0, %1 : tensor<?x8x?xbf16>, tensor<?x8x?xbf16>
}

// CHECK-LABEL: func.func @scans(
// CHECK-SAME:    %[[Q:[a-z0-9_]+]]: tensor<?x?x2x8xbf16>, %[[V:[a-z0-9_]+]]: tensor<?x?x4x16xbf16>, %[[D:[a-z0-9_]+]]: tensor<?x?x4xf32>, %[[E:[a-z0-9_]+]]: tensor<?x?x4x16xf32>
// CHECK-SAME:    %[[R:[a-z0-9_]+]]: tensor<4x8x16xf32>, %[[B:[a-z0-9_]+]]: tensor<?x?x4xf32>, %[[H:[a-z0-9_]+]]: tensor<?x4x8x16xf32>
// CHECK:         %[[Y:.*]], %[[N:.*]] = nn.scan %[[Q]], %[[Q]], %[[V]] decay(%[[D]] : tensor<?x?x4xf32>) beta(%[[B]] : tensor<?x?x4xf32>) state(%[[H]] : tensor<?x4x8x16xf32>)
// CHECK:         %{{.*}}, %[[LAST:.*]] = nn.scan %[[Q]], %[[Q]], %[[V]] decay(%[[E]] : tensor<?x?x4x16xf32>) rates(%[[R]] : tensor<4x8x16xf32>) state(%[[N]] : tensor<?x4x8x16xf32>)
// CHECK:         return %[[Y]], %[[LAST]]
func.func @scans(%q: tensor<?x?x2x8xbf16>, %v: tensor<?x?x4x16xbf16>, %d: tensor<?x?x4xf32>, %e: tensor<?x?x4x16xf32>, %r: tensor<4x8x16xf32>, %b: tensor<?x?x4xf32>,
                 %h: tensor<?x4x8x16xf32>) -> (tensor<?x?x4x16xbf16>, tensor<?x4x8x16xf32>) {
  %0:2 = aten.call "moe_mlir.scan.default"(%q, %v, %d, %b, %h) {query = #aten.arg<0>, key = #aten.arg<0>, value = #aten.arg<1>, decay = #aten.arg<2>, beta = #aten.arg<3>, state = #aten.arg<4>}
      : (tensor<?x?x2x8xbf16>, tensor<?x?x4x16xbf16>, tensor<?x?x4xf32>, tensor<?x?x4xf32>, tensor<?x4x8x16xf32>) -> (tensor<?x?x4x16xbf16>, tensor<?x4x8x16xf32>)
  %1:2 = aten.call "moe_mlir.scan.default"(%q, %v, %e, %r, %0#1) {query = #aten.arg<0>, key = #aten.arg<0>, value = #aten.arg<1>, decay = #aten.arg<2>, rates = #aten.arg<3>, state = #aten.arg<4>}
      : (tensor<?x?x2x8xbf16>, tensor<?x?x4x16xbf16>, tensor<?x?x4x16xf32>, tensor<4x8x16xf32>, tensor<?x4x8x16xf32>) -> (tensor<?x?x4x16xbf16>, tensor<?x4x8x16xf32>)
  return %0#0, %1#1 : tensor<?x?x4x16xbf16>, tensor<?x4x8x16xf32>
}

// A state that was turned to be stored and is turned back is the state.
// CHECK-LABEL: func.func @turned(
// CHECK-SAME:    %[[Q:[a-z0-9_]+]]: {{.*}}, %[[H:[a-z0-9_]+]]: tensor<?x4x8x16xf32>
// CHECK-NOT:     transpose
// CHECK:         nn.scan {{.*}} state(%[[H]] : tensor<?x4x8x16xf32>)
func.func @turned(%q: tensor<?x?x2x8xf32>, %v: tensor<?x?x4x16xf32>, %d: tensor<?x?x4xf32>, %h: tensor<?x4x8x16xf32>) -> tensor<?x4x8x16xf32> {
  %t = aten.call "aten.transpose.int"(%h) {self = #aten.arg<0>, dim0 = 2 : i64, dim1 = 3 : i64} : (tensor<?x4x8x16xf32>) -> tensor<?x4x16x8xf32>
  %u = aten.call "aten.transpose.int"(%t) {self = #aten.arg<0>, dim0 = -1 : i64, dim1 = -2 : i64} : (tensor<?x4x16x8xf32>) -> tensor<?x4x8x16xf32>
  %0:2 = aten.call "moe_mlir.scan.default"(%q, %v, %d, %u) {query = #aten.arg<0>, key = #aten.arg<0>, value = #aten.arg<1>, decay = #aten.arg<2>, state = #aten.arg<3>}
      : (tensor<?x?x2x8xf32>, tensor<?x?x4x16xf32>, tensor<?x?x4xf32>, tensor<?x4x8x16xf32>) -> (tensor<?x?x4x16xf32>, tensor<?x4x8x16xf32>)
  return %0#1 : tensor<?x4x8x16xf32>
}

// Numbers of heads that nobody knows, a state of another type, and another activation have no op.
// CHECK-LABEL: func.func @not_raised(
// CHECK-NOT:     nn.
func.func @not_raised(%q: tensor<?x?x2x8xf32>, %v: tensor<?x?x?x16xf32>, %w: tensor<?x?x4x16xf32>, %d: tensor<?x?x?xf32>, %h: tensor<?x4x8x16xf32>, %s: tensor<?x4x8x16xbf16>,
                      %x: tensor<?x8x?xf32>, %f: tensor<8x4xf32>) -> (tensor<?x?x?x16xf32>, tensor<?x?x4x16xf32>, tensor<?x8x?xf32>) {
  %0:2 = aten.call "moe_mlir.scan.default"(%q, %v, %d, %h) {query = #aten.arg<0>, key = #aten.arg<0>, value = #aten.arg<1>, decay = #aten.arg<2>, state = #aten.arg<3>}
      : (tensor<?x?x2x8xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?xf32>, tensor<?x4x8x16xf32>) -> (tensor<?x?x?x16xf32>, tensor<?x4x8x16xf32>)
  %1:2 = aten.call "moe_mlir.scan.default"(%q, %w, %d, %s) {query = #aten.arg<0>, key = #aten.arg<0>, value = #aten.arg<1>, decay = #aten.arg<2>, state = #aten.arg<3>}
      : (tensor<?x?x2x8xf32>, tensor<?x?x4x16xf32>, tensor<?x?x?xf32>, tensor<?x4x8x16xbf16>) -> (tensor<?x?x4x16xf32>, tensor<?x4x8x16xbf16>)
  %2 = aten.call "moe_mlir.causal_conv.default"(%x, %f) {x = #aten.arg<0>, weight = #aten.arg<1>, activation = "gelu"} : (tensor<?x8x?xf32>, tensor<8x4xf32>) -> tensor<?x8x?xf32>
  return %0#0, %1#0, %2 : tensor<?x?x?x16xf32>, tensor<?x?x4x16xf32>, tensor<?x8x?xf32>
}
