// RUN: moe-opt %s --moe-reference-to-llvm \
// RUN:   | mlir-runner -e main --entry-point-result=void --shared-libs=%mlir_libs | FileCheck %s

// Score functions, top-k and ties: moe-semantics G1, G3, G4, G8 and the rule of 1.1.
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
  %l = arith.constant dense<[[1.0, 3.0, 2.0, 0.0], [5.0, 5.0, 5.0, 5.0], [-1.0, -3.0, -2.0, -4.0]]> : tensor<3x4xf32>
  // Equal logits: the lower expert wins.
  // CHECK: {{\[\[}}0.643914,{{ +}}0.236883],
  // CHECK-NEXT: {{^ \[}}0.25,{{ +}}0.25],
  // CHECK-NEXT: {{^ \[}}0.643914,{{ +}}0.236883]]
  // CHECK: {{\[\[}}1,{{ +}}2],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}1],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}2]]
  %w0, %e0 = moe.gate %l top_k(2) score(softmax) : tensor<3x4xf32> -> tensor<3x2xf32>, tensor<3x2xi32>
  %ed0 = tensor.cast %e0 : tensor<3x2xi32> to tensor<?x?xi32>
  %wd0 = tensor.cast %w0 : tensor<3x2xf32> to tensor<?x?xf32>
  call @show(%wd0, %ed0) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // CHECK: {{\[\[}}0.731059,{{ +}}0.268941],
  // CHECK-NEXT: {{^ \[}}0.5,{{ +}}0.5],
  // CHECK-NEXT: {{^ \[}}0.731059,{{ +}}0.268941]]
  // CHECK: {{\[\[}}1,{{ +}}2],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}1],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}2]]
  %w1, %e1 = moe.gate %l top_k(2) score(softmax_after) : tensor<3x4xf32> -> tensor<3x2xf32>, tensor<3x2xi32>
  %ed1 = tensor.cast %e1 : tensor<3x2xi32> to tensor<?x?xi32>
  %wd1 = tensor.cast %w1 : tensor<3x2xf32> to tensor<?x?xf32>
  call @show(%wd1, %ed1) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // CHECK: {{\[\[}}0.952574,{{ +}}0.880797],
  // CHECK-NEXT: {{^ \[}}0.993307,{{ +}}0.993307],
  // CHECK-NEXT: {{^ \[}}0.268941,{{ +}}0.119203]]
  // CHECK: {{\[\[}}1,{{ +}}2],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}1],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}2]]
  %w2, %e2 = moe.gate %l top_k(2) score(sigmoid) : tensor<3x4xf32> -> tensor<3x2xf32>, tensor<3x2xi32>
  %ed2 = tensor.cast %e2 : tensor<3x2xi32> to tensor<?x?xi32>
  %wd2 = tensor.cast %w2 : tensor<3x2xf32> to tensor<?x?xf32>
  call @show(%wd2, %ed2) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // CHECK: {{\[\[}}1.74602,{{ +}}1.4584],
  // CHECK-NEXT: {{^ \[}}2.23757,{{ +}}2.23757],
  // CHECK-NEXT: {{^ \[}}0.559698,{{ +}}0.35627]]
  // CHECK: {{\[\[}}1,{{ +}}2],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}1],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}2]]
  %w3, %e3 = moe.gate %l top_k(2) score(sqrt_softplus) : tensor<3x4xf32> -> tensor<3x2xf32>, tensor<3x2xi32>
  %ed3 = tensor.cast %e3 : tensor<3x2xi32> to tensor<?x?xi32>
  %wd3 = tensor.cast %w3 : tensor<3x2xf32> to tensor<?x?xf32>
  call @show(%wd3, %ed3) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // A k beyond the number of experts chooses all of them (G1).
  // CHECK: {{\[\[}}0.952574,{{ +}}0.880797,{{ +}}0.731059,{{ +}}0.5],
  // CHECK-NEXT: {{^ \[}}0.993307,{{ +}}0.993307,{{ +}}0.993307,{{ +}}0.993307],
  // CHECK-NEXT: {{^ \[}}0.268941,{{ +}}0.119203,{{ +}}0.0474259,{{ +}}0.0179862]]
  // CHECK: {{\[\[}}1,{{ +}}2,{{ +}}0,{{ +}}3],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}1,{{ +}}2,{{ +}}3],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}2,{{ +}}1,{{ +}}3]]
  %w4, %e4 = moe.gate %l top_k(7) score(sigmoid) : tensor<3x4xf32> -> tensor<3x4xf32>, tensor<3x4xi32>
  %ed4 = tensor.cast %e4 : tensor<3x4xi32> to tensor<?x?xi32>
  %wd4 = tensor.cast %w4 : tensor<3x4xf32> to tensor<?x?xf32>
  call @show(%wd4, %ed4) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // CHECK: {{\[\[}}0.952574,{{ +}}0.880797],
  // CHECK-NEXT: {{^ \[}}0.993307,{{ +}}0.993307],
  // CHECK-NEXT: {{^ \[}}0.268941,{{ +}}0.119203]]
  // CHECK: {{\[\[}}1,{{ +}}2],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}1],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}2]]
  %w5, %e5 = moe.gate %l top_k(2) score(sigmoid_after) : tensor<3x4xf32> -> tensor<3x2xf32>, tensor<3x2xi32>
  %ed5 = tensor.cast %e5 : tensor<3x2xi32> to tensor<?x?xi32>
  %wd5 = tensor.cast %w5 : tensor<3x2xf32> to tensor<?x?xf32>
  call @show(%wd5, %ed5) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // CHECK: {{\[\[}}0.731059,{{ +}}1],
  // CHECK-NEXT: {{^ \[}}0.25,{{ +}}0.333333],
  // CHECK-NEXT: {{^ \[}}1,{{ +}}0.731059]]
  // CHECK: {{\[\[}}1,{{ +}}2],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}1],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}2]]
  %w6, %e6 = moe.gate %l top_k(2) score(sparsemixer) jitter(0.2) : tensor<3x4xf32> -> tensor<3x2xf32>, tensor<3x2xi32>
  %ed6 = tensor.cast %e6 : tensor<3x2xi32> to tensor<?x?xi32>
  %wd6 = tensor.cast %w6 : tensor<3x2xf32> to tensor<?x?xf32>
  call @show(%wd6, %ed6) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  return
}
