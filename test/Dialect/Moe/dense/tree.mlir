// RUN: moe-opt %s --moe-reference-to-llvm \
// RUN:   | mlir-runner -e main --entry-point-result=void --shared-libs=%mlir_libs | FileCheck %s

// The order of a sum shows in f32: 2^24 + 1 is 2^24. Rows are copies of tokens that are 1, so slots add their weights.
func.func private @printMemrefF32(tensor<*xf32>)

func.func @show(%t: tensor<?x1xf32>) {
  %u = tensor.cast %t : tensor<?x1xf32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}

func.func @slots(%x: tensor<?x1xf32>, %e: tensor<?x3xi32>, %w: tensor<?x3xf32>) -> tensor<?x1xf32> {
  %r, %l = moe.dispatch %x, %e num_experts(4) : tensor<?x1xf32>, tensor<?x3xi32> -> tensor<?x1xf32>, !moe.layout<4>
  %y = moe.combine %r, %l weights(%w : tensor<?x3xf32>) : tensor<?x1xf32>, !moe.layout<4> -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}

func.func @one(%x: tensor<?x1xf32>, %e: tensor<?x3xi32>, %w: tensor<?x3xf32>) -> tensor<?x1xf32> {
  %r, %l = moe.dispatch %x, %e num_experts(4) : tensor<?x1xf32>, tensor<?x3xi32> -> tensor<?x1xf32>, !moe.layout<4>
  %y = moe.combine %r, %l weights(%w : tensor<?x3xf32>) sum(<tree, groups = 1>) : tensor<?x1xf32>, !moe.layout<4> -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}

func.func @two(%x: tensor<?x1xf32>, %e: tensor<?x3xi32>, %w: tensor<?x3xf32>) -> tensor<?x1xf32> {
  %r, %l = moe.dispatch %x, %e num_experts(4) : tensor<?x1xf32>, tensor<?x3xi32> -> tensor<?x1xf32>, !moe.layout<4>
  %y = moe.combine %r, %l weights(%w : tensor<?x3xf32>) sum(<tree, groups = 2>) : tensor<?x1xf32>, !moe.layout<4> -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}

func.func @four(%x: tensor<?x1xf32>, %e: tensor<?x3xi32>, %w: tensor<?x3xf32>) -> tensor<?x1xf32> {
  %r, %l = moe.dispatch %x, %e num_experts(4) : tensor<?x1xf32>, tensor<?x3xi32> -> tensor<?x1xf32>, !moe.layout<4>
  %y = moe.combine %r, %l weights(%w : tensor<?x3xf32>) sum(<tree, groups = 4>) : tensor<?x1xf32>, !moe.layout<4> -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}

func.func @main() {
  %x0 = arith.constant dense<1.0> : tensor<4x1xf32>
  // Token 0 loses 1 in slot order; two ranges keep it. Token 1 has both large weights in expert 0: it needs four ranges. Token 2
  // would lose 1 if ranges were added one after the other. Token 3 has one expert.
  %e0 = arith.constant dense<[[2, 0, 3], [0, 1, 0], [0, 2, 3], [-1, 1, -1]]> : tensor<4x3xi32>
  %w0 = arith.constant dense<[[16777216.0, 1.0, -16777216.0], [16777216.0, 1.0, -16777216.0], [1.0, 16777216.0, -16777216.0], [9.0, 5.0, 9.0]]> : tensor<4x3xf32>
  %x = tensor.cast %x0 : tensor<4x1xf32> to tensor<?x1xf32>
  %e = tensor.cast %e0 : tensor<4x3xi32> to tensor<?x3xi32>
  %w = tensor.cast %w0 : tensor<4x3xf32> to tensor<?x3xf32>
  // CHECK: {{\[\[}}0],
  // CHECK-NEXT: [0],
  // CHECK-NEXT: [0],
  // CHECK-NEXT: [5]]
  %s = call @slots(%x, %e, %w) : (tensor<?x1xf32>, tensor<?x3xi32>, tensor<?x3xf32>) -> tensor<?x1xf32>
  call @show(%s) : (tensor<?x1xf32>) -> ()
  // One range is the slot order.
  // CHECK: {{\[\[}}0],
  // CHECK-NEXT: [0],
  // CHECK-NEXT: [0],
  // CHECK-NEXT: [5]]
  %1 = call @one(%x, %e, %w) : (tensor<?x1xf32>, tensor<?x3xi32>, tensor<?x3xf32>) -> tensor<?x1xf32>
  call @show(%1) : (tensor<?x1xf32>) -> ()
  // CHECK: {{\[\[}}1],
  // CHECK-NEXT: [0],
  // CHECK-NEXT: [1],
  // CHECK-NEXT: [5]]
  %2 = call @two(%x, %e, %w) : (tensor<?x1xf32>, tensor<?x3xi32>, tensor<?x3xf32>) -> tensor<?x1xf32>
  call @show(%2) : (tensor<?x1xf32>) -> ()
  // CHECK: {{\[\[}}1],
  // CHECK-NEXT: [1],
  // CHECK-NEXT: [1],
  // CHECK-NEXT: [5]]
  %4 = call @four(%x, %e, %w) : (tensor<?x1xf32>, tensor<?x3xi32>, tensor<?x3xf32>) -> tensor<?x1xf32>
  call @show(%4) : (tensor<?x1xf32>) -> ()
  return
}
