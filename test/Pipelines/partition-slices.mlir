// Experts that are cut into slices (etp) and batches that are divided (dp), alone and with experts that are divided (ep).
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=etp=2})" -o %t.etp && FileCheck %s --check-prefixes=CHECK,ETP < %t.etp
// RUN: moe-opt %t.etp --moe-verify-level=level=spmd --moe-schedule --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --moe-verify-level=level=scheduled -o %t.verified
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=etp=2,tokens=split})" | diff %t.etp -
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,etp=2})" -o %t.split && FileCheck %s --check-prefixes=CHECK,SPLIT < %t.split
// RUN: moe-opt %t.split --moe-verify-level=level=spmd --moe-schedule --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --moe-verify-level=level=scheduled -o %t.verified
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=etp=2,ep=2,tokens=replicated})" -o %t.whole && FileCheck %s --check-prefixes=CHECK,WHOLE < %t.whole
// RUN: moe-opt %t.whole --moe-verify-level=level=spmd --moe-schedule --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --moe-verify-level=level=scheduled -o %t.verified
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=dp=3,ep=2,etp=2})" -o %t.all && FileCheck %s --check-prefixes=CHECK,ALL < %t.all
// RUN: moe-opt %t.all --moe-verify-level=level=spmd -o %t.verified
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=dp=3})" | FileCheck %s --check-prefix=DP
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=dp=2,ep=2,tokens=replicated})" | FileCheck %s --check-prefix=BATCH
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=dp=1,ep=1,etp=1})" -o %t.one
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=1})" | diff %t.one -
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=etp=2})" --remarks-filter=moe-partition --remark-format=emitRemark -o %t.remarks 2>&1 | FileCheck %s --check-prefix=REMARK
// Of sums that travel as bf16 each is rounded before it does, and added in f32.
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,etp=2,sums=bf16})" -o %t.half && FileCheck %s --check-prefixes=CHECK,HALF < %t.half
// RUN: moe-opt %t.half --moe-verify-level=level=spmd --moe-schedule --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --moe-verify-level=level=scheduled -o %t.verified
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,etp=2,tokens=replicated,sums=bf16})" -o %t.both && FileCheck %s --check-prefixes=CHECK,HALVES < %t.both
// RUN: moe-opt %t.both --moe-verify-level=level=spmd --moe-schedule --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --moe-verify-level=level=scheduled -o %t.verified

// Grids stand in the order in which ranks are numbered; a name that a function has is another one's.
// ETP: shard.grid @etp(shape = 2) {moe.axes = ["etp"]}
// ETP-NOT: shard.grid
// SPLIT: shard.grid @ep(shape = 2) {moe.axes = ["ep"]}
// SPLIT-NEXT: shard.grid @etp(shape = 2) {moe.axes = ["etp"]}
// SPLIT-NOT: shard.grid
// ALL: shard.grid @[[BATCHES:dp_.*]](shape = 3) {moe.axes = ["dp"]}
// ALL-NEXT: shard.grid @ep(shape = 2)
// ALL-NEXT: shard.grid @etp(shape = 2)

// CHECK-LABEL: func.func @layer
// Slices have the tokens of one rank, all or those of its ranks of dp and ep.
// ETP-NOT: moe.split
// SPLIT-SAME: moe.split = @ep}) -> (tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.split = @ep})
// WHOLE-NOT: moe.split
// ALL-SAME: moe.split = [@[[BATCHES]], @ep]}) -> (tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.split = [@[[BATCHES]], @ep]})
// CHECK: moe.parameter ["router"] : tensor<8x64xbf16>

// Gate and up are halves: a slice has a part of each. What came before the slices is done before them.
// ETP: %[[UP:.*]] = moe.parameter ["up"] recipe [#moe.transpose<[0, 2, 1]>, #moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>] : tensor<8x32x64xbf16>
// ETP: %[[DOWN:.*]] = moe.parameter ["down"] recipe [#moe.shard<dim = 2, grid = @etp, ranks = 2>] : tensor<8x64x16xbf16>
// ETP: %[[BIN:.*]] = moe.parameter ["bias_in"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>] : tensor<8x32xbf16>
// ETP: %[[BOUT:.*]] = moe.parameter ["bias_out"] recipe [#moe.once<grid = @etp, ranks = 2>] : tensor<8x64xbf16>
// SPLIT: moe.parameter ["up"] recipe [#moe.transpose<[0, 2, 1]>, #moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>, #moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x32x64xbf16>
// SPLIT: moe.parameter ["down"] recipe [#moe.shard<dim = 2, grid = @etp, ranks = 2>, #moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x64x16xbf16>
// SPLIT: moe.parameter ["bias_in"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>, #moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x32xbf16>
// SPLIT: moe.parameter ["bias_out"] recipe [#moe.once<grid = @etp, ranks = 2>, #moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x64xbf16>

