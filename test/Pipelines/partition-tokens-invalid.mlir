// What keeps inputs from being divided among ranks; with tokens=replicated all of it compiles.
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,tokens=split})" --split-input-file --verify-diagnostics
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,tokens=replicated})" --split-input-file -o %t

// expected-error@+1 {{'func.func' op has no name for dimension 0 of its first input in 'moe.dims', by which tokens could be divided among ranks; use tokens=replicated}}
func.func @static(%x: tensor<3x8xf32>, %e: tensor<3x2xi32>) -> tensor<3x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<3x8xf32>, tensor<3x2xi32> -> tensor<6x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<6x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<6x8xf32>
  %s = moe.combine %y, %layout : tensor<6x8xf32>, !moe.layout<8> -> tensor<3x8xf32>
  return %s : tensor<3x8xf32>
}

// -----

// expected-error@+1 {{'func.func' op has 'tokens' as dimension 1 of argument 2, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
func.func @other_dimension(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}, %m: tensor<8x?xf32> {moe.dims = ["", "tokens"]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

// -----

func.func @capacity(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  // expected-error@+1 {{'moe.gate' op has a capacity, which counts the tokens of all ranks, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %w, %e = moe.gate %x top_k(2) score(softmax) capacity(<1.5, tutel>) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

// -----

func.func @ids_are_not_divided(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32>) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  // expected-error@+1 {{'moe.dispatch' op has another operand whose dimension 0 is not divided, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

// -----

func.func @sum_over_tokens(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  %z = tensor.empty() : tensor<8xf32>
  // expected-error@+1 {{'linalg.generic' op reduces dimension 0, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<?x8xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %g : tensor<8xf32>
}

// -----

func.func @pairs(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  // expected-error@+1 {{'linalg.generic' op reads elements of different places of dimension 0 together, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, k)>], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%s, %x : tensor<?x8xf32>, tensor<?x8xf32>) outs(%x : tensor<?x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<?x8xf32>
  return %g : tensor<?x8xf32>
}

// -----

func.func @neighbours(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<4x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  %z = tensor.empty() : tensor<4x8xf32>
  // expected-error@+1 {{'linalg.generic' op reads elements of different places of dimension 0 together, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + 1, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<?x8xf32>) outs(%z : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  return %g : tensor<4x8xf32>
}

// -----

func.func @beside(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}, %m: tensor<?xf32>) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  // expected-error@+1 {{'linalg.generic' op has another operand whose dimension 0 is not divided, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %m : tensor<?x8xf32>, tensor<?xf32>) outs(%x : tensor<?x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<?x8xf32>
  return %g : tensor<?x8xf32>
}

// -----

func.func @moved(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}, %m: tensor<8x?xf32>) -> tensor<8x?xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  // expected-error@+1 {{'linalg.generic' op moves dimension 0, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<?x8xf32>) outs(%m : tensor<8x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<8x?xf32>
  return %g : tensor<8x?xf32>
}

// -----

func.func @number_of_an_element(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  // expected-error@+1 {{'linalg.generic' op computes with the number of an element, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<?x8xf32>) outs(%x : tensor<?x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = linalg.index 0 : index
    %k = arith.index_cast %n : index to i64
    %f = arith.sitofp %k : i64 to f32
    %r = arith.addf %a, %f : f32
    linalg.yield %r : f32
  } -> tensor<?x8xf32>
  return %g : tensor<?x8xf32>
}

// -----

func.func @any_place(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  // expected-error@+1 {{'linalg.generic' op reads elements of any place of dimension 0, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<?x8xf32>) outs(%x : tensor<?x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = linalg.index 1 : index
    %k = linalg.index 0 : index
    %f = tensor.extract %x[%n, %n] : tensor<?x8xf32>
    %r = arith.addf %a, %f : f32
    linalg.yield %r : f32
  } -> tensor<?x8xf32>
  return %g : tensor<?x8xf32>
}

// -----

func.func @gather(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}, %m: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  // expected-error@+1 {{'linalg.generic' op reads elements of any place of dimension 0, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%m : tensor<4x8xf32>) outs(%m : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = linalg.index 1 : index
    %k = linalg.index 0 : index
    %f = tensor.extract %x[%n, %n] : tensor<?x8xf32>
    %r = arith.addf %a, %f : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  return %g : tensor<4x8xf32>
}

// -----

func.func @number_of_elements(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %k = arith.index_cast %n : index to i64
  // expected-error@+1 {{'linalg.generic' op computes with the number of elements, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<?x8xf32>) outs(%x : tensor<?x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %f = arith.sitofp %k : i64 to f32
    %r = arith.divf %a, %f : f32
    linalg.yield %r : f32
  } -> tensor<?x8xf32>
  return %g : tensor<?x8xf32>
}

// -----

func.func @elements_beside(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}, %m: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  // expected-error@+1 {{'arith.addf' op has another operand whose dimension 0 is not divided, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = arith.addf %s, %m : tensor<?x8xf32>
  return %g : tensor<?x8xf32>
}

// -----

func.func @table_of_tokens(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}, %m: tensor<4x8xf32>) -> tensor<4x?xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  // expected-error@+1 {{'nn.linear' op moves dimension 0, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = nn.linear %m, %s : tensor<4x8xf32>, tensor<?x8xf32> -> tensor<4x?xf32>
  return %g : tensor<4x?xf32>
}

// -----

func.func @lookup_in_tokens(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}, %m: tensor<4xi32>) -> tensor<4x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  // expected-error@+1 {{'nn.embedding' op reduces dimension 0, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = nn.embedding %m, %s : tensor<4xi32>, tensor<?x8xf32> -> tensor<4x8xf32>
  return %g : tensor<4x8xf32>
}

// -----

func.func @another_size(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  %g = tensor.collapse_shape %s [[0, 1]] : tensor<?x8xf32> into tensor<?xf32>
  // expected-error@+1 {{'func.return' op gives result 0, which depends on 'tokens' but has another dimension 0, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  return %g : tensor<?xf32>
}

// -----

func.func private @same(tensor<?x8xf32>) -> tensor<?x8xf32>

func.func @unknown(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  // expected-error@+1 {{'func.call' op is not known to compute each element of dimension 0 by itself, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %g = call @same(%s) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %g : tensor<?x8xf32>
}
