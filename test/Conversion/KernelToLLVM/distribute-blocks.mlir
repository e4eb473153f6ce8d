// RUN: moe-opt %s --kernel-distribute-blocks | FileCheck %s

// CHECK-LABEL: kernel.func @range
// CHECK-SAME: (%{{.*}}: memref<?xindex>, %[[N:.*]]: index, %[[BLOCK:.*]]: index, %[[BLOCKS:.*]]: index)
// CHECK: %[[NEXT:.*]] = arith.addi %[[BLOCK]], %c1
// CHECK: %[[P:.*]] = arith.muli %[[N]], %[[BLOCK]]
// CHECK: %[[BEGIN:.*]] = arith.divui %[[P]], %[[BLOCKS]]
// CHECK: %[[Q:.*]] = arith.muli %[[N]], %[[NEXT]]
// CHECK: %[[END:.*]] = arith.divui %[[Q]], %[[BLOCKS]]
// CHECK: scf.for %[[I:.*]] = %[[BEGIN]] to %[[END]] step
// CHECK:   memref.store %[[BLOCK]], %{{.*}}[%[[I]]]
kernel.func @range(%y: memref<?xindex>, %n: index) {
  %id = kernel.block_id
  scf.forall (%i) in (%n) {
    memref.store %id, %y[%i] : memref<?xindex>
  }
  kernel.return
}

// Several dimensions are one range; bounds and steps are kept: i = flat / 4, j = 2 + 3 * (flat % 4).
// CHECK-LABEL: kernel.func @collapsed
// CHECK: %[[TOTAL:.*]] = arith.muli
// CHECK: scf.for %[[FLAT:.*]] = {{.*}} {
// CHECK:   %[[REM:.*]] = arith.remui %[[FLAT]], %[[COUNT:.*]] :
// CHECK:   %[[I:.*]] = arith.divui %[[FLAT]], %[[COUNT]]
// CHECK:   %[[SCALED:.*]] = arith.muli %[[REM]], %c3
// CHECK:   %[[J:.*]] = arith.addi %[[SCALED]], %c2
// CHECK:   memref.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]]
kernel.func @collapsed(%y: memref<5x14xf32>, %v: f32) {
  scf.forall (%i, %j) = (0, 2) to (5, 14) step (1, 3) {
    memref.store %v, %y[%i, %j] : memref<5x14xf32>
  }
  kernel.return
}

// A block is one thread here: it does all iterations of an scf.parallel.
// CHECK-LABEL: kernel.func @parallel
// CHECK:     scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step
// CHECK-NOT: scf.parallel
// CHECK:       scf.for %[[J:.*]] = %c0{{.*}} to %[[N:.*]] step
// CHECK-NEXT:    memref.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]]
kernel.func @parallel(%y: memref<?x?xf32>, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%i) in (%n) {
    scf.parallel (%j) = (%c0) to (%n) step (%c1) {
      memref.store %v, %y[%i, %j] : memref<?x?xf32>
    }
  }
  kernel.return
}

// The same share of the positions c * tiles + t, walked tile by tile: of tile t the columns from the first place not before
// begin to the first one not before end.
// CHECK-LABEL: kernel.func @columns_inside
// CHECK: %[[BEGIN:.*]] = arith.divui
// CHECK: %[[END:.*]] = arith.divui
// CHECK: scf.for %[[T:.*]] = %c0{{.*}} to %[[TILES:.*]] step %c1
// CHECK:   %[[A:.*]] = arith.maxui %[[BEGIN]], %[[T]]
// CHECK:   %[[B:.*]] = arith.subi %[[A]], %[[T]]
// CHECK:   %[[UP:.*]] = arith.subi %[[TILES]], %c1
// CHECK:   %[[BU:.*]] = arith.addi %[[B]], %[[UP]]
// CHECK:   %[[FIRST:.*]] = arith.divui %[[BU]], %[[TILES]]
// CHECK:   %[[C:.*]] = arith.maxui %[[END]], %[[T]]
// CHECK:   %[[D:.*]] = arith.subi %[[C]], %[[T]]
// CHECK:   %[[UP2:.*]] = arith.subi %[[TILES]], %c1
// CHECK:   %[[DU:.*]] = arith.addi %[[D]], %[[UP2]]
// CHECK:   %[[LAST:.*]] = arith.divui %[[DU]], %[[TILES]]
// CHECK:   scf.for %[[COL:.*]] = %[[FIRST]] to %[[LAST]] step
// CHECK:     memref.store %{{.*}}, %{{.*}}[%[[COL]], %[[T]]]
kernel.func @columns_inside(%y: memref<?x?xf32>, %columns: index, %tiles: index, %v: f32) {
  scf.forall (%c, %t) in (%columns, %tiles) {
    memref.store %v, %y[%c, %t] : memref<?x?xf32>
  } {kernel.columns_inside}
  kernel.return
}
