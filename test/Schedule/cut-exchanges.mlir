// Exchanges whose windows would be too large are cut into passes.
// RUN: moe-opt %s --graph-cut-exchanges=windows=65536 --remarks-filter=graph-cut-exchanges --remark-format=emitRemark -o %t.cut 2> %t.remarks && FileCheck %s < %t.cut && FileCheck %s --check-prefix=REMARK < %t.remarks
// Without the option sizes that only a run knows stay, and those below 1 GiB.
// RUN: moe-opt %s --graph-cut-exchanges | FileCheck %s --check-prefix=DEFAULT
// Numbers that are there are kept.
// RUN: moe-opt %t.cut --graph-cut-exchanges=windows=131072 | diff %t.cut -

shard.grid @ep(shape = 2)

// A token takes 2 x (64 x 2 + 2 x (4 + 2) + 64 x 4) bytes of the windows of two ranks, 792. With the sum below, in 2 x 2 x 64 x 4 bytes: 65536 bytes
// for 36 tokens of both.
// REMARK: Function=layers | Remark="passes of at most 36 tokens of each rank: windows of 28512 bytes, of 65536 for all"
// REMARK: Function=layers | Remark="passes of at most 36 tokens of each rank: windows of 36864 bytes, of 65536 for all"
// REMARK: Function=known | Remark="2 passes of at most 64 tokens of each rank: windows of 65536 bytes, of 65536 for all"
// REMARK: Function=joined | Remark="4 passes of at most 64 tokens of each rank: windows of 32768 bytes, of 65536 for all"
// REMARK: Function=joined | Remark="4 passes of at most 64 tokens of each rank: windows of 16384 bytes, of 65536 for all"
// REMARK: Function=many | Remark="16385 passes of at most 1 tokens of each rank: windows of 65536 bytes, of 65536 for all"
// REMARK-NOT: Remark

// CHECK-LABEL: func.func @layers
// CHECK: moe.all_to_all {{.*}} via(direct) {kernel.pass_tokens = 36 : i64}
// CHECK: moe.all_to_all {{.*}} return :
// CHECK: shard.all_reduce {{.*}} {kernel.pass_tokens = 36 : i64}
// CHECK: shard.all_reduce {{.*}} {kernel.pass_tokens = 5 : i64}
// DEFAULT-LABEL: func.func @layers
// DEFAULT: via(direct) :
// DEFAULT: shard.all_reduce {{.*}} grid_axes = [0] :
func.func @layers(%x: tensor<?x64xbf16>, %e: tensor<?x2xi32>, %w: tensor<?x2xbf16>, %v: tensor<4x64x64xbf16>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %send, %sent = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<2>
  %recv, %got, %re, %rw = moe.all_to_all %send, %sent on @ep with(%e, %w : tensor<?x2xi32>, tensor<?x2xbf16>) via(direct)
      : tensor<?x64xbf16>, !moe.layout<2> -> tensor<?x64xbf16>, !moe.layout<1>, tensor<?x2xi32>, tensor<?x2xbf16>
  %rows, %here = moe.dispatch %recv, %re num_experts(8) at @ep : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<4>
  %r = moe.expert %rows, %here, %v, %v {
  ^bb0(%g: f32):
    moe.yield %g : f32
  } : tensor<?x64xbf16>, !moe.layout<4>, tensor<4x64x64xbf16>, tensor<4x64x64xbf16> -> tensor<?x64xf32>
  %p = moe.combine %r, %here weights(%rw : tensor<?x2xbf16>) sum(<tree, groups = 4>) : tensor<?x64xf32>, !moe.layout<4> -> tensor<?x64xf32>
  %back, %gone = moe.all_to_all %p, %got on @ep return : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
  %y = moe.combine %back, %gone sum(<tree, groups = 2>) : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
  // The same windows as the next one.
  %a = shard.all_reduce %y on @ep grid_axes = [0] : tensor<?x64xf32> -> tensor<?x64xf32>
  %b = shard.all_reduce %a on @ep grid_axes = [0] {kernel.pass_tokens = 5 : i64} : tensor<?x64xf32> -> tensor<?x64xf32>
  return %a, %b : tensor<?x64xf32>, tensor<?x64xf32>
}

// Rows are those of a matrix of the last dimension. Passes of many tokens have a multiple of 64.
// CHECK-LABEL: func.func @known
// CHECK: shard.all_reduce {{.*}} {kernel.pass_tokens = 64 : i64}
// DEFAULT-LABEL: func.func @known
// DEFAULT-NOT: pass_tokens
func.func @known(%x: tensor<9x8x64xf32>) -> tensor<9x8x64xf32> {
  %y = shard.all_reduce %x on @ep grid_axes = [0] : tensor<9x8x64xf32> -> tensor<9x8x64xf32>
  return %y : tensor<9x8x64xf32>
}

// Parts that are joined are exchanged as summands are, in windows of their own.
// CHECK-LABEL: func.func @joined
// CHECK: shard.all_reduce {{.*}} {kernel.pass_tokens = 64 : i64}
// CHECK: shard.all_gather {{.*}} gather_axis = 1 {kernel.pass_tokens = 64 : i64}
// DEFAULT-LABEL: func.func @joined
// DEFAULT-NOT: pass_tokens
func.func @joined(%x: tensor<200x32xf32>, %p: tensor<200x32xbf16>) -> (tensor<200x32xf32>, tensor<200x64xbf16>) {
  %y = shard.all_reduce %x on @ep grid_axes = [0] : tensor<200x32xf32> -> tensor<200x32xf32>
  %z = shard.all_gather %p on @ep grid_axes = [0] gather_axis = 1 : tensor<200x32xbf16> -> tensor<200x64xbf16>
  return %y, %z : tensor<200x32xf32>, tensor<200x64xbf16>
}

// Few enough.
// CHECK-LABEL: func.func @few
// CHECK-NOT: pass_tokens
// CHECK: return
// DEFAULT-LABEL: func.func @few
// DEFAULT-NOT: pass_tokens
// DEFAULT: return
func.func @few(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %y = shard.all_reduce %x on @ep grid_axes = [0] : tensor<64x64xf32> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// More than 1 GiB: 2 x 2 x 4096 x 4 bytes for a token, 16384 of which are so many.
// DEFAULT-LABEL: func.func @many
// DEFAULT: shard.all_reduce {{.*}} {kernel.pass_tokens = 16384 : i64}
func.func @many(%x: tensor<16385x4096xf32>) -> tensor<16385x4096xf32> {
  %y = shard.all_reduce %x on @ep grid_axes = [0] : tensor<16385x4096xf32> -> tensor<16385x4096xf32>
  return %y : tensor<16385x4096xf32>
}
