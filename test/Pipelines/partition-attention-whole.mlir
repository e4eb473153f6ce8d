// What is not a reason to keep something whole, and what is (tp).
// RUN: moe-opt %s --moe-partition=parallel=tp=2 --moe-verify-level=level=spmd | FileCheck %s

// A result that is divided in another dimension than the last one is whole; states have nothing to do with it.
// CHECK-LABEL: func.func @other_result
// CHECK-SAME: tensor<?x1x16x4xf32> {moe.dims = ["batch", "", "", ""], moe.state}
// CHECK: moe.parameter ["k"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>]
// CHECK: moe.parameter ["r"] : tensor<8x8xf32>
func.func @other_result(%x: tensor<?x3x8xf32> {moe.dims = ["batch", "", ""]}, %start: tensor<?xi64> {moe.dims = ["batch"]},
                        %keys: tensor<?x2x16x4xf32> {moe.dims = ["batch", "", "", ""], moe.state})
    -> (tensor<?x3x2x4xf32> {moe.dims = ["batch", "", "", ""]}, tensor<?x2x16x4xf32> {moe.state_of = 2}) {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %x, %c0 : tensor<?x3x8xf32>
  %wk = moe.parameter ["k"] : tensor<8x8xf32>
  %wr = moe.parameter ["r"] : tensor<8x8xf32>
  %k = nn.linear %x, %wk : tensor<?x3x8xf32>, tensor<8x8xf32> -> tensor<?x3x8xf32>
  %kh = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [%batch, 3, 2, 4] : tensor<?x3x8xf32> into tensor<?x3x2x4xf32>
  %next = nn.cache_update %keys, %kh positions(%start) : tensor<?x2x16x4xf32>, tensor<?x3x2x4xf32>, tensor<?xi64>
  %r = nn.linear %x, %wr : tensor<?x3x8xf32>, tensor<8x8xf32> -> tensor<?x3x8xf32>
  %rh = tensor.expand_shape %r [[0], [1], [2, 3]] output_shape [%batch, 3, 2, 4] : tensor<?x3x8xf32> into tensor<?x3x2x4xf32>
  return %rh, %next : tensor<?x3x2x4xf32>, tensor<?x2x16x4xf32>
}

// A state that begins anew from what all ranks have is whole.
// CHECK-LABEL: func.func @new_state
// CHECK-SAME: tensor<?x2x16x4xf32> {moe.dims = ["batch", "", "", ""], moe.state}
// CHECK: return
func.func @new_state(%x: tensor<?x3x8xf32> {moe.dims = ["batch", "", ""]}, %start: tensor<?xi64> {moe.dims = ["batch"]}, %other: tensor<?x2x16x4xf32> {moe.dims = ["batch", "", "", ""]},
                     %keys: tensor<?x2x16x4xf32> {moe.dims = ["batch", "", "", ""], moe.state})
    -> (tensor<?x3x8xf32> {moe.dims = ["batch", "", ""]}, tensor<?x2x16x4xf32> {moe.state_of = 3}) {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %x, %c0 : tensor<?x3x8xf32>
  %wk = moe.parameter ["k"] : tensor<8x8xf32>
  %wo = moe.parameter ["o"] : tensor<8x8xf32>
  %k = nn.linear %x, %wk : tensor<?x3x8xf32>, tensor<8x8xf32> -> tensor<?x3x8xf32>
  %kh = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [%batch, 3, 2, 4] : tensor<?x3x8xf32> into tensor<?x3x2x4xf32>
  %next = nn.cache_update %keys, %kh positions(%start) : tensor<?x2x16x4xf32>, tensor<?x3x2x4xf32>, tensor<?xi64>
  %o = nn.attention %kh, %next, %next scale(0.5) : tensor<?x3x2x4xf32>, tensor<?x2x16x4xf32>, tensor<?x2x16x4xf32> -> tensor<?x3x2x4xf32>
  %h = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<?x3x2x4xf32> into tensor<?x3x8xf32>
  %y = nn.linear %h, %wo : tensor<?x3x8xf32>, tensor<8x8xf32> -> tensor<?x3x8xf32>
  return %y, %other : tensor<?x3x8xf32>, tensor<?x2x16x4xf32>
}

