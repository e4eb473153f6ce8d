// RUN: moe-opt %s --kernel-plan-windows --canonicalize --cse | FileCheck %s
// A plan is left as it is.
// RUN: moe-opt %s --kernel-plan-windows -o %t && moe-opt %t --kernel-plan-windows | diff %t -

shard.grid @ep(shape = 2)
shard.grid @tp(shape = 4)

kernel.func @flags(%x: memref<4xf32>, %came: !kernel.window<?xi32>, %returned: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<?xi32>
  %epoch = kernel.epoch %returned : !kernel.window<2xi32> -> i32
  kernel.return
}

kernel.func @use(%a: !kernel.window<?x8xf32>, %b: !kernel.window<?x6xi8>, %c: !kernel.window<5xi64>) {
  kernel.return
}

// Flags first, 64 bytes for each two. Then what else has a constant size, 40 bytes as 64, and then the others in their
// order: n * 32 rounded up to a multiple of 64, the largest m * 32 in the same way, n * 6.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: memref<4xf32>, %[[N:.*]]: index, %[[M:.*]]: index)
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[C6:.*]] = arith.constant 6 : index
// CHECK-DAG: %[[C32:.*]] = arith.constant 32 : index
// CHECK-DAG: %[[C63:.*]] = arith.constant 63 : index
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
// CHECK-DAG: %[[C128:.*]] = arith.constant 128 : index
// CHECK-DAG: %[[C192:.*]] = arith.constant 192 : index
// CHECK-DAG: %[[ALL:.*]] = arith.constant 9223372036854775807 : index
// CHECK-DAG: %[[MASK:.*]] = arith.constant -64 : index
// CHECK: %[[ROOM:.*]] = kernel.agree %[[M]] on @ep : index
// CHECK: %[[NBYTES:.*]] = arith.muli %[[N]], %[[C32]]
// CHECK: %[[NPLUS:.*]] = arith.addi %[[NBYTES]], %[[C63]]
// CHECK: %[[NSIZE:.*]] = arith.andi %[[NPLUS]], %[[MASK]]
// CHECK: %[[AT1:.*]] = arith.addi %[[NSIZE]], %[[C192]]
// CHECK: %[[MBYTES:.*]] = arith.muli %[[ROOM]], %[[C32]]
// CHECK: %[[MPLUS:.*]] = arith.addi %[[MBYTES]], %[[C63]]
// CHECK: %[[MSIZE:.*]] = arith.andi %[[MPLUS]], %[[MASK]]
// CHECK: %[[SUM:.*]] = arith.addi %[[NSIZE]], %[[MSIZE]]
// CHECK: %[[AT2:.*]] = arith.addi %[[SUM]], %[[C192]]
// CHECK: arith.muli %[[N]], %[[C6]]
// CHECK: %[[BYTES:.*]] = arith.addi %{{.*}}, %[[C192]]
// More rows than memory has bytes for are more bytes than there are, whatever their product is in 64 bits.
// CHECK: %[[FITS:.*]] = arith.cmpi eq, %{{.*}}, %[[C0]]
// CHECK: %[[ROOMS:.*]] = arith.select %[[FITS]], %[[BYTES]], %[[ALL]]
// CHECK: %[[PEERS:.*]] = kernel.windows %[[ROOMS]] on @ep : !kernel.peers
// CHECK-DAG: %[[A:.*]] = kernel.window_at %[[PEERS]][%[[C192]]](%[[N]]) : !kernel.window<?x8xf32>
// CHECK-DAG: %[[OTHER:.*]] = kernel.window_at %[[PEERS]][%[[AT1]]](%[[ROOM]]) : !kernel.window<?x8xf32>
// CHECK-DAG: %[[B:.*]] = kernel.window_at %[[PEERS]][%[[AT2]]](%[[N]]) : !kernel.window<?x6xi8>
// CHECK-DAG: %[[C:.*]] = kernel.window_at %[[PEERS]][%[[C128]]]() : !kernel.window<5xi64>
// CHECK-DAG: %[[CAME:.*]] = kernel.window_at %[[PEERS]][%[[C0]]](%[[C2]]) : !kernel.window<?xi32>
// CHECK-DAG: %[[RETURNED:.*]] = kernel.window_at %[[PEERS]][%[[C64]]]() : !kernel.window<2xi32>
// CHECK: kernel.launch @use(%[[A]], %[[B]], %[[C]])
// CHECK: kernel.launch @flags(%[[X]], %[[CAME]], %[[RETURNED]])
// The window of the same name, type and size is the same memory, the one of another size is not.
// CHECK: kernel.launch @use(%[[A]], %[[B]], %[[C]])
// CHECK: kernel.launch @use(%[[OTHER]], %[[B]], %[[C]])
// CHECK-NOT: kernel.window(
func.func @main(%x: memref<4xf32>, %n: index, %m: index) {
  %c2 = arith.constant 2 : index
  %a = kernel.window(%n) on @ep as "rows" : !kernel.window<?x8xf32>
  %room = kernel.agree %m on @ep : index
  %other = kernel.window(%room) on @ep as "rows" : !kernel.window<?x8xf32>
  %b = kernel.window(%n) on @ep as "rows" : !kernel.window<?x6xi8>
  %c = kernel.window() on @ep as "counts" : !kernel.window<5xi64>
  %came = kernel.window(%c2) on @ep as "came" : !kernel.window<?xi32>
  %returned = kernel.window() on @ep as "returned" : !kernel.window<2xi32>
  %again = kernel.window(%n) on @ep as "rows" : !kernel.window<?x8xf32>
  kernel.launch @use(%a, %b, %c) rows(%n) work(%n) : !kernel.window<?x8xf32>, !kernel.window<?x6xi8>, !kernel.window<5xi64>
  kernel.launch @flags(%x, %came, %returned) rows(%n) work(%n) : memref<4xf32>, !kernel.window<?xi32>, !kernel.window<2xi32>
  kernel.launch @use(%again, %b, %c) rows(%n) work(%n) : !kernel.window<?x8xf32>, !kernel.window<?x6xi8>, !kernel.window<5xi64>
  kernel.launch @use(%other, %b, %c) rows(%n) work(%n) : !kernel.window<?x8xf32>, !kernel.window<?x6xi8>, !kernel.window<5xi64>
  return
}

