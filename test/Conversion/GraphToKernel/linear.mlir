// RUN: moe-opt %s --graph-decide --convert-graph-to-kernel --split-input-file | FileCheck %s

// The weight is packed by its recipe, equal kernels are shared, leading dimensions are collapsed.
// CHECK-LABEL: func.func @shared
// CHECK-SAME: (%[[X:.*]]: memref<?x?x32xf32>) -> (memref<?x?x96xf32>, memref<?x?x96xf32>)
func.func @shared(%x: tensor<?x?x32xf32>) -> (tensor<?x?x96xf32>, tensor<?x?x96xf32>) {
  // CHECK: %[[W:.*]] = moe.parameter ["w"] recipe [#moe.pack<columns = 64, pairs = 1>] {moe.shape = array<i64: 96, 32>} : memref<2x32x64xf32>
  %w = moe.parameter ["w"] : tensor<96x32xf32>
  %v = moe.parameter ["v"] recipe [#moe.transpose<[1, 0]>] : tensor<96x32xf32>
  // CHECK-NOT: kernel.launch
  // CHECK: %[[XROWS:.*]] = memref.collapse_shape %[[X]] {{\[\[}}0, 1], [2]]
  // CHECK: kernel.launch @linear_96x32_f32(%[[XROWS]], %[[W]], %{{.*}}) rows(%{{.*}}) work(%{{.*}})
  %y = nn.linear %x, %w : tensor<?x?x32xf32>, tensor<96x32xf32> -> tensor<?x?x96xf32>
  // CHECK: moe.parameter ["v"] recipe [#moe.transpose<[1, 0]>, #moe.pack<columns = 64, pairs = 1>] {moe.shape = array<i64: 96, 32>} : memref<2x32x64xf32>
  // CHECK: kernel.launch @linear_96x32_f32(
  %z = nn.linear %x, %v : tensor<?x?x32xf32>, tensor<96x32xf32> -> tensor<?x?x96xf32>
  return %y, %z : tensor<?x?x96xf32>, tensor<?x?x96xf32>
}
// CHECK: kernel.func @linear_96x32_f32(
// CHECK: scf.forall (%[[N:.*]], %{{.*}}) in (2, %{{.*}}) {
// CHECK: kernel.row_tile %{{.*}} max 6
// CHECK: kernel.mma %{{.*}}, %{{.*}}[%{{.*}}, %[[K:.*]]], %{{.*}}[%[[N]], %[[K]], %{{.*}}] : !kernel.acc<6x64xf32>
// CHECK: kernel.store_tile
// CHECK-NOT: kernel.func

// -----

// bf16 weights stand in pairs; an odd K is padded; f32 results are not rounded.
// CHECK-LABEL: func.func @odd_bf16
func.func @odd_bf16(%x: tensor<?x33xbf16>, %b: tensor<8xbf16>) -> tensor<?x8xf32> {
  // CHECK: moe.parameter ["w"] recipe [#moe.pack<columns = 64, pairs = 2>] {moe.shape = array<i64: 8, 33>} : memref<1x17x64x2xbf16>
  %w = moe.parameter ["w"] : tensor<8x33xbf16>
  %y = nn.linear %x, %w bias(%b) : tensor<?x33xbf16>, tensor<8x33xbf16>, tensor<8xbf16> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
// CHECK: kernel.func @linear_8x33_bf16_f32_bias(
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[K:.*]] step %c2 iter_args
// CHECK: kernel.store_tile
// CHECK-NEXT: ^bb0(%{{.*}}: index, %[[COL:.*]]: index, %[[V:.*]]: f32):
// CHECK-NEXT: %[[B:.*]] = memref.load %{{.*}}[%[[COL]]] : memref<8xbf16>
// CHECK-NEXT: %[[BF:.*]] = arith.extf %[[B]]
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[V]], %[[BF]]
// CHECK-NEXT: kernel.yield %[[SUM]] : f32

// -----

// Tiles of 16 columns walk the block in strips.
module attributes {kernel.target = #x86.target<cpu = "haswell", rows = 6, columns = 16, vector = 8>} {
  func.func @strips(%x: tensor<3x32xf32>) -> tensor<3x64xf32> {
    %w = moe.parameter ["w"] : tensor<64x32xf32>
    %y = nn.linear %x, %w : tensor<3x32xf32>, tensor<64x32xf32> -> tensor<3x64xf32>
    return %y : tensor<3x64xf32>
  }
}
// CHECK: kernel.func @linear_64x32_f32(
// CHECK: kernel.row_tile
// CHECK: scf.for %[[STRIP:.*]] = %c0 to %c64 step %c16 {
// CHECK: kernel.mma %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}}[%{{.*}}, %{{.*}}, %[[STRIP]]] : !kernel.acc<6x16xf32>

// -----

// A weight that is computed is packed by a kernel.
// CHECK-LABEL: func.func @packed_at_run_time
func.func @packed_at_run_time(%x: tensor<?x32xbf16>, %w: tensor<?x32xbf16>) -> tensor<?x?xbf16> {
  // CHECK: %[[PACKED:.*]] = memref.alloc(%{{.*}}) : memref<?x16x64x2xbf16>
  // CHECK: kernel.launch @pack_32_bf16(%{{.*}}, %[[PACKED]])
  // CHECK: kernel.launch @linear_32_bf16(%{{.*}}, %[[PACKED]], %{{.*}})
  %y = nn.linear %x, %w : tensor<?x32xbf16>, tensor<?x32xbf16> -> tensor<?x?xbf16>
  return %y : tensor<?x?xbf16>
}
