// RUN: moe-opt %s --split-input-file --pass-pipeline='builtin.module(kernel.func(kernel-distribute-warps),canonicalize,cse)' | FileCheck %s

// Rows go to warps; a reduction is finished by shuffles, independent stores are shared by lanes.
// CHECK-LABEL: kernel.func @softmax_sum
// CHECK-SAME:  (%[[X:.*]]: memref<?x64xf32>, %[[Y:.*]]: memref<?x64xf32>)
kernel.func @softmax_sum(%x: memref<?x64xf32>, %y: memref<?x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  // CHECK-DAG: %[[LANE:.*]] = gpu.lane_id
  // CHECK-DAG: %[[C32:.*]] = arith.constant 32 : index
  // CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
  // CHECK-DAG: %[[START:.*]] = arith.constant 1.000000e+00 : f32
  // CHECK:     scf.for
  scf.forall (%r) in (%n) {
    %one = arith.constant 1.0 : f32
    // The carried value starts neutral in every lane; what it started with is added once, at the end.
    // CHECK:      %[[PART:.*]] = scf.for %{{.*}} = %[[LANE]] to %[[C64]] step %[[C32]] iter_args(%{{.*}} = %[[ZERO]])
    %sum = scf.for %i = %c0 to %c64 step %c1 iter_args(%a = %one) -> (f32) {
      %v = memref.load %x[%r, %i] : memref<?x64xf32>
      %s = arith.addf %a, %v fastmath<reassoc> : f32
      scf.yield %s : f32
    }
    // CHECK:      %[[OTHER:.*]], %{{.*}} = gpu.shuffle xor %[[PART]], %{{.*}}, %{{.*}} : f32
    // CHECK-NEXT: arith.addf %[[PART]], %[[OTHER]]
    // CHECK-COUNT-4: gpu.shuffle xor
    // CHECK:      %[[SUM:.*]] = arith.addf %{{.*}}, %[[START]]
    // CHECK-NEXT: nvvm.bar.warp.sync
    // CHECK-NEXT: scf.for %[[I:.*]] = %[[LANE]] to %[[C64]] step %[[C32]] {
    // CHECK:        arith.divf %{{.*}}, %[[SUM]]
    // CHECK:      }
    // CHECK-NEXT: nvvm.bar.warp.sync
    scf.for %i = %c0 to %c64 step %c1 {
      %v = memref.load %x[%r, %i] : memref<?x64xf32>
      %o = arith.divf %v, %sum : f32
      memref.store %o, %y[%r, %i] : memref<?x64xf32>
    }
  }
  kernel.return
}

// -----

// An order that is part of the program stays: every lane reads all of it. Elements that other iterations wrote are lane 0's.
// CHECK-LABEL: kernel.func @serial
kernel.func @serial(%x: memref<8xf32>, %y: memref<9xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  scf.forall (%r) in (4) {
    // CHECK:     scf.for %{{.*}} = %c0 to %c8 step %c1 iter_args
    // CHECK-NOT: gpu.shuffle
    // CHECK:     nvvm.bar.warp.sync
    %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %zero) -> (f32) {
      %v = memref.load %x[%i] : memref<8xf32>
      %s = arith.addf %a, %v : f32
      scf.yield %s : f32
    }
    // CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq
    // CHECK-NEXT: %[[MERGED:.*]] = scf.if %[[FIRST]] -> (f32) {
    // CHECK-NEXT:   scf.for
    // CHECK:        memref.store
    // CHECK:      } else {
    // CHECK:      gpu.shuffle idx %[[MERGED]]
    // CHECK-NEXT: nvvm.bar.warp.sync
    %last = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %sum) -> (f32) {
      %v = memref.load %y[%i] : memref<9xf32>
      %s = arith.addf %a, %v : f32
      %next = arith.addi %i, %c1 : index
      memref.store %s, %y[%next] : memref<9xf32>
      scf.yield %s : f32
    }
    // CHECK-NEXT: scf.if %[[FIRST]] {
    // CHECK-NEXT:   memref.store
    // CHECK:      nvvm.bar.warp.sync
    memref.store %last, %y[%r] : memref<9xf32>
  }
  kernel.return
}

// -----

// A loop that carries nothing and holds another one stays; the inner one is shared.
// CHECK-LABEL: kernel.func @nested
kernel.func @nested(%x: memref<4x64xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  scf.forall (%r) in (1) {
    // CHECK: scf.for %{{.*}} = %c0 to %c4 step %c1 {
    scf.for %k = %c0 to %c4 step %c1 {
      // CHECK-NEXT: nvvm.bar.warp.sync
      // CHECK-NEXT: scf.for %{{.*}} = %{{.*}} to %c64 step %c32
      scf.for %i = %c0 to %c64 step %c1 {
        %v = memref.load %x[%k, %i] : memref<4x64xf32>
        %a = memref.load %y[%i] : memref<64xf32>
        %s = arith.addf %a, %v : f32
        memref.store %s, %y[%i] : memref<64xf32>
      }
    }
  }
  kernel.return
}

// -----

// Without a loop over rows the first warp does everything that writes.
// CHECK-LABEL: kernel.func @single
kernel.func @single(%x: memref<?xi32>, %y: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %n = memref.dim %x, %c0 : memref<?xi32>
  // CHECK: %[[FIRST:.*]] = arith.cmpi eq
  // CHECK: scf.if %[[FIRST]] {
  // CHECK:   scf.if
  // CHECK-NEXT: memref.store
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (i32) {
    %v = memref.load %x[%i] : memref<?xi32>
    %s = arith.addi %a, %v : i32
    scf.yield %s : i32
  }
  memref.store %sum, %y[%c0] : memref<1xi32>
  kernel.return
}
