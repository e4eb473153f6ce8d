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
