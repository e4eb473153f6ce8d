// Without the option nothing changes; a layer that is divided already stays as it is.
// RUN: moe-opt %s -o %t.before && moe-opt %s --moe-partition | diff %t.before -
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=2})" -o %t && FileCheck %s --check-prefixes=CHECK,SPLIT < %t
// RUN: moe-opt %t --moe-partition | diff %t -
// RUN: moe-opt %t --moe-verify-level=level=spmd -o %t.verified
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=4,tokens=split,groups=4})" | FileCheck %s --check-prefix=FOUR
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,tokens=replicated})" -o %t.whole && FileCheck %s --check-prefixes=CHECK,WHOLE < %t.whole
// RUN: moe-opt %t.whole --moe-partition | diff %t.whole -
// RUN: moe-opt %t.whole --moe-verify-level=level=spmd -o %t.verified
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=2})" --remarks-filter=moe-partition --remark-format=emitRemark -o %t.remarks 2>&1 | FileCheck %s --check-prefix=REMARK
// Sums that travel as bf16: the types of level spmd say it, and nothing else.
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,sums=f32})" | diff %t -
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,sums=bf16})" --remarks-filter=moe-partition --remark-format=emitRemark -o %t.half 2>&1 | FileCheck %s --check-prefix=HALF-REMARK
// RUN: FileCheck %s --check-prefixes=CHECK,HALF < %t.half
// RUN: moe-opt %t.half --moe-verify-level=level=spmd --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --moe-schedule --moe-verify-level=level=scheduled -o %t.verified
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,tokens=replicated,sums=bf16})" | FileCheck %s --check-prefixes=CHECK,HALF-WHOLE
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=1})" -o %t.one
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=1,sums=bf16})" | diff %t.one -

// CHECK: shard.grid @ep(shape = 2) {moe.axes = ["ep"]}
// CHECK-NOT: shard.grid
// FOUR: shard.grid @ep(shape = 4) {moe.axes = ["ep"]}

// CHECK-LABEL: func.func @layer
// SPLIT-SAME: %[[X:[a-z0-9]+]]: tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.name = "x", moe.split = @ep}
// SPLIT-SAME: -> (tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.name = "y", moe.split = @ep})
// WHOLE-NOT: moe.split
// CHECK: %[[R:.*]] = moe.parameter ["router"] : tensor<8x64xbf16>
// What came before the part is done before it.
// CHECK: %[[W1:.*]] = moe.parameter ["a", "b"] recipe [#moe.concat<0>, #moe.transpose<[0, 2, 1]>, #moe.cast<bf16>, #moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x64x64xbf16>
// CHECK: %[[W2:.*]] = moe.parameter ["down"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x64x32xbf16>
// CHECK: %[[B:.*]] = moe.parameter ["bias"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x64xbf16>
// CHECK: %[[W:.*]], %[[E:.*]] = moe.gate

// SPLIT: %[[SEND:.*]], %[[SENT:.*]] = moe.dispatch %[[X]], %[[E]] num_experts(8) to @ep : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<2>
// SPLIT: %[[RECV:.*]], %[[GOT:.*]], %[[C:.*]]:2 = moe.all_to_all %[[SEND]], %[[SENT]] on @ep with(%[[E]], %[[W]] : tensor<?x2xi32>, tensor<?x2xbf16>) via(direct) : tensor<?x64xbf16>, !moe.layout<2> -> tensor<?x64xbf16>, !moe.layout<1>, tensor<?x2xi32>, tensor<?x2xbf16>
// SPLIT: %[[ROWS:.*]], %[[HERE:.*]] = moe.dispatch %[[RECV]], %[[C]]#0 num_experts(8) at @ep : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<4>
// SPLIT: %[[Y:.*]] = moe.expert %[[ROWS]], %[[HERE]], %[[W1]], %[[W2]] bias_out(%[[B]] : tensor<4x64xbf16>) gated {
// SPLIT: } : tensor<?x64xbf16>, !moe.layout<4>, tensor<4x64x64xbf16>, tensor<4x64x32xbf16> -> tensor<?x64xbf16>
// SPLIT: %[[PART:.*]] = moe.combine %[[Y]], %[[HERE]] weights(%[[C]]#1 : tensor<?x2xbf16>) sum(<tree, groups = 4>) : tensor<?x64xbf16>, !moe.layout<4> -> tensor<?x64xf32>
// SPLIT: %[[BACK:.*]], %{{.*}} = moe.all_to_all %[[PART]], %[[GOT]] on @ep return : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
// SPLIT: %[[OUT:.*]] = moe.combine %[[BACK]], %[[SENT]] sum(<tree, groups = 2>) : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xbf16>
// SPLIT: return %[[OUT]]

