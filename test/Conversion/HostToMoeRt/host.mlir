// RUN: moe-opt %s --convert-host-to-moert --canonicalize --cse | FileCheck %s

// CHECK: module attributes {moert.parameters = [
// CHECK-SAME: {key = "w", recipe = [#moe.pack<columns = 64, pairs = 1>], sources = ["w"], type = memref<1x8x64xf32>},
// CHECK-SAME: {key = "w#2", recipe = [], sources = ["w"], type = memref<8x8xf32>}]

kernel.func @k(%ids: memref<?xi64>, %w: memref<1x8x64xf32>, %v: memref<8x8xf32>, %cache: memref<?x4x8xf32>,
               %s: f32, %y: memref<?x8xf32>, %z: memref<?x8xf32>, %offsets: memref<5xi32>) {
  kernel.return
}

// CHECK-LABEL: llvm.func @moe_run
// CHECK-SAME: (%[[CTX:.*]]: !llvm.ptr) -> i32 attributes {moert.program = {
// CHECK-SAME: inputs = [{dim_ranges = array<i64: 0, 9223372036854775807, 2, 64>, dims = array<i64: 0, 1>, hi = 255 : i64, lo = 0 : i64, name = "ids", symbol = 1 : i64, type = memref<?x?xi64>, uniform}]
// CHECK-SAME: outputs = [{dims = array<i64: 0, 1>, name = "y", type = memref<?x?x8xf32>}]
// CHECK-SAME: states = [{dims = array<i64: 0>, name = "cache", type = memref<?x4x8xf32>}]
// CHECK-SAME: symbols = ["batch", "seq"]
// LLVM looks for no vectors in it.
// CHECK-SAME: passthrough = ["noimplicitfloat"]
// CHECK-DAG: %[[B:.*]] = moert.input_size %[[CTX]], 0, 0
// CHECK-DAG: %[[S:.*]] = moert.input_size %[[CTX]], 0, 1
// CHECK-DAG: %[[IDS:.*]] = moert.input %[[CTX]], 0
// CHECK-DAG: %[[CACHE:.*]] = moert.state %[[CTX]], 0
// CHECK-DAG: %[[T:.*]] = llvm.mul %[[B]], %[[S]]
// CHECK-DAG: %[[W:.*]] = moert.parameter %[[CTX]], 0
// CHECK-DAG: %[[V:.*]] = moert.parameter %[[CTX]], 1
// CHECK-DAG: %[[C8:.*]] = llvm.mlir.constant(8 : index)
// The returned buffer is the output's; its sizes are those of the returned view.
// CHECK: %[[OUT:.*]] = moert.output %[[CTX]], 0(%[[B]], %[[S]], %[[C8]])
// CHECK: %[[ARENA:.*]] = moert.arena %[[CTX]], %{{.*}}
// CHECK: %[[AT64:.*]] = llvm.getelementptr %[[ARENA]]
// CHECK: %[[BITS:.*]] = llvm.bitcast %{{.*}} : f32 to i32
// CHECK: %[[HALF:.*]] = llvm.zext %[[BITS]] : i32 to i64
// CHECK: %[[BLOCKS:.*]] = moert.blocks %[[CTX]]
// CHECK: moert.launch %[[CTX]], @k(%[[IDS]], %{{.*}}, %[[W]], %[[V]], %[[CACHE]], %[[B]], %[[HALF]], %[[OUT]], %[[T]], %[[ARENA]], %[[T]], %[[AT64]]) blocks(%[[BLOCKS]]) rows(%[[T]]) work(%[[C8]])
// CHECK-SAME: : !llvm.ptr, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, !llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr
// CHECK: moert.expert_load %[[CTX]], "layers.0", %[[AT64]], 4
// CHECK: moert.launch %[[CTX]], @k({{.*}}) blocks(%{{.*}}) rows
// CHECK: llvm.return
func.func @main(
    %ids: memref<?x?xi64> {moe.name = "ids", moe.dims = ["batch", "seq"], moe.dim_ranges = [[], [2, 64]], moe.range = [0, 255], moe.range_plus = "seq", moe.uniform},
    %cache: memref<?x4x8xf32> {moe.name = "cache", moe.dims = ["batch", "", ""], moe.state})
    -> (memref<?x?x8xf32> {moe.name = "y", moe.dims = ["batch", "seq", ""]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %half = arith.constant 0.5 : f32
  %b = memref.dim %ids, %c0 : memref<?x?xi64>
  %s = memref.dim %ids, %c1 : memref<?x?xi64>
  %t = arith.muli %b, %s : index
  %flat = memref.collapse_shape %ids [[0, 1]] : memref<?x?xi64> into memref<?xi64>
  %w = moe.parameter ["w"] recipe [#moe.pack<columns = 64, pairs = 1>] : memref<1x8x64xf32>
  %v = moe.parameter ["w"] : memref<8x8xf32>
  %w2 = moe.parameter ["w"] recipe [#moe.pack<columns = 64, pairs = 1>] : memref<1x8x64xf32>
  %bytes = arith.muli %t, %c64 : index
  %y = memref.alloc(%t) : memref<?x8xf32>
  %arena = memref.alloc(%bytes) {kernel.arena} : memref<?xi8>
  %z = memref.view %arena[%c0][%t] : memref<?xi8> to memref<?x8xf32>
  %o = memref.view %arena[%c64][] : memref<?xi8> to memref<5xi32>
  kernel.launch @k(%flat, %w, %v, %cache, %half, %y, %z, %o) rows(%t) work(%c8) {moe.expert_load = {layer = "layers.0", offsets = 7 : i64}}
      : memref<?xi64>, memref<1x8x64xf32>, memref<8x8xf32>, memref<?x4x8xf32>, f32, memref<?x8xf32>, memref<?x8xf32>, memref<5xi32>
  kernel.launch @k(%flat, %w2, %v, %cache, %half, %y, %z, %o) single rows(%t) work(%c8)
      : memref<?xi64>, memref<1x8x64xf32>, memref<8x8xf32>, memref<?x4x8xf32>, f32, memref<?x8xf32>, memref<?x8xf32>, memref<5xi32>
  %out = memref.expand_shape %y [[0, 1], [2]] output_shape [%b, %s, 8] : memref<?x8xf32> into memref<?x?x8xf32>
  return %out : memref<?x?x8xf32>
}
