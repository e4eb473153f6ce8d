// Calls whose operands and results do not belong together, as only a damaged graph has them: each is refused, and none reads types
// where they have nothing.
// RUN: moe-opt %s --convert-aten-to-linalg --split-input-file --verify-diagnostics

// expected-error@+1 {{1 call(s) of 1 operator(s) are not supported}}
func.func @rank_of_a_product(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<4xf32> {
  // expected-note@+1 {{aten.matmul.default (1): this form of the operator}}
  %0 = aten.call "aten.matmul.default"(%x, %w) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error@+1 {{1 call(s) of 1 operator(s) are not supported}}
func.func @ranks_that_are_joined(%x: tensor<f32>) -> tensor<f32> {
  // expected-note@+1 {{aten.cat.default (1): this form of the operator}}
  %0 = aten.call "aten.cat.default"(%x) {tensors = [#aten.arg<0>]} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error@+1 {{1 call(s) of 1 operator(s) are not supported}}
func.func @stack_of_other_ranks(%x: tensor<2x3xf32>, %y: tensor<f32>) -> tensor<2x3x2xf32> {
  // expected-note@+1 {{aten.stack.default (1): this form of the operator}}
  %0 = aten.call "aten.stack.default"(%x, %y) {tensors = [#aten.arg<0>, #aten.arg<1>], dim = 2 : i64} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3x2xf32>
  return %0 : tensor<2x3x2xf32>
}

// -----

// expected-error@+1 {{1 call(s) of 1 operator(s) are not supported}}
func.func @sum_of_more_dimensions(%x: tensor<2x3xf32>) -> tensor<3xf32> {
  // expected-note@+1 {{aten.add.Tensor (1): this form of the operator}}
  %0 = aten.call "aten.add.Tensor"(%x, %x) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// expected-error@+1 {{1 call(s) of 1 operator(s) are not supported}}
func.func @expanded_to_less(%x: tensor<2x3xf32>) -> tensor<3xf32> {
  // expected-note@+1 {{aten.expand.default (1): this form of the operator}}
  %0 = aten.call "aten.expand.default"(%x) {self = #aten.arg<0>, size = [3]} : (tensor<2x3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// expected-error@+1 {{1 call(s) of 1 operator(s) are not supported}}
func.func @numbers_without_a_dimension() -> tensor<i64> {
  // expected-note@+1 {{aten.arange.default (1): this form of the operator}}
  %0 = aten.call "aten.arange.default"() {end = 3 : i64} : () -> tensor<i64>
  return %0 : tensor<i64>
}

// -----

// expected-error@+1 {{1 call(s) of 1 operator(s) are not supported}}
func.func @more_indices_than_dimensions(%x: tensor<f32>, %i: tensor<4xi64>) -> tensor<f32> {
  // expected-note@+1 {{aten.index.Tensor (1): this form of the operator}}
  %0 = aten.call "aten.index.Tensor"(%x, %i) {self = #aten.arg<0>, indices = [#aten.arg<1>]} : (tensor<f32>, tensor<4xi64>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error@+1 {{1 call(s) of 1 operator(s) are not supported}}
func.func @complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  // expected-note@+1 {{aten.softmax.int (1): this form of the operator}}
  %0 = aten.call "aten.softmax.int"(%x) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// -----

// expected-error@+1 {{1 call(s) of 1 operator(s) are not supported}}
func.func @flatten_backwards(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  // expected-note@+1 {{aten.flatten.using_ints (1): this form of the operator}}
  %0 = aten.call "aten.flatten.using_ints"(%x) {self = #aten.arg<0>, start_dim = 2 : i64, end_dim = 0 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// -----

// expected-error@+1 {{1 call(s) of 1 operator(s) are not supported}}
func.func @flatten_a_number(%x: tensor<f32>) -> tensor<1xf32> {
  // expected-note@+1 {{aten.flatten.using_ints (1): this form of the operator}}
  %0 = aten.call "aten.flatten.using_ints"(%x) {self = #aten.arg<0>} : (tensor<f32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// -----

// expected-error@+1 {{1 call(s) of 1 operator(s) are not supported}}
func.func @sums_of_a_number(%x: tensor<f32>) -> tensor<f32> {
  // expected-note@+1 {{aten.cumsum.default (1): this form of the operator}}
  %0 = aten.call "aten.cumsum.default"(%x) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error@+1 {{1 call(s) of 1 operator(s) are not supported}}
func.func @transpose_a_number(%x: tensor<f32>) -> tensor<f32> {
  // expected-note@+1 {{aten.transpose.int (1): this form of the operator}}
  %0 = aten.call "aten.transpose.int"(%x) {self = #aten.arg<0>, dim0 = 0 : i64, dim1 = 0 : i64} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error@+1 {{1 call(s) of 1 operator(s) are not supported}}
func.func @scatter_of_another_rank(%x: tensor<2x3xf32>, %i: tensor<3xi64>) -> tensor<2x3xf32> {
  // expected-note@+1 {{aten.scatter.value (1): this form of the operator}}
  %0 = aten.call "aten.scatter.value"(%x, %i) {self = #aten.arg<0>, dim = 0 : i64, index = #aten.arg<1>, value = 1.0 : f64} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
