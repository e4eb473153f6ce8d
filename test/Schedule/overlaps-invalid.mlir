// Schedules that a layer cannot have: one error each, at the layer.
// RUN: split-file %s %t
// RUN: not moe-opt %t/one-rank.mlir --moe-verify-level=level=scheduled 2>&1 | FileCheck %s --check-prefix=ONE --implicit-check-not=error:
// RUN: not moe-opt %t/steps.mlir --moe-verify-level=level=scheduled 2>&1 | FileCheck %s --check-prefix=STEPS --implicit-check-not=error:
// RUN: not moe-opt %t/slices.mlir --moe-verify-level=level=scheduled 2>&1 | FileCheck %s --check-prefix=SLICES --implicit-check-not=error:
// RUN: not moe-opt %t/read.mlir --moe-verify-level=level=scheduled 2>&1 | FileCheck %s --check-prefix=READ --implicit-check-not=error:
// RUN: not moe-opt %t/gathered.mlir --moe-verify-level=level=scheduled 2>&1 | FileCheck %s --check-prefix=GATHERED --implicit-check-not=error:
// What the compiler says of an edited text.
// RUN: not moe-compile %t/steps.mlir --from=scheduled --to=kernel -q -o %t/none.mlir 2>&1 | FileCheck %s --check-prefix=COMPILER --implicit-check-not=error:

// ONE: one-rank.mlir:4:8: error: 'moe.expert' op has a schedule that overlaps, but reads no rows of a moe.dispatch 'at' this rank, or not alone; make it plain
// STEPS: steps.mlir:9:8: error: 'moe.expert' op has a schedule whose steps take the rows of 3 ranks, but there are 2
// COMPILER: moe-compile: error: {{.*}}steps.mlir:9: 'moe.expert' op has a schedule whose steps take the rows of 3 ranks, but there are 2
// SLICES: slices.mlir:9:8: error: 'moe.expert' op has a schedule of 2 slices, but the second product's 64 columns stand in 1 blocks of 64, which slices share equally
// READ: read.mlir:9:8: error: 'moe.expert' op has a schedule that overlaps, but has no moe.combine that alone reads its rows; make it plain
// GATHERED: gathered.mlir:9:8: error: 'moe.expert' op has a schedule that overlaps, but has rows of 'placement(gathered)', which come all at once; make it plain

//--- one-rank.mlir
func.func @main(%x: tensor<?x64xf32>, %ids: tensor<?x2xi32>, %w: tensor<4x64x64xf32>) -> tensor<?x64xf32> {
  %rows, %layout = moe.dispatch %x, %ids num_experts(4) placement(in_place)
      : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<4>
  %y = moe.expert %rows, %layout, %w, %w schedule(<overlap, chunk = 8, steps = [1], slices = 1>) {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } {kernel.tiles = [#kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1>, #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1>]}
      : tensor<?x64xf32>, !moe.layout<4>, tensor<4x64x64xf32>, tensor<4x64x64xf32> -> tensor<?x64xf32>
  %z = moe.combine %y, %layout : tensor<?x64xf32>, !moe.layout<4> -> tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

//--- steps.mlir
shard.grid @ep(shape = 2)
func.func @main(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>, %w: tensor<2x64x64xf32>) -> tensor<?x64xf32> {
  %send, %sent = moe.dispatch %x, %e num_experts(4) to @ep
      : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
  %recv, %got, %re = moe.all_to_all %send, %sent on @ep with(%e : tensor<?x2xi32>) via(direct)
      : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>, !moe.layout<1>, tensor<?x2xi32>
  %rows, %here = moe.dispatch %recv, %re num_experts(4) at @ep placement(in_place)
      : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
  %y = moe.expert %rows, %here, %w, %w schedule(<overlap, chunk = 8, steps = [1, 2], slices = 1>) {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } {kernel.tiles = [#kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1>, #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1>]}
      : tensor<?x64xf32>, !moe.layout<2>, tensor<2x64x64xf32>, tensor<2x64x64xf32> -> tensor<?x64xf32>
  %part = moe.combine %y, %here : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
  %back, %gone = moe.all_to_all %part, %got on @ep return
      : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
  %out = moe.combine %back, %sent : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
  return %out : tensor<?x64xf32>
}

//--- slices.mlir
shard.grid @ep(shape = 2)
func.func @main(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>, %w: tensor<2x64x64xf32>) -> tensor<?x64xf32> {
  %send, %sent = moe.dispatch %x, %e num_experts(4) to @ep
      : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
  %recv, %got, %re = moe.all_to_all %send, %sent on @ep with(%e : tensor<?x2xi32>) via(direct)
      : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>, !moe.layout<1>, tensor<?x2xi32>
  %rows, %here = moe.dispatch %recv, %re num_experts(4) at @ep placement(in_place)
      : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
  %y = moe.expert %rows, %here, %w, %w schedule(<overlap, chunk = 8, steps = [1, 1], slices = 2>) {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } {kernel.tiles = [#kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1>, #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1>]}
      : tensor<?x64xf32>, !moe.layout<2>, tensor<2x64x64xf32>, tensor<2x64x64xf32> -> tensor<?x64xf32>
  %part = moe.combine %y, %here : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
  %back, %gone = moe.all_to_all %part, %got on @ep return
      : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
  %out = moe.combine %back, %sent : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
  return %out : tensor<?x64xf32>
}

//--- read.mlir
shard.grid @ep(shape = 2)
func.func @main(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>, %w: tensor<2x64x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %send, %sent = moe.dispatch %x, %e num_experts(4) to @ep
      : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
  %recv, %got, %re = moe.all_to_all %send, %sent on @ep with(%e : tensor<?x2xi32>) via(direct)
      : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>, !moe.layout<1>, tensor<?x2xi32>
  %rows, %here = moe.dispatch %recv, %re num_experts(4) at @ep placement(in_place)
      : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
  %y = moe.expert %rows, %here, %w, %w schedule(<overlap, chunk = 8, steps = [1, 1], slices = 1>) {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } {kernel.tiles = [#kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1>, #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1>]}
      : tensor<?x64xf32>, !moe.layout<2>, tensor<2x64x64xf32>, tensor<2x64x64xf32> -> tensor<?x64xf32>
  %part = moe.combine %y, %here : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
  %back, %gone = moe.all_to_all %part, %got on @ep return
      : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
  %out = moe.combine %back, %sent : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
  return %out, %y : tensor<?x64xf32>, tensor<?x64xf32>
}

//--- gathered.mlir
shard.grid @ep(shape = 2)
func.func @main(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>, %w: tensor<2x64x64xf32>) -> tensor<?x64xf32> {
  %send, %sent = moe.dispatch %x, %e num_experts(4) to @ep
      : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
  %recv, %got, %re = moe.all_to_all %send, %sent on @ep with(%e : tensor<?x2xi32>) via(direct)
      : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>, !moe.layout<1>, tensor<?x2xi32>
  %rows, %here = moe.dispatch %recv, %re num_experts(4) at @ep placement(gathered)
      : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
  %y = moe.expert %rows, %here, %w, %w schedule(<overlap, chunk = 8, steps = [1, 1], slices = 1>) {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } {kernel.tiles = [#kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1>, #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1>]}
      : tensor<?x64xf32>, !moe.layout<2>, tensor<2x64x64xf32>, tensor<2x64x64xf32> -> tensor<?x64xf32>
  %part = moe.combine %y, %here : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
  %back, %gone = moe.all_to_all %part, %got on @ep return
      : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
  %out = moe.combine %back, %sent : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
  return %out : tensor<?x64xf32>
}
