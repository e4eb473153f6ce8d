// Exchanges that are under way while others are repeated are repeated, too, and both compile.
// RUN: moe-opt %s --graph-cut-exchanges -o %t.cut && FileCheck %s < %t.cut
// RUN: moe-opt %t.cut --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --scheduled-to-kernel --kernel-verify-windows | FileCheck %s --check-prefix=KERNEL

shard.grid @ep(shape = 2)

// The first layer's sums come behind those of the second one. An exchange that has come back is left alone.
// CHECK-LABEL: func.func @layers
// CHECK: moe.all_to_all {{.*}} via(direct) {kernel.pass_tokens = {{[0-9]+}} : i64}
// CHECK: moe.all_to_all {{.*}} via(direct) {kernel.pass_tokens = 64 : i64}
// CHECK: moe.all_to_all {{.*}} via(direct) : tensor
// KERNEL-LABEL: func.func @layers
// KERNEL: } {kernel.passes}
// KERNEL: } {kernel.passes}
// KERNEL-NOT: kernel.passes
// KERNEL: kernel.launch @announce_rows
func.func @layers(%x: tensor<?x64xf32> {moe.dims = ["tokens", ""]}, %e0: tensor<?x2xi32> {moe.dims = ["tokens", ""]}, %e1: tensor<?x2xi32> {moe.dims = ["tokens", ""]},
                  %e2: tensor<?x2xi32> {moe.dims = ["tokens", ""]}, %w: tensor<?x2xf32> {moe.dims = ["tokens", ""]})
    -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>) {
  %v = moe.parameter ["v"] : tensor<4x64x64xf32>
  %send0, %sent0 = moe.dispatch %x, %e0 num_experts(8) to @ep : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
  %recv0, %got0, %re0, %rw0 = moe.all_to_all %send0, %sent0 on @ep with(%e0, %w : tensor<?x2xi32>, tensor<?x2xf32>) via(direct)
      : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>, !moe.layout<1>, tensor<?x2xi32>, tensor<?x2xf32>
  %send1, %sent1 = moe.dispatch %x, %e1 num_experts(8) to @ep : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
  %recv1, %got1, %re1, %rw1 = moe.all_to_all %send1, %sent1 on @ep with(%e1, %w : tensor<?x2xi32>, tensor<?x2xf32>) via(direct) {kernel.pass_tokens = 64 : i64}
      : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>, !moe.layout<1>, tensor<?x2xi32>, tensor<?x2xf32>
  %rows1, %here1 = moe.dispatch %recv1, %re1 num_experts(8) at @ep : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<4>
  %r1 = moe.expert %rows1, %here1, %v, %v {
  ^bb0(%g: f32):
    moe.yield %g : f32
  } : tensor<?x64xf32>, !moe.layout<4>, tensor<4x64x64xf32>, tensor<4x64x64xf32> -> tensor<?x64xf32>
  %p1 = moe.combine %r1, %here1 weights(%rw1 : tensor<?x2xf32>) sum(<tree, groups = 4>) : tensor<?x64xf32>, !moe.layout<4> -> tensor<?x64xf32>
  %back1, %gone1 = moe.all_to_all %p1, %got1 on @ep return : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
  %y1 = moe.combine %back1, %gone1 sum(<tree, groups = 2>) : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
  %rows0, %here0 = moe.dispatch %recv0, %re0 num_experts(8) at @ep : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<4>
  %r0 = moe.expert %rows0, %here0, %v, %v {
  ^bb0(%g: f32):
    moe.yield %g : f32
  } : tensor<?x64xf32>, !moe.layout<4>, tensor<4x64x64xf32>, tensor<4x64x64xf32> -> tensor<?x64xf32>
  %p0 = moe.combine %r0, %here0 weights(%rw0 : tensor<?x2xf32>) sum(<tree, groups = 4>) : tensor<?x64xf32>, !moe.layout<4> -> tensor<?x64xf32>
  %back0, %gone0 = moe.all_to_all %p0, %got0 on @ep return : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
  %y0 = moe.combine %back0, %gone0 sum(<tree, groups = 2>) : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
  %send2, %sent2 = moe.dispatch %x, %e2 num_experts(8) to @ep : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
  %recv2, %got2, %re2, %rw2 = moe.all_to_all %send2, %sent2 on @ep with(%e2, %w : tensor<?x2xi32>, tensor<?x2xf32>) via(direct)
      : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>, !moe.layout<1>, tensor<?x2xi32>, tensor<?x2xf32>
  %rows2, %here2 = moe.dispatch %recv2, %re2 num_experts(8) at @ep : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<4>
  %r2 = moe.expert %rows2, %here2, %v, %v {
  ^bb0(%g: f32):
    moe.yield %g : f32
  } : tensor<?x64xf32>, !moe.layout<4>, tensor<4x64x64xf32>, tensor<4x64x64xf32> -> tensor<?x64xf32>
  %p2 = moe.combine %r2, %here2 weights(%rw2 : tensor<?x2xf32>) sum(<tree, groups = 4>) : tensor<?x64xf32>, !moe.layout<4> -> tensor<?x64xf32>
  %back2, %gone2 = moe.all_to_all %p2, %got2 on @ep return : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
  %y2 = moe.combine %back2, %gone2 sum(<tree, groups = 2>) : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
  return %y0, %y1, %y2 : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>
}
