// RUN: moe-opt %s --convert-host-to-moert --canonicalize --cse | FileCheck %s

// The grid is the program's axis. Of a divided parameter the table has all of it, as the archive has.
// CHECK: module attributes {moert.axes = [{name = "ep", ranks = 2 : i64, stride = 1 : i64}], moert.parameters = [
// CHECK-SAME: {axes = array<i64: 0>, key = "experts", recipe = [#moe.pack<columns = 64, pairs = 2>], shape = array<i64: 8, 64, 64>, sources = ["experts"], type = memref<8x1x32x64x2xbf16>},
// CHECK-SAME: {axes = array<i64: 0>, key = "bias", recipe = [#moe.cast<f32>], sources = ["bias"], type = memref<8x64xf32>},
// CHECK-SAME: {key = "experts#2", recipe = [], sources = ["experts"], type = memref<8x64x64xbf16>},
// CHECK-SAME: {axes = array<i64: 0>, key = "matrix", recipe = [#moe.pack<columns = 64, pairs = 2>], shape = array<i64: 256, 64>, sources = ["matrix"], type = memref<4x32x64x2xbf16>}]
// CHECK-NOT: shard.grid
shard.grid @ep(shape = 2)
// Nobody names a rank of this one.
shard.grid @one(shape = 1)

kernel.func @use(%w: memref<4x1x32x64x2xbf16>, %b: memref<4x64xf32>, %all: memref<8x64x64xbf16>, %m: memref<2x32x64x2xbf16>) {
  kernel.return
}
kernel.func @exchange(%rows: !kernel.window<?x64xbf16>, %came: !kernel.window<2xi32>, %x: memref<?x64xbf16>, %offsets: memref<3xi32>, %me: index, %own: memref<?x64xbf16>) {
  kernel.return
}

