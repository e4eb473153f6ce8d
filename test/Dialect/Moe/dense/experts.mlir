// RUN: moe-opt %s --moe-reference-to-llvm \
// RUN:   | mlir-runner -e main --entry-point-result=void --shared-libs=%mlir_libs | FileCheck %s

// Dispatch, biases, activation, combine; weights after and before the experts: moe-semantics D4, D5, D12, V7, V9, C6.
// Expert 1 has no rows and weights that would show; token 1 has one expert, token 2 has none.
func.func private @printMemrefF32(tensor<*xf32>)

func.func @show(%t: tensor<?x2xf32>) {
  %u = tensor.cast %t : tensor<?x2xf32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}

func.func @post(%x: tensor<?x2xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %w1 = arith.constant dense<[[[1.0, 0.0], [0.0, 1.0]], [[9.0, 9.0], [9.0, 9.0]], [[1.0, 1.0], [-1.0, 1.0]]]> : tensor<3x2x2xf32>
  %w2 = arith.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[9.0, 9.0], [9.0, 9.0]], [[1.0, -1.0], [0.0, 2.0]]]> : tensor<3x2x2xf32>
  %b1 = arith.constant dense<[[1.0, -5.0], [9.0, 9.0], [0.0, -2.0]]> : tensor<3x2xf32>
  %b2 = arith.constant dense<[[10.0, 20.0], [9.0, 9.0], [0.5, 0.25]]> : tensor<3x2xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(3) : tensor<?x2xf32>, tensor<?x2xi32> -> tensor<?x2xf32>, !moe.layout<3>
  %y = moe.expert %rows, %layout, %w1, %w2 bias_in(%b1 : tensor<3x2xf32>) bias_out(%b2 : tensor<3x2xf32>) {
  ^bb0(%v: f32):
    %zero = arith.constant 0.0 : f32
    %a = arith.maximumf %v, %zero : f32
    moe.yield %a : f32
  } : tensor<?x2xf32>, !moe.layout<3>, tensor<3x2x2xf32>, tensor<3x2x2xf32> -> tensor<?x2xf32>
  %out = moe.combine %y, %layout weights(%w : tensor<?x2xf32>) : tensor<?x2xf32>, !moe.layout<3> -> tensor<?x2xf32>
  return %out : tensor<?x2xf32>
}

func.func @pre(%x: tensor<?x2xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %w1 = arith.constant dense<[[[1.0, 0.0], [0.0, 1.0]], [[9.0, 9.0], [9.0, 9.0]], [[1.0, 1.0], [-1.0, 1.0]]]> : tensor<3x2x2xf32>
  %w2 = arith.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[9.0, 9.0], [9.0, 9.0]], [[1.0, -1.0], [0.0, 2.0]]]> : tensor<3x2x2xf32>
  %b1 = arith.constant dense<[[1.0, -5.0], [9.0, 9.0], [0.0, -2.0]]> : tensor<3x2xf32>
  %b2 = arith.constant dense<[[10.0, 20.0], [9.0, 9.0], [0.5, 0.25]]> : tensor<3x2xf32>
  %rows, %layout = moe.dispatch %x, %e weights(%w : tensor<?x2xf32>) num_experts(3) : tensor<?x2xf32>, tensor<?x2xi32> -> tensor<?x2xf32>, !moe.layout<3>
  %y = moe.expert %rows, %layout, %w1, %w2 bias_in(%b1 : tensor<3x2xf32>) bias_out(%b2 : tensor<3x2xf32>) {
  ^bb0(%v: f32):
    %zero = arith.constant 0.0 : f32
    %a = arith.maximumf %v, %zero : f32
    moe.yield %a : f32
  } : tensor<?x2xf32>, !moe.layout<3>, tensor<3x2x2xf32>, tensor<3x2x2xf32> -> tensor<?x2xf32>
  %out = moe.combine %y, %layout : tensor<?x2xf32>, !moe.layout<3> -> tensor<?x2xf32>
  return %out : tensor<?x2xf32>
}

