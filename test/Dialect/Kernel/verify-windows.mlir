// Programs of several ranks that keep the rules of exchanges. The pass changes nothing.
// RUN: moe-opt %s --kernel-verify-windows -o %t && moe-opt %s -o - | diff %t -
// The same once the windows have their places.
// RUN: moe-opt %s --kernel-plan-windows --kernel-verify-windows | FileCheck %s

shard.grid @ep(shape = 2)

kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}

// Rows of a peer by one iteration, with the signal in it; a store into another rank's part counts as a put.
kernel.func @give(%x: memref<?x8xf32>, %rows: !kernel.window<?x8xf32>, %counts: !kernel.window<2xi64>, %came: !kernel.window<2xi32>, %n: index, %me: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %count = arith.constant 3 : i64
  scf.forall (%peer) in (2) {
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      kernel.put %x[%i], %rows[%peer][%i] : memref<?x8xf32>, !kernel.window<?x8xf32>
      scf.reduce
    }
    %there = kernel.part %counts[%peer] : !kernel.window<2xi64> -> memref<2xi64>
    %size = memref.dim %there, %c0 : memref<2xi64>
    memref.store %count, %there[%me] : memref<2xi64>
    %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
    kernel.signal %came[%peer][%me], %epoch : !kernel.window<2xi32>
  }
  kernel.return
}

kernel.func @receive(%came: !kernel.window<2xi32>) {
  scf.forall (%peer) in (2) {
    %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
    kernel.await %came[%peer] reach %epoch from %peer : !kernel.window<2xi32>
  }
  kernel.return
}

// Reads behind an await of an earlier launch: the window itself, and a buffer that is a part of one.
kernel.func @use_rows(%rows: !kernel.window<?x8xf32>, %counts: memref<2xi64>, %y: memref<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %own = kernel.part %rows : !kernel.window<?x8xf32> -> memref<?x8xf32>
  %v = memref.load %own[%c0, %c0] : memref<?x8xf32>
  %n = memref.load %counts[%c0] : memref<2xi64>
  memref.store %v, %y[%c0, %c0] : memref<?x8xf32>
  kernel.return
}

// Waits and reads in its own program, and gives rows back: other flags, and another window.
kernel.func @give_back(%rows: !kernel.window<?x8xf32>, %came: !kernel.window<2xi32>, %back: !kernel.window<?x8xf32>, %returned: !kernel.window<2xi32>, %me: index) {
  scf.forall (%peer) in (2) {
    %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
    kernel.await %came[%peer] reach %epoch from %peer : !kernel.window<2xi32>
    %own = kernel.part %rows : !kernel.window<?x8xf32> -> memref<?x8xf32>
    kernel.put %own[%peer], %back[%peer][%me] : memref<?x8xf32>, !kernel.window<?x8xf32>
    kernel.signal %returned[%peer][%me], %epoch : !kernel.window<2xi32>
  }
  kernel.return
}

// A kernel that only writes its argument may be given a part at any time.
kernel.func @clear(%y: memref<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %y[%c0, %c0] : memref<?x8xf32>
  kernel.return
}