// CHECK-LABEL: llvm.func @moe_run
// CHECK-SAME: (%[[CTX:.*]]: !llvm.ptr) -> i32 attributes {moert.program = {
// CHECK-SAME: inputs = [{axes = array<i64: 0>, dims = array<i64: 0>, name = "x", type = memref<?x64xbf16>}, {dims = array<i64>, name = "offsets", type = memref<3xi32>}]
// CHECK-SAME: outputs = [{axes = array<i64: 0>, dims = array<i64: 0>, name = "y", type = memref<?x64xbf16>}]
// CHECK-DAG: %[[C0:.*]] = llvm.mlir.constant(0 : i64)
// CHECK-DAG: %[[NULL:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK-DAG: %[[T:.*]] = moert.input_size %[[CTX]], 0, 0
// CHECK-DAG: %[[X:.*]] = moert.input %[[CTX]], 0
// CHECK-DAG: %[[OFFSETS:.*]] = moert.input %[[CTX]], 1
// CHECK-DAG: %[[RANK:.*]] = moert.rank %[[CTX]], 0
// CHECK-DAG: %[[ME:.*]] = llvm.sext %[[RANK]] : i32 to i64
// CHECK-DAG: %[[ROOM:.*]] = moert.agree %[[CTX]], 0, %[[T]]
// CHECK: %[[PEERS:.*]] = moert.windows %[[CTX]], 0, %[[BYTES:.*]]
// CHECK: llvm.getelementptr %[[PEERS]][0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, i32, i32, ptr, ptr, ptr, i64, ptr, ptr, ptr)>
// CHECK: %[[BASE:.*]] = llvm.load %{{.*}} invariant : !llvm.ptr -> !llvm.ptr
// CHECK: %[[OWN:.*]] = llvm.getelementptr %{{.*}}[64] : (!llvm.ptr) -> !llvm.ptr, i8
// What a launch is for is said once for those that follow each other.
// CHECK: moert.phase %[[CTX]], "rows to experts"
// CHECK-NEXT: moert.blocks
// CHECK-NEXT: moert.launch %[[CTX]], @exchange(%[[PEERS]], %[[AT:.*]], %[[ROOM]], %[[PEERS]], %{{.*}}, %[[X]], %[[T]], %[[OFFSETS]], %[[ME]], %[[OWN]], %[[ROOM]])
// CHECK-SAME: : !llvm.ptr, i64, i64, !llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr, i64
// CHECK-NEXT: moert.traffic %[[CTX]], 0, %[[OFFSETS]], %[[C0]], row_bytes = 128, fixed_bytes = 12
// CHECK-NEXT: moert.blocks
// CHECK-NEXT: moert.launch
// CHECK-NEXT: moert.traffic %[[CTX]], 0, %[[NULL]], %[[ME]], row_bytes = 128, fixed_bytes = 0
// CHECK-NEXT: moert.phase %[[CTX]], "rows back"
// CHECK-NEXT: moert.blocks
// CHECK-NEXT: moert.launch
// CHECK-NEXT: moert.traffic %[[CTX]], 0, %[[NULL]], %[[C0]], row_bytes = 0, fixed_bytes = 4
// CHECK: llvm.return
func.func @main(%x: memref<?x64xbf16> {moe.name = "x", moe.dims = ["tokens", ""], moe.split = @ep}, %offsets: memref<3xi32> {moe.name = "offsets"})
    -> (memref<?x64xbf16> {moe.name = "y", moe.dims = ["tokens", ""], moe.split = @ep}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %t = memref.dim %x, %c0 : memref<?x64xbf16>
  %me = kernel.rank on @ep : index
  %room = kernel.agree %t on @ep : index
  %w = moe.parameter ["experts"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 2>, #moe.pack<columns = 64, pairs = 2>] {moe.shape = array<i64: 4, 64, 64>} : memref<4x1x32x64x2xbf16>
  %b = moe.parameter ["bias"] recipe [#moe.cast<f32>, #moe.shard<dim = 0, grid = @ep, ranks = 2>] : memref<4x64xf32>
  %all = moe.parameter ["experts"] : memref<8x64x64xbf16>
  %m = moe.parameter ["matrix"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 2>, #moe.pack<columns = 64, pairs = 2>] {moe.shape = array<i64: 128, 64>} : memref<2x32x64x2xbf16>
  kernel.launch @use(%w, %b, %all, %m) rows(%t) work(%t) : memref<4x1x32x64x2xbf16>, memref<4x64xf32>, memref<8x64x64xbf16>, memref<2x32x64x2xbf16>
  %bytes = arith.muli %room, %c64 : index
  %peers = kernel.windows %bytes on @ep : !kernel.peers
  %rows = kernel.window_at %peers[%c64](%room) : !kernel.window<?x64xbf16>
  %came = kernel.window_at %peers[%c0]() : !kernel.window<2xi32>
  %own = kernel.part %rows : !kernel.window<?x64xbf16> -> memref<?x64xbf16>
  kernel.launch @exchange(%rows, %came, %x, %offsets, %me, %own) rows(%t) work(%t)
      {moe.phase = "rows to experts", moe.traffic = {grid = @ep, offsets = 3, row_bytes = 128, fixed_bytes = 12}}
      : !kernel.window<?x64xbf16>, !kernel.window<2xi32>, memref<?x64xbf16>, memref<3xi32>, index, memref<?x64xbf16>
  kernel.launch @exchange(%rows, %came, %x, %offsets, %me, %own) rows(%t) work(%t)
      {moe.phase = "rows to experts", moe.traffic = {grid = @ep, rows = 4, row_bytes = 128}}
      : !kernel.window<?x64xbf16>, !kernel.window<2xi32>, memref<?x64xbf16>, memref<3xi32>, index, memref<?x64xbf16>
  kernel.launch @exchange(%rows, %came, %x, %offsets, %me, %own) rows(%t) work(%t)
      {moe.phase = "rows back", moe.traffic = {grid = @ep, fixed_bytes = 4}}
      : !kernel.window<?x64xbf16>, !kernel.window<2xi32>, memref<?x64xbf16>, memref<3xi32>, index, memref<?x64xbf16>
  %y = memref.alloc(%t) : memref<?x64xbf16>
  kernel.launch @exchange(%rows, %came, %y, %offsets, %me, %own) rows(%t) work(%t)
      : !kernel.window<?x64xbf16>, !kernel.window<2xi32>, memref<?x64xbf16>, memref<3xi32>, index, memref<?x64xbf16>
  return %y : memref<?x64xbf16>
}
