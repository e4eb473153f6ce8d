// Exchanges in passes: a loop around their launches, in front of which stands all that is the same for each of them.
// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --scheduled-to-kernel --kernel-verify-windows -o %t && FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=KERNELS < %t
// RUN: sed 's/%v, %v {/%v, %v schedule(<overlap, chunk = 2, steps = [1, 1], slices = 1>) {/' %s \
// RUN:   | moe-opt --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --scheduled-to-kernel --kernel-verify-windows | FileCheck %s --check-prefix=OVERLAP
// One pass as the number says, no loop without it.
// RUN: sed 's/ {kernel.pass_tokens = 4 : i64}//' %s | moe-opt --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --scheduled-to-kernel | FileCheck %s --check-prefix=WHOLE
// WHOLE-NOT: kernel.passes
// WHOLE-NOT: of_pass

shard.grid @ep(shape = 2)

// CHECK-LABEL: func.func @layer
// All ranks agree on how many passes there are, and how large they are.
// CHECK: %[[ROOM:.*]] = kernel.agree %{{.*}} on @ep : index
// CHECK: %[[SIZE:.*]] = arith.minui %[[ROOM]], %c4
// CHECK: %[[COUNT:.*]] = arith.ceildivui %[[ROOM]], %c4
// CHECK: %[[OWNERS:.*]] = memref.alloc(%[[SIZE]]) : memref<?x2xi32>
// CHECK: %[[ALL:.*]] = arith.muli %[[SIZE]], %c2
// CHECK: kernel.check %{{.*}}, "a rank has {0} tokens; {{.*}}"(%[[ROOM]])
// CHECK: %[[ROWS:.*]] = kernel.window(%[[ALL]]) on @ep as "rows" : !kernel.window<?x64xbf16>
// CHECK: scf.for %[[PASS:.*]] = %c0 to %[[COUNT]] step %c1 {
// CHECK-NEXT: %[[FIRST:.*]] = arith.muli %[[PASS]], %c4
// CHECK-NEXT: kernel.launch @owners_8_of_pass(%{{.*}}, %[[OWNERS]], %[[FIRST]]) rows(%[[SIZE]])
// CHECK-NEXT: kernel.launch @count_2(%[[OWNERS]],
// CHECK-NEXT: kernel.launch @layout_2(
// CHECK-NEXT: kernel.launch @next_exchange(
// CHECK-NEXT: kernel.launch @send_rows({{.*}}%[[ROWS]]{{.*}}%[[FIRST]]
// CHECK-NEXT: kernel.launch @announce_rows(
// CHECK-NEXT: kernel.launch @await_rows(
// CHECK-NEXT: kernel.launch @own_experts_4_received(
// CHECK-NEXT: kernel.launch @count_4(
// CHECK-NEXT: kernel.launch @layout_4(
// CHECK-NEXT: kernel.launch @experts_up
// CHECK-NEXT: kernel.launch @experts_down
// CHECK-NEXT: kernel.launch @combine_64_f32_top2_tree4(
// CHECK-NEXT: kernel.launch @send_sums(
// CHECK-NEXT: kernel.launch @signal_ranks(
// CHECK-NEXT: kernel.launch @await_ranks(
// What reads the sums runs in the epilogue of the last launch, as ever.
// CHECK-NEXT: kernel.launch @combine_64_bf16_top2_tree2_of_pass_addf({{.*}}, %[[Y:alloc_[0-9]+]], %arg0, %[[FIRST]])
// CHECK-NEXT: } {kernel.passes}
// CHECK: return %[[Y]]
// OVERLAP-LABEL: func.func @layer
// OVERLAP: scf.for
// OVERLAP: kernel.launch @order_records_4(
// OVERLAP: kernel.launch_group {
// OVERLAP-NEXT: kernel.launch @send_chunks(
// OVERLAP: kernel.launch_group {
// OVERLAP: kernel.launch @await_sums(
// OVERLAP-NEXT: kernel.launch @combine_64_bf16_top2_tree2_of_pass_addf(
// OVERLAP-NEXT: } {kernel.passes}
func.func @layer(%x: tensor<?x64xbf16> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}, %w: tensor<?x2xbf16> {moe.dims = ["tokens", ""]}) -> tensor<?x64xbf16> {
  %v = moe.parameter ["v"] : tensor<4x64x64xbf16>
  %send, %sent = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<2>
  %recv, %got, %re, %rw = moe.all_to_all %send, %sent on @ep with(%e, %w : tensor<?x2xi32>, tensor<?x2xbf16>) via(direct) {kernel.pass_tokens = 4 : i64}
      : tensor<?x64xbf16>, !moe.layout<2> -> tensor<?x64xbf16>, !moe.layout<1>, tensor<?x2xi32>, tensor<?x2xbf16>
  %rows, %here = moe.dispatch %recv, %re num_experts(8) at @ep : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<4>
  %r = moe.expert %rows, %here, %v, %v {
  ^bb0(%g: f32):
    moe.yield %g : f32
  } : tensor<?x64xbf16>, !moe.layout<4>, tensor<4x64x64xbf16>, tensor<4x64x64xbf16> -> tensor<?x64xf32>
  %p = moe.combine %r, %here weights(%rw : tensor<?x2xbf16>) sum(<tree, groups = 4>) : tensor<?x64xf32>, !moe.layout<4> -> tensor<?x64xf32>
  %back, %gone = moe.all_to_all %p, %got on @ep return : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
  %y = moe.combine %back, %gone sum(<tree, groups = 2>) : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xbf16>
  %z = arith.addf %x, %y : tensor<?x64xbf16>
  return %z : tensor<?x64xbf16>
}