// CHECK-LABEL: func.func @main
// CHECK-NOT: kernel.window(
func.func @main(%x: memref<?x8xf32>, %y: memref<?x8xf32>, %n: index) {
  %me = kernel.rank on @ep : index
  %came = kernel.window() on @ep as "rows came" : !kernel.window<2xi32>
  %returned = kernel.window() on @ep as "rows returned" : !kernel.window<2xi32>
  %counts = kernel.window() on @ep as "counts" : !kernel.window<2xi64>
  %rows = kernel.window(%n) on @ep as "rows" : !kernel.window<?x8xf32>
  %back = kernel.window(%n) on @ep as "back" : !kernel.window<?x8xf32>
  %ownCounts = kernel.part %counts : !kernel.window<2xi64> -> memref<2xi64>
  %ownBack = kernel.part %back : !kernel.window<?x8xf32> -> memref<?x8xf32>
  %none = kernel.part %rows : !kernel.window<?x8xf32> -> memref<?x8xf32>
  kernel.launch @clear(%none) rows(%n) work(%n) : memref<?x8xf32>

  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  kernel.launch @give(%x, %rows, %counts, %came, %n, %me) rows(%n) work(%n)
      : memref<?x8xf32>, !kernel.window<?x8xf32>, !kernel.window<2xi64>, !kernel.window<2xi32>, index, index
  kernel.launch @receive(%came) rows(%n) work(%n) : !kernel.window<2xi32>
  kernel.launch @use_rows(%rows, %ownCounts, %y) rows(%n) work(%n) : !kernel.window<?x8xf32>, memref<2xi64>, memref<?x8xf32>
  kernel.launch @give_back(%rows, %came, %back, %returned, %me) rows(%n) work(%n)
      : !kernel.window<?x8xf32>, !kernel.window<2xi32>, !kernel.window<?x8xf32>, !kernel.window<2xi32>, index
  kernel.launch @receive(%returned) rows(%n) work(%n) : !kernel.window<2xi32>
  kernel.launch @use_rows(%back, %ownCounts, %ownBack) rows(%n) work(%n) : !kernel.window<?x8xf32>, memref<2xi64>, memref<?x8xf32>

  // The next layer uses the same windows, which have the same names, after an advance.
  %came2 = kernel.window() on @ep as "rows came" : !kernel.window<2xi32>
  %rows2 = kernel.window(%n) on @ep as "rows" : !kernel.window<?x8xf32>
  kernel.launch @begin(%returned) single rows(%n) work(%n) : !kernel.window<2xi32>
  kernel.launch @give(%y, %rows2, %counts, %came2, %n, %me) rows(%n) work(%n)
      : memref<?x8xf32>, !kernel.window<?x8xf32>, !kernel.window<2xi64>, !kernel.window<2xi32>, index, index
  kernel.launch @receive(%came) rows(%n) work(%n) : !kernel.window<2xi32>
  kernel.launch @use_rows(%rows, %ownCounts, %y) rows(%n) work(%n) : !kernel.window<?x8xf32>, memref<2xi64>, memref<?x8xf32>
  return
}

// Rows by one launch, the flags by the next: one block tells how many there are, signals, awaits and reads what it was told.
kernel.func @send(%x: memref<?x8xf32>, %rows: !kernel.window<?x8xf32>, %n: index) {
  scf.forall (%peer, %i) in (2, %n) {
    kernel.put %x[%i], %rows[%peer][%i] : memref<?x8xf32>, !kernel.window<?x8xf32>
  }
  kernel.return
}

kernel.func @meet(%came: !kernel.window<2xi32>, %told: !kernel.window<2xi32>, %own: memref<2xi32>, %y: memref<2xi32>, %me: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %count = arith.constant 3 : i32
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  scf.for %peer = %c0 to %c2 step %c1 {
    %there = kernel.part %told[%peer] : !kernel.window<2xi32> -> memref<2xi32>
    memref.store %count, %there[%me] : memref<2xi32>
    kernel.signal %came[%peer][%me], %epoch : !kernel.window<2xi32>
  }
  scf.for %peer = %c0 to %c2 step %c1 {
    kernel.await %came[%peer] reach %epoch from %peer : !kernel.window<2xi32>
  }
  %v = memref.load %own[%c0] : memref<2xi32>
  memref.store %v, %y[%c0] : memref<2xi32>
  kernel.return
}

// CHECK-LABEL: func.func @plain
func.func @plain(%x: memref<?x8xf32>, %y: memref<?x8xf32>, %z: memref<2xi32>, %n: index) {
  %me = kernel.rank on @ep : index
  %room = kernel.agree %n on @ep : index
  %rows = kernel.window(%room) on @ep as "plain rows" : !kernel.window<?x8xf32>
  %told = kernel.window() on @ep as "told" : !kernel.window<2xi32>
  %counts = kernel.window() on @ep as "plain counts" : !kernel.window<2xi64>
  %came = kernel.window() on @ep as "plain came" : !kernel.window<2xi32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  kernel.launch @send(%x, %rows, %n) rows(%n) work(%n) : memref<?x8xf32>, !kernel.window<?x8xf32>, index
  %own = kernel.part %told : !kernel.window<2xi32> -> memref<2xi32>
  kernel.launch @meet(%came, %told, %own, %z, %me) single rows(%n) work(%n)
      : !kernel.window<2xi32>, !kernel.window<2xi32>, memref<2xi32>, memref<2xi32>, index
  %mine = kernel.part %counts : !kernel.window<2xi64> -> memref<2xi64>
  kernel.launch @use_rows(%rows, %mine, %y) rows(%n) work(%n) : !kernel.window<?x8xf32>, memref<2xi64>, memref<?x8xf32>
  return
}
