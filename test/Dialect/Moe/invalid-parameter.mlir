// RUN: moe-opt %s --split-input-file --verify-diagnostics

func.func @no_source() {
  // expected-error@+1 {{'moe.parameter' op needs at least one source}}
  %0 = moe.parameter [] : tensor<2x4xf32>
  return
}

// -----

func.func @unnamed() {
  // expected-error@+1 {{'moe.parameter' op has a source without a name}}
  %0 = moe.parameter ["a", ""] recipe [#moe.stack] : tensor<2x4xf32>
  return
}

// -----

func.func @several() {
  // expected-error@+1 {{'moe.parameter' op has 2 sources, so its recipe must begin with #moe.stack or #moe.concat}}
  %0 = moe.parameter ["a", "b"] : tensor<2x4xf32>
  return
}

// -----

func.func @several_late() {
  // expected-error@+1 {{'moe.parameter' op has 2 sources, so its recipe must begin with #moe.stack or #moe.concat}}
  %0 = moe.parameter ["a", "b"] recipe [#moe.cast<f32>, #moe.stack] : tensor<2x4xf32>
  return
}

// -----

func.func @foreign_step() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (42 : i64) is not a recipe step}}
  %0 = moe.parameter ["a"] recipe [42] : tensor<2x4xf32>
  return
}

// -----

func.func @stack_late() {
  // expected-error@+1 {{'moe.parameter' op recipe step 1 (#moe.stack) must be the first step}}
  %0 = moe.parameter ["a"] recipe [#moe.cast<f32>, #moe.stack] : tensor<2x4xf32>
  return
}

// -----

func.func @stack_count() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.stack) joins 3 sources to a first dimension of that size, got 'tensor<2x4xf32>'}}
  %0 = moe.parameter ["a", "b", "c"] recipe [#moe.stack] : tensor<2x4xf32>
  return
}

// -----

func.func @stack_scalar() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.stack) joins 1 sources to a first dimension of that size, got 'tensor<f32>'}}
  %0 = moe.parameter ["a"] recipe [#moe.stack] : tensor<f32>
  return
}

// -----

func.func @concat_late() {
  // expected-error@+1 {{'moe.parameter' op recipe step 1 (#moe.concat<0>) must be the first step}}
  %0 = moe.parameter ["a"] recipe [#moe.cast<f32>, #moe.concat<0>] : tensor<2x4xf32>
  return
}

// -----

func.func @concat_dim() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.concat<2>) names dimension 2 of a tensor of rank 2}}
  %0 = moe.parameter ["a"] recipe [#moe.concat<2>] : tensor<2x4xf32>
  return
}

// -----

func.func @slice_dim() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.slice<2, 0, 4>) names dimension 2 of a tensor of rank 2}}
  %0 = moe.parameter ["a"] recipe [#moe.slice<2, 0, 4>] : tensor<2x4xf32>
  return
}

// -----

func.func @slice_size() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.slice<1, 0, 8>) gives 8 elements in dimension 1, but 4 are needed}}
  %0 = moe.parameter ["a"] recipe [#moe.slice<1, 0, 8>] : tensor<2x4xf32>
  return
}

// -----

func.func @slice_size_before_transpose() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.slice<1, 0, 4>) gives 4 elements in dimension 1, but 2 are needed}}
  %0 = moe.parameter ["a"] recipe [#moe.slice<1, 0, 4>, #moe.transpose<[1, 0]>] : tensor<2x4xf32>
  return
}

// -----

func.func @transpose_rank() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.transpose<[0, 2, 1]>) permutes 3 dimensions of a tensor of rank 2}}
  %0 = moe.parameter ["a"] recipe [#moe.transpose<[0, 2, 1]>] : tensor<2x4xf32>
  return
}

// -----

func.func @cast_type() {
  // expected-error@+1 {{'moe.parameter' op recipe step 1 (#moe.cast<bf16>) gives 'bf16', but the result has 'f32'}}
  %0 = moe.parameter ["a"] recipe [#moe.cast<f32>, #moe.cast<bf16>] : tensor<2x4xf32>
  return
}

// -----

func.func @pack_late() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.pack<columns = 64, pairs = 1>) must be the last step}}
  %0 = moe.parameter ["a"] recipe [#moe.pack<columns = 64, pairs = 1>, #moe.cast<f32>] : memref<1x4x64xf32>
  return
}

// -----

func.func @pack_tensor() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.pack<columns = 64, pairs = 1>) gives a memref, got 'tensor<1x4x64xf32>'}}
  %0 = moe.parameter ["a"] recipe [#moe.pack<columns = 64, pairs = 1>] : tensor<1x4x64xf32>
  return
}

// -----

func.func @pack_columns() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.pack<columns = 64, pairs = 2>) gives a shape that ends in 64 columns and 2 lanes, got 'memref<1x4x64xf32>'}}
  %0 = moe.parameter ["a"] recipe [#moe.pack<columns = 64, pairs = 2>] : memref<1x4x64xf32>
  return
}

