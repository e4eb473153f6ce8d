// RUN: moe-opt %s --pass-pipeline='builtin.module(kernel.func(kernel-distribute-warps),canonicalize,cse)' | FileCheck %s

// An index of a loop that holds an scf.parallel is the work of a block: its warps share that, the first warp does what else
// writes, and the block meets in between.
// CHECK-LABEL: kernel.func @chunks
// CHECK-SAME:  (%[[X:.*]]: memref<?x40xi32>, %[[Y:.*]]: memref<?x40xi32>)
kernel.func @chunks(%x: memref<?x40xi32>, %y: memref<?x40xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c40 = arith.constant 40 : index
  %one = arith.constant 1 : i32
  %n = memref.dim %x, %c0 : memref<?x40xi32>
  // CHECK-DAG: %[[WARP:.*]] = gpu.subgroup_id
  // CHECK-DAG: %[[WARPS:.*]] = gpu.num_subgroups
  // CHECK-DAG: %[[BLOCK:.*]] = gpu.block_id x
  // CHECK-DAG: %[[BLOCKS:.*]] = gpu.grid_dim x
  // CHECK: scf.for %[[CHUNK:.*]] = %[[BLOCK]] to %{{.*}} step %[[BLOCKS]] {
  scf.forall (%chunk) in (%n) {
    %first = arith.muli %chunk, %c8 : index
    %end = arith.addi %first, %c8 : index
    // CHECK:      %[[FIRST:.*]] = arith.addi %{{.*}}, %[[WARP]]
    // CHECK-NEXT: scf.for %[[T:.*]] = %[[FIRST]] to %{{.*}} step %[[WARPS]] {
    // CHECK:        scf.for %{{.*}} = %[[LANE:.*]] to %c40 step %c32 {
    // CHECK:      gpu.barrier
    scf.parallel (%t) = (%first) to (%end) step (%c1) {
      scf.for %e = %c0 to %c40 step %c1 {
        %v = memref.load %x[%t, %e] : memref<?x40xi32>
        memref.store %v, %y[%t, %e] : memref<?x40xi32>
      }
    }
    // CHECK-NEXT: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[WARP]], %c0
    // CHECK-NEXT: scf.if %[[IS_FIRST]] {
    // CHECK:        scf.for %{{.*}} = %[[LANE]] to %c40 step %c32 {
    // CHECK:      gpu.barrier
    scf.for %e = %c0 to %c40 step %c1 {
      %v = memref.load %y[%chunk, %e] : memref<?x40xi32>
      %s = arith.addi %v, %one : i32
      memref.store %s, %y[%chunk, %e] : memref<?x40xi32>
    }
  }
  kernel.return
}
