// What tensor ops must not do to inputs that are divided among ranks; with tokens=replicated all of it compiles.
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,tokens=split})" --split-input-file --verify-diagnostics
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,tokens=replicated})" --split-input-file -o %t

func.func @part(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c0 : tensor<?x8xf32>
  %n = arith.subi %d, %c1 : index
  // expected-error@+1 {{'tensor.extract_slice' op takes a part of dimension 0, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = tensor.extract_slice %s[1, 0] [%n, 8] [1, 1] : tensor<?x8xf32> to tensor<?x8xf32>
  return %g : tensor<?x8xf32>
}

// -----

func.func @all_but_the_last(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c0 : tensor<?x8xf32>
  %n = arith.subi %d, %c1 : index
  // expected-error@+1 {{'tensor.extract_slice' op takes a part of dimension 0, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = tensor.extract_slice %s[0, 0] [%n, 8] [1, 1] : tensor<?x8xf32> to tensor<?x8xf32>
  return %g : tensor<?x8xf32>
}

// -----

func.func @joined(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  // expected-error@+1 {{'tensor.concat' op joins tensors along dimension 0, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = tensor.concat dim(0) %s, %x : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %g : tensor<?x8xf32>
}

// -----

func.func @padded(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  %z = arith.constant 0.0 : f32
  // expected-error@+1 {{'tensor.pad' op pads dimension 0, or by the number of elements, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = tensor.pad %s low[1, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<?x8xf32> to tensor<?x8xf32>
  return %g : tensor<?x8xf32>
}

// -----

func.func @made_static(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<4x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  // expected-error@+1 {{'tensor.cast' op gives dimension 0 a size that is not divided, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = tensor.cast %s : tensor<?x8xf32> to tensor<4x8xf32>
  return %g : tensor<4x8xf32>
}

// -----

func.func @batch_of_one(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<1x?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x8xf32>
  // expected-error@+1 {{'tensor.expand_shape' op gives dimension 0 a size that is not divided, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = tensor.expand_shape %s [[0, 1], [2]] output_shape [1, %d, 8] : tensor<?x8xf32> into tensor<1x?x8xf32>
  return %g : tensor<1x?x8xf32>
}

// -----

func.func @square(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x?xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x8xf32>
  // expected-error@+1 {{'tensor.empty' op moves dimension 0, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = tensor.empty(%d, %d) : tensor<?x?xf32>
  return %g : tensor<?x?xf32>
}

// -----

func.func @one_element(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<1xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'tensor.extract' op takes single elements, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %f = tensor.extract %s[%c0, %c0] : tensor<?x8xf32>
  %g = tensor.from_elements %f : tensor<1xf32>
  return %g : tensor<1xf32>
}

// -----

func.func @number_as_a_tensor(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<1xindex> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x8xf32>
  // expected-error@+1 {{'tensor.from_elements' op computes with the number of elements, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = tensor.from_elements %d : tensor<1xindex>
  return %g : tensor<1xindex>
}
