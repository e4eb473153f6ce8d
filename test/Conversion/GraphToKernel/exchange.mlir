// Rows to the ranks of their experts, and sums back: what is launched, in which order, on which windows.
// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --scheduled-to-kernel --kernel-verify-windows | FileCheck %s

shard.grid @ep(shape = 2)

// CHECK-LABEL: func.func @main
// The layout of ranks: a row for each rank that owns one of a token's experts.
// CHECK: kernel.launch @owners_8(%{{[a-z0-9_]+}}, %[[OWNERS:[a-z0-9_]+]]) {{.*}} : memref<?x2xi32>, memref<?x2xi32>
// CHECK: kernel.launch @count_2(%[[OWNERS]],
// CHECK: kernel.launch @layout_2(%[[OWNERS]], %[[OFFSETS:[a-z_0-9]+]],
// CHECK-NOT: gather
// CHECK: kernel.rank on @ep : index
// CHECK: %[[ROOM:.*]] = kernel.agree %{{.*}} on @ep : index
// CHECK: %[[FITS:.*]] = arith.cmpi sle, %[[ROOM]], %c1073741823
// CHECK: kernel.check %[[FITS]], "a rank has {0} tokens; the rows of all ranks are numbered in 32 bits, so that each can have 1073741823"(%[[ROOM]])
// CHECK: %[[CAME:.*]] = kernel.window() on @ep as "came" : !kernel.window<2xi32>
// CHECK: %[[ALL:.*]] = arith.muli %[[ROOM]], %c2
// CHECK: %[[ROWS:.*]] = kernel.window(%[[ALL]]) on @ep as "rows" : !kernel.window<?x64xbf16>
// CHECK: %[[FIRST:.*]] = kernel.window(%[[ALL]]) on @ep as "companion0" : !kernel.window<?x2xi32>
// CHECK: kernel.window(%[[ALL]]) on @ep as "companion1" : !kernel.window<?x2xbf16>
// CHECK: kernel.launch @next_exchange(%[[CAME]]) single
// CHECK: kernel.launch @send_rows({{.*}}%[[OFFSETS]]{{.*}}%[[ROWS]]{{.*}}moe.phase = "mlp: rows to experts", moe.traffic = {fixed_bytes = 0 : i64, grid = @ep, offsets = 2 : i64, row_bytes = 140 : i64}
// CHECK: %[[TOLD:.*]] = kernel.window() on @ep as "announcements" : !kernel.window<2x2xi32>
// CHECK: kernel.launch @announce_rows(%[[CAME]], {{.*}}) single {{.*}}fixed_bytes = 12
// CHECK: kernel.launch @await_rows(%[[CAME]], {{.*}}) single
// CHECK: %[[OWN:.*]] = kernel.part %[[ROWS]] : !kernel.window<?x64xbf16> -> memref<?x64xbf16>
// CHECK: %[[IDS:.*]] = kernel.part %[[FIRST]] : !kernel.window<?x2xi32> -> memref<?x2xi32>
// CHECK-NOT: kernel.launch @received_ids(
// The layer on what came: its experts read rows from the window itself.
// Ids of rows that do not exist are no experts here.
// CHECK: kernel.launch @own_experts_4_received(%[[IDS]], %{{.*}}, %[[ROOM]], %{{.*}}) rows
// CHECK: kernel.launch @count_4(
// CHECK: kernel.launch @layout_4({{.*}}moe.expert_load = {layer = "mlp"
// CHECK: moe.parameter ["mlp.experts.up"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 2>, #moe.pack<
// CHECK: kernel.launch @experts_up_4x96x64_bf16_gated(%[[OWN]],
// CHECK: kernel.launch @experts_down_4x64x48_bf16(
// CHECK: kernel.launch @combine_64_f32_top2_tree4(
// The way back.
// CHECK: %[[SUMS:.*]] = kernel.window(%[[ALL]]) on @ep as "sums" : !kernel.window<?x64xf32>
// CHECK: %[[BACK:.*]] = kernel.window() on @ep as "returned" : !kernel.window<2xi32>
// CHECK: kernel.launch @send_sums({{.*}}%[[SUMS]]{{.*}}moe.phase = "mlp: sums to tokens"{{.*}}row_bytes = 256
// CHECK: kernel.launch @signal_ranks(%[[BACK]], {{.*}}fixed_bytes = 4
// CHECK: kernel.launch @await_ranks(%[[BACK]],
// CHECK: %[[MINE:.*]] = kernel.part %[[SUMS]]
// CHECK: kernel.launch @combine_64_bf16_top2_tree2(%[[MINE]],
func.func @main(%x: tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.name = "x", moe.split = @ep},
                %e: tensor<?x2xi32> {moe.dims = ["tokens", ""], moe.name = "ids", moe.split = @ep},
                %w: tensor<?x2xbf16> {moe.dims = ["tokens", ""], moe.name = "w", moe.split = @ep})
    -> (tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.name = "y", moe.split = @ep}) {
  %up = moe.parameter ["mlp.experts.up"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x96x64xbf16>
  %down = moe.parameter ["mlp.experts.down"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x64x48xbf16>
  %send, %sent = moe.dispatch %x, %e num_experts(8) to @ep
      : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<2>
  %recv, %got, %re, %rw = moe.all_to_all %send, %sent on @ep with(%e, %w : tensor<?x2xi32>, tensor<?x2xbf16>) via(direct)
      : tensor<?x64xbf16>, !moe.layout<2> -> tensor<?x64xbf16>, !moe.layout<1>, tensor<?x2xi32>, tensor<?x2xbf16>
  %rows, %here = moe.dispatch %recv, %re num_experts(8) at @ep
      : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<4>
  %y = moe.expert %rows, %here, %up, %down gated schedule(<plain>) {
  ^bb0(%g: f32, %u: f32):
    %s = nn.silu %g : f32
    %a = arith.mulf %s, %u : f32
    moe.yield %a : f32
  } : tensor<?x64xbf16>, !moe.layout<4>, tensor<4x96x64xbf16>, tensor<4x64x48xbf16> -> tensor<?x64xbf16>
  %part = moe.combine %y, %here weights(%rw : tensor<?x2xbf16>) sum(<tree, groups = 4>)
      : tensor<?x64xbf16>, !moe.layout<4> -> tensor<?x64xf32>
  %back, %gone = moe.all_to_all %part, %got on @ep return
      : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
  %out = moe.combine %back, %sent sum(<tree, groups = 2>) : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xbf16>
  return %out : tensor<?x64xbf16>
}

// Ids that others read as well are -1 in rows that do not exist.
// CHECK-LABEL: func.func @ids_for_others
// CHECK: kernel.launch @await_rows(
// CHECK: kernel.launch @received_ids(%{{[a-z0-9_]+}}, %[[IDS:[a-z0-9_]+]],
// CHECK: kernel.launch @own_experts_4(%[[IDS]],
func.func @ids_for_others(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>) -> (tensor<?x64xf32>, tensor<?x2xi32>) {
  %send, %sent = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
  %recv, %got, %re = moe.all_to_all %send, %sent on @ep with(%e : tensor<?x2xi32>) via(direct)
      : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>, !moe.layout<1>, tensor<?x2xi32>
  %rows, %here = moe.dispatch %recv, %re num_experts(8) at @ep : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<4>
  return %rows, %re : tensor<?x64xf32>, tensor<?x2xi32>
}

// Two exchanges at a time have windows of their own; the third one takes those of the first again, and returns twice.
// CHECK-LABEL: func.func @two_at_a_time
// CHECK: as "came" :
// CHECK: as "rows" :
// CHECK: as "came 1" :
// CHECK: as "rows 1" :
// CHECK: as "sums" :
// CHECK: as "sums 1" :
// CHECK: as "came" :
// CHECK: as "rows" :
// CHECK: as "sums" :
// CHECK: as "returned" :
// CHECK: as "sums of 1" :
// CHECK: as "returned of 1" :
func.func @two_at_a_time(%x0: tensor<?x64xf32>, %x1: tensor<?x64xf32>, %x2: tensor<?x64xf32>, %e: tensor<?x2xi32>)
    -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x32xf32>) {
  %send0, %sent0 = moe.dispatch %x0, %e num_experts(8) to @ep : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
  %recv0, %got0 = moe.all_to_all %send0, %sent0 on @ep : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>, !moe.layout<1>
  %send1, %sent1 = moe.dispatch %x1, %e num_experts(8) to @ep : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
  %recv1, %got1 = moe.all_to_all %send1, %sent1 on @ep : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>, !moe.layout<1>
  %back0, %gone0 = moe.all_to_all %recv0, %got0 on @ep return : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
  %y0 = moe.combine %back0, %sent0 sum(<tree, groups = 2>) : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
  %back1, %gone1 = moe.all_to_all %recv1, %got1 on @ep return : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
  %y1 = moe.combine %back1, %gone1 sum(<tree, groups = 2>) : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
  %send2, %sent2 = moe.dispatch %x2, %e num_experts(8) to @ep : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
  %recv2, %got2 = moe.all_to_all %send2, %sent2 on @ep : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>, !moe.layout<1>
  %back2, %gone2 = moe.all_to_all %recv2, %got2 on @ep return : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
  %y2 = moe.combine %back2, %gone2 sum(<tree, groups = 2>) : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %recv2, %c0 : tensor<?x64xf32>
  %half = tensor.extract_slice %recv2[0, 0] [%n, 32] [1, 1] : tensor<?x64xf32> to tensor<?x32xf32>
  %back3, %gone3 = moe.all_to_all %half, %got2 on @ep return : tensor<?x32xf32>, !moe.layout<1> -> tensor<?x32xf32>, !moe.layout<2>
  %y3 = moe.combine %back3, %gone3 sum(<tree, groups = 2>) : tensor<?x32xf32>, !moe.layout<2> -> tensor<?x32xf32>
  return %y0, %y1, %y2, %y3 : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x32xf32>
}
