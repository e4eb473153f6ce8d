// Each rank has the sinks of its heads of queries; sinks that are computed keep the heads together.
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=tp=2})" | FileCheck %s

// CHECK-LABEL: func.func @sinks
// CHECK: %[[S:.*]] = moe.parameter ["sinks"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<2xf32>
// CHECK: nn.attention {{.*}} sinks(%[[S]] : tensor<2xf32>) {{.*}} -> tensor<2x3x2x6xf32>
func.func @sinks(%x: tensor<2x3x8xf32> {moe.dims = ["", "", ""]}) -> tensor<2x3x8xf32> {
  %wq = moe.parameter ["q.weight"] : tensor<16x8xf32>
  %wk = moe.parameter ["k.weight"] : tensor<8x8xf32>
  %wv = moe.parameter ["v.weight"] : tensor<12x8xf32>
  %wo = moe.parameter ["o.weight"] : tensor<8x24xf32>
  %s = moe.parameter ["sinks"] : tensor<4xf32>
  %q = nn.linear %x, %wq : tensor<2x3x8xf32>, tensor<16x8xf32> -> tensor<2x3x16xf32>
  %k = nn.linear %x, %wk : tensor<2x3x8xf32>, tensor<8x8xf32> -> tensor<2x3x8xf32>
  %v = nn.linear %x, %wv : tensor<2x3x8xf32>, tensor<12x8xf32> -> tensor<2x3x12xf32>
  %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [2, 3, 4, 4] : tensor<2x3x16xf32> into tensor<2x3x4x4xf32>
  %kh = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [2, 3, 2, 4] : tensor<2x3x8xf32> into tensor<2x3x2x4xf32>
  %vh = tensor.expand_shape %v [[0], [1], [2, 3]] output_shape [2, 3, 2, 6] : tensor<2x3x12xf32> into tensor<2x3x2x6xf32>
  %ek = tensor.empty() : tensor<2x2x3x4xf32>
  %kt = linalg.transpose ins(%kh : tensor<2x3x2x4xf32>) outs(%ek : tensor<2x2x3x4xf32>) permutation = [0, 2, 1, 3]
  %ev = tensor.empty() : tensor<2x2x3x6xf32>
  %vt = linalg.transpose ins(%vh : tensor<2x3x2x6xf32>) outs(%ev : tensor<2x2x3x6xf32>) permutation = [0, 2, 1, 3]
  %o = nn.attention %qh, %kt, %vt sinks(%s : tensor<4xf32>) scale(0.5) causal
      : tensor<2x3x4x4xf32>, tensor<2x2x3x4xf32>, tensor<2x2x3x6xf32> -> tensor<2x3x4x6xf32>
  %heads = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<2x3x4x6xf32> into tensor<2x3x24xf32>
  %y = nn.linear %heads, %wo : tensor<2x3x24xf32>, tensor<8x24xf32> -> tensor<2x3x8xf32>
  %wu = moe.parameter ["up.weight"] : tensor<12x8xf32>
  %wd = moe.parameter ["down.weight"] : tensor<8x12xf32>
  %u = nn.linear %y, %wu : tensor<2x3x8xf32>, tensor<12x8xf32> -> tensor<2x3x12xf32>
  %d = nn.linear %u, %wd : tensor<2x3x12xf32>, tensor<8x12xf32> -> tensor<2x3x8xf32>
  return %d : tensor<2x3x8xf32>
}

// CHECK-LABEL: func.func @computed
// CHECK: moe.parameter ["q.weight"] : tensor<16x8xf32>
// CHECK: nn.attention {{.*}} -> tensor<2x3x4x4xf32>
func.func @computed(%x: tensor<2x3x8xf32> {moe.dims = ["", "", ""]}, %s: tensor<4xf32>) -> tensor<2x3x8xf32> {
  %wq = moe.parameter ["q.weight"] : tensor<16x8xf32>
  %wo = moe.parameter ["o.weight"] : tensor<8x16xf32>
  %q = nn.linear %x, %wq : tensor<2x3x8xf32>, tensor<16x8xf32> -> tensor<2x3x16xf32>
  %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [2, 3, 4, 4] : tensor<2x3x16xf32> into tensor<2x3x4x4xf32>
  %ek = tensor.empty() : tensor<2x4x3x4xf32>
  %kt = linalg.transpose ins(%qh : tensor<2x3x4x4xf32>) outs(%ek : tensor<2x4x3x4xf32>) permutation = [0, 2, 1, 3]
  %o = nn.attention %qh, %kt, %kt sinks(%s : tensor<4xf32>) scale(0.5) causal
      : tensor<2x3x4x4xf32>, tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32> -> tensor<2x3x4x4xf32>
  %heads = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<2x3x4x4xf32> into tensor<2x3x16xf32>
  %y = nn.linear %heads, %wo : tensor<2x3x16xf32>, tensor<8x16xf32> -> tensor<2x3x8xf32>
  %wu = moe.parameter ["up.weight"] : tensor<12x8xf32>
  %wd = moe.parameter ["down.weight"] : tensor<8x12xf32>
  %u = nn.linear %y, %wu : tensor<2x3x8xf32>, tensor<12x8xf32> -> tensor<2x3x12xf32>
  %d = nn.linear %u, %wd : tensor<2x3x12xf32>, tensor<8x12xf32> -> tensor<2x3x8xf32>
  return %d : tensor<2x3x8xf32>
}