// The sum of slices is the last one, and the first that rounds.
// ETP: moe.dispatch %{{.*}}, %{{.*}} num_experts(8) : tensor<?x64xbf16>
// ETP: moe.expert %{{.*}}, %{{.*}}, %[[UP]], %[[DOWN]] bias_in(%[[BIN]] : tensor<8x32xbf16>) bias_out(%[[BOUT]] : tensor<8x64xbf16>) gated {
// ETP: %[[PART:.*]] = moe.combine {{.*}} sum(<tree, groups = 8>) : tensor<?x64xbf16>, !moe.layout<8> -> tensor<?x64xf32>
// ETP: %[[SUM:.*]] = shard.all_reduce %[[PART]] on @etp grid_axes = [0] : tensor<?x64xf32> -> tensor<?x64xf32>
// ETP: %[[OUT:.*]] = arith.truncf %[[SUM]] : tensor<?x64xf32> to tensor<?x64xbf16>
// ETP: return %[[OUT]]
// SPLIT: moe.all_to_all {{.*}} on @ep with(
// SPLIT: at @ep
// SPLIT: moe.combine {{.*}} sum(<tree, groups = 4>) : tensor<?x64xbf16>, !moe.layout<4> -> tensor<?x64xf32>
// SPLIT: moe.all_to_all {{.*}} on @ep return
// SPLIT: %[[PART:.*]] = moe.combine {{.*}} sum(<tree, groups = 2>) : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
// SPLIT: %[[SUM:.*]] = shard.all_reduce %[[PART]] on @etp grid_axes = [0]
// SPLIT: arith.truncf %[[SUM]]
// HALF: moe.combine {{.*}} sum(<tree, groups = 4>) : tensor<?x64xbf16>, !moe.layout<4> -> tensor<?x64xbf16>
// HALF: moe.all_to_all {{.*}} on @ep return : tensor<?x64xbf16>, !moe.layout<1>
// HALF: %[[PART:.*]] = moe.combine {{.*}} sum(<tree, groups = 2>) : tensor<?x64xbf16>, !moe.layout<2> -> tensor<?x64xbf16>
// HALF: %[[SUM:.*]] = shard.all_reduce %[[PART]] on @etp grid_axes = [0] : tensor<?x64xbf16> -> tensor<?x64xf32>
// HALF: arith.truncf %[[SUM]]
// HALVES: %[[PART:.*]] = moe.combine {{.*}} sum(<tree, groups = 4>) : tensor<?x64xbf16>, !moe.layout<4> -> tensor<?x64xbf16>
// HALVES: %[[SUM:.*]] = shard.all_reduce %[[PART]] on @ep grid_axes = [0] : tensor<?x64xbf16> -> tensor<?x64xf32>
// HALVES: %[[NARROW:.*]] = arith.truncf %[[SUM]]
// HALVES: %[[ADDED:.*]] = shard.all_reduce %[[NARROW]] on @etp grid_axes = [0] : tensor<?x64xbf16> -> tensor<?x64xf32>
// HALVES: arith.truncf %[[ADDED]]
// WHOLE: %[[PART:.*]] = moe.combine {{.*}} sum(<tree, groups = 4>) : tensor<?x64xbf16>, !moe.layout<4> -> tensor<?x64xf32>
// WHOLE: %[[SUM:.*]] = shard.all_reduce %[[PART]] on @ep grid_axes = [0]
// WHOLE: %[[BOTH:.*]] = shard.all_reduce %[[SUM]] on @etp grid_axes = [0]
// WHOLE: arith.truncf %[[BOTH]]