// WHOLE: %[[ROWS:.*]], %[[HERE:.*]] = moe.dispatch %{{.*}}, %[[E]] num_experts(8) at @ep : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<4>
// WHOLE: %[[Y:.*]] = moe.expert %[[ROWS]], %[[HERE]], %[[W1]], %[[W2]] bias_out(%[[B]] : tensor<4x64xbf16>) gated {
// WHOLE: %[[PART:.*]] = moe.combine %[[Y]], %[[HERE]] weights(%[[W]] : tensor<?x2xbf16>) sum(<tree, groups = 4>) : tensor<?x64xbf16>, !moe.layout<4> -> tensor<?x64xf32>
// WHOLE: %[[SUM:.*]] = shard.all_reduce %[[PART]] on @ep grid_axes = [0] : tensor<?x64xf32> -> tensor<?x64xf32>
// WHOLE: %[[OUT:.*]] = arith.truncf %[[SUM]] : tensor<?x64xf32> to tensor<?x64xbf16>
// WHOLE: return %[[OUT]]

// HALF: %[[PART:.*]] = moe.combine %{{.*}} sum(<tree, groups = 4>) : tensor<?x64xbf16>, !moe.layout<4> -> tensor<?x64xbf16>
// HALF: %[[BACK:.*]], %{{.*}} = moe.all_to_all %[[PART]], %{{.*}} on @ep return : tensor<?x64xbf16>, !moe.layout<1> -> tensor<?x64xbf16>, !moe.layout<2>
// HALF: moe.combine %[[BACK]], %{{.*}} sum(<tree, groups = 2>) : tensor<?x64xbf16>, !moe.layout<2> -> tensor<?x64xbf16>
// HALF-WHOLE: %[[PART:.*]] = moe.combine %{{.*}} sum(<tree, groups = 4>) : tensor<?x64xbf16>, !moe.layout<4> -> tensor<?x64xbf16>
// HALF-WHOLE: %[[SUM:.*]] = shard.all_reduce %[[PART]] on @ep grid_axes = [0] : tensor<?x64xbf16> -> tensor<?x64xf32>
// HALF-WHOLE: arith.truncf %[[SUM]] : tensor<?x64xf32> to tensor<?x64xbf16>

// Four groups on four ranks: each rank has one.
// FOUR: #moe.shard<dim = 0, grid = @ep, ranks = 4>] : tensor<2x64x64xbf16>
// FOUR: at @ep {{.*}} !moe.layout<2>
// FOUR: sum(<tree, groups = 1>)
// FOUR: sum(<tree, groups = 4>)

