// RUN: moe-opt %s --graph-decide --convert-graph-to-kernel --split-input-file --verify-diagnostics

func.func @scatter(%x: tensor<8x4xf32>, %i: tensor<2x1xindex>, %s: tensor<2x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{'tensor.scatter' op has no lowering to the kernel level}}
  %y = tensor.scatter %s into %x[%i] scatter_dims([0]) unique : (tensor<2x4xf32>, tensor<8x4xf32>, tensor<2x1xindex>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

func.func @elementwise(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'arith.addf' op works on tensors; run convert-elementwise-to-linalg before}}
  %y = arith.addf %x, %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

shard.grid @ep(shape = 4)
func.func @exchange(%tokens: tensor<?x64xf32>, %ids: tensor<?x1xi32>) -> tensor<?x64xf32> {
  %rows, %layout = moe.dispatch %tokens, %ids num_experts(8) to @ep : tensor<?x64xf32>, tensor<?x1xi32> -> tensor<?x64xf32>, !moe.layout<4>
  // expected-error @+1 {{'moe.all_to_all' op exchanges rows between the ranks of @ep; one process runs the model}}
  %r, %l = moe.all_to_all %rows, %layout on @ep : tensor<?x64xf32>, !moe.layout<4> -> tensor<?x64xf32>, !moe.layout<1>
  return %r : tensor<?x64xf32>
}

// -----

// expected-error @+1 {{'func.func' op has a !moe.layout as argument 0; it exists inside of a function only}}
func.func @layout(%l: !moe.layout<8>) -> !moe.layout<8> {
  return %l : !moe.layout<8>
}

// -----

// expected-error @+1 {{'func.func' op has a !moe.layout as result 0; it exists inside of a function only}}
func.func @routing(%x: tensor<?x4xf32>, %i: tensor<?x1xi32>) -> !moe.layout<2> {
  %r, %l = moe.dispatch %x, %i num_experts(2) : tensor<?x4xf32>, tensor<?x1xi32> -> tensor<?x4xf32>, !moe.layout<2>
  return %l : !moe.layout<2>
}