func.func @linear_post(%x: tensor<?x2xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %w1 = arith.constant dense<[[[1.0, 0.0], [0.0, 1.0]], [[9.0, 9.0], [9.0, 9.0]], [[1.0, 1.0], [-1.0, 1.0]]]> : tensor<3x2x2xf32>
  %w2 = arith.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[9.0, 9.0], [9.0, 9.0]], [[1.0, -1.0], [0.0, 2.0]]]> : tensor<3x2x2xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(3) : tensor<?x2xf32>, tensor<?x2xi32> -> tensor<?x2xf32>, !moe.layout<3>
  %y = moe.expert %rows, %layout, %w1, %w2 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x2xf32>, !moe.layout<3>, tensor<3x2x2xf32>, tensor<3x2x2xf32> -> tensor<?x2xf32>
  %out = moe.combine %y, %layout weights(%w : tensor<?x2xf32>) : tensor<?x2xf32>, !moe.layout<3> -> tensor<?x2xf32>
  return %out : tensor<?x2xf32>
}

func.func @linear_pre(%x: tensor<?x2xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %w1 = arith.constant dense<[[[1.0, 0.0], [0.0, 1.0]], [[9.0, 9.0], [9.0, 9.0]], [[1.0, 1.0], [-1.0, 1.0]]]> : tensor<3x2x2xf32>
  %w2 = arith.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[9.0, 9.0], [9.0, 9.0]], [[1.0, -1.0], [0.0, 2.0]]]> : tensor<3x2x2xf32>
  %rows, %layout = moe.dispatch %x, %e weights(%w : tensor<?x2xf32>) num_experts(3) : tensor<?x2xf32>, tensor<?x2xi32> -> tensor<?x2xf32>, !moe.layout<3>
  %y = moe.expert %rows, %layout, %w1, %w2 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x2xf32>, !moe.layout<3>, tensor<3x2x2xf32>, tensor<3x2x2xf32> -> tensor<?x2xf32>
  %out = moe.combine %y, %layout : tensor<?x2xf32>, !moe.layout<3> -> tensor<?x2xf32>
  return %out : tensor<?x2xf32>
}

func.func @main() {
  %x = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [-1.0, 1.0]]> : tensor<3x2xf32>
  %e = arith.constant dense<[[2, 0], [0, -1], [-1, -1]]> : tensor<3x2xi32>
  %w = arith.constant dense<[[0.5, 0.25], [2.0, 7.0], [1.0, 1.0]]> : tensor<3x2xf32>
  %xd = tensor.cast %x : tensor<3x2xf32> to tensor<?x2xf32>
  %ed = tensor.cast %e : tensor<3x2xi32> to tensor<?x2xi32>
  %wd = tensor.cast %w : tensor<3x2xf32> to tensor<?x2xf32>
  %0 = call @post(%xd, %ed, %wd) : (tensor<?x2xf32>, tensor<?x2xi32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  // CHECK: {{\[\[}}4.75,{{ +}}6.625],
  // CHECK-NEXT: {{^ \[}}28,{{ +}}64],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}0]]
  call @show(%0) : (tensor<?x2xf32>) -> ()
  %1 = call @pre(%xd, %ed, %wd) : (tensor<?x2xf32>, tensor<?x2xi32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  // CHECK: {{\[\[}}13.25,{{ +}}24],
  // CHECK-NEXT: {{^ \[}}23,{{ +}}53],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}0]]
  call @show(%1) : (tensor<?x2xf32>) -> ()
  // Without bias and activation the place of the weight makes no difference.
  %2 = call @linear_post(%xd, %ed, %wd) : (tensor<?x2xf32>, tensor<?x2xi32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  // CHECK: {{\[\[}}2.25,{{ +}}3.75],
  // CHECK-NEXT: {{^ \[}}22,{{ +}}50],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}0]]
  call @show(%2) : (tensor<?x2xf32>) -> ()
  %3 = call @linear_pre(%xd, %ed, %wd) : (tensor<?x2xf32>, tensor<?x2xi32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  // CHECK: {{\[\[}}2.25,{{ +}}3.75],
  // CHECK-NEXT: {{^ \[}}22,{{ +}}50],
  // CHECK-NEXT: {{^ \[}}0,{{ +}}0]]
  call @show(%3) : (tensor<?x2xf32>) -> ()
  // No tokens at all (D12).
  %none = tensor.empty() : tensor<0x2xf32>
  %none_ids = tensor.empty() : tensor<0x2xi32>
  %nd = tensor.cast %none : tensor<0x2xf32> to tensor<?x2xf32>
  %nid = tensor.cast %none_ids : tensor<0x2xi32> to tensor<?x2xi32>
  %4 = call @post(%nd, %nid, %nd) : (tensor<?x2xf32>, tensor<?x2xi32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  // CHECK: sizes = [0, 2]
  call @show(%4) : (tensor<?x2xf32>) -> ()
  return
}
