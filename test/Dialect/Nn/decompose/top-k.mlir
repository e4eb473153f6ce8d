// RUN: moe-opt %s --moe-reference-to-llvm \
// RUN:   | mlir-runner -e main --entry-point-result=void --shared-libs=%mlir_libs | FileCheck %s

// nn.top_k with equal elements, zeros of both signs and NaN (0x7FC00000).
func.func private @printMemrefF32(tensor<*xf32>)
func.func private @printMemrefI64(tensor<*xi64>)

func.func @main() {
  %x = arith.constant dense<[[1.0, 3.0, 0x7FC00000, 3.0, -1.0, 3.0], [0.0, -0.0, 0.0, -2.0, -2.0, 5.0]]> : tensor<2x6xf32>
  %v, %i = nn.top_k %x : tensor<2x6xf32> -> tensor<2x3xf32>, tensor<2x3xi64>
  // CHECK: {{\[\[}}nan,{{ +}}3,{{ +}}3],
  // CHECK-NEXT: {{^ \[}}5,{{ +}}0,{{ +}}-0]]
  %u0 = tensor.cast %v : tensor<2x3xf32> to tensor<*xf32>
  call @printMemrefF32(%u0) : (tensor<*xf32>) -> ()
  // CHECK: {{\[\[}}2,{{ +}}1,{{ +}}3],
  // CHECK-NEXT: {{^ \[}}5,{{ +}}0,{{ +}}1]]
  %u1 = tensor.cast %i : tensor<2x3xi64> to tensor<*xi64>
  call @printMemrefI64(%u1) : (tensor<*xi64>) -> ()
  %n = arith.constant 4 : index
  %w, %j = nn.top_k %x count(%n) ascending unordered : tensor<2x6xf32> -> tensor<2x?xf32>, tensor<2x?xi64>
  // CHECK: {{\[\[}}0,{{ +}}1,{{ +}}3,{{ +}}4],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}1,{{ +}}3,{{ +}}4]]
  %u2 = tensor.cast %j : tensor<2x?xi64> to tensor<*xi64>
  call @printMemrefI64(%u2) : (tensor<*xi64>) -> ()
  return
}
