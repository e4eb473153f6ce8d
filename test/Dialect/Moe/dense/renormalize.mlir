// RUN: moe-opt %s --moe-reference-to-llvm \
// RUN:   | mlir-runner -e main --entry-point-result=void --shared-libs=%mlir_libs | FileCheck %s

// Renormalisation with and without drop: moe-semantics G5 and the table of 10.2.
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
  // Probabilities (0.6, 0.2, 0.2) and (0.2, 0.6, 0.2).
  %l = arith.constant dense<[[-0.5108256, -1.6094379, -1.6094379], [-1.6094379, -0.5108256, -1.6094379]]> : tensor<2x3xf32>
  // Nothing is dropped.
  // CHECK: {{\[\[}}0.6,{{ +}}0.2],
  // CHECK-NEXT: {{^ \[}}0.6,{{ +}}0.2]]
  // CHECK: {{\[\[}}0,{{ +}}1],
  // CHECK-NEXT: {{^ \[}}1,{{ +}}0]]
  %w0, %e0 = moe.gate %l top_k(2) score(softmax) : tensor<2x3xf32> -> tensor<2x2xf32>, tensor<2x2xi32>
  %ed0 = tensor.cast %e0 : tensor<2x2xi32> to tensor<?x?xi32>
  %wd0 = tensor.cast %w0 : tensor<2x2xf32> to tensor<?x?xf32>
  call @show(%wd0, %ed0) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // CHECK: {{\[\[}}0.75,{{ +}}0.25],
  // CHECK-NEXT: {{^ \[}}0.75,{{ +}}0.25]]
  // CHECK: {{\[\[}}0,{{ +}}1],
  // CHECK-NEXT: {{^ \[}}1,{{ +}}0]]
  %w1, %e1 = moe.gate %l top_k(2) score(softmax) renormalize(sum) : tensor<2x3xf32> -> tensor<2x2xf32>, tensor<2x2xi32>
  %ed1 = tensor.cast %e1 : tensor<2x2xi32> to tensor<?x?xi32>
  %wd1 = tensor.cast %w1 : tensor<2x2xf32> to tensor<?x?xf32>
  call @show(%wd1, %ed1) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // CHECK: {{\[\[}}0.75,{{ +}}0.25],
  // CHECK-NEXT: {{^ \[}}0.75,{{ +}}0.25]]
  // CHECK: {{\[\[}}0,{{ +}}1],
  // CHECK-NEXT: {{^ \[}}1,{{ +}}0]]
  %w2, %e2 = moe.gate %l top_k(2) score(softmax) renormalize(before) : tensor<2x3xf32> -> tensor<2x2xf32>, tensor<2x2xi32>
  %ed2 = tensor.cast %e2 : tensor<2x2xi32> to tensor<?x?xi32>
  %wd2 = tensor.cast %w2 : tensor<2x2xf32> to tensor<?x?xf32>
  call @show(%wd2, %ed2) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // CHECK: {{\[\[}}0.75,{{ +}}0.25],
  // CHECK-NEXT: {{^ \[}}0.75,{{ +}}0.25]]
  // CHECK: {{\[\[}}0,{{ +}}1],
  // CHECK-NEXT: {{^ \[}}1,{{ +}}0]]
  %w3, %e3 = moe.gate %l top_k(2) score(softmax) renormalize(after) : tensor<2x3xf32> -> tensor<2x2xf32>, tensor<2x2xi32>
  %ed3 = tensor.cast %e3 : tensor<2x2xi32> to tensor<?x?xi32>
  %wd3 = tensor.cast %w3 : tensor<2x2xf32> to tensor<?x?xf32>
  call @show(%wd3, %ed3) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // CHECK: {{\[\[}}0.948683,{{ +}}0.316228],
  // CHECK-NEXT: {{^ \[}}0.948683,{{ +}}0.316228]]
  // CHECK: {{\[\[}}0,{{ +}}1],
  // CHECK-NEXT: {{^ \[}}1,{{ +}}0]]
  %w4, %e4 = moe.gate %l top_k(2) score(softmax) renormalize(pnorm) p(2.0) : tensor<2x3xf32> -> tensor<2x2xf32>, tensor<2x2xi32>
  %ed4 = tensor.cast %e4 : tensor<2x2xi32> to tensor<?x?xi32>
  %wd4 = tensor.cast %w4 : tensor<2x2xf32> to tensor<?x?xf32>
  call @show(%wd4, %ed4) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // CHECK: {{\[\[}}0.75,{{ +}}0.25],
  // CHECK-NEXT: {{^ \[}}0.75,{{ +}}0.25]]
  // CHECK: {{\[\[}}0,{{ +}}1],
  // CHECK-NEXT: {{^ \[}}1,{{ +}}0]]
  %w5, %e5 = moe.gate %l top_k(2) score(softmax) renormalize(pnorm) p(1.0) : tensor<2x3xf32> -> tensor<2x2xf32>, tensor<2x2xi32>
  %ed5 = tensor.cast %e5 : tensor<2x2xi32> to tensor<?x?xi32>
  %wd5 = tensor.cast %w5 : tensor<2x2xf32> to tensor<?x?xf32>
  call @show(%wd5, %ed5) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // CHECK: {{\[\[}}0.6,{{ +}}0.2],
  // CHECK-NEXT: {{^ \[}}0.6,{{ +}}0.2]]
  // CHECK: {{\[\[}}0,{{ +}}1],
  // CHECK-NEXT: {{^ \[}}1,{{ +}}0]]
  %w6, %e6 = moe.gate %l top_k(2) score(softmax) renormalize(sum) eps(0.2) : tensor<2x3xf32> -> tensor<2x2xf32>, tensor<2x2xi32>
  %ed6 = tensor.cast %e6 : tensor<2x2xi32> to tensor<?x?xi32>
  %wd6 = tensor.cast %w6 : tensor<2x2xf32> to tensor<?x?xf32>
  call @show(%wd6, %ed6) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // CHECK: {{\[\[}}1.875,{{ +}}0.625],
  // CHECK-NEXT: {{^ \[}}1.875,{{ +}}0.625]]
  // CHECK: {{\[\[}}0,{{ +}}1],
  // CHECK-NEXT: {{^ \[}}1,{{ +}}0]]
  %w7, %e7 = moe.gate %l top_k(2) score(softmax) renormalize(sum) scale(2.5) : tensor<2x3xf32> -> tensor<2x2xf32>, tensor<2x2xi32>
  %ed7 = tensor.cast %e7 : tensor<2x2xi32> to tensor<?x?xi32>
  %wd7 = tensor.cast %w7 : tensor<2x2xf32> to tensor<?x?xf32>
  call @show(%wd7, %ed7) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // Capacity 1: the second choice of both tokens is the first choice of the other.
  // CHECK: {{\[\[}}0.6,{{ +}}0],
  // CHECK-NEXT: {{^ \[}}0.6,{{ +}}0]]
  // CHECK: {{\[\[}}0,{{ +}}-1],
  // CHECK-NEXT: {{^ \[}}1,{{ +}}-1]]
  %w8, %e8 = moe.gate %l top_k(2) score(softmax) capacity(<0.8, megablocks>) : tensor<2x3xf32> -> tensor<2x2xf32>, tensor<2x2xi32>
  %ed8 = tensor.cast %e8 : tensor<2x2xi32> to tensor<?x?xi32>
  %wd8 = tensor.cast %w8 : tensor<2x2xf32> to tensor<?x?xf32>
  call @show(%wd8, %ed8) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // CHECK: {{\[\[}}0.75,{{ +}}0],
  // CHECK-NEXT: {{^ \[}}0.75,{{ +}}0]]
  // CHECK: {{\[\[}}0,{{ +}}-1],
  // CHECK-NEXT: {{^ \[}}1,{{ +}}-1]]
  %w9, %e9 = moe.gate %l top_k(2) score(softmax) renormalize(sum) capacity(<0.8, megablocks>) : tensor<2x3xf32> -> tensor<2x2xf32>, tensor<2x2xi32>
  %ed9 = tensor.cast %e9 : tensor<2x2xi32> to tensor<?x?xi32>
  %wd9 = tensor.cast %w9 : tensor<2x2xf32> to tensor<?x?xf32>
  call @show(%wd9, %ed9) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // CHECK: {{\[\[}}0.75,{{ +}}0],
  // CHECK-NEXT: {{^ \[}}0.75,{{ +}}0]]
  // CHECK: {{\[\[}}0,{{ +}}-1],
  // CHECK-NEXT: {{^ \[}}1,{{ +}}-1]]
  %w10, %e10 = moe.gate %l top_k(2) score(softmax) renormalize(before) capacity(<0.8, megablocks>) : tensor<2x3xf32> -> tensor<2x2xf32>, tensor<2x2xi32>
  %ed10 = tensor.cast %e10 : tensor<2x2xi32> to tensor<?x?xi32>
  %wd10 = tensor.cast %w10 : tensor<2x2xf32> to tensor<?x?xf32>
  call @show(%wd10, %ed10) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // CHECK: {{\[\[}}1,{{ +}}0],
  // CHECK-NEXT: {{^ \[}}1,{{ +}}0]]
  // CHECK: {{\[\[}}0,{{ +}}-1],
  // CHECK-NEXT: {{^ \[}}1,{{ +}}-1]]
  %w11, %e11 = moe.gate %l top_k(2) score(softmax) renormalize(after) capacity(<0.8, megablocks>) : tensor<2x3xf32> -> tensor<2x2xf32>, tensor<2x2xi32>
  %ed11 = tensor.cast %e11 : tensor<2x2xi32> to tensor<?x?xi32>
  %wd11 = tensor.cast %w11 : tensor<2x2xf32> to tensor<?x?xf32>
  call @show(%wd11, %ed11) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // CHECK: {{\[\[}}0.948683,{{ +}}0],
  // CHECK-NEXT: {{^ \[}}0.948683,{{ +}}0]]
  // CHECK: {{\[\[}}0,{{ +}}-1],
  // CHECK-NEXT: {{^ \[}}1,{{ +}}-1]]
  %w12, %e12 = moe.gate %l top_k(2) score(softmax) renormalize(pnorm) p(2.0) capacity(<0.8, megablocks>) : tensor<2x3xf32> -> tensor<2x2xf32>, tensor<2x2xi32>
  %ed12 = tensor.cast %e12 : tensor<2x2xi32> to tensor<?x?xi32>
  %wd12 = tensor.cast %w12 : tensor<2x2xf32> to tensor<?x?xf32>
  call @show(%wd12, %ed12) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // k = 1: sum gives 1, before leaves the weight as it is.
  // CHECK: {{\[\[}}1],
  // CHECK-NEXT: {{^ \[}}1]]
  // CHECK: {{\[\[}}0],
  // CHECK-NEXT: {{^ \[}}1]]
  %w13, %e13 = moe.gate %l top_k(1) score(softmax) renormalize(sum) : tensor<2x3xf32> -> tensor<2x1xf32>, tensor<2x1xi32>
  %ed13 = tensor.cast %e13 : tensor<2x1xi32> to tensor<?x?xi32>
  %wd13 = tensor.cast %w13 : tensor<2x1xf32> to tensor<?x?xf32>
  call @show(%wd13, %ed13) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // CHECK: {{\[\[}}0.6],
  // CHECK-NEXT: {{^ \[}}0.6]]
  // CHECK: {{\[\[}}0],
  // CHECK-NEXT: {{^ \[}}1]]
  %w14, %e14 = moe.gate %l top_k(1) score(softmax) renormalize(before) : tensor<2x3xf32> -> tensor<2x1xf32>, tensor<2x1xi32>
  %ed14 = tensor.cast %e14 : tensor<2x1xi32> to tensor<?x?xi32>
  %wd14 = tensor.cast %w14 : tensor<2x1xf32> to tensor<?x?xf32>
  call @show(%wd14, %ed14) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // A token that lost all its slots has weight 0, not NaN.
  %same = arith.constant dense<0.0> : tensor<2x3xf32>
  // CHECK: {{\[\[}}1],
  // CHECK-NEXT: {{^ \[}}0]]
  // CHECK: {{\[\[}}0],
  // CHECK-NEXT: {{^ \[}}-1]]
  %w15, %e15 = moe.gate %same top_k(1) score(softmax) renormalize(after) capacity(<1.5, megablocks>) : tensor<2x3xf32> -> tensor<2x1xf32>, tensor<2x1xi32>
  %ed15 = tensor.cast %e15 : tensor<2x1xi32> to tensor<?x?xi32>
  %wd15 = tensor.cast %w15 : tensor<2x1xf32> to tensor<?x?xf32>
  call @show(%wd15, %ed15) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  return
}
