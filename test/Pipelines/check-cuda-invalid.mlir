// RUN: moe-opt %s --split-input-file --verify-diagnostics --moe-check-cuda

// MoE layers, with a capacity or without, products, norms and choices have a CUDA form.
func.func @main(%x: tensor<?x4xf32>, %scale: tensor<4xf32>, %w: tensor<8x4xf32>) -> tensor<?x8xf32> {
  %n = nn.rms_norm %x, %scale eps(1.0e-5) : tensor<?x4xf32>, tensor<4xf32>
  %y = nn.linear %n, %w : tensor<?x4xf32>, tensor<8x4xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

func.func @choices(%x: tensor<?x512xf32>, %logits: tensor<?x8xf32>) -> (tensor<?x8xi64>, tensor<?x2xf32>) {
  %v, %i = nn.top_k %x unordered : tensor<?x512xf32> -> tensor<?x8xf32>, tensor<?x8xi64>
  %w, %e = moe.gate %logits top_k(2) score(sqrt_softplus) renormalize(sum) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return %i, %w : tensor<?x8xi64>, tensor<?x2xf32>
}

func.func @capacity(%x: tensor<?x8xf32>) -> tensor<?x2xi32> {
  %w, %e = moe.gate %x top_k(2) score(softmax) capacity(<1.25, tutel>) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return %e : tensor<?x2xi32>
}

// -----

// expected-error@+1 {{a state between calls cannot run on a GPU: whole models are for --target=cpu, and of an exported model --entry=layers compiles the MoE layers for a GPU}}
func.func @main(%x: tensor<2x4xf32>, %s: tensor<2x4xf32> {moe.state}) -> (tensor<2x4xf32>, tensor<2x4xf32> {moe.state_of = 1}) {
  %y = arith.addf %x, %s : tensor<2x4xf32>
  return %y, %y : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

func.func @attention(%q: tensor<?x?x4x8xf32>, %k: tensor<?x2x16x8xf32>, %v: tensor<?x2x16x8xf32>) -> tensor<?x?x4x8xf32> {
  // expected-error@+1 {{nn.attention cannot run on a GPU: whole models are for --target=cpu}}
  %y = nn.attention %q, %k, %v scale(0.25) : tensor<?x?x4x8xf32>, tensor<?x2x16x8xf32>, tensor<?x2x16x8xf32> -> tensor<?x?x4x8xf32>
  return %y : tensor<?x?x4x8xf32>
}

// -----

// With a CPU it runs.
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>} {
  func.func @attention(%q: tensor<?x?x4x8xf32>, %k: tensor<?x2x16x8xf32>, %v: tensor<?x2x16x8xf32>) -> tensor<?x?x4x8xf32> {
    %y = nn.attention %q, %k, %v scale(0.25) : tensor<?x?x4x8xf32>, tensor<?x2x16x8xf32>, tensor<?x2x16x8xf32> -> tensor<?x?x4x8xf32>
    return %y : tensor<?x?x4x8xf32>
  }
}
