// RUN: moe-opt %s --moe-reference-to-llvm \
// RUN:   | mlir-runner -e main --entry-point-result=void --shared-libs=%mlir_libs | FileCheck %s

// nn ops on rows, with values of PyTorch.
func.func private @printMemrefF32(tensor<*xf32>)

func.func @main() {
  %table = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %ids = arith.constant dense<[[2, 0], [1, 2]]> : tensor<2x2xi64>
  %0 = nn.embedding %ids, %table : tensor<2x2xi64>, tensor<3x2xf32> -> tensor<2x2x2xf32>
  // CHECK: {{\[\[}}5,{{ +}}6],
  // CHECK-NEXT: {{^ \[}}1,{{ +}}2],
  // CHECK-NEXT: {{^ \[}}3,{{ +}}4],
  // CHECK-NEXT: {{^ \[}}5,{{ +}}6]]
  %c0 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x2x2xf32> into tensor<4x2xf32>
  %u0 = tensor.cast %c0 : tensor<4x2xf32> to tensor<*xf32>
  call @printMemrefF32(%u0) : (tensor<*xf32>) -> ()
  %x = arith.constant dense<[[[1.5, -2.0, 0.25]], [[3.0, 0.5, -1.0]]]> : tensor<2x1x3xf32>
  %w = arith.constant dense<[[1.0, 2.0, 3.0], [-1.0, 0.5, 4.0]]> : tensor<2x3xf32>
  %b = arith.constant dense<[0.125, -10.0]> : tensor<2xf32>
  %1 = nn.linear %x, %w bias(%b) : tensor<2x1x3xf32>, tensor<2x3xf32>, tensor<2xf32> -> tensor<2x1x2xf32>
  // CHECK: {{\[\[}}-1.625,{{ +}}-11.5],
  // CHECK-NEXT: {{^ \[}}1.125,{{ +}}-16.75]]
  %c1 = tensor.collapse_shape %1 [[0, 1], [2]] : tensor<2x1x2xf32> into tensor<2x2xf32>
  %u1 = tensor.cast %c1 : tensor<2x2xf32> to tensor<*xf32>
  call @printMemrefF32(%u1) : (tensor<*xf32>) -> ()
  // bf16 operands: f32 results are exact sums, bf16 results are rounded once. 256 + 0.5 + 0.75 is 258 in bf16;
  // rounding after each term would give 256.
  %xb = arith.constant dense<1.0> : tensor<1x3xbf16>
  %xb2 = arith.constant dense<2.0> : tensor<1x3xbf16>
  %wb = arith.constant dense<[[256.0, 0.5, 0.75]]> : tensor<1x3xbf16>
  %2 = nn.linear %xb2, %wb : tensor<1x3xbf16>, tensor<1x3xbf16> -> tensor<1x1xf32>
  // CHECK: {{\[\[}}514.5]]
  %u2 = tensor.cast %2 : tensor<1x1xf32> to tensor<*xf32>
  call @printMemrefF32(%u2) : (tensor<*xf32>) -> ()
  %3 = nn.linear %xb, %wb : tensor<1x3xbf16>, tensor<1x3xbf16> -> tensor<1x1xbf16>
  // CHECK: {{\[\[}}258]]
  %f3 = arith.extf %3 : tensor<1x1xbf16> to tensor<1x1xf32>
  %u3 = tensor.cast %f3 : tensor<1x1xf32> to tensor<*xf32>
  call @printMemrefF32(%u3) : (tensor<*xf32>) -> ()
  %xn = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [0.5, -0.5, 8.0, 0.0]]> : tensor<2x4xf32>
  %wn = arith.constant dense<[1.0, 0.5, 1.7, -1.0]> : tensor<4xf32>
  %4 = nn.rms_norm %xn, %wn eps(1.0e-2) : tensor<2x4xf32>, tensor<4xf32>
  // CHECK: {{\[\[}}0.3649{{[0-9]*}},{{ +}}0.3649{{[0-9]*}},{{ +}}1.861{{[0-9]*}},{{ +}}-1.459{{[0-9]*}}],
  // CHECK-NEXT: {{^ \[}}0.1244{{[0-9]*}},{{ +}}-0.06223{{[0-9]*}},{{ +}}3.385{{[0-9]*}},{{ +}}-0]]
  %u4 = tensor.cast %4 : tensor<2x4xf32> to tensor<*xf32>
  call @printMemrefF32(%u4) : (tensor<*xf32>) -> ()
  // bf16: the normalised value is rounded before the scale, unless the scale is fused.
  %xnb = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [0.5, -0.5, 8.0, 0.0]]> : tensor<2x4xbf16>
  %wnb = arith.constant dense<[1.0, 0.5, 1.7, -1.0]> : tensor<4xbf16>
  %5 = nn.rms_norm %xnb, %wnb eps(1.0e-2) : tensor<2x4xbf16>, tensor<4xbf16>
  // CHECK: {{\[\[}}0.3652{{[0-9]*}},{{ +}}0.3652{{[0-9]*}},{{ +}}1.859{{[0-9]*}},{{ +}}-1.460{{[0-9]*}}],
  // CHECK-NEXT: {{^ \[}}0.1245{{[0-9]*}},{{ +}}-0.06225{{[0-9]*}},{{ +}}3.390{{[0-9]*}},{{ +}}-0]]
  %f5 = arith.extf %5 : tensor<2x4xbf16> to tensor<2x4xf32>
  %u5 = tensor.cast %f5 : tensor<2x4xf32> to tensor<*xf32>
  call @printMemrefF32(%u5) : (tensor<*xf32>) -> ()
  %6 = nn.rms_norm %xnb, %wnb eps(1.0e-2) fused_scale : tensor<2x4xbf16>, tensor<4xbf16>
  // CHECK: {{\[\[}}0.3652{{[0-9]*}},{{ +}}0.3652{{[0-9]*}},{{ +}}1.867{{[0-9]*}},{{ +}}-1.460{{[0-9]*}}],
  // CHECK-NEXT: {{^ \[}}0.1245{{[0-9]*}},{{ +}}-0.06225{{[0-9]*}},{{ +}}3.390{{[0-9]*}},{{ +}}-0]]
  %f6 = arith.extf %6 : tensor<2x4xbf16> to tensor<2x4xf32>
  %u6 = tensor.cast %f6 : tensor<2x4xf32> to tensor<*xf32>
  call @printMemrefF32(%u6) : (tensor<*xf32>) -> ()
  %7 = nn.silu %xn : tensor<2x4xf32>
  // CHECK: {{\[\[}}0.7310{{[0-9]*}},{{ +}}1.761{{[0-9]*}},{{ +}}2.857{{[0-9]*}},{{ +}}3.928{{[0-9]*}}],
  // CHECK-NEXT: {{^ \[}}0.3112{{[0-9]*}},{{ +}}-0.1887{{[0-9]*}},{{ +}}7.997{{[0-9]*}},{{ +}}0]]
  %u7 = tensor.cast %7 : tensor<2x4xf32> to tensor<*xf32>
  call @printMemrefF32(%u7) : (tensor<*xf32>) -> ()
  return
}
