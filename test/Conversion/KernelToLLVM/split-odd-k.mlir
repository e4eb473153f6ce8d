// RUN: moe-opt %s --kernel-split-odd-k --split-input-file | FileCheck %s
// RUN: moe-opt %s --kernel-split-odd-k --split-input-file -o %t && moe-opt %t --kernel-split-odd-k --split-input-file | diff %t -

// The main loop ends at the last whole pair, what remains is a loop of at most one step that tests.
// CHECK-LABEL: kernel.func @dynamic
// CHECK-SAME: (%[[A:.*]]: memref<?x?xbf16>, {{.*}}, %[[K:.*]]: index)
// CHECK: %[[SIZE:.*]] = memref.dim %[[A]], %c1
// CHECK: %[[BOUND:.*]] = arith.minsi %[[K]], %[[SIZE]]
// CHECK: %[[LENGTH:.*]] = arith.subi %[[BOUND]], %c0
// CHECK: %[[PAIRS:.*]] = arith.shrsi %[[LENGTH]], %c1
// CHECK: %[[EVEN:.*]] = arith.shli %[[PAIRS]], %c1
// CHECK: %[[END:.*]] = arith.addi %c0, %[[EVEN]]
// CHECK: %[[MIDDLE:.*]] = arith.maxsi %[[END]], %c0
// CHECK: %[[MAIN:.*]] = scf.for %{{.*}} = %c0 to %[[MIDDLE]] step %c2 iter_args
// CHECK:   kernel.mma {{.*}} {inbounds}
// CHECK: %[[REST:.*]] = scf.for %{{.*}} = %[[MIDDLE]] to %[[K]] step %c2 iter_args(%{{.*}} = %[[MAIN]])
// CHECK-NOT: inbounds
// CHECK: kernel.store_tile %[[REST]]
kernel.func @dynamic(%a: memref<?x?xbf16>, %b: memref<1x?x16x2xbf16>, %y: memref<?x16xf32>, %k: index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %rows = kernel.row_indices %c0 {
  ^bb0(%i: index):
    kernel.yield %i : index
  } : !kernel.rows<1>
  %zero = kernel.zero : !kernel.acc<1x16xf32>
  %acc = scf.for %kk = %c0 to %k step %c2 iter_args(%s = %zero) -> (!kernel.acc<1x16xf32>) {
    %next = kernel.mma %s, %a[%rows, %kk], %b[%c0, %kk, %c0]
        : !kernel.acc<1x16xf32>, memref<?x?xbf16>, memref<1x?x16x2xbf16>
    scf.yield %next : !kernel.acc<1x16xf32>
  }
  kernel.store_tile %acc -> %y[%rows, %c0] {
  ^bb0(%r: index, %c: index, %v: f32):
    kernel.yield %v : f32
  } : (!kernel.acc<1x16xf32>), memref<?x16xf32>
  kernel.return
}

// -----

// An even number of columns has no half pair: no split. Products of one element per step are left alone.
// CHECK-LABEL: kernel.func @even
// CHECK: scf.for
// CHECK: kernel.mma {{.*}} {inbounds}
// CHECK: scf.for
// CHECK-NOT: inbounds
// CHECK-NOT: scf.for
kernel.func @even(%a: memref<?x8xbf16>, %b: memref<1x4x16x2xbf16>, %f: memref<?x7xf32>, %g: memref<1x7x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %rows = kernel.row_indices %c0 {
  ^bb0(%i: index):
    kernel.yield %i : index
  } : !kernel.rows<1>
  %zero = kernel.zero : !kernel.acc<1x16xf32>
  %pairs = scf.for %kk = %c0 to %c8 step %c2 iter_args(%s = %zero) -> (!kernel.acc<1x16xf32>) {
    %next = kernel.mma %s, %a[%rows, %kk], %b[%c0, %kk, %c0]
        : !kernel.acc<1x16xf32>, memref<?x8xbf16>, memref<1x4x16x2xbf16>
    scf.yield %next : !kernel.acc<1x16xf32>
  }
  %single = scf.for %kk = %c0 to %c7 step %c1 iter_args(%s = %pairs) -> (!kernel.acc<1x16xf32>) {
    %next = kernel.mma %s, %f[%rows, %kk], %g[%c0, %kk, %c0]
        : !kernel.acc<1x16xf32>, memref<?x7xf32>, memref<1x7x16xf32>
    scf.yield %next : !kernel.acc<1x16xf32>
  }
  kernel.return
}

// -----

// Pairs from a start that may be odd: of a minimum both must be even.
// CHECK-LABEL: kernel.func @odd_start
// CHECK: scf.for
// CHECK-NOT: inbounds
// CHECK-NOT: scf.for
// CHECK: kernel.return
kernel.func @odd_start(%a: memref<?x?xbf16>, %b: memref<1x?x16x2xbf16>, %y: memref<?x16xf32>, %k: index, %start: index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %from = arith.minsi %c64, %start : index
  %rows = kernel.row_indices %c0 {
  ^bb0(%i: index):
    kernel.yield %i : index
  } : !kernel.rows<1>
  %zero = kernel.zero : !kernel.acc<1x16xf32>
  %acc = scf.for %kk = %from to %k step %c2 iter_args(%s = %zero) -> (!kernel.acc<1x16xf32>) {
    %next = kernel.mma %s, %a[%rows, %kk], %b[%c0, %kk, %c0]
        : !kernel.acc<1x16xf32>, memref<?x?xbf16>, memref<1x?x16x2xbf16>
    scf.yield %next : !kernel.acc<1x16xf32>
  }
  kernel.store_tile %acc -> %y[%rows, %c0] {
  ^bb0(%r: index, %c: index, %v: f32):
    kernel.yield %v : f32
  } : (!kernel.acc<1x16xf32>), memref<?x16xf32>
  kernel.return
}
