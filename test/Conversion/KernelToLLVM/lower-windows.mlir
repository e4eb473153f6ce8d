// RUN: moe-opt %s --kernel-lower-windows | FileCheck %s

// A window becomes three arguments in its place, a window of static size two.
// CHECK-LABEL: kernel.func @exchange(
// CHECK-SAME: %[[X:[^:]*]]: memref<?x8xbf16> {llvm.noalias}, %[[P:[^:]*]]: !llvm.ptr, %[[AT:[^:]*]]: i64, %[[ROWS:[^:]*]]: i64, %[[FP:[^:]*]]: !llvm.ptr, %[[FAT:[^:]*]]: i64, %[[PEER:[^:]*]]: index, %[[I:[^:]*]]: index)
kernel.func @exchange(%x: memref<?x8xbf16> {llvm.noalias}, %w: !kernel.window<?x8xbf16>, %came: !kernel.window<2xi32>, %peer: index, %i: index) {
  // The row of 16 bytes at base[peer] + offset + 16 i.
  // CHECK-DAG: %[[BYTES:.*]] = llvm.mlir.constant(16 : i64)
  // CHECK-DAG: %[[PEER64:.*]] = arith.index_cast %[[PEER]] : index to i64
  // CHECK-DAG: %[[FIELD:.*]] = llvm.getelementptr %[[P]][0, 0] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, i32, i32, ptr, ptr, ptr, i64, ptr, ptr, ptr)>
  // CHECK: %[[BASES:.*]] = llvm.load %[[FIELD]] invariant : !llvm.ptr -> !llvm.ptr
  // CHECK: %[[ENTRY:.*]] = llvm.getelementptr %[[BASES]][%[[PEER64]]] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  // CHECK: %[[BASE:.*]] = llvm.load %[[ENTRY]] invariant : !llvm.ptr -> !llvm.ptr
  // CHECK: %[[PART:.*]] = llvm.getelementptr %[[BASE]][%[[AT]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  // CHECK: %[[SKIP:.*]] = llvm.mul %{{.*}}, %[[BYTES]]
  // CHECK: %[[TO:.*]] = llvm.getelementptr %[[PART]][%[[SKIP]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  // CHECK: builtin.unrealized_conversion_cast %[[X]] : memref<?x8xbf16> to !llvm.struct
  // CHECK: %[[FROM:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  // CHECK: "llvm.intr.memcpy"(%[[TO]], %[[FROM]], %[[BYTES]]) <{isVolatile = false}>
  // Ranks of other hosts: one test of moert_peers::hosts.
  // CHECK: %[[HOSTSAT:.*]] = llvm.getelementptr %[[P]][0, 9]
  // CHECK: %[[HOSTS:.*]] = llvm.load %[[HOSTSAT]] invariant : !llvm.ptr -> !llvm.ptr
  // CHECK: %[[APART:.*]] = llvm.icmp "ne" %[[HOSTS]], %{{.*}} : !llvm.ptr
  // CHECK: scf.if %[[APART]] {
  // CHECK: llvm.call @moert_stored(%[[P]], %{{.*}}, %[[TO]], %[[BYTES]]) : (!llvm.ptr, i32, !llvm.ptr, i64) -> ()
  kernel.put %x[%i], %w[%peer][%i] : memref<?x8xbf16>, !kernel.window<?x8xbf16>
  // CHECK: %[[EPOCHFIELD:.*]] = llvm.getelementptr %[[FP]][0, 3]
  // CHECK: %[[EPOCHAT:.*]] = llvm.load %[[EPOCHFIELD]] invariant
  // CHECK: %[[EPOCH:.*]] = llvm.load %[[EPOCHAT]] : !llvm.ptr -> i32
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  // CHECK: %[[FLAGS:.*]] = llvm.getelementptr %{{.*}}[%[[FAT]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  // CHECK: %[[FLAG:.*]] = llvm.getelementptr %[[FLAGS]][%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, i32
  // CHECK: scf.if %{{.*}} {
  // CHECK: llvm.call @moert_raise(%[[FP]], %{{.*}}, %[[FLAG]], %[[EPOCH]]) : (!llvm.ptr, i32, !llvm.ptr, i32) -> ()
  // CHECK: } else {
  // CHECK: llvm.store %[[EPOCH]], %[[FLAG]] atomic release {alignment = 4 : i64} : i32, !llvm.ptr
  kernel.signal %came[%peer][%i], %epoch : !kernel.window<2xi32>
  // The own part: base[rank].
  // CHECK: %[[RANKFIELD:.*]] = llvm.getelementptr %[[FP]][0, 1]
  // CHECK: %[[RANK:.*]] = llvm.load %[[RANKFIELD]] invariant : !llvm.ptr -> i32
  // CHECK: %[[RANK64:.*]] = llvm.sext %[[RANK]] : i32 to i64
  // CHECK: llvm.getelementptr %{{.*}}[%[[RANK64]]] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  // CHECK: %[[OWNFLAG:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, i32
  // CHECK: %[[PEER32:.*]] = llvm.trunc %{{.*}} : i64 to i32
  // CHECK: llvm.call @moert_await(%[[FP]], %[[OWNFLAG]], %[[EPOCH]], %[[PEER32]], %{{.*}}) : (!llvm.ptr, !llvm.ptr, i32, i32, i64) -> i32
  kernel.await %came[%i] reach %epoch from %peer : !kernel.window<2xi32>
  // CHECK: %[[OWN:.*]] = llvm.getelementptr %{{.*}}[%[[AT]]]
  // CHECK: llvm.insertvalue %[[OWN]], %{{.*}}[1]
  // CHECK: llvm.insertvalue %[[ROWS]], %{{.*}}[3, 0]
  // CHECK: %[[MEMREF:.*]] = builtin.unrealized_conversion_cast %{{.*}} : !llvm.struct<{{.*}}> to memref<?x8xbf16>
  // CHECK: memref.load %[[MEMREF]]
  %own = kernel.part %w : !kernel.window<?x8xbf16> -> memref<?x8xbf16>
  %v = memref.load %own[%i, %i] : memref<?x8xbf16>
  // CHECK: %[[THERE:.*]] = builtin.unrealized_conversion_cast %{{.*}} : !llvm.struct<{{.*}}> to memref<?x8xbf16>
  // CHECK: memref.store %{{.*}}, %[[THERE]]
  // CHECK: %[[SIZE:.*]] = llvm.mlir.constant(2 : i64)
  // CHECK: scf.if
  // CHECK: llvm.call @moert_stored(%[[P]], %{{.*}}, %{{.*}}, %[[SIZE]])
  %there = kernel.part %w[%peer] : !kernel.window<?x8xbf16> -> memref<?x8xbf16>
  memref.store %v, %there[%i, %i] : memref<?x8xbf16>
  // CHECK-NOT: kernel.put
  // CHECK: kernel.return
  kernel.return
}

// CHECK-LABEL: kernel.func @begin(
// CHECK: %[[OLD:.*]] = llvm.load %[[AT:.*]] : !llvm.ptr -> i32
// CHECK: %[[ONE:.*]] = llvm.mlir.constant(1 : i32)
// CHECK: %[[NEW:.*]] = llvm.add %[[OLD]], %[[ONE]]
// CHECK: llvm.store %[[NEW]], %[[AT]] : i32, !llvm.ptr
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}

// A kernel without windows stays as it is.
// CHECK-LABEL: kernel.func @plain(%{{.*}}: memref<4xf32>, %{{.*}}: index) {
// CHECK-NEXT: kernel.return
kernel.func @plain(%x: memref<4xf32>, %n: index) {
  kernel.return
}
