// RUN: moe-opt %s --kernel-plan-memory --canonicalize --cse --split-input-file | FileCheck %s
// RUN: moe-opt %s --kernel-plan-memory --canonicalize --cse --split-input-file -o %t && moe-opt %t --kernel-plan-memory --canonicalize --cse --split-input-file | diff %t -

kernel.func @step(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  kernel.return
}

// Four buffers in a chain need two slots: a launch's operands are live together. 32 * n bytes are rounded up to 64.
// CHECK-LABEL: func.func @chain
// CHECK-SAME: (%[[X:.*]]: memref<?x8xf32>)
// CHECK: %[[N:.*]] = memref.dim %[[X]]
// Of more bytes than 48 bits hold the arena has the most: the runtime refuses it.
// CHECK: %[[BYTES:.*]], %[[HIGH:.*]] = arith.mulsi_extended %[[N]], %c32
// CHECK: %[[SIGN:.*]] = arith.shrsi %[[BYTES]], %c63
// CHECK: %[[WRONG:.*]] = arith.xori %[[HIGH]], %[[SIGN]]
// CHECK: %[[BEYOND:.*]] = arith.shrui %[[BYTES]], %c48
// CHECK: arith.ori %[[WRONG]], %[[BEYOND]]
// CHECK: %[[UP:.*]] = arith.addi %[[BYTES]], %c63
// CHECK: %[[SLOT:.*]] = arith.andi %[[UP]], %c-64
// CHECK: %[[SUM:.*]] = arith.addi %[[SLOT]], %[[SLOT]]
// CHECK: %[[FITS:.*]] = arith.cmpi eq, %{{.*}}, %c0
// CHECK: %[[TOTAL:.*]] = arith.select %[[FITS]], %[[SUM]], %c9223372036854775807
// CHECK: %[[ARENA:.*]] = memref.alloc(%[[TOTAL]]) {kernel.arena} : memref<?xi8>
// CHECK: %[[A:.*]] = memref.view %[[ARENA]][%c0][%[[N]]] : memref<?xi8> to memref<?x8xf32>
// CHECK: kernel.launch @step(%[[X]], %[[A]])
// CHECK: %[[B:.*]] = memref.view %[[ARENA]][%[[SLOT]]][%[[N]]]
// CHECK: kernel.launch @step(%[[A]], %[[B]])
// CHECK: kernel.launch @step(%[[B]], %[[A]])
// CHECK: kernel.launch @step(%[[A]], %[[B]])
// CHECK: %[[OUT:.*]] = memref.alloc(%[[N]]) : memref<?x8xf32>
// CHECK: kernel.launch @step(%[[B]], %[[OUT]])
// CHECK: return %[[OUT]]
func.func @chain(%x: memref<?x8xf32>) -> memref<?x8xf32> {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  %a = memref.alloc(%n) : memref<?x8xf32>
  kernel.launch @step(%x, %a) rows(%n) work(%n) : memref<?x8xf32>, memref<?x8xf32>
  %b = memref.alloc(%n) : memref<?x8xf32>
  kernel.launch @step(%a, %b) rows(%n) work(%n) : memref<?x8xf32>, memref<?x8xf32>
  %c = memref.alloc(%n) : memref<?x8xf32>
  kernel.launch @step(%b, %c) rows(%n) work(%n) : memref<?x8xf32>, memref<?x8xf32>
  %d = memref.alloc(%n) : memref<?x8xf32>
  kernel.launch @step(%c, %d) rows(%n) work(%n) : memref<?x8xf32>, memref<?x8xf32>
  %out = memref.alloc(%n) : memref<?x8xf32>
  kernel.launch @step(%d, %out) rows(%n) work(%n) : memref<?x8xf32>, memref<?x8xf32>
  return %out : memref<?x8xf32>
}

// -----

kernel.func @use(%x: memref<4xf32>) {
  kernel.return
}
kernel.func @use_flat(%x: memref<?xf32>) {
  kernel.return
}

// A use through a view keeps the buffer alive; buffers of other dynamic sizes get slots of their own, and constant sizes
// are added up at compile time (16 bytes take 64). The order of the factors of a size does not matter.
// CHECK-LABEL: func.func @views
// CHECK: %[[BM:.*]], %{{.*}} = arith.mulsi_extended %arg0, %c64{{.*}} : index
// CHECK: %[[MN:.*]], %{{.*}} = arith.mulsi_extended %[[BM]], %arg1 : index
// CHECK: %[[SUM:.*]] = arith.addi %[[MN]], %c128{{.*}} : index
// CHECK: %[[TOTAL:.*]] = arith.select %{{.*}}, %[[SUM]]
// CHECK: %[[ARENA:.*]] = memref.alloc(%[[TOTAL]]) {kernel.arena}
// CHECK-DAG: memref.view %[[ARENA]][%c0{{.*}}][] : memref<?xi8> to memref<2x2xf32>
// CHECK-DAG: memref.view %[[ARENA]][%c64{{.*}}][] : memref<?xi8> to memref<4xf32>
// CHECK-DAG: memref.view %[[ARENA]][%c128{{.*}}][%arg0, %arg1] : memref<?xi8> to memref<?x?x16xf32>
// CHECK-DAG: memref.view %[[ARENA]][%c128{{.*}}][%{{.*}}] : memref<?xi8> to memref<?xf32>
func.func @views(%m: index, %n: index) {
  %a = memref.alloc() : memref<2x2xf32>
  %flat = memref.collapse_shape %a [[0, 1]] : memref<2x2xf32> into memref<4xf32>
  kernel.launch @use(%flat) rows(%m) work(%m) : memref<4xf32>
  %b = memref.alloc() : memref<4xf32>
  kernel.launch @use(%b) rows(%m) work(%m) : memref<4xf32>
  kernel.launch @use(%flat) rows(%m) work(%m) : memref<4xf32>
  %c = memref.alloc(%m, %n) : memref<?x?x16xf32>
  %cflat = memref.collapse_shape %c [[0, 1, 2]] : memref<?x?x16xf32> into memref<?xf32>
  kernel.launch @use_flat(%cflat) rows(%m) work(%m) : memref<?xf32>
  %nm = arith.muli %n, %m : index
  %d = memref.alloc(%nm) : memref<?xf32>
  kernel.launch @use_flat(%d) rows(%m) work(%m) : memref<?xf32>
  return
}

