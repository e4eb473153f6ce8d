// A bias for all heads is every rank's; one for each head keeps the heads together.
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=tp=2})" | FileCheck %s

// CHECK-LABEL: func.func @shared
// CHECK: moe.parameter ["q.weight"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<8x8xf32>
// CHECK: nn.attention {{.*}} -> tensor<2x3x2x4xf32>
func.func @shared(%x: tensor<2x3x8xf32> {moe.dims = ["", "", ""]}, %b: tensor<1x1x3x3xf32>) -> tensor<2x3x8xf32> {
  %wq = moe.parameter ["q.weight"] : tensor<16x8xf32>
  %wo = moe.parameter ["o.weight"] : tensor<8x16xf32>
  %q = nn.linear %x, %wq : tensor<2x3x8xf32>, tensor<16x8xf32> -> tensor<2x3x16xf32>
  %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [2, 3, 4, 4] : tensor<2x3x16xf32> into tensor<2x3x4x4xf32>
  %ek = tensor.empty() : tensor<2x4x3x4xf32>
  %kt = linalg.transpose ins(%qh : tensor<2x3x4x4xf32>) outs(%ek : tensor<2x4x3x4xf32>) permutation = [0, 2, 1, 3]
  %o = nn.attention %qh, %kt, %kt bias(%b : tensor<1x1x3x3xf32>) scale(0.5) causal
      : tensor<2x3x4x4xf32>, tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32> -> tensor<2x3x4x4xf32>
  %heads = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<2x3x4x4xf32> into tensor<2x3x16xf32>
  %y = nn.linear %heads, %wo : tensor<2x3x16xf32>, tensor<8x16xf32> -> tensor<2x3x8xf32>
  %wu = moe.parameter ["up.weight"] : tensor<12x8xf32>
  %wd = moe.parameter ["down.weight"] : tensor<8x12xf32>
  %u = nn.linear %y, %wu : tensor<2x3x8xf32>, tensor<12x8xf32> -> tensor<2x3x12xf32>
  %d = nn.linear %u, %wd : tensor<2x3x12xf32>, tensor<8x12xf32> -> tensor<2x3x8xf32>
  return %d : tensor<2x3x8xf32>
}

// CHECK-LABEL: func.func @each
// CHECK: moe.parameter ["q.weight"] : tensor<16x8xf32>
// CHECK: nn.attention {{.*}} -> tensor<2x3x4x4xf32>
func.func @each(%x: tensor<2x3x8xf32> {moe.dims = ["", "", ""]}, %b: tensor<1x4x3x3xf32>) -> tensor<2x3x8xf32> {
  %wq = moe.parameter ["q.weight"] : tensor<16x8xf32>
  %wo = moe.parameter ["o.weight"] : tensor<8x16xf32>
  %q = nn.linear %x, %wq : tensor<2x3x8xf32>, tensor<16x8xf32> -> tensor<2x3x16xf32>
  %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [2, 3, 4, 4] : tensor<2x3x16xf32> into tensor<2x3x4x4xf32>
  %ek = tensor.empty() : tensor<2x4x3x4xf32>
  %kt = linalg.transpose ins(%qh : tensor<2x3x4x4xf32>) outs(%ek : tensor<2x4x3x4xf32>) permutation = [0, 2, 1, 3]
  %o = nn.attention %qh, %kt, %kt bias(%b : tensor<1x4x3x3xf32>) scale(0.5) causal
      : tensor<2x3x4x4xf32>, tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32> -> tensor<2x3x4x4xf32>
  %heads = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<2x3x4x4xf32> into tensor<2x3x16xf32>
  %y = nn.linear %heads, %wo : tensor<2x3x16xf32>, tensor<8x16xf32> -> tensor<2x3x8xf32>
  %wu = moe.parameter ["up.weight"] : tensor<12x8xf32>
  %wd = moe.parameter ["down.weight"] : tensor<8x12xf32>
  %u = nn.linear %y, %wu : tensor<2x3x8xf32>, tensor<12x8xf32> -> tensor<2x3x12xf32>
  %d = nn.linear %u, %wd : tensor<2x3x12xf32>, tensor<8x12xf32> -> tensor<2x3x8xf32>
  return %d : tensor<2x3x8xf32>
}
