// Exchanges of nodes and ranks, one inside of the other: windows, agreements and flags of both axes, and the grid of the weights.
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=8,nodes=2},kernel-set-target{target=cpu:x86-64-v4},graph-to-scheduled,moe-schedule,scheduled-to-kernel)" -o %t && FileCheck %s < %t
// RUN: moe-opt %t --kernel-verify-windows -o %t.verified
// RUN: moe-compile %s --from=graph --parallel=dp=2,ep=8,nodes=2,etp=2 --weights=none --to=runtime -q -o - | FileCheck %s --check-prefix=AXES

// CHECK: shard.grid @ep(shape = 2x4)
// CHECK: shard.grid @node(shape = 2) {moe.axes = ["node"], moe.axis_of = @ep}
// CHECK: shard.grid @local(shape = 4) {moe.axes = ["local"], moe.axis_of = @ep}

// CHECK-LABEL: func.func @layer
// CHECK: kernel.launch @owners_16(
// CHECK: %[[NODE:.*]] = kernel.rank on @node : index
// CHECK: %[[ROOM:.*]] = kernel.agree %{{.*}} on @node : index
// CHECK: kernel.window(%{{.*}}) on @node as "rows"
// CHECK: kernel.launch @send_rows{{.*}}moe.phase = "up: rows to nodes", moe.traffic = {{{.*}}grid = @node
// CHECK: kernel.launch @await_rows{{.*}}moe.phase = "up: rows to nodes"
// CHECK: kernel.launch @owners_16_of_node({{.*}}, %[[NODE]])
// CHECK: %[[LOCAL:.*]] = kernel.rank on @local : index
// CHECK: kernel.agree %{{.*}} on @local : index
// CHECK: kernel.launch @send_rows{{.*}}moe.phase = "up: rows to experts", moe.traffic = {{{.*}}grid = @local
// CHECK: kernel.launch @await_rows{{.*}}moe.phase = "up: rows to experts"
// CHECK: %[[RANK:.*]] = kernel.rank on @ep : index
// CHECK: kernel.launch @own_experts_2_received({{.*}}%[[RANK]]
// CHECK: kernel.launch @experts_up_2x
// CHECK: kernel.launch @send_sums{{.*}}moe.phase = "up: sums to nodes", moe.traffic = {{{.*}}grid = @local
// CHECK: kernel.launch @combine_64_f32_top4_tree4(
// CHECK: kernel.launch @send_sums{{.*}}moe.phase = "up: sums to tokens", moe.traffic = {{{.*}}grid = @node
// CHECK: kernel.launch @combine_64_f32_top2_tree2(
// The experts of each node, then those of each rank of this one, which stand behind those of the nodes before.
// CHECK-LABEL: kernel.func @owners_16_of_node(
// CHECK-SAME: %{{.*}}: memref<?x2xi32>, %{{.*}}: memref<?x4xi32>, %[[NODE:[a-z0-9]+]]: index)
// CHECK: arith.muli %[[NODE]], %c4

// The axes of the job are the whole grids; those of nodes and of ranks of a node have the steps of theirs.
// AXES: moert.axes = [{name = "dp", ranks = 2 : i64, stride = 16 : i64}, {name = "ep", ranks = 8 : i64, stride = 2 : i64}, {name = "node", ranks = 2 : i64, stride = 8 : i64}, {name = "local", ranks = 4 : i64, stride = 2 : i64}, {name = "etp", ranks = 2 : i64, stride = 1 : i64}]
// AXES: moert.program = {axes = array<i64: 0, 1, 4>, inputs = [{axes = array<i64: 0, 1>
func.func @layer(%x: tensor<?x64xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}, %w: tensor<?x2xf32> {moe.dims = ["tokens", ""]})
    -> (tensor<?x64xf32> {moe.dims = ["tokens", ""]}) {
  %up = moe.parameter ["up"] : tensor<16x32x64xf32>
  %down = moe.parameter ["down"] : tensor<16x64x32xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(16) : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<16>
  %y = moe.expert %rows, %layout, %up, %down {
  ^bb0(%v: f32):
    %s = nn.silu %v : f32
    moe.yield %s : f32
  } : tensor<?x64xf32>, !moe.layout<16>, tensor<16x32x64xf32>, tensor<16x64x32xf32> -> tensor<?x64xf32>
  %sum = moe.combine %y, %layout weights(%w : tensor<?x2xf32>) : tensor<?x64xf32>, !moe.layout<16> -> tensor<?x64xf32>
  return %sum : tensor<?x64xf32>
}
