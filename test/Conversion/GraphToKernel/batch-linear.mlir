// RUN: moe-opt %s --graph-decide --convert-graph-to-kernel --split-input-file | FileCheck %s

// Column blocks of all matrices are the outer dimension; row r of matrix g stands at r * 4 + g, in x and in the result.
// CHECK-LABEL: func.func @heads
// CHECK-SAME: (%[[X:.*]]: memref<?x?x4x32xf32>) -> memref<?x?x4x96xf32>
func.func @heads(%x: tensor<?x?x4x32xf32>) -> tensor<?x?x4x96xf32> {
  // CHECK: %[[W:.*]] = moe.parameter ["w"] recipe [#moe.transpose<[0, 2, 1]>, #moe.pack<columns = 64, pairs = 1>] {moe.shape = array<i64: 4, 96, 32>} : memref<4x2x32x64xf32>
  %w = moe.parameter ["w"] recipe [#moe.transpose<[0, 2, 1]>] : tensor<4x96x32xf32>
  // CHECK: %[[XROWS:.*]] = memref.collapse_shape %[[X]] {{\[\[}}0, 1, 2], [3]] : memref<?x?x4x32xf32> into memref<?x32xf32>
  // CHECK: kernel.launch @batch_linear_4x96x32_f32(%[[XROWS]], %[[W]], %{{.*}}, %{{.*}}) rows(%{{.*}}) work(%{{.*}})
  // CHECK-NOT: kernel.launch
  %y = nn.batch_linear %x, %w : tensor<?x?x4x32xf32>, tensor<4x96x32xf32> -> tensor<?x?x4x96xf32>
  return %y : tensor<?x?x4x96xf32>
}
// CHECK: kernel.func @batch_linear_4x96x32_f32(%{{.*}}: memref<?x32xf32>, %{{.*}}: memref<4x2x32x64xf32>, %{{.*}}: memref<?x96xf32>, %{{.*}}: index)
// CHECK: scf.forall (%[[BLOCK:.*]], %{{.*}}) in (8, %{{.*}}) {
// CHECK: %[[G:.*]] = arith.divui %[[BLOCK]], %c2
// CHECK: %[[N:.*]] = arith.remui %[[BLOCK]], %c2
// CHECK: kernel.row_tile %{{.*}} max 6
// CHECK: %[[ROWS:.*]] = kernel.row_indices
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c4
// CHECK: %[[ROW:.*]] = arith.addi %[[FIRST]], %[[G]]
// CHECK: kernel.yield %[[ROW]]
// CHECK: kernel.mma %{{.*}}, %{{.*}}[%[[ROWS]], %[[K:.*]]], %{{.*}}[%[[G]], %[[N]], %[[K]], %{{.*}}] : !kernel.acc<6x64xf32>
// CHECK: kernel.store_tile %{{.*}}[%[[ROWS]], %{{.*}}]

// -----

// A bias for each matrix, and what runs in the epilogue.
// CHECK-LABEL: func.func @bias_and_residual
#rows = affine_map<(t, g, n) -> (t, g, n)>
func.func @bias_and_residual(%x: tensor<5x3x33xbf16>, %b: tensor<3x8xbf16>, %r: tensor<5x3x8xbf16>) -> tensor<5x3x8xbf16> {
  // CHECK: moe.parameter ["w"] recipe [#moe.pack<columns = 64, pairs = 2>] {moe.shape = array<i64: 3, 8, 33>} : memref<3x1x17x64x2xbf16>
  // CHECK: kernel.launch @batch_linear_3x8x33_bf16_bias_addf(
  // CHECK-NOT: kernel.launch
  %w = moe.parameter ["w"] : tensor<3x8x33xbf16>
  %y = nn.batch_linear %x, %w bias(%b) : tensor<5x3x33xbf16>, tensor<3x8x33xbf16>, tensor<3x8xbf16> -> tensor<5x3x8xbf16>
  %init = tensor.empty() : tensor<5x3x8xbf16>
  %z = linalg.generic {indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%y, %r : tensor<5x3x8xbf16>, tensor<5x3x8xbf16>) outs(%init : tensor<5x3x8xbf16>) {
  ^bb0(%a: bf16, %b1: bf16, %out: bf16):
    %s = arith.addf %a, %b1 : bf16
    linalg.yield %s : bf16
  } -> tensor<5x3x8xbf16>
  return %z : tensor<5x3x8xbf16>
}
// One column block for each matrix: its number is the matrix'.
// CHECK: kernel.func @batch_linear_3x8x33_bf16_bias_addf(
// CHECK: scf.forall (%[[G:.*]], %{{.*}}) in (3, 1) {
// CHECK-NOT: arith.divui
// CHECK: kernel.store_tile
// CHECK-NEXT: ^bb0(%[[ROW:.*]]: index, %[[COL:.*]]: index, %{{.*}}: f32):
// CHECK-NEXT: memref.load %{{.*}}[%[[G]], %[[COL]]] : memref<3x8xbf16>
// CHECK: memref.load %{{.*}}[%[[ROW]], %[[COL]]] : memref<15x8xbf16>

// -----

// Weights that are computed are packed by a kernel.
// CHECK-LABEL: func.func @packed_at_run_time
func.func @packed_at_run_time(%x: tensor<?x?x32xf32>, %w: tensor<?x?x32xf32>) -> tensor<?x?x?xf32> {
  // CHECK: %[[PACKED:.*]] = memref.alloc(%{{.*}}, %{{.*}}) : memref<?x?x32x64xf32>
  // CHECK: kernel.launch @pack_32_f32(%{{.*}}, %[[PACKED]])
  // CHECK: kernel.launch @batch_linear_32_f32(%{{.*}}, %[[PACKED]], %{{.*}})
  %y = nn.batch_linear %x, %w : tensor<?x?x32xf32>, tensor<?x?x32xf32> -> tensor<?x?x?xf32>
  return %y : tensor<?x?x?xf32>
}
