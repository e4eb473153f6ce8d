// Ranks (tp) have the matrices of their heads; what one op alone cannot know of these is an error.
// RUN: split-file %s %t
// RUN: moe-opt %t/latent.mlir --pass-pipeline="builtin.module(moe-partition{parallel=tp=2})" -o %t.tp && FileCheck %t/latent.mlir < %t.tp
// RUN: moe-opt %t.tp --moe-verify-level=level=spmd --moe-schedule --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --moe-verify-level=level=scheduled -o %t.scheduled
// RUN: moe-opt %t.scheduled --scheduled-to-kernel --moe-verify-level=level=kernel --kernel-verify-windows -o /dev/null
// RUN: not moe-opt %t/whole.mlir --pass-pipeline="builtin.module(moe-partition{parallel=tp=2})" --remarks-filter=moe-partition --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %t/whole.mlir
// RUN: moe-opt %t/invalid.mlir --split-input-file --verify-diagnostics --moe-verify-level=level=spmd

//--- latent.mlir
// Queries of a head go through its matrix, and so does what it finds.
// CHECK-LABEL: func.func @latent
func.func @latent(%x: tensor<?x?x8xf32> {moe.dims = ["batch", "seq", ""]}, %rows: tensor<?x1x16x6xf32> {moe.dims = ["batch", "", "", ""]})
    -> (tensor<?x?x8xf32> {moe.dims = ["batch", "seq", ""]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %x, %c0 : tensor<?x?x8xf32>
  %seq = tensor.dim %x, %c1 : tensor<?x?x8xf32>
  // Queries of a low rank are made by every rank, and the heads behind them are divided.
  // CHECK-DAG: moe.parameter ["rank"] : tensor<4x8xf32>
  // CHECK-DAG: moe.parameter ["q"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<8x4xf32>
  %wr = moe.parameter ["rank"] : tensor<4x8xf32>
  %wn = moe.parameter ["norm"] : tensor<4xf32>
  %wq = moe.parameter ["q"] : tensor<16x4xf32>
  // CHECK-DAG: %[[KEYS:.*]] = moe.parameter ["kv"] recipe [#moe.slice<1, 0, 4>, #moe.transpose<[0, 2, 1]>, #moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<2x6x4xf32>
  %keys = moe.parameter ["kv"] recipe [#moe.slice<1, 0, 4>, #moe.transpose<[0, 2, 1]>] : tensor<4x6x4xf32>
  // CHECK-DAG: %[[VALUES:.*]] = moe.parameter ["kv"] recipe [#moe.slice<1, 4, 2>, #moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<2x2x6xf32>
  // CHECK-DAG: %[[BIAS:.*]] = moe.parameter ["b"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<2x2xf32>
  %values = moe.parameter ["kv"] recipe [#moe.slice<1, 4, 2>] : tensor<4x2x6xf32>
  %bias = moe.parameter ["b"] : tensor<4x2xf32>
  %wo = moe.parameter ["o"] : tensor<8x8xf32>
  %r = nn.linear %x, %wr : tensor<?x?x8xf32>, tensor<4x8xf32> -> tensor<?x?x4xf32>
  %n = nn.rms_norm %r, %wn eps(1.0e-5) : tensor<?x?x4xf32>, tensor<4xf32>
  %q = nn.linear %n, %wq : tensor<?x?x4xf32>, tensor<16x4xf32> -> tensor<?x?x16xf32>
  %heads = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [%batch, %seq, 4, 4] : tensor<?x?x16xf32> into tensor<?x?x4x4xf32>
  // CHECK: %[[Q:.*]] = nn.batch_linear %{{.*}}, %[[KEYS]] : tensor<?x?x2x4xf32>, tensor<2x6x4xf32> -> tensor<?x?x2x6xf32>
  %k = nn.batch_linear %heads, %keys : tensor<?x?x4x4xf32>, tensor<4x6x4xf32> -> tensor<?x?x4x6xf32>
  %o = nn.attention %k, %rows, %rows scale(0.5) : tensor<?x?x4x6xf32>, tensor<?x1x16x6xf32>, tensor<?x1x16x6xf32> -> tensor<?x?x4x6xf32>
  // CHECK: %[[O:.*]] = nn.attention %[[Q]], {{.*}} -> tensor<?x?x2x6xf32>
  // CHECK: nn.batch_linear %[[O]], %[[VALUES]] bias(%[[BIAS]]) : tensor<?x?x2x6xf32>, tensor<2x2x6xf32>, tensor<2x2xf32> -> tensor<?x?x2x2xf32>
  // CHECK: shard.all_reduce
  // CHECK-NOT: shard.all_
  %v = nn.batch_linear %o, %values bias(%bias) : tensor<?x?x4x6xf32>, tensor<4x2x6xf32>, tensor<4x2xf32> -> tensor<?x?x4x2xf32>
  %flat = tensor.collapse_shape %v [[0], [1], [2, 3]] : tensor<?x?x4x2xf32> into tensor<?x?x8xf32>
  %y = nn.linear %flat, %wo : tensor<?x?x8xf32>, tensor<8x8xf32> -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

//--- whole.mlir
// CHECK: 'nn.linear' of 'q' stays whole on every rank: 'nn.batch_linear' of 'w' sums over what is divided, with a matrix for each head
// CHECK: 'nn.linear' of 'p' stays whole on every rank: 'nn.batch_linear' has a weight or a bias that is no moe.parameter
func.func @whole(%x: tensor<?x2x8xf32> {moe.dims = ["tokens", "", ""]}, %given: tensor<4x3x2xf32>)
    -> (tensor<?x2x3xf32> {moe.dims = ["tokens", "", ""]}, tensor<?x2x4x3xf32> {moe.dims = ["tokens", "", "", ""]}) {
  %c0 = arith.constant 0 : index
  %tokens = tensor.dim %x, %c0 : tensor<?x2x8xf32>
  %wq = moe.parameter ["q"] : tensor<4x8xf32>
  %wp = moe.parameter ["p"] : tensor<8x8xf32>
  %w = moe.parameter ["w"] : tensor<2x3x4xf32>
  %q = nn.linear %x, %wq : tensor<?x2x8xf32>, tensor<4x8xf32> -> tensor<?x2x4xf32>
  %y = nn.batch_linear %q, %w : tensor<?x2x4xf32>, tensor<2x3x4xf32> -> tensor<?x2x3xf32>
  %p = nn.linear %x, %wp : tensor<?x2x8xf32>, tensor<8x8xf32> -> tensor<?x2x8xf32>
  %heads = tensor.expand_shape %p [[0], [1], [2, 3]] output_shape [%tokens, 2, 4, 2] : tensor<?x2x8xf32> into tensor<?x2x4x2xf32>
  %z = nn.batch_linear %heads, %given : tensor<?x2x4x2xf32>, tensor<4x3x2xf32> -> tensor<?x2x4x3xf32>
  return %y, %z : tensor<?x2x3xf32>, tensor<?x2x4x3xf32>
}

//--- invalid.mlir
shard.grid @tp(shape = 2)

func.func @part_of_each(%x: tensor<?x4x6xf32>) -> tensor<?x4x2xf32> {
  %w = moe.parameter ["w"] recipe [#moe.shard<dim = 1, grid = @tp, ranks = 2>] : tensor<4x2x6xf32>
  // expected-error@+1 {{'nn.batch_linear' has a part of each matrix; ranks have whole ones, by a #moe.shard of dimension 0 without 'halves'}}
  %y = nn.batch_linear %x, %w : tensor<?x4x6xf32>, tensor<4x2x6xf32> -> tensor<?x4x2xf32>
  return %y : tensor<?x4x2xf32>
}

// -----

shard.grid @tp(shape = 2)

func.func @bias_of_all(%x: tensor<?x4x6xf32>, %b: tensor<4x2xf32>) -> tensor<?x4x2xf32> {
  %w = moe.parameter ["w"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<4x2x6xf32>
  // expected-error@+1 {{'nn.batch_linear' has a part of a weight or a bias and not the same one of the other; give both one #moe.shard of dimension 0, or none}}
  %y = nn.batch_linear %x, %w bias(%b) : tensor<?x4x6xf32>, tensor<4x2x6xf32>, tensor<4x2xf32> -> tensor<?x4x2xf32>
  return %y : tensor<?x4x2xf32>
}

// -----

shard.grid @tp(shape = 2)

func.func @given_to_a_caller(%x: tensor<?x4x6xf32>) -> tensor<?x4x2xf32> {
  %w = moe.parameter ["w"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<4x2x6xf32>
  // expected-error@+1 {{'nn.batch_linear' has some of the matrices, and what is made of its result goes to a caller, or to an op that needs all of it, or ranks add different columns: a shard.all_gather or a product with that part of its columns has to come before}}
  %y = nn.batch_linear %x, %w : tensor<?x4x6xf32>, tensor<4x2x6xf32> -> tensor<?x4x2xf32>
  return %y : tensor<?x4x2xf32>
}
