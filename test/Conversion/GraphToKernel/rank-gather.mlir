// What ranks join, and a table that they share.
// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --scheduled-to-kernel --kernel-verify-windows | FileCheck %s

shard.grid @tp(shape = 4)

// Each gives its part to all others, in halves that take turns, as with sums.
// CHECK-LABEL: func.func @join
// CHECK: kernel.agree %{{.*}} on @tp : index
// CHECK: %[[WINDOW:.*]] = kernel.window(%{{.*}}) on @tp as "parts" : !kernel.window<?x16xbf16>
// CHECK: %[[FLAGS:.*]] = kernel.window() on @tp as "given" : !kernel.window<4xi32>
// CHECK: kernel.launch @next_exchange(%[[FLAGS]]) single
// CHECK: kernel.launch @give_parts({{.*}}moe.phase = "moe: gather over ranks", moe.traffic = {{.*}}row_bytes = 32
// CHECK: kernel.launch @signal_ranks(%[[FLAGS]],
// CHECK: kernel.launch @await_ranks(%[[FLAGS]],
// CHECK: %[[OWN:.*]] = kernel.part %[[WINDOW]]
// CHECK: kernel.launch @join_parts_64(%[[OWN]],
func.func @join(%x: tensor<?x16xbf16> {moe.dims = ["tokens", ""], moe.name = "x"}) -> (tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.name = "y"}) {
  %y = shard.all_gather %x on @tp grid_axes = [0] gather_axis = 1 : tensor<?x16xbf16> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// Ids are those of all rows: the program checks them as if the table were whole.
// CHECK-LABEL: func.func @part
// CHECK-SAME: moe.range = [0, 127]
// CHECK: %[[ME:.*]] = kernel.rank on @tp : index
// CHECK: kernel.launch @embedding_32x8_f32_part({{.*}}%[[ME]]) rows
func.func @part(%ids: tensor<?xi64> {moe.dims = ["tokens"], moe.name = "ids"}) -> (tensor<?x8xf32> {moe.dims = ["tokens", ""], moe.name = "y"}) {
  %table = moe.parameter ["embed"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 4>] : tensor<32x8xf32>
  %x = nn.embedding %ids, %table at @tp : tensor<?xi64>, tensor<32x8xf32> -> tensor<?x8xf32>
  %y = shard.all_reduce %x on @tp grid_axes = [0] : tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: kernel.func @join_parts_64
// CHECK: scf.forall (%[[RANK:.*]], %[[ROW:.*]]) in (4,
// CHECK: memref.load
// CHECK: memref.store

// Rows of other ranks are read by nobody.
// CHECK-LABEL: kernel.func @embedding_32x8_f32_part
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c32
// CHECK: %[[ROW:.*]] = arith.subi %{{.*}}, %[[FIRST]] : index
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[ROW]], %c32
// CHECK: %[[END:.*]] = arith.select %[[INSIDE]], %c8, %c0 : index
// CHECK: scf.for %{{.*}} = %c0 to %[[END]]
// CHECK: scf.for %{{.*}} = %[[END]] to %c8
