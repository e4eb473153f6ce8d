// RUN: moe-opt %s --kernel-distribute-blocks | FileCheck %s

// The first number has the phase in it. Blocks of a phase share the loop.
// CHECK-LABEL: kernel.func @phases
// CHECK-SAME: (%[[Y:.*]]: memref<8x8xi32>, %[[NUMBER:.*]]: index, %[[BLOCKS:.*]]: index)
// CHECK-NEXT: %[[PHASE:.*]] = arith.divui %[[NUMBER]], %[[BLOCKS]] : index
// CHECK-NEXT: %[[BLOCK:.*]] = arith.remui %[[NUMBER]], %[[BLOCKS]] : index
// CHECK: arith.addi %[[BLOCK]], %{{.*}} : index
// CHECK: arith.muli %{{.*}}, %[[BLOCK]] : index
// CHECK: scf.for %[[I:.*]] = %{{.*}} to
// CHECK: arith.index_cast %[[BLOCK]] : index to i32
// CHECK: memref.store %{{.*}}, %[[Y]][%[[PHASE]], %[[I]]]
// CHECK-NOT: kernel.phase
kernel.func @phases(%y: memref<8x8xi32>) {
  %phase = kernel.phase : index
  %id = kernel.block_id
  scf.forall (%i) in (8) {
    %v = arith.index_cast %id : index to i32
    memref.store %v, %y[%phase, %i] : memref<8x8xi32>
  }
  kernel.return
}

// Nobody needs the phase, but it is in the number all the same.
// CHECK-LABEL: kernel.func @unused
// CHECK: arith.divui
// CHECK: %[[BLOCK:.*]] = arith.remui
// CHECK: arith.muli %{{.*}}, %[[BLOCK]] : index
kernel.func @unused(%y: memref<8xi32>) {
  %phase = kernel.phase : index
  %zero = arith.constant 0 : i32
  scf.forall (%i) in (8) {
    memref.store %zero, %y[%i] : memref<8xi32>
  }
  kernel.return
}
