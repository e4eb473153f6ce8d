// RUN: moe-opt %s --verify-roundtrip | FileCheck %s

// CHECK: shard.grid @ep(shape = 2)
shard.grid @ep(shape = 2)

// CHECK-LABEL: kernel.func @give
// CHECK-SAME: (%[[X:.*]]: memref<?x256xbf16>, %[[ROWS:.*]]: !kernel.window<?x256xbf16>, %[[CAME:.*]]: !kernel.window<?xi32>, %[[N:.*]]: index, %[[ME:.*]]: index)
kernel.func @give(%x: memref<?x256xbf16>, %rows: !kernel.window<?x256xbf16>, %came: !kernel.window<?xi32>, %n: index, %me: index) {
  // CHECK: scf.forall (%[[PEER:.*]]) in (2)
  scf.forall (%peer) in (2) {
    %c0 = arith.constant 0 : index
    // CHECK: kernel.put %[[X]][%[[N]]], %[[ROWS]][%[[PEER]]][%{{.*}}] : memref<?x256xbf16>, !kernel.window<?x256xbf16>
    kernel.put %x[%n], %rows[%peer][%c0] : memref<?x256xbf16>, !kernel.window<?x256xbf16>
    // CHECK: %[[THERE:.*]] = kernel.part %[[ROWS]][%[[PEER]]] : !kernel.window<?x256xbf16> -> memref<?x256xbf16>
    %there = kernel.part %rows[%peer] : !kernel.window<?x256xbf16> -> memref<?x256xbf16>
    %v = memref.load %x[%n, %c0] : memref<?x256xbf16>
    // CHECK: memref.store %{{.*}}, %[[THERE]]
    memref.store %v, %there[%n, %c0] : memref<?x256xbf16>
    // CHECK: %[[EPOCH:.*]] = kernel.epoch %[[CAME]] : !kernel.window<?xi32> -> i32
    %epoch = kernel.epoch %came : !kernel.window<?xi32> -> i32
    // CHECK: kernel.signal %[[CAME]][%[[PEER]]][%[[ME]]], %[[EPOCH]] : !kernel.window<?xi32>
    kernel.signal %came[%peer][%me], %epoch : !kernel.window<?xi32>
  }
  kernel.return
}

// CHECK-LABEL: kernel.func @receive
kernel.func @receive(%rows: !kernel.window<?x256xbf16>, %came: !kernel.window<?xi32>, %y: memref<?x256xbf16>) {
  scf.forall (%peer) in (2) {
    %epoch = kernel.epoch %came : !kernel.window<?xi32> -> i32
    // CHECK: kernel.await %{{.*}}[%[[I:.*]]] reach %{{.*}} from %[[I]] : !kernel.window<?xi32>
    kernel.await %came[%peer] reach %epoch from %peer : !kernel.window<?xi32>
    %c0 = arith.constant 0 : index
    // CHECK: kernel.part %{{.*}} : !kernel.window<?x256xbf16> -> memref<?x256xbf16>
    %own = kernel.part %rows : !kernel.window<?x256xbf16> -> memref<?x256xbf16>
    %v = memref.load %own[%peer, %c0] : memref<?x256xbf16>
    memref.store %v, %y[%peer, %c0] : memref<?x256xbf16>
  }
  kernel.return
}

// CHECK-LABEL: kernel.func @begin
kernel.func @begin(%came: !kernel.window<?xi32>) {
  // CHECK: kernel.advance %{{.*}} : !kernel.window<?xi32>
  kernel.advance %came : !kernel.window<?xi32>
  kernel.return
}

// A type of static shape, of one dimension, and of three.
// CHECK-LABEL: kernel.func @types
// CHECK-SAME: !kernel.window<2xi32>, %{{.*}}: !kernel.window<?xf32>, %{{.*}}: !kernel.window<?x2x8xi8>
kernel.func @types(%a: !kernel.window<2xi32>, %b: !kernel.window<?xf32>, %c: !kernel.window<?x2x8xi8>) {
  kernel.return
}

// CHECK-LABEL: func.func @main
func.func @main(%x: memref<?x256xbf16>, %y: memref<?x256xbf16>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %t = memref.dim %x, %c0 : memref<?x256xbf16>
  // CHECK: %[[ME:.*]] = kernel.rank on @ep : index
  %me = kernel.rank on @ep : index
  // CHECK: %[[ROOM:.*]] = kernel.agree %{{.*}} on @ep : index
  %room = kernel.agree %t on @ep : index
  // CHECK: %[[ROWS:.*]] = kernel.window(%[[ROOM]]) on @ep as "rows" : !kernel.window<?x256xbf16>
  %rows = kernel.window(%room) on @ep as "rows" : !kernel.window<?x256xbf16>
  // CHECK: %[[CAME:.*]] = kernel.window(%{{.*}}) on @ep as "rows came" : !kernel.window<?xi32>
  %came = kernel.window(%c2) on @ep as "rows came" : !kernel.window<?xi32>
  // CHECK: kernel.window() on @ep as "counts" : !kernel.window<2xi32>
  %counts = kernel.window() on @ep as "counts" : !kernel.window<2xi32>
  // CHECK: kernel.launch @begin(%[[CAME]]) single
  kernel.launch @begin(%came) single rows(%c2) work(%c2) : !kernel.window<?xi32>
  // CHECK: kernel.launch @give(%{{.*}}, %[[ROWS]], %[[CAME]], %{{.*}}, %[[ME]]) rows(%{{.*}}) work(%{{.*}}) : memref<?x256xbf16>, !kernel.window<?x256xbf16>, !kernel.window<?xi32>, index, index
  kernel.launch @give(%x, %rows, %came, %t, %me) rows(%c2) work(%c2)
      : memref<?x256xbf16>, !kernel.window<?x256xbf16>, !kernel.window<?xi32>, index, index
  kernel.launch @receive(%rows, %came, %y) rows(%c2) work(%c2)
      : !kernel.window<?x256xbf16>, !kernel.window<?xi32>, memref<?x256xbf16>
  // The own part may be taken by the host program.
  // CHECK: kernel.part %[[ROWS]] : !kernel.window<?x256xbf16> -> memref<?x256xbf16>
  %own = kernel.part %rows : !kernel.window<?x256xbf16> -> memref<?x256xbf16>
  return
}

// CHECK-LABEL: func.func @planned
func.func @planned(%bytes: index, %n: index) {
  // CHECK: %[[PEERS:.*]] = kernel.windows %{{.*}} on @ep : !kernel.peers
  %peers = kernel.windows %bytes on @ep : !kernel.peers
  // CHECK: kernel.window_at %[[PEERS]][%{{.*}}](%{{.*}}) : !kernel.window<?x256xbf16>
  %rows = kernel.window_at %peers[%bytes](%n) : !kernel.window<?x256xbf16>
  // CHECK: kernel.window_at %[[PEERS]][%{{.*}}]() : !kernel.window<2xi32>
  %came = kernel.window_at %peers[%n]() : !kernel.window<2xi32>
  return
}
