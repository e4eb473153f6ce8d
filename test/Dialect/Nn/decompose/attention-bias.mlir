// RUN: moe-opt %s --moe-reference-to-llvm \
// RUN:   | mlir-runner -e main --entry-point-result=void --shared-libs=%mlir_libs | FileCheck %s

// A bias for each head, added to the scaled scores, with values that Python computed; what it says of keys after the query counts for nothing.
// N = 2 query heads, M = 1 key head, D = 2, Dv = 3; the first query sees two keys.
func.func private @printMemrefF32(tensor<*xf32>)

func.func @main() {
  %q = arith.constant dense<[[[[1.0, -0.5], [0.25, 0.75]], [[-1.5, 0.5], [2.0, 1.0]]]]> : tensor<1x2x2x2xf32>
  %k = arith.constant dense<[[[[0.5, 1.0], [-1.0, 0.25], [1.5, -0.75]]]]> : tensor<1x1x3x2xf32>
  %v = arith.constant dense<[[[[1.0, 0.0, -1.0], [0.5, 2.0, 0.25], [-1.5, 0.75, 1.0]]]]> : tensor<1x1x3x3xf32>
  %p = arith.constant dense<1> : tensor<1xi64>
  %b = arith.constant dense<[[[[0.5, -1.0, 2.0], [1.0, 0.25, -0.5]], [[0.0, 1.5, 3.0], [-2.0, 0.5, 1.0]]]]> : tensor<1x2x2x3xf32>
  %0 = nn.attention %q, %k, %v positions(%p : tensor<1xi64>) bias(%b : tensor<1x2x2x3xf32>) scale(0.5) causal
      : tensor<1x2x2x2xf32>, tensor<1x1x3x2xf32>, tensor<1x1x3x3xf32> -> tensor<1x2x2x3xf32>
  // CHECK: {{\[\[}}0.943{{[0-9]*}},{{ +}}0.225{{[0-9]*}},{{ +}}-0.859{{[0-9]*}}],
  // CHECK-NEXT: {{^ \[}}0.631{{[0-9]*}},{{ +}}1.474{{[0-9]*}},{{ +}}-0.078{{[0-9]*}}],
  // CHECK-NEXT: {{^ \[}}0.660{{[0-9]*}},{{ +}}1.083{{[0-9]*}},{{ +}}-0.277{{[0-9]*}}],
  // CHECK-NEXT: {{^ \[}}-1.256{{[0-9]*}},{{ +}}0.811{{[0-9]*}},{{ +}}0.867{{[0-9]*}}]]
  %c = tensor.collapse_shape %0 [[0, 1, 2], [3]] : tensor<1x2x2x3xf32> into tensor<4x3xf32>
  %u = tensor.cast %c : tensor<4x3xf32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}
