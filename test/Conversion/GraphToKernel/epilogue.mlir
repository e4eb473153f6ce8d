// RUN: moe-opt %s --graph-decide --convert-graph-to-kernel --split-input-file | FileCheck %s

#map = affine_map<(b, s, h) -> (b, s, h)>

// A residual sum is the product's epilogue, and no kernel of its own.
// CHECK-LABEL: func.func @residual
// CHECK: kernel.launch @linear_64x32_bf16_addf
// CHECK-NOT: kernel.launch
// CHECK: return
// CHECK: kernel.func @linear_64x32_bf16_addf(
// CHECK: kernel.store_tile
// CHECK-NEXT: ^bb0(%[[ROW:.*]]: index, %[[COL:.*]]: index, %[[V:.*]]: f32):
// CHECK-DAG: %[[ROUNDED:.*]] = arith.truncf %[[V]] : f32 to bf16
// CHECK-DAG: memref.load %{{.*}}[%[[ROW]], %[[COL]]] : memref<?x64xbf16>
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: kernel.yield %[[SUM]] : bf16
func.func @residual(%x: tensor<?x?x32xbf16>, %r: tensor<?x?x64xbf16>) -> tensor<?x?x64xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w = moe.parameter ["w"] : tensor<64x32xbf16>
  %y = nn.linear %x, %w : tensor<?x?x32xbf16>, tensor<64x32xbf16> -> tensor<?x?x64xbf16>
  %b = tensor.dim %r, %c0 : tensor<?x?x64xbf16>
  %s = tensor.dim %r, %c1 : tensor<?x?x64xbf16>
  %e = tensor.empty(%b, %s) : tensor<?x?x64xbf16>
  %z = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%r, %y : tensor<?x?x64xbf16>, tensor<?x?x64xbf16>) outs(%e : tensor<?x?x64xbf16>) {
  ^bb0(%u: bf16, %v: bf16, %o: bf16):
    %a = arith.addf %u, %v : bf16
    linalg.yield %a : bf16
  } -> tensor<?x?x64xbf16>
  return %z : tensor<?x?x64xbf16>
}

// -----

#map = affine_map<(t, h) -> (t, h)>

// Not when something else reads the product, nor when the other operand comes later.
// CHECK-LABEL: func.func @kept
// CHECK: kernel.launch @linear_64x32_f32(
// CHECK: kernel.launch @addf_64_f32
// CHECK: return
func.func @kept(%x: tensor<?x32xf32>, %r: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %c0 = arith.constant 0 : index
  %w = moe.parameter ["w"] : tensor<64x32xf32>
  %y = nn.linear %x, %w : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
  %t = tensor.dim %r, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%t) : tensor<?x64xf32>
  %z = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%r, %y : tensor<?x64xf32>, tensor<?x64xf32>) outs(%e : tensor<?x64xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %a = arith.addf %u, %v : f32
    linalg.yield %a : f32
  } -> tensor<?x64xf32>
  return %y, %z : tensor<?x64xf32>, tensor<?x64xf32>
}
