// The sum over ranks: each gives its summand to all, in halves that take turns, and adds in pairs.
// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --scheduled-to-kernel --kernel-verify-windows | FileCheck %s

shard.grid @ep(shape = 4)

// CHECK-LABEL: func.func @main
// CHECK: %[[ME:.*]] = kernel.rank on @ep : index
// Ranks that were given other tokens than the others end the call.
// CHECK: %[[ALL:.*]] = kernel.agree %[[T:.*]] on @ep : index
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[T]], %[[ALL]]
// CHECK: kernel.check %[[SAME]], "this rank was given {0} tokens and another one {1}; ranks that add their sums take the same inputs"
// CHECK: %[[ROWS:.*]] = arith.muli %[[T]], %c8
// CHECK: %[[WINDOW:.*]] = kernel.window(%[[ROWS]]) on @ep as "summands" : !kernel.window<?x64xf32>
// CHECK: %[[FLAGS:.*]] = kernel.window() on @ep as "given" : !kernel.window<4xi32>
// CHECK: kernel.launch @next_exchange(%[[FLAGS]]) single
// CHECK: kernel.launch @give_sums({{.*}}moe.phase = "moe: sum over ranks", moe.traffic = {{.*}}row_bytes = 256
// CHECK: kernel.launch @signal_ranks(%[[FLAGS]],
// CHECK: kernel.launch @await_ranks(%[[FLAGS]],
// CHECK: kernel.launch @sum_of_ranks_64(
func.func @main(%x: tensor<?x64xf32> {moe.dims = ["tokens", ""], moe.name = "x"}) -> (tensor<?x64xf32> {moe.dims = ["tokens", ""], moe.name = "y"}) {
  %y = shard.all_reduce %x on @ep grid_axes = [0] : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// A number of rows that is known needs no agreement, and its bytes are a constant.
// CHECK-LABEL: func.func @known
// CHECK-NOT: kernel.agree
// CHECK: kernel.launch @give_sums{{.*}}moe.traffic = {fixed_bytes = 2304 : i64, grid = @ep, row_bytes = 0 : i64}
func.func @known(%x: tensor<9x64xf32>) -> tensor<9x64xf32> {
  %y = shard.all_reduce %x on @ep grid_axes = [0] : tensor<9x64xf32> -> tensor<9x64xf32>
  return %y : tensor<9x64xf32>
}

// CHECK-LABEL: kernel.func @sum_of_ranks_64
// CHECK: %[[E:.*]] = kernel.epoch
// CHECK: arith.andi %[[E]], %c1_i32
// CHECK: scf.forall
// CHECK: scf.for
// CHECK: %[[A:.*]] = memref.load
// CHECK: %[[B:.*]] = memref.load
// CHECK: %[[C:.*]] = memref.load
// CHECK: %[[D:.*]] = memref.load
// CHECK: %[[AB:.*]] = arith.addf %[[A]], %[[B]]
// CHECK: %[[CD:.*]] = arith.addf %[[C]], %[[D]]
// CHECK: arith.addf %[[AB]], %[[CD]]
