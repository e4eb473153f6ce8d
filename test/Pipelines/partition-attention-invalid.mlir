// Attention that ranks cannot share, and programs without anything to share.
// RUN: split-file %s %t
// RUN: moe-opt %t/heads.mlir --pass-pipeline="builtin.module(moe-partition{parallel=tp=4})" --split-input-file --verify-diagnostics
// RUN: not moe-opt %t/heads.mlir --pass-pipeline="builtin.module(moe-partition{parallel=tp=2,etp=4})" 2>&1 | FileCheck %s --check-prefix=SLICES
// RUN: not moe-opt %t/heads.mlir --pass-pipeline="builtin.module(moe-partition{parallel=tp=3})" 2>&1 | FileCheck %s --check-prefix=THREE
// RUN: not moe-opt %t/heads.mlir --moe-partition='parallel="ep=2" variants="tp=2"' 2>&1 | FileCheck %s --check-prefix=VARIANT
// RUN: moe-opt %t/odd.mlir --pass-pipeline="builtin.module(moe-partition{parallel=tp=4})" | FileCheck %s --check-prefix=ODD
// SLICES: option 'parallel': tp=2 and etp=4 do not fit: the ranks that share attention and dense layers are those that share each expert, so give both one number, or leave one out
// THREE: option 'parallel': tp must be a power of two, got '3'
// VARIANT: error: variants: 'tp=2': tp cuts weights and caches, and variants share one archive of whole weights and the states; use it without --variant

//--- heads.mlir
func.func @heads(%x: tensor<?x3x8xf32> {moe.dims = ["batch", "", ""]}, %q: tensor<?x3x12x4xf32> {moe.dims = ["batch", "", "", ""]}) -> tensor<?x3x12x4xf32> {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %x, %c0 : tensor<?x3x8xf32>
  %wk = moe.parameter ["model.layers.0.self_attn.k_proj.weight"] : tensor<12x8xf32>
  %k = nn.linear %x, %wk : tensor<?x3x8xf32>, tensor<12x8xf32> -> tensor<?x3x12xf32>
  %kh = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [%batch, 3, 3, 4] : tensor<?x3x12xf32> into tensor<?x3x3x4xf32>
  %empty = tensor.empty(%batch) : tensor<?x3x3x4xf32>
  %kt = linalg.transpose ins(%kh : tensor<?x3x3x4xf32>) outs(%empty : tensor<?x3x3x4xf32>) permutation = [0, 2, 1, 3]
  // expected-error@+1 {{'nn.attention' op has 3 heads of keys, which 'model.layers.0.self_attn.k_proj.weight' makes, and tp=4 does not divide them equally, nor they tp; ranks share whole heads with their caches}}
  %o = nn.attention %q, %kt, %kt scale(0.5) : tensor<?x3x12x4xf32>, tensor<?x3x3x4xf32>, tensor<?x3x3x4xf32> -> tensor<?x3x12x4xf32>
  return %o : tensor<?x3x12x4xf32>
}

// -----

// Neighbours may share a head of keys, but not one of queries.
func.func @queries(%q: tensor<?x3x6x4xf32> {moe.dims = ["batch", "", "", ""]}, %k: tensor<?x2x3x4xf32> {moe.dims = ["batch", "", "", ""]}) -> tensor<?x3x6x4xf32> {
  // expected-error@+1 {{'nn.attention' op has 6 heads of queries, and tp=4 does not divide them equally; ranks share whole heads}}
  %o = nn.attention %q, %k, %k scale(0.5) : tensor<?x3x6x4xf32>, tensor<?x2x3x4xf32>, tensor<?x2x3x4xf32> -> tensor<?x3x6x4xf32>
  return %o : tensor<?x3x6x4xf32>
}

// -----

// expected-error@+1 {{'func.func' op has nothing that tp=4 divides: no attention or dense layer whose heads or columns ranks can share; leave tp out}}
func.func @nothing(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

//--- odd.mlir
// Sizes and ranks that nobody knows divide nothing, and are no fault of this pass.
func.func @dense(%x: tensor<?x4xf32> {moe.dims = ["tokens", ""]}) -> (tensor<?x8xf32> {moe.dims = ["tokens", ""]}) {
  %w = moe.parameter ["w"] : tensor<8x4xf32>
  %y = nn.linear %x, %w : tensor<?x4xf32>, tensor<8x4xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func @unranked(%x: tensor<*xf32>, %w: tensor<8x4xf32>) -> tensor<*xf32> {
  %y = nn.silu %x : tensor<*xf32>
  return %y : tensor<*xf32>
}
func.func @dynamic(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = nn.linear %x, %w : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %z = nn.silu %y : tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}
// ODD: shard.all_gather
// ODD-LABEL: func.func @unranked
// ODD-NOT: shard.
