// RUN: moe-opt %s --moe-reference-to-llvm \
// RUN:   | mlir-runner -e main --entry-point-result=void --shared-libs=%mlir_libs | FileCheck %s

// Locations are slot-major: moe-semantics C5 and C6.
func.func private @printMemrefF32(tensor<*xf32>)
func.func private @printMemrefI32(tensor<*xi32>)

func.func @show(%w: tensor<?x?xf32>, %e: tensor<?x?xi32>) {
  %wu = tensor.cast %w : tensor<?x?xf32> to tensor<*xf32>
  call @printMemrefF32(%wu) : (tensor<*xf32>) -> ()
  %eu = tensor.cast %e : tensor<?x?xi32> to tensor<*xi32>
  call @printMemrefI32(%eu) : (tensor<*xi32>) -> ()
  return
}

func.func @main() {
  %l = arith.constant dense<[[2.0, 1.0], [2.0, 1.0], [2.0, 1.0]]> : tensor<3x2xf32>
  %ids = arith.constant dense<[[0, 1], [1, 0], [0, 1]]> : tensor<3x2xi32>
  // Capacity 2. Slot-major order drops (1, 1) and (2, 1); token-major order would drop (2, 0) and (2, 1).
  // CHECK: {{\[\[}}0.731059,{{ +}}0.268941],
  // CHECK-NEXT: {{^ \[}}0.268941,{{ +}}0],
  // CHECK-NEXT: {{^ \[}}0.731059,{{ +}}0]]
  // CHECK: {{\[\[}}0,{{ +}}1],
  // CHECK-NEXT: {{^ \[}}1,{{ +}}-1],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}-1]]
  %w0, %e0 = moe.gate %l ids(%ids : tensor<3x2xi32>) top_k(2) score(softmax) capacity(<0.5, tutel>) : tensor<3x2xf32> -> tensor<3x2xf32>, tensor<3x2xi32>
  %ed0 = tensor.cast %e0 : tensor<3x2xi32> to tensor<?x?xi32>
  %wd0 = tensor.cast %w0 : tensor<3x2xf32> to tensor<?x?xf32>
  call @show(%wd0, %ed0) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  return
}
