// Experts that cannot be cut into slices, and batches that cannot be divided.
// RUN: split-file %s %t
// RUN: moe-opt %t/etp.mlir --pass-pipeline="builtin.module(moe-partition{parallel=etp=4})" --split-input-file --verify-diagnostics
// RUN: moe-opt %t/dp.mlir --pass-pipeline="builtin.module(moe-partition{parallel=dp=2})" --split-input-file --verify-diagnostics
// RUN: moe-opt %t/both.mlir --pass-pipeline="builtin.module(moe-partition{parallel=dp=2,ep=2})" --split-input-file --verify-diagnostics

//--- etp.mlir
func.func @width(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x12x8xf32>
  %w2 = moe.parameter ["down"] : tensor<8x8x6xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  // expected-error@+1 {{'moe.expert' op cannot be cut into slices: etp=4 does not divide the hidden width 6 of an expert equally}}
  %y = moe.expert %rows, %layout, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x12x8xf32>, tensor<8x8x6xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

// -----

func.func @chain(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w = moe.parameter ["w"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w, %w {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  // expected-error@+1 {{'moe.expert' op reads what other experts give, which are summands of slices; use ep instead of etp}}
  %z = moe.expert %y, %layout, %w, %w {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %z, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

// -----

func.func @rows(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  // expected-error@+1 {{'moe.combine' op sums rows that no expert has computed, of which slices are not summands; use ep instead of etp}}
  %s = moe.combine %rows, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

//--- dp.mlir
// expected-error@+1 {{'func.func' op has no name for dimension 0 of its first input in 'moe.dims', by which tokens could be divided among ranks; leave dp out}}
func.func @unnamed(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  return %x : tensor<?x8xf32>
}

// -----

func.func @mixed(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  // expected-error@+1 {{'linalg.reduce' op reduces dimension 0, so 'tokens' cannot be divided among ranks; leave dp out}}
  %y = linalg.reduce ins(%x : tensor<?x8xf32>) outs(%e : tensor<8xf32>) dimensions = [0]
    (%a: f32, %b: f32) {
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    }
  return %y : tensor<8xf32>
}

//--- both.mlir
// expected-error@+1 {{'func.func' op has no name for dimension 0 of its first input in 'moe.dims', by which tokens could be divided among ranks; leave dp out}}
func.func @unnamed(%x: tensor<?x8xf32>, %e: tensor<?x2xi32>) -> tensor<?x8xf32> {
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %s = moe.combine %rows, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

// -----

func.func @mixed(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> (tensor<?x8xf32>, tensor<8xf32>) {
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %s = moe.combine %rows, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  %0 = tensor.empty() : tensor<8xf32>
  // expected-error@+1 {{'linalg.reduce' op reduces dimension 0, so 'tokens' cannot be divided among ranks; leave dp out and use tokens=replicated}}
  %y = linalg.reduce ins(%x : tensor<?x8xf32>) outs(%0 : tensor<8xf32>) dimensions = [0]
    (%a: f32, %b: f32) {
      %t = arith.addf %a, %b : f32
      linalg.yield %t : f32
    }
  return %s, %y : tensor<?x8xf32>, tensor<8xf32>
}