// REMARK: partition.mlir:[[#@LINE+16]]:20: remark: [Analysis] layer | Category:moe-partition | Function=layer
// REMARK-SAME: 4 of 8 experts on each of 2 ranks; a token has at most 2 rows, each with 140 bytes there and 256 back
// REMARK-SAME: experts=4, groups=8, ranks=2
// REMARK-NOT: rounded to bf16
// HALF-REMARK: partition.mlir:[[#@LINE+12]]:20: remark: [Analysis] layer | Category:moe-partition | Function=layer
// HALF-REMARK-SAME: each with 140 bytes there and 128 back
// HALF-REMARK: partition.mlir:[[#@LINE+10]]:20: remark: [Analysis] sums | Category:moe-partition | Function=layer
// HALF-REMARK-SAME: each rank's sum of a token is rounded to bf16 before it travels, so results depend on the number of ranks; sums=f32 gives the same bits for all
func.func @layer(%x: tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.name = "x"})
    -> (tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.name = "y"}) {
  %router = moe.parameter ["router"] : tensor<8x64xbf16>
  %w1 = moe.parameter ["a", "b"] recipe [#moe.concat<0>, #moe.transpose<[0, 2, 1]>, #moe.cast<bf16>] : tensor<8x64x64xbf16>
  %w2 = moe.parameter ["down"] : tensor<8x64x32xbf16>
  %b = moe.parameter ["bias"] : tensor<8x64xbf16>
  %logits = nn.linear %x, %router : tensor<?x64xbf16>, tensor<8x64xbf16> -> tensor<?x8xbf16>
  %w, %e = moe.gate %logits top_k(2) score(softmax) renormalize(sum) : tensor<?x8xbf16> -> tensor<?x2xbf16>, tensor<?x2xi32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w2 bias_out(%b : tensor<8x64xbf16>) gated {
  ^bb0(%g: f32, %u: f32):
    %a = arith.mulf %g, %u : f32
    moe.yield %a : f32
  } : tensor<?x64xbf16>, !moe.layout<8>, tensor<8x64x64xbf16>, tensor<8x64x32xbf16> -> tensor<?x64xbf16>
  %out = moe.combine %y, %layout weights(%w : tensor<?x2xbf16>) : tensor<?x64xbf16>, !moe.layout<8> -> tensor<?x64xbf16>
  return %out : tensor<?x64xbf16>
}

// The second function has the same grid. Weights go on the way in, ids are of the caller, f32 needs no rounding.
// CHECK-LABEL: func.func @given
// SPLIT-SAME: "ids", moe.range = [-1, 7], moe.split = @ep}, %[[W:.*]]: tensor<?x2xf32> {moe.dims = ["tokens", ""], moe.name = "weights", moe.split = @ep}
// SPLIT: %{{.*}}, %{{.*}}, %[[C:.*]]:2 = moe.all_to_all {{.*}} : tensor<?x8xf32>, !moe.layout<2> -> tensor<?x8xf32>, !moe.layout<1>, tensor<?x2xi64>, tensor<?x2xf32>
// SPLIT: moe.dispatch %{{.*}}, %[[C]]#0 weights(%[[C]]#1 : tensor<?x2xf32>) num_experts(8) at @ep
// SPLIT: moe.combine %{{.*}}, %{{.*}} sum(<tree, groups = 4>) : tensor<?x8xf32>, !moe.layout<4> -> tensor<?x8xf32>
// WHOLE: moe.dispatch %{{.*}}, %{{.*}} weights(%{{.*}} : tensor<?x2xf32>) num_experts(8) at @ep
// WHOLE: %[[SUM:.*]] = shard.all_reduce
// WHOLE-NEXT: return %[[SUM]]
func.func @given(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""], moe.name = "x"},
                 %e: tensor<?x2xi64> {moe.dims = ["tokens", ""], moe.name = "ids", moe.range = [-1, 7]},
                 %w: tensor<?x2xf32> {moe.dims = ["tokens", ""], moe.name = "weights"}) -> tensor<?x8xf32> {
  %rows, %layout = moe.dispatch %x, %e weights(%w : tensor<?x2xf32>) num_experts(8) : tensor<?x8xf32>, tensor<?x2xi64> -> tensor<?x8xf32>, !moe.layout<8>
  %w1 = moe.parameter ["up"] : tensor<8x4x8xf32>
  %w2 = moe.parameter ["down"] : tensor<8x8x4xf32>
  %y = moe.expert %rows, %layout, %w1, %w2 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x4x8xf32>, tensor<8x8x4xf32> -> tensor<?x8xf32>
  %out = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %out : tensor<?x8xf32>
}

// Two expert layers read the same rows and, once each, the same weights, which another op needs whole. The tokens go out once,
// and two sums come back. The second one's weights are known late.
// CHECK-LABEL: func.func @twice
// CHECK: %[[UP:.*]] = moe.parameter ["up"] : tensor<8x8x8xf32>
// CHECK: %[[PART:.*]] = moe.parameter ["up"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x8x8xf32>
// CHECK-NOT: moe.parameter
// SPLIT: %[[SLOW:.*]] = math.exp
// SPLIT: moe.all_to_all {{.*}} with(%{{.*}}, %{{.*}}, %[[SLOW]] : tensor<?x2xi32>, tensor<?x2xf32>, tensor<?x2xf32>)
// SPLIT-COUNT-2: moe.expert %{{.*}}, %{{.*}}, %[[PART]], %[[PART]]
// SPLIT-COUNT-2: on @ep return
// SPLIT-NOT: moe.all_to_all
// WHOLE-COUNT-2: shard.all_reduce
func.func @twice(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]},
                 %w: tensor<?x2xf32> {moe.dims = ["tokens", ""]}) -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<8x8x8xf32>) {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %slow = math.exp %w : tensor<?x2xf32>
  %z = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    %n = arith.negf %v : f32
    moe.yield %n : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %a = moe.combine %y, %layout weights(%w : tensor<?x2xf32>) : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  %b = moe.combine %z, %layout weights(%slow : tensor<?x2xf32>) : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %a, %b, %w1 : tensor<?x8xf32>, tensor<?x8xf32>, tensor<8x8x8xf32>
}

// Without a layer there is nothing to divide.
// CHECK-LABEL: func.func @none
// CHECK-SAME: (%{{.*}}: tensor<?x8xf32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32>
func.func @none(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  return %x : tensor<?x8xf32>
}
