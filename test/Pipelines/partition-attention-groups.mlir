// Fewer heads of keys than ranks (tp): neighbours have the same head, its cache and its weights.
// RUN: moe-opt %s --moe-partition=parallel=tp=4 -o %t.tp && FileCheck %s < %t.tp
// RUN: moe-opt %t.tp --moe-verify-level=level=spmd --moe-schedule --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --moe-verify-level=level=scheduled -o %t.scheduled
// RUN: moe-opt %t.scheduled --scheduled-to-kernel --moe-verify-level=level=kernel --kernel-verify-windows -o %t.kernel && FileCheck %s --check-prefix=KERNEL < %t.kernel
// The job has the ranks of @tp; ranks 0 and 1 have the first part of @kv.
// RUN: moe-opt %t.kernel --kernel-to-runtime | FileCheck %s --check-prefix=RUNTIME
// What is wrong with a text.
// RUN: sed 's/on @tp grid_axes/on @kv grid_axes/' %t.tp | not moe-opt --moe-verify-level=level=spmd 2>&1 | FileCheck %s --check-prefix=SUM
// RUN: sed 's/= @tp, ranks = 4>\] : tensor<8x8x/= @kv, ranks = 2>] : tensor<8x8x/' %t.tp | not moe-opt 2>&1 --moe-verify-level=level=spmd | FileCheck %s --check-prefix=TWICE

// CHECK: shard.grid @tp(shape = 4) {moe.axes = ["tp"]}
// CHECK-NEXT: shard.grid @kv(shape = 2) {moe.axes = ["kv"], moe.groups_of = @tp}
// CHECK-NOT: shard.grid
// RUNTIME: moert.axes = [{name = "tp", ranks = 4 : i64, stride = 1 : i64}, {name = "kv", ranks = 2 : i64, stride = 2 : i64}]
// RUNTIME: axes = array<i64: 0>
// SUM: 'nn.linear' has a part of the columns of its weight, and so gives summands
// TWICE: 'nn.linear' has a part of the rows of its weight, and what is made of its result goes to a caller

// CHECK-LABEL: func.func @grouped
// CHECK-SAME: tensor<?x1x16x4xf32> {moe.dims = ["batch", "", "", ""], moe.state}, %{{.*}}: tensor<?x1x16x4xf32>
// CHECK: moe.parameter ["q"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 4>] : tensor<8x8xf32>
// CHECK: moe.parameter ["k"] recipe [#moe.shard<dim = 0, grid = @kv, ranks = 2>] : tensor<4x8xf32>
// CHECK: moe.parameter ["k.bias"] recipe [#moe.shard<dim = 0, grid = @kv, ranks = 2>] : tensor<4xf32>
// CHECK: moe.parameter ["v"] recipe [#moe.shard<dim = 0, grid = @kv, ranks = 2>] : tensor<4x8xf32>
// The norm of all heads of keys: of each square there are two, in the sum and in the number of columns.
// CHECK: moe.parameter ["k_norm"] recipe [#moe.shard<dim = 0, grid = @kv, ranks = 2>] : tensor<4xf32>
// CHECK: shard.all_reduce {{.*}} on @tp grid_axes = [0] : tensor<?x3x1xf32>
// CHECK: arith.constant 1.600000e+01 : f32
// CHECK: nn.attention {{.*}} : tensor<?x3x2x4xf32>, tensor<?x1x16x4xf32>, tensor<?x1x16x4xf32> -> tensor<?x3x2x4xf32>
// CHECK: moe.parameter ["o"] recipe [#moe.shard<dim = 1, grid = @tp, ranks = 4>] : tensor<8x8xf32>
// CHECK: shard.all_reduce {{.*}} on @tp grid_axes = [0] : tensor<?x3x8xf32>
// KERNEL-LABEL: func.func @grouped
// KERNEL: kernel.launch @give_sums
// KERNEL-NOT: kernel.window{{.*}} on @kv
func.func @grouped(%x: tensor<?x3x8xf32> {moe.dims = ["batch", "", ""], moe.name = "x"}, %start: tensor<?xi64> {moe.dims = ["batch"], moe.name = "start"},
                   %keys: tensor<?x2x16x4xf32> {moe.dims = ["batch", "", "", ""], moe.state}, %values: tensor<?x2x16x4xf32> {moe.dims = ["batch", "", "", ""], moe.state})
    -> (tensor<?x3x8xf32> {moe.dims = ["batch", "", ""], moe.name = "y"}, tensor<?x2x16x4xf32> {moe.state_of = 2}, tensor<?x2x16x4xf32> {moe.state_of = 3}) {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %x, %c0 : tensor<?x3x8xf32>
  %wq = moe.parameter ["q"] : tensor<32x8xf32>
  %wk = moe.parameter ["k"] : tensor<8x8xf32>
  %bk = moe.parameter ["k.bias"] : tensor<8xf32>
  %wv = moe.parameter ["v"] : tensor<8x8xf32>
  %kn = moe.parameter ["k_norm"] : tensor<8xf32>
  %q = nn.linear %x, %wq : tensor<?x3x8xf32>, tensor<32x8xf32> -> tensor<?x3x32xf32>
  %k = nn.linear %x, %wk bias(%bk) : tensor<?x3x8xf32>, tensor<8x8xf32>, tensor<8xf32> -> tensor<?x3x8xf32>
  %v = nn.linear %x, %wv : tensor<?x3x8xf32>, tensor<8x8xf32> -> tensor<?x3x8xf32>
  %nk = nn.rms_norm %k, %kn eps(1.0e-5) : tensor<?x3x8xf32>, tensor<8xf32>
  %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [%batch, 3, 8, 4] : tensor<?x3x32xf32> into tensor<?x3x8x4xf32>
  %kh = tensor.expand_shape %nk [[0], [1], [2, 3]] output_shape [%batch, 3, 2, 4] : tensor<?x3x8xf32> into tensor<?x3x2x4xf32>
  %vh = tensor.expand_shape %v [[0], [1], [2, 3]] output_shape [%batch, 3, 2, 4] : tensor<?x3x8xf32> into tensor<?x3x2x4xf32>
  %k1 = nn.cache_update %keys, %kh positions(%start) : tensor<?x2x16x4xf32>, tensor<?x3x2x4xf32>, tensor<?xi64>
  %v1 = nn.cache_update %values, %vh positions(%start) : tensor<?x2x16x4xf32>, tensor<?x3x2x4xf32>, tensor<?xi64>
  %o = nn.attention %qh, %k1, %v1 positions(%start : tensor<?xi64>) scale(0.5) causal
      : tensor<?x3x8x4xf32>, tensor<?x2x16x4xf32>, tensor<?x2x16x4xf32> -> tensor<?x3x8x4xf32>
  %heads = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<?x3x8x4xf32> into tensor<?x3x32xf32>
  %wo = moe.parameter ["o"] : tensor<8x32xf32>
  %y = nn.linear %heads, %wo : tensor<?x3x32xf32>, tensor<8x32xf32> -> tensor<?x3x8xf32>
  return %y, %k1, %v1 : tensor<?x3x8xf32>, tensor<?x2x16x4xf32>, tensor<?x2x16x4xf32>
}

