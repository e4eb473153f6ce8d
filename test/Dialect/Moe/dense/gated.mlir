// RUN: moe-opt %s --moe-reference-to-llvm \
// RUN:   | mlir-runner -e main --entry-point-result=void --shared-libs=%mlir_libs | FileCheck %s

// Gated experts: gate and up in halves or interleaved, and any activation, also with a value from outside (V7, V8).
func.func private @printMemrefF32(tensor<*xf32>)

func.func @show(%t: tensor<?x2xf32>) {
  %u = tensor.cast %t : tensor<?x2xf32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}

func.func @halves(%x: tensor<2x2xf32>) -> tensor<?x2xf32> {
  %e = arith.constant dense<0> : tensor<2x1xi32>
  %w1 = arith.constant dense<[[[1.0, 1.0], [2.0, 0.0], [0.0, 1.0], [1.0, -1.0]]]> : tensor<1x4x2xf32>
  %w2 = arith.constant dense<[[[1.0, 2.0], [-1.0, 1.0]]]> : tensor<1x2x2xf32>
  %c = arith.constant 0.37 : f32
  %rows, %layout = moe.dispatch %x, %e num_experts(1) : tensor<2x2xf32>, tensor<2x1xi32> -> tensor<2x2xf32>, !moe.layout<1>
  %y = moe.expert %rows, %layout, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    %one = arith.constant 1.0 : f32
    %abs = math.absf %g : f32
    %n = arith.addf %one, %abs : f32
    %p = arith.mulf %g, %u : f32
    %q = arith.divf %p, %n : f32
    %uu = arith.mulf %u, %u : f32
    %cu = arith.mulf %c, %uu : f32
    %a = arith.addf %q, %cu : f32
    moe.yield %a : f32
  } : tensor<2x2xf32>, !moe.layout<1>, tensor<1x4x2xf32>, tensor<1x2x2xf32> -> tensor<2x2xf32>
  %out = moe.combine %y, %layout : tensor<2x2xf32>, !moe.layout<1> -> tensor<2x2xf32>
  %d = tensor.cast %out : tensor<2x2xf32> to tensor<?x2xf32>
  return %d : tensor<?x2xf32>
}

func.func @interleaved(%x: tensor<2x2xf32>) -> tensor<?x2xf32> {
  %e = arith.constant dense<0> : tensor<2x1xi32>
  %w1 = arith.constant dense<[[[1.0, 1.0], [0.0, 1.0], [2.0, 0.0], [1.0, -1.0]]]> : tensor<1x4x2xf32>
  %w2 = arith.constant dense<[[[1.0, 2.0], [-1.0, 1.0]]]> : tensor<1x2x2xf32>
  %c = arith.constant 0.37 : f32
  %rows, %layout = moe.dispatch %x, %e num_experts(1) : tensor<2x2xf32>, tensor<2x1xi32> -> tensor<2x2xf32>, !moe.layout<1>
  %y = moe.expert %rows, %layout, %w1, %w2 gated interleaved {
  ^bb0(%g: f32, %u: f32):
    %one = arith.constant 1.0 : f32
    %abs = math.absf %g : f32
    %n = arith.addf %one, %abs : f32
    %p = arith.mulf %g, %u : f32
    %q = arith.divf %p, %n : f32
    %uu = arith.mulf %u, %u : f32
    %cu = arith.mulf %c, %uu : f32
    %a = arith.addf %q, %cu : f32
    moe.yield %a : f32
  } : tensor<2x2xf32>, !moe.layout<1>, tensor<1x4x2xf32>, tensor<1x2x2xf32> -> tensor<2x2xf32>
  %out = moe.combine %y, %layout : tensor<2x2xf32>, !moe.layout<1> -> tensor<2x2xf32>
  %d = tensor.cast %out : tensor<2x2xf32> to tensor<?x2xf32>
  return %d : tensor<?x2xf32>
}

func.func @swiglu(%x: tensor<2x2xf32>) -> tensor<?x2xf32> {
  %e = arith.constant dense<0> : tensor<2x1xi32>
  %w1 = arith.constant dense<[[[1.0, 1.0], [2.0, 0.0], [0.0, 1.0], [1.0, -1.0]]]> : tensor<1x4x2xf32>
  %w2 = arith.constant dense<[[[1.0, 2.0], [-1.0, 1.0]]]> : tensor<1x2x2xf32>
  %c = arith.constant 0.37 : f32
  %rows, %layout = moe.dispatch %x, %e num_experts(1) : tensor<2x2xf32>, tensor<2x1xi32> -> tensor<2x2xf32>, !moe.layout<1>
  %y = moe.expert %rows, %layout, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    %s = nn.silu %g : f32
    %a = arith.mulf %s, %u : f32
    moe.yield %a : f32
  } : tensor<2x2xf32>, !moe.layout<1>, tensor<1x4x2xf32>, tensor<1x2x2xf32> -> tensor<2x2xf32>
  %out = moe.combine %y, %layout : tensor<2x2xf32>, !moe.layout<1> -> tensor<2x2xf32>
  %d = tensor.cast %out : tensor<2x2xf32> to tensor<?x2xf32>
  return %d : tensor<?x2xf32>
}

func.func @main() {
  %x = arith.constant dense<[[1.0, 2.0], [3.0, -1.0]]> : tensor<2x2xf32>
  %0 = call @halves(%x) : (tensor<2x2xf32>) -> tensor<?x2xf32>
  // CHECK: {{\[\[}}2.38667,{{ +}}-3.27667],
  // CHECK-NEXT: {{^ \[}}18.4005,{{ +}}9.64524]]
  call @show(%0) : (tensor<?x2xf32>) -> ()
  %1 = call @interleaved(%x) : (tensor<2x2xf32>) -> tensor<?x2xf32>
  // CHECK: {{\[\[}}2.38667,{{ +}}-3.27667],
  // CHECK-NEXT: {{^ \[}}18.4005,{{ +}}9.64524]]
  call @show(%1) : (tensor<?x2xf32>) -> ()
  %2 = call @swiglu(%x) : (tensor<2x2xf32>) -> tensor<?x2xf32>
  // CHECK: {{\[\[}}2.19226,{{ +}}-7.47704],
  // CHECK-NEXT: {{^ \[}}46.1197,{{ +}}25.7023]]
  call @show(%2) : (tensor<?x2xf32>) -> ()
  return
}