// -----

func.func @pack_rank() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.pack<columns = 64, pairs = 1>) gives a shape that ends in 64 columns, got 'memref<4x64xf32>'}}
  %0 = moe.parameter ["a"] recipe [#moe.pack<columns = 64, pairs = 1>] : memref<4x64xf32>
  return
}

// -----

func.func @memref_shape() {
  // expected-error@+1 {{'moe.parameter' op expected a static memref, contiguous or with strides that are numbers, got 'memref<?xf32>'}}
  %0 = moe.parameter ["a"] : memref<?xf32>
  return
}

// -----

func.func @memref_layout() {
  // expected-error@+1 {{'moe.parameter' op expected a static memref, contiguous or with strides that are numbers, got 'memref<2x4xf32, strided<[1, 2]>>'}}
  %0 = moe.parameter ["a"] : memref<2x4xf32, strided<[1, 2]>>
  return
}

// -----

func.func @concat_negative() {
  // expected-error@+1 {{concat dimension must not be negative, got -1}}
  %0 = moe.parameter ["a"] recipe [#moe.concat<-1>] : tensor<2x4xf32>
  return
}

// -----

func.func @slice_negative_dim() {
  // expected-error@+1 {{slice dimension must not be negative, got -1}}
  %0 = moe.parameter ["a"] recipe [#moe.slice<-1, 0, 4>] : tensor<2x4xf32>
  return
}

// -----

func.func @slice_offset() {
  // expected-error@+1 {{slice offset must not be negative, got -2}}
  %0 = moe.parameter ["a"] recipe [#moe.slice<1, -2, 4>] : tensor<2x4xf32>
  return
}

// -----

func.func @slice_beyond_numbers() {
  // expected-error@+1 {{slice ends beyond every dimension, offset 9223372036854775807 and size 1}}
  %0 = moe.parameter ["a"] recipe [#moe.slice<1, 9223372036854775807, 1>] : tensor<2x1xf32>
  return
}

// -----

func.func @slice_empty() {
  // expected-error@+1 {{slice size must be at least 1, got 0}}
  %0 = moe.parameter ["a"] recipe [#moe.slice<1, 0, 0>] : tensor<2x4xf32>
  return
}

// -----

func.func @transpose_twice() {
  // expected-error@+1 {{[0, 0] is not a permutation}}
  %0 = moe.parameter ["a"] recipe [#moe.transpose<[0, 0]>] : tensor<2x4xf32>
  return
}

// -----

func.func @transpose_range() {
  // expected-error@+1 {{[0, 2] is not a permutation}}
  %0 = moe.parameter ["a"] recipe [#moe.transpose<[0, 2]>] : tensor<2x4xf32>
  return
}

// -----

func.func @cast_integer() {
  // expected-error@+1 {{expected a cast to f32, bf16 or f16, got 'i32'}}
  %0 = moe.parameter ["a"] recipe [#moe.cast<i32>] : tensor<2x4xf32>
  return
}

// -----

func.func @no_columns() {
  // expected-error@+1 {{columns must be at least 1, got 0}}
  %0 = moe.parameter ["a"] recipe [#moe.pack<columns = 0, pairs = 1>] : memref<1x4x64xf32>
  return
}

// -----

func.func @no_pairs() {
  // expected-error@+1 {{pairs must be at least 1, got 0}}
  %0 = moe.parameter ["a"] recipe [#moe.pack<columns = 64, pairs = 0>] : memref<1x4x64xf32>
  return
}

// -----

func.func @odd_halves() {
  // expected-error@+1 {{halves need an even number of columns, got 63}}
  %0 = moe.parameter ["a"] recipe [#moe.pack<columns = 63, pairs = 1, halves = true>] : memref<1x4x63xf32>
  return
}

// -----

func.func @interleaved_whole() {
  // expected-error@+1 {{interleaved needs halves}}
  %0 = moe.parameter ["a"] recipe [#moe.pack<columns = 64, pairs = 1, interleaved = true>] : memref<1x4x64xf32>
  return
}

// -----

func.func @cut_parts() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.cut<dim = 0, parts = 3>) gives a first dimension of 3 parts, got 'tensor<2x4x8xf32>'}}
  %0 = moe.parameter ["a"] recipe [#moe.cut<dim = 0, parts = 3>] : tensor<2x4x8xf32>
  return
}

// -----

func.func @cut_halves() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.cut<dim = 0, parts = 2, halves = true>) gives halves, but 3 elements in dimension 0}}
  %0 = moe.parameter ["a"] recipe [#moe.cut<dim = 0, parts = 2, halves = true>] : tensor<2x3x8xf32>
  return
}

// -----

func.func @cut_dim() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.cut<dim = 2, parts = 2>) names dimension 2 of a tensor of rank 2}}
  %0 = moe.parameter ["a"] recipe [#moe.cut<dim = 2, parts = 2>] : tensor<2x4x8xf32>
  return
}
