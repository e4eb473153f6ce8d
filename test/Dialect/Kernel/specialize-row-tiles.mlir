// RUN: moe-opt %s --kernel-specialize-row-tiles --split-input-file | FileCheck %s
// RUN: moe-opt %s --kernel-specialize-row-tiles --split-input-file -o %t && moe-opt %t --kernel-specialize-row-tiles --split-input-file | diff %t -

// The full tile is tested for first; a switch holds one copy for each smaller number of rows.
// CHECK-LABEL: kernel.func @dynamic
// CHECK-SAME: (%{{.*}}: memref<?x8xf32>, %[[N:.*]]: index)
// CHECK: %[[MAX:.*]] = arith.constant 3 : index
// CHECK: %[[FULL:.*]] = arith.cmpi sge, %[[N]], %[[MAX]] : index
// CHECK: scf.if %[[FULL]] {
// CHECK:   kernel.row_indices {{.*}} {
// CHECK:   } : <3>
// CHECK:   kernel.zero : <3x8xf32>
// CHECK:   scf.for {{.*}} -> (!kernel.acc<3x8xf32>)
// CHECK: } else {
// CHECK:   scf.index_switch %[[N]]
// CHECK:   case 1 {
// CHECK:     } : <1>
// CHECK:     kernel.zero : <1x8xf32>
// CHECK:     scf.for {{.*}} -> (!kernel.acc<1x8xf32>)
// CHECK:   case 2 {
// CHECK:     } : <2>
// CHECK:     kernel.store_tile {{.*}}
// CHECK:     (!kernel.acc<2x8xf32>), memref<?x8xf32>
// CHECK:   default {
// CHECK-NEXT: }
// CHECK-NOT: kernel.row_tile
kernel.func @dynamic(%y: memref<?x8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  kernel.row_tile %n max 3 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<3>
    %zero = kernel.zero : !kernel.acc<3x8xf32>
    %acc = scf.for %k = %c0 to %c1 step %c1 iter_args(%a = %zero) -> (!kernel.acc<3x8xf32>) {
      scf.yield %a : !kernel.acc<3x8xf32>
    }
    kernel.store_tile %acc -> %y[%rows, %c0] {
    ^bb0(%r: index, %c: index, %v: f32):
      kernel.yield %v : f32
    } : (!kernel.acc<3x8xf32>), memref<?x8xf32>
  }
  kernel.return
}

// -----

// A known number of rows needs no test.
// CHECK-LABEL: kernel.func @static_sizes
// CHECK-NOT: scf
// CHECK: kernel.zero : <2x8xf32>
// CHECK-NOT: kernel.zero
kernel.func @static_sizes() {
  %c2 = arith.constant 2 : index
  kernel.row_tile %c2 max 6 {
    %zero = kernel.zero : !kernel.acc<6x8xf32>
  }
  kernel.return
}