// Ranks of dp share nothing but the inputs; sums have the order of --parallel.
// DP: shard.grid @[[BATCHES:dp_.*]](shape = 3)
// DP: func.func @layer(%{{.*}}: tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.split = @[[BATCHES]]}) -> (tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.split = @[[BATCHES]]})
// DP-NOT: recipe [{{.*}}#moe.shard
// DP: sum(<tree, groups = 8>)
// DP: func.func @dp({{.*}}moe.split = @[[BATCHES]]}, {{.*}}moe.split = @[[BATCHES]]})
// BATCH: func.func @layer(%{{.*}}: tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.split = @[[BATCHES:dp_.*]]})
// BATCH-NOT: moe.all_to_all
// BATCH: shard.all_reduce {{.*}} on @ep

// REMARK: remark: [Analysis] slices | Category:moe-partition | Function=layer | Remark="each of 2 ranks has a slice of every expert; they add 256 bytes per token", slices=2
func.func @layer(%x: tensor<?x64xbf16> {moe.dims = ["tokens", ""]}) -> (tensor<?x64xbf16> {moe.dims = ["tokens", ""]}) {
  %router = moe.parameter ["router"] : tensor<8x64xbf16>
  %w1 = moe.parameter ["up"] recipe [#moe.transpose<[0, 2, 1]>] : tensor<8x64x64xbf16>
  %w2 = moe.parameter ["down"] : tensor<8x64x32xbf16>
  %b1 = moe.parameter ["bias_in"] : tensor<8x64xbf16>
  %b2 = moe.parameter ["bias_out"] : tensor<8x64xbf16>
  %logits = nn.linear %x, %router : tensor<?x64xbf16>, tensor<8x64xbf16> -> tensor<?x8xbf16>
  %w, %e = moe.gate %logits top_k(2) score(softmax) renormalize(sum) : tensor<?x8xbf16> -> tensor<?x2xbf16>, tensor<?x2xi32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w2 bias_in(%b1 : tensor<8x64xbf16>) bias_out(%b2 : tensor<8x64xbf16>) gated {
  ^bb0(%g: f32, %u: f32):
    %a = arith.mulf %g, %u : f32
    moe.yield %a : f32
  } : tensor<?x64xbf16>, !moe.layout<8>, tensor<8x64x64xbf16>, tensor<8x64x32xbf16> -> tensor<?x64xbf16>
  %out = moe.combine %y, %layout weights(%w : tensor<?x2xbf16>) : tensor<?x64xbf16>, !moe.layout<8> -> tensor<?x64xbf16>
  return %out : tensor<?x64xbf16>
}

// Alternating gate and up rows are cut as they stand, and so are those of experts without a gate. One parameter can have two
// slices, and each stands there once. f32 needs no rounding.
// CHECK-LABEL: func.func @dp
// ETP: %[[COLUMNS:.*]] = moe.parameter ["square"] recipe [#moe.shard<dim = 2, grid = @etp, ranks = 2>] : tensor<8x8x4xf32>
// ETP: %[[ROWS:.*]] = moe.parameter ["square"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2>] : tensor<8x4x8xf32>
// ETP: %[[PAIRS:.*]] = moe.parameter ["pairs"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2>] : tensor<8x8x8xf32>
// ETP-NOT: moe.parameter
// ETP: moe.expert %{{.*}}, %{{.*}}, %[[ROWS]], %[[COLUMNS]] {
// ETP: moe.expert %{{.*}}, %{{.*}}, %[[PAIRS]], %[[COLUMNS]] gated interleaved {
// ETP-COUNT-2: shard.all_reduce %{{.*}} on @etp
// ETP-NOT: arith.truncf
func.func @dp(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %w = moe.parameter ["square"] : tensor<8x8x8xf32>
  %p = moe.parameter ["pairs"] : tensor<8x16x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w, %w {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %z = moe.expert %rows, %layout, %p, %w gated interleaved {
  ^bb0(%g: f32, %u: f32):
    %a = arith.mulf %g, %u : f32
    moe.yield %a : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x16x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %a = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  %b = moe.combine %z, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %a, %b : tensor<?x8xf32>, tensor<?x8xf32>
}

// Without a layer only dp divides, and nothing names the tokens of a rank of ep.
// CHECK-LABEL: func.func @none
// ALL-SAME: moe.split = @[[BATCHES]]}
// SPLIT-SAME: (%{{.*}}: tensor<?x8xf32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32>
func.func @none(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  return %x : tensor<?x8xf32>
}
