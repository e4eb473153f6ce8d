// Checks of the program: of their own elements ranks make them each for itself, of the number of all of them they cannot.
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,tokens=split})" --split-input-file --verify-diagnostics
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,tokens=replicated})" --split-input-file -o %t

func.func @number_of_rows(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %t = tensor.dim %x, %c0 : tensor<?x8xf32>
  %odd = arith.remui %t, %c2 : index
  %even = arith.cmpi eq, %odd, %c0 : index
  // expected-error@+1 {{'cf.assert' op checks the number of elements of dimension 0, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  cf.assert %even, "an odd number" {moe.of_call}
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %w, %e = moe.gate %x top_k(2) score(softmax) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

// -----

func.func @check_that_is_returned(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %m: tensor<?xi1> {moe.dims = ["tokens"]}) -> (tensor<?x8xf32>, tensor<i1>) {
  %true = arith.constant true
  %none = tensor.empty() : tensor<i1>
  %init = linalg.fill ins(%true : i1) outs(%none : tensor<i1>) -> tensor<i1>
  // expected-error@+1 {{'linalg.generic' op reduces dimension 0, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %all = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%m : tensor<?xi1>) outs(%init : tensor<i1>) {
  ^bb0(%in: i1, %out: i1):
    %both = arith.andi %out, %in : i1
    linalg.yield %both : i1
  } -> tensor<i1>
  %holds = tensor.extract %all[] : tensor<i1>
  cf.assert %holds, "not all"
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %w, %e = moe.gate %x top_k(2) score(softmax) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %s, %all : tensor<?x8xf32>, tensor<i1>
}

// -----

func.func @check_of_any(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %m: tensor<?xi1> {moe.dims = ["tokens"]}) -> (tensor<?x8xf32>) {
  %true = arith.constant true
  %none = tensor.empty() : tensor<i1>
  %init = linalg.fill ins(%true : i1) outs(%none : tensor<i1>) -> tensor<i1>
  // expected-error@+1 {{'linalg.generic' op reduces dimension 0, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %all = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%m : tensor<?xi1>) outs(%init : tensor<i1>) {
  ^bb0(%in: i1, %out: i1):
    %both = arith.ori %out, %in : i1
    linalg.yield %both : i1
  } -> tensor<i1>
  %holds = tensor.extract %all[] : tensor<i1>
  cf.assert %holds, "not all"
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %w, %e = moe.gate %x top_k(2) score(softmax) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

// -----

func.func @check_of_one_row(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %m: tensor<?xi1> {moe.dims = ["tokens"]}, %n: tensor<?xi1> {moe.dims = ["tokens"]}) -> tensor<?x8xf32> {
  %c3 = arith.constant 3 : index
  %both = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%m : tensor<?xi1>) outs(%n : tensor<?xi1>) {
  ^bb0(%in: i1, %out: i1):
    %and = arith.andi %in, %out : i1
    linalg.yield %and : i1
  } -> tensor<?xi1>
  // expected-error@+1 {{'tensor.extract' op takes single elements, so 'tokens' cannot be divided among ranks; use tokens=replicated}}
  %holds = tensor.extract %both[%c3] : tensor<?xi1>
  cf.assert %holds, "row 3"
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %w, %e = moe.gate %x top_k(2) score(softmax) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}
