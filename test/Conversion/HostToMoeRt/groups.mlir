// RUN: moe-opt %s --convert-host-to-moert --canonicalize --cse | FileCheck %s

shard.grid @ep(shape = 2)
kernel.func @a(%x: memref<?x64xf32>) {
  %s = kernel.phase : index
  kernel.return
}
kernel.func @b(%x: memref<?x64xf32>, %n: index, %offsets: memref<3xi32>) {
  %s = kernel.phase : index
  kernel.return
}

// Slots are computed in front of a group; what its launches are for is said once, what flags they wait for, too, and what they send behind it.
// CHECK-LABEL: llvm.func @moe_run
// CHECK-SAME: (%[[CTX:.*]]: !llvm.ptr)
// CHECK: %[[SEVEN:.*]] = llvm.mlir.constant(7 : i64)
// CHECK: moert.phase %[[CTX]], "sums to tokens"
// CHECK-NEXT: %[[BLOCKS:.*]] = moert.blocks %[[CTX]]
// CHECK: moert.flags %[[CTX]], %[[T:.*]], slices = 2, stride = 1
// CHECK: moert.launch_group %[[CTX]] {
// CHECK-NEXT: moert.launch %[[CTX]], @a(%[[X:.*]], %[[T]]) blocks(%[[BLOCKS]]) phases(4) rows(%[[T]]) work(%[[T]]) : !llvm.ptr, i64
// CHECK-NEXT: moert.launch %[[CTX]], @b(%[[X]], %[[T]], %[[T]], %[[OFFSETS:.*]]) blocks(%{{.*}}) phases(4) lag(1) rows(%[[T]]) work(%[[T]]) : !llvm.ptr, i64, i64, !llvm.ptr
// CHECK-NEXT: }
// CHECK: moert.traffic %[[CTX]], 0, %[[OFFSETS]], %{{.*}}, row_bytes = 128
// A launch with phases alone is a group of one.
// CHECK: moert.phase %[[CTX]], "more"
// CHECK: moert.launch_group %[[CTX]] {
// CHECK-NEXT: moert.launch %[[CTX]], @a(%[[X]], %[[T]]) blocks(%{{.*}}) phases(2)
// CHECK-NEXT: }
// CHECK: moert.launch %[[CTX]], @a(%[[X]], %[[T]]) blocks(%[[SEVEN]]) rows
// CHECK-NOT: kernel.launch
func.func @main(%x: memref<?x64xf32> {moe.name = "x", moe.dims = ["tokens", ""]}, %offsets: memref<3xi32> {moe.name = "offsets"}) {
  %c0 = arith.constant 0 : index
  %t = memref.dim %x, %c0 : memref<?x64xf32>
  kernel.launch_group {
    kernel.launch @a(%x) phases(4) rows(%t) work(%t) : memref<?x64xf32>
    kernel.launch @b(%x, %t, %offsets) blocks(3) phases(4) lag(1) rows(%t) work(%t)
        {moe.phase = "sums to tokens", moe.traffic = {grid = @ep, offsets = 2, row_bytes = 128}, moe.flags = {each = 1, slices = 2}} : memref<?x64xf32>, index, memref<3xi32>
  }
  kernel.launch @a(%x) single phases(2) rows(%t) work(%t) {moe.phase = "more"} : memref<?x64xf32>
  kernel.launch @a(%x) blocks(7) rows(%t) work(%t) : memref<?x64xf32>
  return
}
