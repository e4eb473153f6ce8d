// RUN: moe-opt %s --split-input-file --verify-diagnostics --moe-extract-layers

// expected-error@+1 {{@main has no MoE layer (moe.combine) to extract}}
module {
  func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    return %x : tensor<?x4xf32>
  }
}

// -----

func.func @main(%rows: tensor<?x4xf32>, %layout: !moe.layout<3>) -> tensor<?x4xf32> {
  // expected-error@+1 {{'moe.combine' op is not the end of a layer that begins with a moe.dispatch of the same function}}
  %y = moe.combine %rows, %layout : tensor<?x4xf32>, !moe.layout<3> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @main(%t: tensor<?x4xf32>, %ids: tensor<?x2xi32>, %n: index, %s: f32) -> tensor<?x4xf32> {
  %x = arith.addf %t, %t : tensor<?x4xf32>
  %d, %layout = moe.dispatch %x, %ids num_experts(3) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<3>
  %w = tensor.splat %s : tensor<3x2x4xf32>
  %w2 = moe.parameter ["down"] : tensor<3x4x2xf32>
  %e = moe.expert %d, %layout, %w, %w2 {
  ^bb0(%v: f32):
    %m = arith.mulf %v, %s : f32
    moe.yield %m : f32
  } : tensor<?x4xf32>, !moe.layout<3>, tensor<3x2x4xf32>, tensor<3x4x2xf32> -> tensor<?x4xf32>
  // expected-error@+1 {{'moe.combine' op ends a layer that needs a value of type 'f32' from outside; only tensors can be arguments of a layer}}
  %y = moe.combine %e, %layout : tensor<?x4xf32>, !moe.layout<3> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
