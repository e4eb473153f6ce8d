// RUN: moe-opt %s --moe-reference-to-llvm \
// RUN:   | mlir-runner -e main --entry-point-result=void --shared-libs=%mlir_libs | FileCheck %s

// What steers the choice: moe-semantics G7 (bias, groups) and G25 (ids from outside).
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
  %l = arith.constant dense<[[1.0, 3.0, 2.0, 0.0, 0.5, -1.0, 2.5, 2.5]]> : tensor<1x8xf32>
  // sigmoid: 0.731 0.953 0.881 0.5 | 0.622 0.269 0.924 0.924. The bias decides the choice, the weights are without it.
  // CHECK: {{\[\[}}0.952574,{{ +}}0.924142]]
  // CHECK: {{\[\[}}1,{{ +}}6]]
  %w0, %e0 = moe.gate %l top_k(2) score(sigmoid) : tensor<1x8xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
  %ed0 = tensor.cast %e0 : tensor<1x2xi32> to tensor<?x?xi32>
  %wd0 = tensor.cast %w0 : tensor<1x2xf32> to tensor<?x?xf32>
  call @show(%wd0, %ed0) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  %bias = arith.constant dense<[0.0, -1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]> : tensor<8xf32>
  // CHECK: {{\[\[}}0.622459,{{ +}}0.924142]]
  // CHECK: {{\[\[}}4,{{ +}}6]]
  %w1, %e1 = moe.gate %l bias(%bias : tensor<8xf32>) top_k(2) score(sigmoid) : tensor<1x8xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
  %ed1 = tensor.cast %e1 : tensor<1x2xi32> to tensor<?x?xi32>
  %wd1 = tensor.cast %w1 : tensor<1x2xf32> to tensor<?x?xf32>
  call @show(%wd1, %ed1) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // CHECK: {{\[\[}}1.00617,{{ +}}1.49383]]
  // CHECK: {{\[\[}}4,{{ +}}6]]
  %w2, %e2 = moe.gate %l bias(%bias : tensor<8xf32>) top_k(2) score(sigmoid) renormalize(sum) eps(1.0e-20) scale(2.5) : tensor<1x8xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
  %ed2 = tensor.cast %e2 : tensor<1x2xi32> to tensor<?x?xi32>
  %wd2 = tensor.cast %w2 : tensor<1x2xf32> to tensor<?x?xf32>
  call @show(%wd2, %ed2) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // Two groups of four: the best expert is in the first, the best two together in the second (1.848 > 1.834).
  // CHECK: {{\[\[}}0.952574,{{ +}}0.880797]]
  // CHECK: {{\[\[}}1,{{ +}}2]]
  %w3, %e3 = moe.gate %l top_k(2) score(sigmoid) groups(<2, keep = 1, max>) : tensor<1x8xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
  %ed3 = tensor.cast %e3 : tensor<1x2xi32> to tensor<?x?xi32>
  %wd3 = tensor.cast %w3 : tensor<1x2xf32> to tensor<?x?xf32>
  call @show(%wd3, %ed3) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // CHECK: {{\[\[}}0.924142,{{ +}}0.924142]]
  // CHECK: {{\[\[}}6,{{ +}}7]]
  %w4, %e4 = moe.gate %l top_k(2) score(sigmoid) groups(<2, keep = 1, top2_sum>) : tensor<1x8xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
  %ed4 = tensor.cast %e4 : tensor<1x2xi32> to tensor<?x?xi32>
  %wd4 = tensor.cast %w4 : tensor<1x2xf32> to tensor<?x?xf32>
  call @show(%wd4, %ed4) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // Four groups of two, equal at the top: the lower group wins.
  %even = arith.constant dense<[0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0]> : tensor<8xf32>
  %flat = arith.constant dense<0.0> : tensor<1x8xf32>
  // CHECK: {{\[\[}}0.5,{{ +}}0.5]]
  // CHECK: {{\[\[}}1,{{ +}}2]]
  %w5, %e5 = moe.gate %flat bias(%even : tensor<8xf32>) top_k(2) score(sigmoid) groups(<4, keep = 2, max>) : tensor<1x8xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
  %ed5 = tensor.cast %e5 : tensor<1x2xi32> to tensor<?x?xi32>
  %wd5 = tensor.cast %w5 : tensor<1x2xf32> to tensor<?x?xf32>
  call @show(%wd5, %ed5) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // Fixed ids; -1 and what is no expert give weight 0 (G25).
  %ids = arith.constant dense<[[7, -1]]> : tensor<1x2xi64>
  // CHECK: {{\[\[}}0.924142,{{ +}}0]]
  // CHECK: {{\[\[}}7,{{ +}}-1]]
  %w6, %e6 = moe.gate %l ids(%ids : tensor<1x2xi64>) top_k(2) score(sigmoid) : tensor<1x8xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
  %ed6 = tensor.cast %e6 : tensor<1x2xi32> to tensor<?x?xi32>
  %wd6 = tensor.cast %w6 : tensor<1x2xf32> to tensor<?x?xf32>
  call @show(%wd6, %ed6) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  %wild = arith.constant dense<[[8, 4294967296]]> : tensor<1x2xi64>
  // CHECK: {{\[\[}}0,{{ +}}0]]
  // CHECK: {{\[\[}}-1,{{ +}}-1]]
  %w7, %e7 = moe.gate %l ids(%wild : tensor<1x2xi64>) top_k(2) score(sigmoid) renormalize(sum) : tensor<1x8xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
  %ed7 = tensor.cast %e7 : tensor<1x2xi32> to tensor<?x?xi32>
  %wd7 = tensor.cast %w7 : tensor<1x2xf32> to tensor<?x?xf32>
  call @show(%wd7, %ed7) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // CHECK: {{\[\[}}1,{{ +}}0]]
  // CHECK: {{\[\[}}7,{{ +}}-1]]
  %w8, %e8 = moe.gate %l ids(%ids : tensor<1x2xi64>) top_k(2) score(softmax_after) : tensor<1x8xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
  %ed8 = tensor.cast %e8 : tensor<1x2xi32> to tensor<?x?xi32>
  %wd8 = tensor.cast %w8 : tensor<1x2xf32> to tensor<?x?xf32>
  call @show(%wd8, %ed8) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // A score that is no number ranks first, so that the result shows it; it has no say among groups that do not compete.
  %nan = arith.constant dense<[[1.0, 0x7FC00000, 2.0, 0.0]]> : tensor<1x4xf32>
  // CHECK: {{\[\[}}{{-?}}nan,{{ +}}0.880797]]
  // CHECK: {{\[\[}}1,{{ +}}2]]
  %w9, %e9 = moe.gate %nan top_k(2) score(sigmoid) : tensor<1x4xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
  %ed9 = tensor.cast %e9 : tensor<1x2xi32> to tensor<?x?xi32>
  %wd9 = tensor.cast %w9 : tensor<1x2xf32> to tensor<?x?xf32>
  call @show(%wd9, %ed9) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  // A bias of minus infinity ranks last among the experts that compete, and before those that do not.
  %never = arith.constant dense<[0xFF800000, 0.0, 0.0, 0.0]> : tensor<4xf32>
  %low = arith.constant dense<[[1.0, 3.0, 0.0, 0.0]]> : tensor<1x4xf32>
  // CHECK: {{\[\[}}0.952574,{{ +}}0.731059]]
  // CHECK: {{\[\[}}1,{{ +}}0]]
  %w10, %e10 = moe.gate %low bias(%never : tensor<4xf32>) top_k(2) score(sigmoid) groups(<2, keep = 1, max>) : tensor<1x4xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
  %ed10 = tensor.cast %e10 : tensor<1x2xi32> to tensor<?x?xi32>
  %wd10 = tensor.cast %w10 : tensor<1x2xf32> to tensor<?x?xf32>
  call @show(%wd10, %ed10) : (tensor<?x?xf32>, tensor<?x?xi32>) -> ()
  return
}
