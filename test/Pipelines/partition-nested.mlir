// Tokens go to nodes, and there to ranks: two exchanges, and sums back by the same ways.
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=dp=2,ep=8,nodes=2})" --remarks-filter=moe-partition --remark-format=emitRemark -o %t 2> %t.remarks && FileCheck %s < %t && FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: moe-opt %t --moe-verify-level=level=spmd --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --moe-schedule --moe-verify-level=level=scheduled -o %t.verified
// Sums of three nodes, of a number of groups that is no power of two.
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=12,nodes=3})" | FileCheck %s --check-prefix=THREE
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=6,nodes=3,groups=24})" | FileCheck %s --check-prefix=MORE
// One node, and nodes of one rank, need one exchange.
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=8})" -o %t.flat
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=8,nodes=1})" | diff %t.flat -
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=8,nodes=8})" | diff %t.flat -
// Sums that are rounded are so on each of both ways.
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=8,nodes=4,sums=bf16})" | FileCheck %s --check-prefix=HALF
// Variants have nodes of their own, and slices are added behind.
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=8 variants=\"ep=8,nodes=2;ep=4,nodes=2,etp=2\"})" -o %t.variants && FileCheck %s --check-prefix=VARIANTS < %t.variants
// RUN: moe-opt %t.variants --moe-verify-level=level=spmd -o %t.verified
// RUN: not moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=8 variants=\"dp=2,ep=6,nodes=3\"})" 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: ep=6 sums in another order than ep=8 of --parallel, as one of them is no power of two; variants give the same numbers

// REMARK: 3 of 24 experts on each of 8 ranks; a token has at most 2 rows, each with 272 bytes there and 256 back; it goes to each of 2 nodes once

// CHECK: shard.grid @dp(shape = 2) {moe.axes = ["dp"]}
// CHECK-NEXT: shard.grid @ep(shape = 2x4) {moe.axes = ["node", "local"]}
// CHECK-NEXT: shard.grid @node(shape = 2) {moe.axes = ["node"], moe.axis_of = @ep}
// CHECK-NEXT: shard.grid @local(shape = 4) {moe.axes = ["local"], moe.axis_of = @ep}
// CHECK-LABEL: func.func @layer
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x64xf32> {moe.dims = ["tokens", ""], moe.split = [@dp, @ep]}
// CHECK-SAME: %[[E:[a-z0-9]+]]: tensor<?x2xi32>
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<?x2xf32>
// CHECK: %[[UP:.*]] = moe.parameter ["up"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 8>] : tensor<3x32x64xf32>
// CHECK: %[[DOWN:.*]] = moe.parameter ["down"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 8>] : tensor<3x64x32xf32>
// CHECK: %[[S0:.*]], %[[L0:.*]] = moe.dispatch %[[X]], %[[E]] num_experts(24) to @node : {{.*}}, !moe.layout<2>
// CHECK: %[[R0:.*]], %[[G0:.*]], %[[C0:.*]]:2 = moe.all_to_all %[[S0]], %[[L0]] on @node with(%[[E]], %[[W]] : tensor<?x2xi32>, tensor<?x2xf32>) via(direct)
// CHECK: %[[S1:.*]], %[[L1:.*]] = moe.dispatch %[[R0]], %[[C0]]#0 num_experts(24) to @local at @node : {{.*}}, !moe.layout<4>
// CHECK: %[[R1:.*]], %[[G1:.*]], %[[C1:.*]]:2 = moe.all_to_all %[[S1]], %[[L1]] on @local with(%[[C0]]#0, %[[C0]]#1 : tensor<?x2xi32>, tensor<?x2xf32>) via(direct)
// CHECK: %[[ROWS:.*]], %[[HERE:.*]] = moe.dispatch %[[R1]], %[[C1]]#0 num_experts(24) at @ep : {{.*}}, !moe.layout<3>
// CHECK: %[[Y:.*]] = moe.expert %[[ROWS]], %[[HERE]], %[[UP]], %[[DOWN]]
// CHECK: %[[PART:.*]] = moe.combine %[[Y]], %[[HERE]] weights(%[[C1]]#1 : tensor<?x2xf32>) sum(<tree, groups = 1>)
// CHECK: %[[B1:.*]], %{{.*}} = moe.all_to_all %[[PART]], %[[G1]] on @local return
// CHECK: %[[NODE:.*]] = moe.combine %[[B1]], %[[L1]] sum(<tree, groups = 4>)
// CHECK: %[[B0:.*]], %{{.*}} = moe.all_to_all %[[NODE]], %[[G0]] on @node return
// CHECK: %[[OUT:.*]] = moe.combine %[[B0]], %[[L0]] sum(<tree, groups = 2>)
// CHECK: return %[[OUT]]

// THREE: shard.grid @ep(shape = 3x4)
// THREE: sum(<tree, groups = 1>)
// THREE: sum(<tree, groups = 4>)
// THREE: sum(<tree, groups = 3>)

// MORE: sum(<tree, groups = 4>)
// MORE: sum(<tree, groups = 2>)
// MORE: sum(<tree, groups = 3>)

// HALF: moe.combine {{.*}} sum(<tree, groups = 1>) {{.*}} -> tensor<?x64xbf16>
// HALF: moe.combine {{.*}} sum(<tree, groups = 2>) : tensor<?x64xbf16>, !moe.layout<2> -> tensor<?x64xbf16>
// HALF: moe.combine {{.*}} sum(<tree, groups = 4>) : tensor<?x64xbf16>, !moe.layout<4> -> tensor<?x64xf32>

// VARIANTS: shard.grid @ep(shape = 8) {moe.axes = ["ep"]}
// VARIANTS: shard.grid @ep.1(shape = 2x4) {moe.axes = ["node", "local"]}
// VARIANTS: shard.grid @node.1(shape = 2) {moe.axes = ["node"], moe.axis_of = @ep.1}
// VARIANTS: shard.grid @local.1(shape = 4) {moe.axes = ["local"], moe.axis_of = @ep.1}
// VARIANTS: moe.variant = #moe.variant<"layer" as "ep=8,nodes=2" on [@ep.1]>
// VARIANTS: to @local.1 at @node.1
// VARIANTS: moe.variant = #moe.variant<"layer" as "ep=4,nodes=2,etp=2" on [@ep.2, @etp.2]>
// VARIANTS: moe.combine {{.*}} -> tensor<?x64xf32>
// VARIANTS: shard.all_reduce {{.*}} on @etp.2
func.func @layer(%x: tensor<?x64xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}, %w: tensor<?x2xf32> {moe.dims = ["tokens", ""]})
    -> (tensor<?x64xf32> {moe.dims = ["tokens", ""]}) {
  %up = moe.parameter ["up"] : tensor<24x32x64xf32>
  %down = moe.parameter ["down"] : tensor<24x64x32xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(24) : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<24>
  %y = moe.expert %rows, %layout, %up, %down {
  ^bb0(%v: f32):
    %s = nn.silu %v : f32
    moe.yield %s : f32
  } : tensor<?x64xf32>, !moe.layout<24>, tensor<24x32x64xf32>, tensor<24x64x32xf32> -> tensor<?x64xf32>
  %sum = moe.combine %y, %layout weights(%w : tensor<?x2xf32>) : tensor<?x64xf32>, !moe.layout<24> -> tensor<?x64xf32>
  return %sum : tensor<?x64xf32>
}
