// Remarks where a program takes a slower form than another one of the same kind.
// RUN: moe-opt %s --graph-to-kernel --split-input-file "--remarks-filter=convert-graph-to-kernel|graph-update-in-place" --remark-format=emitRemark -o %t 2>&1 | FileCheck %s --implicit-check-not=remark:

// CHECK: slow-forms.mlir:[[#@LINE+2]]:8: remark: [Missed] Product | Category:convert-graph-to-kernel | Remark="a matrix product of plain operations runs as loops, not on register tiles"
func.func @batch(%a: tensor<2x3x8xf32>, %b: tensor<2x8x5xf32>, %zero: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> {
  %c = linalg.generic {
    indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>],
    iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%a, %b : tensor<2x3x8xf32>, tensor<2x8x5xf32>) outs(%zero : tensor<2x3x5xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x3x5xf32>
  return %c : tensor<2x3x5xf32>
}

// -----

// A sum of one tensor is no product, and nn.linear has tiles.
func.func @others(%x: tensor<3x8xf32>, %w: tensor<5x8xf32>, %zero: tensor<3xf32>) -> (tensor<3x5xf32>, tensor<3xf32>) {
  %y = nn.linear %x, %w : tensor<3x8xf32>, tensor<5x8xf32> -> tensor<3x5xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<3x8xf32>) outs(%zero : tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<3xf32>
  return %y, %s : tensor<3x5xf32>, tensor<3xf32>
}

// -----

// An input is written only into a copy of it.
// CHECK: slow-forms.mlir:[[#@LINE+2]]:8: remark: [Missed] Cache | Category:graph-update-in-place | Remark="the whole cache is copied before rows are written, because it writes into an argument that is no state"
func.func @cache(%c: tensor<2x2x70x4xf32>, %r: tensor<2x1x2x4xf32>, %p: tensor<2xi64>) -> tensor<2x2x70x4xf32> {
  %u = nn.cache_update %c, %r positions(%p) : tensor<2x2x70x4xf32>, tensor<2x1x2x4xf32>, tensor<2xi64>
  return %u : tensor<2x2x70x4xf32>
}

// -----

// Also where something is fused into the product.
// CHECK: slow-forms.mlir:[[#@LINE+2]]:8: remark: [Missed] Product
func.func @fused(%a: tensor<3x8xf32>, %b: tensor<8x5xf32>, %bias: tensor<3x1xf32>, %zero: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %c = linalg.generic {
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (m, 0)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %bias, %b : tensor<3x8xf32>, tensor<3x1xf32>, tensor<8x5xf32>) outs(%zero : tensor<3x5xf32>) {
  ^bb0(%x: f32, %d: f32, %y: f32, %z: f32):
    %w = arith.addf %x, %d : f32
    %p = arith.mulf %w, %y : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  } -> tensor<3x5xf32>
  return %c : tensor<3x5xf32>
}