// -----

shard.grid @ep(shape = 2)
kernel.func @exchange(%w: !kernel.window<?x4xf32>, %own: memref<?x4xf32>, %x: memref<?x4xf32>) {
  kernel.return
}

// Windows have a plan of their own: the arena holds the buffer beside them.
// CHECK-LABEL: func.func @windows
// CHECK-SAME: (%[[N:.*]]: index)
// CHECK-DAG: %[[C16:.*]] = arith.constant 16 : index
// CHECK-DAG: %[[W:.*]] = kernel.window(%[[N]]) on @ep as "rows" : !kernel.window<?x4xf32>
// CHECK-DAG: %[[OWN:.*]] = kernel.part %[[W]]
// CHECK: arith.mulsi_extended %[[N]], %[[C16]]
// CHECK-NOT: arith.mul
// CHECK: memref.alloc(%{{.*}}) {kernel.arena} : memref<?xi8>
// CHECK: %[[X:.*]] = memref.view
// CHECK: kernel.launch @exchange(%[[W]], %[[OWN]], %[[X]])
func.func @windows(%n: index) {
  %w = kernel.window(%n) on @ep as "rows" : !kernel.window<?x4xf32>
  %own = kernel.part %w : !kernel.window<?x4xf32> -> memref<?x4xf32>
  %x = memref.alloc(%n) : memref<?x4xf32>
  kernel.launch @exchange(%w, %own, %x) rows(%n) work(%n) : !kernel.window<?x4xf32>, memref<?x4xf32>, memref<?x4xf32>
  return
}

// -----

kernel.func @step(%x: memref<8xf32>, %y: memref<8xf32>) {
  kernel.return
}

// In a loop over passes: a chain of what launches of a pass alone use takes two slots, of 32 bytes in 64. What the loop reads and what it
// leaves is live in all of it.
// CHECK-LABEL: func.func @passes
// CHECK: memref.alloc() : memref<256xi8>
// CHECK-DAG: %[[READ:.*]] = memref.view %{{.*}}[%c0][] : memref<256xi8>
// CHECK-DAG: %[[A:.*]] = memref.view %{{.*}}[%c128]
// CHECK-DAG: %[[B:.*]] = memref.view %{{.*}}[%c192]
// CHECK-DAG: %[[LEFT:.*]] = memref.view %{{.*}}[%c64]
// CHECK: kernel.launch @step(%{{.*}}, %[[READ]])
// CHECK: scf.for
// CHECK-NEXT: kernel.launch @step(%[[READ]], %[[A]])
// CHECK-NEXT: kernel.launch @step(%[[A]], %[[B]])
// CHECK-NEXT: kernel.launch @step(%[[B]], %[[A]])
// CHECK-NEXT: kernel.launch @step(%[[A]], %[[LEFT]])
// CHECK: kernel.launch @step(%[[LEFT]], %{{.*}})
func.func @passes(%x: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %read = memref.alloc() : memref<8xf32>
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  %c = memref.alloc() : memref<8xf32>
  %left = memref.alloc() : memref<8xf32>
  kernel.launch @step(%x, %read) rows(%c1) work(%c1) : memref<8xf32>, memref<8xf32>
  scf.for %pass = %c0 to %n step %c1 {
    kernel.launch @step(%read, %a) rows(%c1) work(%c1) : memref<8xf32>, memref<8xf32>
    kernel.launch @step(%a, %b) rows(%c1) work(%c1) : memref<8xf32>, memref<8xf32>
    kernel.launch @step(%b, %c) rows(%c1) work(%c1) : memref<8xf32>, memref<8xf32>
    kernel.launch @step(%c, %left) rows(%c1) work(%c1) : memref<8xf32>, memref<8xf32>
  } {kernel.passes}
  kernel.launch @step(%left, %x) rows(%c1) work(%c1) : memref<8xf32>, memref<8xf32>
  return
}

// -----

kernel.func @fill(%x: memref<4611686018427387904xi8>, %y: memref<4611686018427387904xi8>) {
  kernel.return
}

// Constant bytes do not wrap around either: 2^62 and 2^62 are no negative number, but more than the runtime gives.
// CHECK-LABEL: func.func @constants
// CHECK: memref.alloc() : memref<1152921504606846976xi8>
func.func @constants() {
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<4611686018427387904xi8>
  %b = memref.alloc() : memref<4611686018427387904xi8>
  kernel.launch @fill(%a, %b) rows(%c1) work(%c1) : memref<4611686018427387904xi8>, memref<4611686018427387904xi8>
  return
}
