// RUN: moe-opt %s --kernel-set-target=target=cpu:sapphirerapids --graph-decide --convert-graph-to-kernel | FileCheck %s
// RUN: moe-opt %s --kernel-set-target=target=cpu:znver4 --graph-decide --convert-graph-to-kernel | FileCheck %s --check-prefix=VECTOR

// Matrix registers read rows that stand below each other: tokens are gathered first. Rows of an even number of cache
// lines get one more, so that the rows of a tile do not meet in a cache; the products do not see it.
// CHECK-LABEL: func.func @layer
// CHECK-SAME: %[[X:.*]]: memref<?x128xbf16>
// CHECK: %[[ROWS:.*]] = memref.alloc(%{{.*}}) : memref<?x160xbf16>
// CHECK: kernel.launch @gather_128_bf16(%[[X]], %{{.*}}, %[[ROWS]])
// CHECK: %[[H:.*]] = memref.alloc(%{{.*}}) : memref<?x96xbf16>
// CHECK: kernel.launch @experts_up_8x128x128_bf16_gated(%[[ROWS]], %{{.*}}, %[[H]], %{{.*}}, %{{.*}})
// CHECK: kernel.launch @experts_down_8x128x64_bf16(%[[H]],
// VECTOR-NOT: gather
// VECTOR: memref.alloc(%{{.*}}) : memref<?x64xbf16>
// VECTOR-NOT: gather
func.func @layer(%x: tensor<?x128xbf16>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) -> tensor<?x128xbf16> {
  %w1 = moe.parameter ["gate_up"] : tensor<8x128x128xbf16>
  %w2 = moe.parameter ["down"] : tensor<8x128x64xbf16>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x128xbf16>, tensor<?x2xi32> -> tensor<?x128xbf16>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    %a = arith.mulf %g, %u : f32
    moe.yield %a : f32
  } : tensor<?x128xbf16>, !moe.layout<8>, tensor<8x128x128xbf16>, tensor<8x128x64xbf16> -> tensor<?x128xbf16>
  %out = moe.combine %y, %layout weights(%w : tensor<?x2xf32>) : tensor<?x128xbf16>, !moe.layout<8> -> tensor<?x128xbf16>
  return %out : tensor<?x128xbf16>
}
// CHECK-LABEL: kernel.func @experts_up_8x128x128_bf16_gated(
// CHECK-DAG: %[[DEPTH:.*]] = arith.constant 128 : index
// CHECK-DAG: %[[LIMIT:.*]] = arith.constant 64 : index
// CHECK: kernel.row_tile %{{.*}} max 32 {
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[DEPTH]] step %c2{{.*}} iter_args
// CHECK: kernel.mma {{.*}} : !kernel.acc<32x32xf32>, memref<?x160xbf16>
// CHECK: kernel.store_tile {{.*}} limit(%[[LIMIT]])
// CHECK-LABEL: kernel.func @experts_down_8x128x64_bf16(
// CHECK: kernel.mma {{.*}} : !kernel.acc<32x64xf32>, memref<?x96xbf16>

// Products of float32 keep the register tile.
// CHECK-LABEL: kernel.func @linear_64x32_f32
// CHECK: kernel.row_tile %{{.*}} max 6 {
func.func @single(%x: tensor<?x32xf32>, %w: tensor<64x32xf32>) -> tensor<?x64xf32> {
  %y = nn.linear %x, %w : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
