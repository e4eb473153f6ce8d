// RUN: moe-opt %s --graph-mark-epilogues --split-input-file | FileCheck %s
// RUN: moe-opt %s --graph-mark-epilogues --split-input-file -o %t && moe-opt %t --graph-mark-epilogues --split-input-file | diff %t -

#id = affine_map<(i, j) -> (i, j)>

// The number is that of the operand. Of two producers the last one has the op in its epilogue.
// CHECK-LABEL: func.func @residual
// CHECK: linalg.generic {{.*}} attrs = {kernel.epilogue = 1 : i64}
func.func @residual(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %a = nn.linear %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %b = nn.linear %x, %v : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// Another reader wants the product as it is.
// CHECK-LABEL: func.func @two_readers
// CHECK-NOT: kernel.epilogue
func.func @two_readers(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %a = nn.linear %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.absf %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %a, %y : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// A mark that is there stands, and the op has only one.
// CHECK-LABEL: func.func @kept
// CHECK: linalg.generic {{.*}} attrs = {kernel.epilogue = 0 : i64}
func.func @kept(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %b = nn.linear %x, %v : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %a = nn.linear %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) attrs = {kernel.epilogue = 0 : i64} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

#scalar = affine_map<(i, j) -> ()>
#id = affine_map<(i, j) -> (i, j)>

// One element of the product is taken for all: its kernel has no place for the others.
// CHECK-LABEL: func.func @broadcast
// CHECK-NOT: kernel.epilogue
func.func @broadcast(%x: tensor<1x8xf32>, %w: tensor<1x8xf32>, %y: tensor<5x1xf32>) -> tensor<5x1xf32> {
  %a = nn.linear %x, %w : tensor<1x8xf32>, tensor<1x8xf32> -> tensor<1x1xf32>
  %q = tensor.collapse_shape %a [] : tensor<1x1xf32> into tensor<f32>
  %e = tensor.empty() : tensor<5x1xf32>
  %r = linalg.generic {indexing_maps = [#scalar, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%q, %y : tensor<f32>, tensor<5x1xf32>) outs(%e : tensor<5x1xf32>) {
  ^bb0(%p: f32, %t: f32, %o: f32):
    %z = arith.mulf %p, %t : f32
    linalg.yield %z : f32
  } -> tensor<5x1xf32>
  return %r : tensor<5x1xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

shard.grid @ep(shape = 2)

// The sum of what came back has an epilogue. A rank's own sum has none where the ranks' sum comes between.
// CHECK-LABEL: func.func @ranks
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<?x8xf32>) {{.*}} attrs = {kernel.epilogue = 0 : i64}
// CHECK: shard.all_reduce
// CHECK-NOT: kernel.epilogue
func.func @ranks(%x: tensor<?x8xf32> {moe.dims = ["t", ""]}, %e: tensor<?x3xi32> {moe.dims = ["t", ""]}) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %send, %sent = moe.dispatch %x, %e num_experts(4) to @ep : tensor<?x8xf32>, tensor<?x3xi32> -> tensor<?x8xf32>, !moe.layout<2>
  %recv, %got, %re = moe.all_to_all %send, %sent on @ep with(%e : tensor<?x3xi32>) : tensor<?x8xf32>, !moe.layout<2> -> tensor<?x8xf32>, !moe.layout<1>, tensor<?x3xi32>
  %rows, %here = moe.dispatch %recv, %re num_experts(4) at @ep : tensor<?x8xf32>, tensor<?x3xi32> -> tensor<?x8xf32>, !moe.layout<2>
  %part = moe.combine %rows, %here sum(<tree, groups = 2>) : tensor<?x8xf32>, !moe.layout<2> -> tensor<?x8xf32>
  %back, %gone = moe.all_to_all %part, %got on @ep return : tensor<?x8xf32>, !moe.layout<1> -> tensor<?x8xf32>, !moe.layout<2>
  %sum = moe.combine %back, %sent sum(<tree, groups = 2>) : tensor<?x8xf32>, !moe.layout<2> -> tensor<?x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sum, %x : tensor<?x8xf32>, tensor<?x8xf32>) outs(%x : tensor<?x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<?x8xf32>
  %own, %ol = moe.dispatch %x, %e num_experts(4) at @ep : tensor<?x8xf32>, tensor<?x3xi32> -> tensor<?x8xf32>, !moe.layout<2>
  %all = moe.combine %own, %ol sum(<tree, groups = 2>) : tensor<?x8xf32>, !moe.layout<2> -> tensor<?x8xf32>
  %ranks = shard.all_reduce %all on @ep grid_axes = [0] : tensor<?x8xf32> -> tensor<?x8xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%ranks : tensor<?x8xf32>) outs(%x : tensor<?x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.absf %p : f32
    linalg.yield %s : f32
  } -> tensor<?x8xf32>
  return %y, %z : tensor<?x8xf32>, tensor<?x8xf32>
}
