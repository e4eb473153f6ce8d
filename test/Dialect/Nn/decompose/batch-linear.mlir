// RUN: moe-opt %s --moe-reference-to-llvm \
// RUN:   | mlir-runner -e main --entry-point-result=void --shared-libs=%mlir_libs | FileCheck %s

// Row g of each token meets matrix g.
func.func private @printMemrefF32(tensor<*xf32>)

func.func @main() {
  %x = arith.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[0.5, 0.0], [0.0, -1.0]]]> : tensor<2x2x2xf32>
  %w = arith.constant dense<[[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[2.0, 0.0], [0.0, -2.0], [10.0, 100.0]]]> : tensor<2x3x2xf32>
  %b = arith.constant dense<[[0.25, 0.0, 0.0], [0.0, 0.0, 1000.0]]> : tensor<2x3xf32>
  %y = nn.batch_linear %x, %w bias(%b) : tensor<2x2x2xf32>, tensor<2x3x2xf32>, tensor<2x3xf32> -> tensor<2x2x3xf32>
  // CHECK: {{\[\[}}1.25,{{ +}}2,{{ +}}3],
  // CHECK-NEXT: {{^ \[}}6,{{ +}}-8,{{ +}}1430],
  // CHECK-NEXT: {{^ \[}}0.75,{{ +}}0,{{ +}}0.5],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}2,{{ +}}900]]
  %rows = tensor.collapse_shape %y [[0, 1], [2]] : tensor<2x2x3xf32> into tensor<4x3xf32>
  %u = tensor.cast %rows : tensor<4x3xf32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  // Rounded once: 256 + 0.5 + 0.75 is 258 in bf16; rounding after each term would give 256.
  %xb = arith.constant dense<1.0> : tensor<1x3xbf16>
  %wb = arith.constant dense<[[[256.0, 0.5, 0.75]]]> : tensor<1x1x3xbf16>
  %z = nn.batch_linear %xb, %wb : tensor<1x3xbf16>, tensor<1x1x3xbf16> -> tensor<1x1xbf16>
  // CHECK: {{\[\[}}258]]
  %f = arith.extf %z : tensor<1x1xbf16> to tensor<1x1xf32>
  %v = tensor.cast %f : tensor<1x1xf32> to tensor<*xf32>
  call @printMemrefF32(%v) : (tensor<*xf32>) -> ()
  return
}