// One head of keys is on every rank, with its cache.
// CHECK-LABEL: func.func @one_head
// CHECK-SAME: tensor<?x1x16x4xf32> {moe.dims = ["batch", "", "", ""], moe.state}
// CHECK: moe.parameter ["k"] : tensor<4x8xf32>
// CHECK: moe.parameter ["q"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 4>] : tensor<4x8xf32>
// CHECK: moe.parameter ["o"] recipe [#moe.shard<dim = 1, grid = @tp, ranks = 4>] : tensor<8x4xf32>
// CHECK: nn.attention {{.*}} : tensor<?x3x1x4xf32>, tensor<?x1x16x4xf32>, tensor<?x1x16x4xf32>
func.func @one_head(%x: tensor<?x3x8xf32> {moe.dims = ["batch", "", ""], moe.name = "x"}, %start: tensor<?xi64> {moe.dims = ["batch"], moe.name = "start"},
                    %keys: tensor<?x1x16x4xf32> {moe.dims = ["batch", "", "", ""], moe.state})
    -> (tensor<?x3x8xf32> {moe.dims = ["batch", "", ""], moe.name = "y"}, tensor<?x1x16x4xf32> {moe.state_of = 2}) {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %x, %c0 : tensor<?x3x8xf32>
  %wk = moe.parameter ["k"] : tensor<4x8xf32>
  %wq = moe.parameter ["q"] : tensor<16x8xf32>
  %wo = moe.parameter ["o"] : tensor<8x16xf32>
  %q = nn.linear %x, %wq : tensor<?x3x8xf32>, tensor<16x8xf32> -> tensor<?x3x16xf32>
  %k = nn.linear %x, %wk : tensor<?x3x8xf32>, tensor<4x8xf32> -> tensor<?x3x4xf32>
  %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [%batch, 3, 4, 4] : tensor<?x3x16xf32> into tensor<?x3x4x4xf32>
  %kh = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [%batch, 3, 1, 4] : tensor<?x3x4xf32> into tensor<?x3x1x4xf32>
  %k1 = nn.cache_update %keys, %kh positions(%start) : tensor<?x1x16x4xf32>, tensor<?x3x1x4xf32>, tensor<?xi64>
  %o = nn.attention %qh, %k1, %k1 positions(%start : tensor<?xi64>) scale(0.5) causal
      : tensor<?x3x4x4xf32>, tensor<?x1x16x4xf32>, tensor<?x1x16x4xf32> -> tensor<?x3x4x4xf32>
  %heads = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<?x3x4x4xf32> into tensor<?x3x16xf32>
  %y = nn.linear %heads, %wo : tensor<?x3x16xf32>, tensor<8x16xf32> -> tensor<?x3x8xf32>
  return %y, %k1 : tensor<?x3x8xf32>, tensor<?x1x16x4xf32>
}