// A weight, and a bias, that are made of what ranks could divide.
// CHECK-LABEL: func.func @made_weight
// CHECK-NOT: recipe
// CHECK: return
func.func @made_weight(%x: tensor<8x4xf32>, %z: tensor<?x4xf32> {moe.dims = ["tokens", ""]}) -> (tensor<?x8xf32> {moe.dims = ["tokens", ""]}) {
  %w = moe.parameter ["w"] : tensor<4x4xf32>
  %made = nn.linear %x, %w : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %y = nn.linear %z, %made : tensor<?x4xf32>, tensor<8x4xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @made_bias
// CHECK-NOT: recipe
// CHECK: return
func.func @made_bias(%x: tensor<4xf32>, %z: tensor<?x4xf32> {moe.dims = ["tokens", ""]}) -> (tensor<?x8xf32> {moe.dims = ["tokens", ""]}) {
  %v = moe.parameter ["v"] : tensor<8x4xf32>
  %w = moe.parameter ["w"] : tensor<8x4xf32>
  %made = nn.linear %x, %v : tensor<4xf32>, tensor<8x4xf32> -> tensor<8xf32>
  %y = nn.linear %z, %w bias(%made) : tensor<?x4xf32>, tensor<8x4xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// A mask, and positions, of which a rank would have a part.
// CHECK-LABEL: func.func @made_mask
// CHECK-NOT: recipe
// CHECK: return
func.func @made_mask(%x: tensor<?x4x8xf32> {moe.dims = ["batch", "", ""]}) -> (tensor<?x4x8xf32> {moe.dims = ["batch", "", ""]}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %batch = tensor.dim %x, %c0 : tensor<?x4x8xf32>
  %wq = moe.parameter ["q"] : tensor<8x8xf32>
  %wm = moe.parameter ["m"] : tensor<4x8xf32>
  %q = nn.linear %x, %wq : tensor<?x4x8xf32>, tensor<8x8xf32> -> tensor<?x4x8xf32>
  %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [%batch, 4, 2, 4] : tensor<?x4x8xf32> into tensor<?x4x2x4xf32>
  %init = tensor.empty(%batch) : tensor<?x2x4x4xf32>
  %k = linalg.transpose ins(%qh : tensor<?x4x2x4xf32>) outs(%init : tensor<?x2x4x4xf32>) permutation = [0, 2, 1, 3]
  %m = nn.linear %x, %wm : tensor<?x4x8xf32>, tensor<4x8xf32> -> tensor<?x4x4xf32>
  %mb = arith.fptosi %m : tensor<?x4x4xf32> to tensor<?x4x4xi1>
  %mask = tensor.expand_shape %mb [[0, 1], [2], [3]] output_shape [%batch, 1, 4, 4] : tensor<?x4x4xi1> into tensor<?x1x4x4xi1>
  %o = nn.attention %qh, %k, %k mask(%mask : tensor<?x1x4x4xi1>) scale(0.5) : tensor<?x4x2x4xf32>, tensor<?x2x4x4xf32>, tensor<?x2x4x4xf32> -> tensor<?x4x2x4xf32>
  %y = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<?x4x2x4xf32> into tensor<?x4x8xf32>
  return %y : tensor<?x4x8xf32>
}

// CHECK-LABEL: func.func @made_positions
// CHECK-NOT: recipe
// CHECK: return
func.func @made_positions(%x: tensor<8x3x8xf32>, %s: tensor<8xf32>, %keys: tensor<8x2x16x4xf32> {moe.state}) -> (tensor<8x3x8xf32>, tensor<8x2x16x4xf32> {moe.state_of = 2}) {
  %wk = moe.parameter ["k"] : tensor<8x8xf32>
  %wp = moe.parameter ["p"] : tensor<8x8xf32>
  %p = nn.linear %s, %wp : tensor<8xf32>, tensor<8x8xf32> -> tensor<8xf32>
  %start = arith.fptosi %p : tensor<8xf32> to tensor<8xi64>
  %k = nn.linear %x, %wk : tensor<8x3x8xf32>, tensor<8x8xf32> -> tensor<8x3x8xf32>
  %kh = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [8, 3, 2, 4] : tensor<8x3x8xf32> into tensor<8x3x2x4xf32>
  %next = nn.cache_update %keys, %kh positions(%start) : tensor<8x2x16x4xf32>, tensor<8x3x2x4xf32>, tensor<8xi64>
  %o = nn.attention %kh, %next, %next positions(%start : tensor<8xi64>) scale(0.5) causal : tensor<8x3x2x4xf32>, tensor<8x2x16x4xf32>, tensor<8x2x16x4xf32> -> tensor<8x3x2x4xf32>
  %y = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<8x3x2x4xf32> into tensor<8x3x8xf32>
  return %y, %next : tensor<8x3x8xf32>, tensor<8x2x16x4xf32>
}

// Heads behind a dimension of one element, as of one token.
// CHECK-LABEL: func.func @one_token
// CHECK: moe.parameter ["k"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>]
// CHECK: moe.parameter ["o"] recipe [#moe.shard<dim = 1, grid = @tp, ranks = 2>]
// CHECK: nn.silu {{.*}} : tensor<1x1x1x1x1x1x4xf32>
func.func @one_token(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %wk = moe.parameter ["k"] : tensor<8x8xf32>
  %wo = moe.parameter ["o"] : tensor<8x8xf32>
  %k = nn.linear %x, %wk : tensor<1x8xf32>, tensor<8x8xf32> -> tensor<1x8xf32>
  %heads = tensor.expand_shape %k [[0], [1, 2, 3, 4, 5, 6]] output_shape [1, 1, 1, 1, 1, 2, 4] : tensor<1x8xf32> into tensor<1x1x1x1x1x2x4xf32>
  %active = nn.silu %heads : tensor<1x1x1x1x1x2x4xf32>
  %h = tensor.collapse_shape %active [[0], [1, 2, 3, 4, 5, 6]] : tensor<1x1x1x1x1x2x4xf32> into tensor<1x8xf32>
  %y = nn.linear %h, %wo : tensor<1x8xf32>, tensor<8x8xf32> -> tensor<1x8xf32>
  return %y : tensor<1x8xf32>
}
