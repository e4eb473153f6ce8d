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
func.func @rounded(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  // expected-error @+1 {{'shard.all_reduce' op adds tensors of f32, bf16 or f16 in f32, so that it rounds nothing}}
  %r = shard.all_reduce %x on @ep grid_axes = [0] : tensor<?x64xbf16> -> tensor<?x64xbf16>
  return %r : tensor<?x64xbf16>
}

// -----

shard.grid @dp(shape = 3)
func.func @three(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-error @+1 {{'shard.all_reduce' op adds in pairs, so the number of ranks must be a power of two}}
  %r = shard.all_reduce %x on @dp grid_axes = [0] : tensor<?x64xf32> -> tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}

// -----

shard.grid @ep(shape = 4)
func.func @largest(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-error @+1 {{'shard.all_reduce' op adds up what the ranks of axis 0 have; reduction = <sum>, grid_axes = [0]}}
  %r = shard.all_reduce %x on @ep grid_axes = [0] reduction = max : tensor<?x64xf32> -> tensor<?x64xf32>
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

// -----

shard.grid @tp(shape = 4)
func.func @join_rows(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-error @+1 {{'shard.all_gather' op gathers along the last dimension what the ranks of axis 0 have; grid_axes = [0]}}
  %r = shard.all_gather %x on @tp grid_axes = [0] gather_axis = 0 : tensor<?x64xf32> -> tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}

// -----

shard.grid @tp(shape = 4)
func.func @join_some(%x: tensor<3x?xf32>) -> tensor<3x?xf32> {
  // expected-error @+1 {{'shard.all_gather' op gives as many elements in the last dimension as all ranks together have, which types say}}
  %r = shard.all_gather %x on @tp grid_axes = [0] gather_axis = 1 : tensor<3x?xf32> -> tensor<3x?xf32>
  return %r : tensor<3x?xf32>
}

// -----

shard.grid @ep(shape = 2)
func.func @rows_of_unknown_width(%x: tensor<?x?xf32>, %e: tensor<?x3xi32>) {
  %send, %sent = moe.dispatch %x, %e num_experts(4) to @ep : tensor<?x?xf32>, tensor<?x3xi32> -> tensor<?x?xf32>, !moe.layout<2>
  // expected-error @+1 {{'moe.all_to_all' op exchanges rows whose width is not known}}
  %recv, %got, %re = moe.all_to_all %send, %sent on @ep with(%e : tensor<?x3xi32>) : tensor<?x?xf32>, !moe.layout<2> -> tensor<?x?xf32>, !moe.layout<1>, tensor<?x3xi32>
  return
}

// -----

func.func @joined_to_one(%x: tensor<4x8xf32>) -> tensor<f32> {
  // expected-error @+1 {{'tensor.collapse_shape' op has no dimension on one side, so all sizes of the other one must be 1}}
  %y = tensor.collapse_shape %x [] : tensor<4x8xf32> into tensor<f32>
  return %y : tensor<f32>
}

// -----

shard.grid @tp(shape = 1099511627776)
func.func @sum_of_many(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-error @+1 {{'shard.all_reduce' op adds what at most 1024 ranks have, and its grid has 1099511627776}}
  %r = shard.all_reduce %x on @tp grid_axes = [0] : tensor<?x64xf32> -> tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}

// -----

func.func @reduced(%x: tensor<?x4xf32>, %e: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'linalg.generic' op has a result with an index of a dimension that it reduces; make that dimension parallel, or take it out of the result's map}}
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @no_index(%x: tensor<?xf32>, %e: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{'linalg.generic' op has a result whose map does not have each parallel dimension by itself, so that several iterations would write one element}}
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%e : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}

// -----

func.func @halves(%x: tensor<8xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'linalg.generic' op has a result whose map does not have each parallel dimension by itself}}
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i floordiv 2)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @texts(%x: tensor<4x!llvm.ptr>) -> tensor<4x!llvm.ptr> {
  // expected-error @+1 {{'tensor.cast' op computes with elements that are no i1 to i64, bf16, f16, f32 or f64}}
  %y = tensor.cast %x : tensor<4x!llvm.ptr> to tensor<?x!llvm.ptr>
  %z = tensor.cast %y : tensor<?x!llvm.ptr> to tensor<4x!llvm.ptr>
  return %z : tensor<4x!llvm.ptr>
}
