// RUN: moe-opt %s --convert-aten-to-linalg --split-input-file --verify-diagnostics

// What is cut from a dynamic dimension may not be there.
// expected-error@+1 {{1 call(s) of 1 operator(s) are not supported; see docs/Ops.md for what is}}
func.func @pad_cuts_dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-note@+1 {{aten.pad.default (1), mode = 'constant': this form of the operator}}
  %0 = aten.call "aten.pad.default"(%x) {self = #aten.arg<0>, pad = [-2, 0], mode = "constant"} : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// expected-error@+1 {{1 call(s) of 1 operator(s) are not supported; see docs/Ops.md for what is}}
func.func @pad_reflects(%x: tensor<4x8xf32>) -> tensor<4x9xf32> {
  // expected-note@+1 {{aten.pad.default (1), mode = 'reflect': this form of the operator}}
  %0 = aten.call "aten.pad.default"(%x) {self = #aten.arg<0>, pad = [1, 0], mode = "reflect"} : (tensor<4x8xf32>) -> tensor<4x9xf32>
  return %0 : tensor<4x9xf32>
}

// -----

// expected-error@+1 {{1 call(s) of 1 operator(s) are not supported; see docs/Ops.md for what is}}
func.func @conv1d_of_other_groups(%x: tensor<2x8x5xf32>, %w: tensor<6x3x2xf32>) -> tensor<2x6x4xf32> {
  // expected-note@+1 {{aten.conv1d.default (1): this form of the operator}}
  %0 = aten.call "aten.conv1d.default"(%x, %w) {input = #aten.arg<0>, weight = #aten.arg<1>, groups = 2 : i64}
      : (tensor<2x8x5xf32>, tensor<6x3x2xf32>) -> tensor<2x6x4xf32>
  return %0 : tensor<2x6x4xf32>
}
