// RUN: moe-opt %s --convert-host-to-moert --canonicalize --cse | FileCheck %s

// Slices are cut before they are packed, and numbered by a new first dimension; the parts of experts follow. Of a bias that one
// slice gives the others have zeros. Inputs that two grids divide name both axes.
// CHECK: moert.axes = [{name = "dp", ranks = 2 : i64, stride = 8 : i64}, {name = "ep", ranks = 4 : i64, stride = 2 : i64}, {name = "etp", ranks = 2 : i64, stride = 1 : i64}, {name = "one", ranks = 1 : i64, stride = 1 : i64}]
// CHECK-SAME: moert.parameters = [
// CHECK-SAME: {axes = array<i64: 2, 1>, key = "up", recipe = [#moe.cast<bf16>, #moe.cut<dim = 1, parts = 2, halves = true>, #moe.pack<columns = 64, pairs = 2, halves = true>], shape = array<i64: 2, 8, 64, 64>, sources = ["up"], type = memref<2x8x1x32x64x2xbf16>}
// CHECK-SAME: {axes = array<i64: 2>, key = "down", recipe = [#moe.cut<dim = 2, parts = 2>, #moe.pack<columns = 64, pairs = 2>], shape = array<i64: 2, 8, 64, 32>, sources = ["down"], type = memref<2x8x1x16x64x2xbf16>}
// CHECK-SAME: {axes = array<i64: 2, 1>, key = "bias", recipe = [#moe.first<parts = 2>], sources = ["bias"], type = memref<2x8x64xf32>}
// CHECK-SAME: {axes = array<i64: 2>, key = "pairs", recipe = [#moe.cut<dim = 0, parts = 2, halves = true>], sources = ["pairs"], type = memref<2x4xf32>}
// Blocks of all rows of a matrix that end where a part does leave it whole; others are cut, so that a rank has blocks of its own.
// CHECK-SAME: {axes = array<i64: 2>, key = "rows", recipe = [#moe.pack<columns = 64, pairs = 2>], shape = array<i64: 128, 32>, sources = ["rows"], type = memref<2x16x64x2xbf16>}
// CHECK-SAME: {axes = array<i64: 2>, key = "cut_rows", recipe = [#moe.cut<dim = 0, parts = 2>, #moe.pack<columns = 64, pairs = 2>], shape = array<i64: 2, 48, 32>, sources = ["cut_rows"], type = memref<2x1x16x64x2xbf16>}
// CHECK-SAME: {key = "whole", recipe = [], sources = ["whole"], type = memref<4xf32>}
// CHECK: inputs = [{axes = array<i64: 0, 1>, dims = array<i64: 0>, name = "x", type = memref<?xf32>}]
shard.grid @dp(shape = 2)
shard.grid @ep(shape = 4)
shard.grid @etp(shape = 2)
shard.grid @one(shape = 1)

kernel.func @use(%u: memref<2x1x32x64x2xbf16>, %d: memref<8x1x16x64x2xbf16>, %b: memref<2x64xf32>, %p: memref<4xf32>, %r: memref<1x16x64x2xbf16>, %c: memref<1x16x64x2xbf16>, %w: memref<4xf32>) {
  kernel.return
}

func.func @main(%x: memref<?xf32> {moe.name = "x", moe.dims = ["tokens"], moe.split = [@dp, @ep]}) {
  %n = arith.constant 4 : index
  %u = moe.parameter ["up"] recipe [#moe.cast<bf16>, #moe.shard<dim = 0, grid = @ep, ranks = 4>, #moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>,
                                    #moe.pack<columns = 64, pairs = 2, halves = true>] {moe.shape = array<i64: 2, 64, 64>} : memref<2x1x32x64x2xbf16>
  %d = moe.parameter ["down"] recipe [#moe.shard<dim = 2, grid = @etp, ranks = 2>, #moe.pack<columns = 64, pairs = 2>] {moe.shape = array<i64: 8, 64, 32>} : memref<8x1x16x64x2xbf16>
  %b = moe.parameter ["bias"] recipe [#moe.once<grid = @etp, ranks = 2>, #moe.shard<dim = 0, grid = @ep, ranks = 4>] : memref<2x64xf32>
  %p = moe.parameter ["pairs"] recipe [#moe.shard<dim = 0, grid = @etp, ranks = 2, halves = true>] : memref<4xf32>
  %r = moe.parameter ["rows"] recipe [#moe.shard<dim = 0, grid = @etp, ranks = 2>, #moe.pack<columns = 64, pairs = 2>] {moe.shape = array<i64: 64, 32>} : memref<1x16x64x2xbf16>
  %c = moe.parameter ["cut_rows"] recipe [#moe.shard<dim = 0, grid = @etp, ranks = 2>, #moe.pack<columns = 64, pairs = 2>] {moe.shape = array<i64: 48, 32>} : memref<1x16x64x2xbf16>
  %w = moe.parameter ["whole"] recipe [#moe.once<grid = @one, ranks = 1>] : memref<4xf32>
  kernel.launch @use(%u, %d, %b, %p, %r, %c, %w) rows(%n) work(%n) : memref<2x1x32x64x2xbf16>, memref<8x1x16x64x2xbf16>, memref<2x64xf32>, memref<4xf32>, memref<1x16x64x2xbf16>, memref<1x16x64x2xbf16>, memref<4xf32>
  return
}
