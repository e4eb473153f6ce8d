// RUN: moe-opt %s --verify-roundtrip | FileCheck %s
// RUN: moe-opt %s --canonicalize --cse | FileCheck %s --check-prefix=PURE

// CHECK-LABEL: func.func @arguments
func.func @arguments(%x: tensor<?x512xf32>, %b: i64) -> tensor<?x8x64xf32> {
  // CHECK: aten.call "aten.view.default"(%{{.*}}, %{{.*}}) {self = #aten.arg<0>, size = [#aten.arg<1>, 8, 64]} : (tensor<?x512xf32>, i64) -> tensor<?x8x64xf32>
  %0 = aten.call "aten.view.default"(%x, %b) {self = #aten.arg<0>, size = [#aten.arg<1>, 8, 64]} : (tensor<?x512xf32>, i64) -> tensor<?x8x64xf32>
  return %0 : tensor<?x8x64xf32>
}

// Equal calls are one call, unless something in the function may change a tensor in place.
// PURE-LABEL: func.func @pure
// PURE-COUNT-1: aten.call
// PURE-NOT:     aten.call
// PURE-LABEL: func.func @mutable
// PURE-COUNT-4: aten.call
func.func @pure(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = aten.call "aten.clone.default"(%x) {self = #aten.arg<0>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.call "aten.clone.default"(%x) {self = #aten.arg<0>} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.call "aten.neg.default"(%x) {self = #aten.arg<0>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

func.func @mutable(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {aten.mutable} {
  %0 = aten.call "aten.clone.default"(%x) {self = #aten.arg<0>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.call "aten.clone.default"(%x) {self = #aten.arg<0>} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.call "aten.neg.default"(%x) {self = #aten.arg<0>} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = aten.call "aten.neg_.default"(%0) {self = #aten.arg<0>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
