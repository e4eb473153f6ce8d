// RUN: moe-opt %s --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @clip_top_k
func.func @clip_top_k(%l: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xi32>) {
  // CHECK: moe.gate %{{.*}} top_k(8) score(softmax)
  %w, %e = moe.gate %l top_k(11) score(softmax) : tensor<?x8xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  return %w, %e : tensor<?x8xf32>, tensor<?x8xi32>
}

// CHECK-LABEL: func.func @fixed_ids
// CHECK-SAME: %[[L:.*]]: tensor<?x8xf32>, %{{.*}}: tensor<8xf32>, %[[I:.*]]: tensor<?x2xi32>
func.func @fixed_ids(%l: tensor<?x8xf32>, %b: tensor<8xf32>, %i: tensor<?x2xi32>) -> (tensor<?x2xf32>, tensor<?x2xi32>) {
  // CHECK: moe.gate %[[L]] ids(%[[I]] : tensor<?x2xi32>) top_k(2) score(sigmoid) renormalize(sum) :
  %w, %e = moe.gate %l bias(%b : tensor<8xf32>) ids(%i : tensor<?x2xi32>) top_k(2) score(sigmoid) renormalize(sum) groups(<2, keep = 1, max>) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return %w, %e : tensor<?x2xf32>, tensor<?x2xi32>
}

// Dividing by a sum is not dropped even where the sum is 1 in exact arithmetic: the bits differ.
// CHECK-LABEL: func.func @renormalize_stays
func.func @renormalize_stays(%l: tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi32>) {
  // CHECK: score(softmax_after) renormalize(sum)
  %w, %e = moe.gate %l top_k(2) score(softmax_after) renormalize(sum) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return %w, %e : tensor<?x2xf32>, tensor<?x2xi32>
}

// -----

shard.grid @one(shape = 1)

// CHECK-LABEL: func.func @one_rank
func.func @one_rank() -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  // CHECK: moe.parameter ["w"] : tensor<8x4xf32>
  %0 = moe.parameter ["w"] recipe [#moe.shard<dim = 0, grid = @one, ranks = 1>] : tensor<8x4xf32>
  // CHECK: moe.parameter ["b"] : tensor<8x4xf32>
  %1 = moe.parameter ["b"] recipe [#moe.once<grid = @one, ranks = 1>] : tensor<8x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

shard.grid @ep(shape = 2)

// An exchange that is returned at once stays: tokens without experts have no row there.
// CHECK-LABEL: func.func @there_and_back
func.func @there_and_back(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  // CHECK-COUNT-2: moe.all_to_all
  %send, %sent = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<2>
  %recv, %got = moe.all_to_all %send, %sent on @ep : tensor<?x4xf32>, !moe.layout<2> -> tensor<?x4xf32>, !moe.layout<1>
  %back, %gone = moe.all_to_all %recv, %got on @ep return : tensor<?x4xf32>, !moe.layout<1> -> tensor<?x4xf32>, !moe.layout<2>
  %y = moe.combine %back, %gone sum(<tree, groups = 2>) : tensor<?x4xf32>, !moe.layout<2> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

// A slice that ends beyond the one before it stays, for the weights to be refused.
// CHECK-LABEL: func.func @apart
// CHECK: moe.parameter ["apart"] recipe [#moe.slice<0, 4, 4>, #moe.slice<0, 3, 2>] : tensor<2x8xf32>
func.func @apart() -> tensor<2x8xf32> {
  %0 = moe.parameter ["apart"] recipe [#moe.slice<0, 4, 4>, #moe.slice<0, 3, 2>] : tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @recipes
func.func @recipes() -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<2x8xf32>, tensor<2x3xf32>, tensor<2x4xbf16>, tensor<2x4xbf16>, tensor<4x8xf32>, tensor<2x3x4xf32>) {
  // CHECK: moe.parameter ["identity"] : tensor<4x8xf32>
  %0 = moe.parameter ["identity"] recipe [#moe.transpose<[0, 1]>] : tensor<4x8xf32>
  // CHECK: moe.parameter ["twice"] : tensor<4x8xf32>
  %1 = moe.parameter ["twice"] recipe [#moe.transpose<[1, 0]>, #moe.transpose<[1, 0]>] : tensor<4x8xf32>
  // CHECK: moe.parameter ["slices"] recipe [#moe.slice<0, 5, 2>] : tensor<2x8xf32>
  %2 = moe.parameter ["slices"] recipe [#moe.slice<0, 4, 4>, #moe.slice<0, 1, 2>] : tensor<2x8xf32>
  // CHECK: moe.parameter ["b", "c"] recipe [#moe.stack] : tensor<2x3xf32>
  %3 = moe.parameter ["a", "b", "c", "d"] recipe [#moe.stack, #moe.slice<0, 1, 2>] : tensor<2x3xf32>
  // CHECK: moe.parameter ["same"] recipe [#moe.cast<bf16>] : tensor<2x4xbf16>
  %4 = moe.parameter ["same"] recipe [#moe.cast<bf16>, #moe.cast<bf16>] : tensor<2x4xbf16>
  // Two roundings are not one.
  // CHECK: moe.parameter ["two"] recipe [#moe.cast<f32>, #moe.cast<bf16>] : tensor<2x4xbf16>
  %5 = moe.parameter ["two"] recipe [#moe.cast<f32>, #moe.cast<bf16>] : tensor<2x4xbf16>
  // CHECK: moe.parameter ["single"] : tensor<4x8xf32>
  %6 = moe.parameter ["single"] recipe [#moe.concat<1>] : tensor<4x8xf32>
  // First [1, 2, 0], then [2, 1, 0]: result dimension 0 is source dimension 0.
  // CHECK: moe.parameter ["three"] recipe [#moe.transpose<[0, 2, 1]>] : tensor<2x3x4xf32>
  %7 = moe.parameter ["three"] recipe [#moe.transpose<[1, 2, 0]>, #moe.transpose<[2, 1, 0]>] : tensor<2x3x4xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<2x8xf32>, tensor<2x3xf32>, tensor<2x4xbf16>, tensor<2x4xbf16>, tensor<4x8xf32>, tensor<2x3x4xf32>
}