// A sum over ranks. The last pass gives what is left.
// CHECK-LABEL: func.func @sum
// CHECK: %[[ROWS:.*]] = memref.dim
// CHECK: %[[ROOM:.*]] = kernel.agree %[[ROWS]] on @ep
// CHECK: %[[SIZE:.*]] = arith.minui %[[ROOM]], %c4
// CHECK: arith.ceildivui %[[ROOM]], %c4
// CHECK: %[[ALL:.*]] = arith.muli %[[SIZE]], %c4
// CHECK: kernel.window(%[[ALL]]) on @ep as "summands"
// CHECK: scf.for %[[PASS:.*]] =
// CHECK-NEXT: %[[FIRST:.*]] = arith.muli %[[PASS]], %c4
// CHECK-NEXT: %[[REST:.*]] = arith.subi %[[ROOM]], %[[FIRST]]
// CHECK-NEXT: %[[LEFT:.*]] = arith.minui %[[REST]], %[[SIZE]]
// CHECK-NEXT: kernel.launch @next_exchange(
// CHECK: kernel.launch @give_sums({{.*}}rows(%[[LEFT]])
// CHECK-NEXT: kernel.launch @signal_ranks(
// CHECK-NEXT: kernel.launch @await_ranks(
// CHECK: kernel.launch @sum_of_ranks_64_of_pass({{.*}}rows(%[[LEFT]])
// CHECK-NEXT: } {kernel.passes}
func.func @sum(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = shard.all_reduce %x on @ep grid_axes = [0] {kernel.pass_tokens = 4 : i64} : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// Of a known number of rows.
// CHECK-LABEL: func.func @known
// CHECK: kernel.window() on @ep as "summands" : !kernel.window<16x64xf32>
// CHECK: scf.for %{{.*}} = %c0 to %c3 step %c1 {
func.func @known(%x: tensor<9x64xf32>) -> tensor<9x64xf32> {
  %y = shard.all_reduce %x on @ep grid_axes = [0] {kernel.pass_tokens = 4 : i64} : tensor<9x64xf32> -> tensor<9x64xf32>
  return %y : tensor<9x64xf32>
}

// Parts of rows, joined: each pass fills its rows of the result.
// CHECK-LABEL: func.func @join
// CHECK: kernel.window(%{{.*}}) on @ep as "parts"
// CHECK: scf.for %[[PASS:.*]] =
// CHECK-NEXT: %[[FIRST:.*]] = arith.muli %[[PASS]], %c4
// CHECK: %[[LEFT:.*]] = arith.minui
// CHECK: kernel.launch @give_parts({{.*}}rows(%[[LEFT]])
// CHECK: kernel.launch @join_parts_64_of_pass({{.*}}%[[FIRST]]) rows(%[[LEFT]])
// CHECK-NEXT: } {kernel.passes}
func.func @join(%x: tensor<?x32xf32>) -> tensor<?x64xf32> {
  %y = shard.all_gather %x on @ep grid_axes = [0] gather_axis = 1 {kernel.pass_tokens = 4 : i64} : tensor<?x32xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// Tokens that a rank does not have go to nobody, and have no sum.
// KERNELS-LABEL: kernel.func @owners_8_of_pass
// KERNELS: scf.forall (%[[I:.*]], %{{.*}}) in
// KERNELS-NEXT: %[[TOKEN:.*]] = arith.addi %arg2, %[[I]]
// KERNELS-NEXT: %[[T:.*]] = memref.dim %arg0
// KERNELS-NEXT: %[[HAS:.*]] = arith.cmpi slt, %[[TOKEN]], %[[T]]
// KERNELS-NEXT: scf.if %[[HAS]] {
// KERNELS: memref.load %arg0[%[[TOKEN]],
// KERNELS: } else {
// KERNELS-NEXT: memref.store %c-1_i32
// KERNELS-LABEL: kernel.func @send_rows
// KERNELS: %[[FROM:.*]] = arith.addi %arg10, %
// KERNELS: kernel.put %{{.*}}[%[[FROM]]], %{{.*}}[%{{.*}}][%{{.*}}]
// KERNELS-LABEL: kernel.func @combine_64_bf16_top2_tree2_of_pass_addf
// KERNELS: scf.forall (%[[I:.*]], %{{.*}}) in
// KERNELS: %[[ROW:.*]] = arith.addi %arg5, %[[I]]
// KERNELS: arith.cmpi slt, %[[ROW]],
// KERNELS-NEXT: scf.if
// KERNELS: memref.store %{{.*}}[%[[ROW]],