// Each grid has a memory of its own; windows of static size need no arithmetic.
// CHECK-LABEL: func.func @two_grids
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
// CHECK-DAG: %[[C192:.*]] = arith.constant 192 : index
// CHECK-DAG: %[[EP:.*]] = kernel.windows %[[C192]] on @ep
// CHECK-DAG: %[[TP:.*]] = kernel.windows %[[C64]] on @tp
// CHECK-DAG: kernel.window_at %[[EP]][%[[C0]]]() : !kernel.window<2x16xf32>
// CHECK-DAG: kernel.window_at %[[EP]][%[[C128:.*]]]() : !kernel.window<2xf16>
// CHECK-DAG: kernel.window_at %[[TP]][%[[C0]]]() : !kernel.window<2x4xf32>
func.func @two_grids() -> (memref<2x16xf32>, memref<2xf16>, memref<2x4xf32>) {
  %a = kernel.window() on @ep as "a" : !kernel.window<2x16xf32>
  %b = kernel.window() on @tp as "a" : !kernel.window<2x4xf32>
  %c = kernel.window() on @ep as "c" : !kernel.window<2xf16>
  %x = kernel.part %a : !kernel.window<2x16xf32> -> memref<2x16xf32>
  %y = kernel.part %c : !kernel.window<2xf16> -> memref<2xf16>
  %z = kernel.part %b : !kernel.window<2x4xf32> -> memref<2x4xf32>
  return %x, %y, %z : memref<2x16xf32>, memref<2xf16>, memref<2x4xf32>
}
