// RUN: moe-opt %s --split-input-file --aten-functionalize --verify-diagnostics

func.func @expand(%x: tensor<1xf32>) attributes {aten.mutable} {
  // expected-note@+1 {{the view is made here}}
  %0 = aten.call "aten.expand.default"(%x) {self = #aten.arg<0>, size = [4]} : (tensor<1xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'aten.add_.Scalar' changes a tensor through 'aten.expand.default', which is not supported}}
  %1 = aten.call "aten.add_.Scalar"(%0) {self = #aten.arg<0>, other = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @narrow(%x: tensor<?xf32>) attributes {aten.mutable} {
  // expected-note@+1 {{the view is made here}}
  %0 = aten.call "aten.narrow.default"(%x) {self = #aten.arg<0>, dim = 0 : i64, start = -3 : i64, length = 2 : i64} : (tensor<?xf32>) -> tensor<2xf32>
  // expected-error@+1 {{'aten.add_.Scalar' changes a tensor through 'aten.narrow.default', which is not supported}}
  %1 = aten.call "aten.add_.Scalar"(%0) {self = #aten.arg<0>, other = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// expected-error@+1 {{argument 0 ('cache') is named as state, but the graph never writes it}}
func.func @unwritten(%x: tensor<1xf32> {moe.name = "cache", moe.state}) {
  return
}

// -----

// expected-error@+1 {{argument 1 is named as state, but the graph never writes it}}
func.func @unwritten_and_unnamed(%x: tensor<1xf32>, %y: tensor<1xf32> {moe.state}) {
  return
}

// -----

func.func @no_result(%x: tensor<4xf32>) attributes {aten.mutable} {
  // expected-error@+1 {{in-place call of 'aten.zero_.default' without a changed tensor}}
  aten.call "aten.zero_.default"(%x) {self = #aten.arg<0>} : (tensor<4xf32>) -> ()
  return
}
