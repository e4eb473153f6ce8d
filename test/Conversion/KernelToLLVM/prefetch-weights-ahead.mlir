// RUN: moe-opt %s --pass-pipeline='builtin.module(kernel.func(kernel-prefetch-weights))' | FileCheck %s

// A target on which a stream of weights arrives faster if it is asked for: 4 KiB, 16 steps of 4 cache lines.
module attributes {kernel.target = #x86.target<rows = 6, columns = 64, vector = 16, stream_ahead = 4096>} {

// The first tile of a loop over rows asks for its own weights. All others take them from the second-level cache, half as
// far ahead, into the first-level one; the next four also ask for what follows.
// CHECK-LABEL: kernel.func @inside
// CHECK:         scf.for %[[ROW:[a-z0-9]+]] = %[[LOWER:[a-z0-9]+]] to
// CHECK:         %[[DISTANCE:.*]] = arith.subi %[[ROW]], %[[LOWER]]
// CHECK:         %[[FIRST:.*]] = arith.cmpi eq, %[[DISTANCE]], %c0
// CHECK:         scf.if %[[FIRST]] {
// CHECK:           %[[LINES:.*]] = memref.collapse_shape %{{.*}} into memref<8x3x8192xf32>
// CHECK:           scf.for %[[K:[a-z0-9]+]] =
// CHECK:             %[[STEP:.*]] = arith.divui %[[K]], %c1
// CHECK:             %[[AHEAD:.*]] = arith.addi %[[STEP]], %c16
// CHECK:             %[[LINE:.*]] = arith.muli %[[AHEAD]], %c4
// CHECK:             arith.addi %[[LINE]], %c0
// CHECK-COUNT-4:     memref.prefetch %[[LINES]][%{{.*}}, %{{.*}}, %{{.*}}], read, locality<2>, data
// CHECK-NOT:         memref.prefetch
// CHECK:             kernel.mma
// CHECK:         } else {
// CHECK:           %[[NEXT:.*]] = arith.cmpi ult
// CHECK:           scf.if %[[NEXT]] {
// CHECK:             scf.for
// CHECK:             memref.prefetch {{.*}} locality<2>
// CHECK:             %[[NEAR:.*]] = arith.addi %{{.*}}, %c8
// CHECK:             arith.muli %[[NEAR]], %c4
// CHECK-COUNT-4:     memref.prefetch {{.*}} locality<3>
// CHECK-NOT:         memref.prefetch
// CHECK:             kernel.mma
// CHECK:           } else {
// CHECK:             scf.for
// CHECK:             arith.addi %{{.*}}, %c8
// CHECK-COUNT-4:     memref.prefetch {{.*}} locality<3>
// CHECK-NOT:         memref.prefetch
// CHECK:             kernel.mma
// CHECK:         kernel.return
kernel.func @inside(%x: memref<?x128xf32>, %w: memref<8x3x128x64xf32>, %y: memref<?x192xf32>, %tiles: index, %rows: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %c128 = arith.constant 128 : index
  scf.forall (%col, %t) in (%c3, %tiles) {
    scf.for %row = %t to %rows step %c6 {
      %left = arith.subi %rows, %row : index
      kernel.row_tile %left max 6 {
        %r = kernel.row_indices %row {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : <6>
        %zero = kernel.zero : <6x64xf32>
        %acc = scf.for %k = %c0 to %c128 step %c1 iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
          %s = kernel.mma %a, %x[%r, %k], %w[%t, %col, %k, %c0] : !kernel.acc<6x64xf32>, memref<?x128xf32>, memref<8x3x128x64xf32>
          scf.yield %s : !kernel.acc<6x64xf32>
        }
        kernel.store_tile %acc -> %y[%r, %c0] {
        ^bb0(%i: index, %j: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<6x64xf32>), memref<?x192xf32>
      }
    }
  } {kernel.columns_inside}
  kernel.return
}

// Where the next column block is not the next work, nobody asks for it.
// CHECK-LABEL: kernel.func @other_order
// CHECK:         scf.if
// CHECK-COUNT-4:   memref.prefetch {{.*}} locality<2>
// CHECK-NOT:       memref.prefetch
// CHECK:           kernel.mma
// CHECK:         } else {
// CHECK-NOT:       scf.if
// CHECK-COUNT-4:   memref.prefetch {{.*}} locality<3>
// CHECK-NOT:       memref.prefetch
// CHECK:           kernel.mma
// CHECK:         kernel.return
kernel.func @other_order(%x: memref<?x128xf32>, %w: memref<8x3x128x64xf32>, %y: memref<?x192xf32>, %tiles: index, %rows: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %c128 = arith.constant 128 : index
  scf.forall (%col, %t) in (%c3, %tiles) {
    scf.for %row = %t to %rows step %c6 {
      %left = arith.subi %rows, %row : index
      kernel.row_tile %left max 6 {
        %r = kernel.row_indices %row {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : <6>
        %zero = kernel.zero : <6x64xf32>
        %acc = scf.for %k = %c0 to %c128 step %c1 iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
          %s = kernel.mma %a, %x[%r, %k], %w[%t, %col, %k, %c0] : !kernel.acc<6x64xf32>, memref<?x128xf32>, memref<8x3x128x64xf32>
          scf.yield %s : !kernel.acc<6x64xf32>
        }
        kernel.store_tile %acc -> %y[%r, %c0] {
        ^bb0(%i: index, %j: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<6x64xf32>), memref<?x192xf32>
      }
    }
  }
  kernel.return
}

// A tile that is no part of a loop is the first one.
// CHECK-LABEL: kernel.func @alone
// CHECK-NOT:     scf.if
// CHECK-COUNT-4: memref.prefetch {{.*}} locality<2>
// CHECK-NOT:     memref.prefetch
// CHECK:         kernel.mma
// CHECK-NOT:     kernel.mma
// CHECK:         kernel.return
kernel.func @alone(%x: memref<?x128xf32>, %w: memref<8x3x128x64xf32>, %y: memref<?x192xf32>, %tiles: index, %rows: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %c128 = arith.constant 128 : index
  scf.forall (%col, %t) in (%c3, %tiles) {
    %row = arith.muli %t, %c6 : index
      %left = arith.subi %rows, %row : index
      kernel.row_tile %left max 6 {
        %r = kernel.row_indices %row {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : <6>
        %zero = kernel.zero : <6x64xf32>
        %acc = scf.for %k = %c0 to %c128 step %c1 iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
          %s = kernel.mma %a, %x[%r, %k], %w[%t, %col, %k, %c0] : !kernel.acc<6x64xf32>, memref<?x128xf32>, memref<8x3x128x64xf32>
          scf.yield %s : !kernel.acc<6x64xf32>
        }
        kernel.store_tile %acc -> %y[%r, %c0] {
        ^bb0(%i: index, %j: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<6x64xf32>), memref<?x192xf32>
      }
  } {kernel.columns_inside}
  kernel.return
}

// What has no size that is known is no weight.
// CHECK-LABEL: kernel.func @unknown
// CHECK-NOT:     memref.prefetch
// CHECK:         kernel.return
kernel.func @unknown(%x: memref<?x128xf32>, %w: memref<8x3x?x64xf32>, %y: memref<?x192xf32>, %tiles: index, %rows: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %c128 = arith.constant 128 : index
  scf.forall (%col, %t) in (%c3, %tiles) {
    scf.for %row = %t to %rows step %c6 {
      %left = arith.subi %rows, %row : index
      kernel.row_tile %left max 6 {
        %r = kernel.row_indices %row {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : <6>
        %zero = kernel.zero : <6x64xf32>
        %acc = scf.for %k = %c0 to %c128 step %c1 iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
          %s = kernel.mma %a, %x[%r, %k], %w[%t, %col, %k, %c0] : !kernel.acc<6x64xf32>, memref<?x128xf32>, memref<8x3x?x64xf32>
          scf.yield %s : !kernel.acc<6x64xf32>
        }
        kernel.store_tile %acc -> %y[%r, %c0] {
        ^bb0(%i: index, %j: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<6x64xf32>), memref<?x192xf32>
      }
    }
  }
  kernel.return
}

// Weights that the loop over K chooses are no stream.
// CHECK-LABEL: kernel.func @index_inside
// CHECK-NOT:     memref.prefetch
// CHECK:         kernel.return
kernel.func @index_inside(%x: memref<?x128xf32>, %w: memref<8x3x128x64xf32>, %y: memref<?x192xf32>, %tiles: index, %rows: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %c128 = arith.constant 128 : index
  scf.forall (%col, %t) in (%c3, %tiles) {
    %row = arith.muli %t, %c6 : index
      %left = arith.subi %rows, %row : index
      kernel.row_tile %left max 6 {
        %r = kernel.row_indices %row {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : <6>
        %zero = kernel.zero : <6x64xf32>
        %acc = scf.for %k = %c0 to %c128 step %c1 iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
          %place = arith.addi %col, %c0 : index
          %s = kernel.mma %a, %x[%r, %k], %w[%t, %place, %k, %c0] : !kernel.acc<6x64xf32>, memref<?x128xf32>, memref<8x3x128x64xf32>
          scf.yield %s : !kernel.acc<6x64xf32>
        }
        kernel.store_tile %acc -> %y[%r, %c0] {
        ^bb0(%i: index, %j: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<6x64xf32>), memref<?x192xf32>
      }
  } {kernel.columns_inside}
  kernel.return
}

// A step whose weights are no whole cache lines (half a byte here) is left alone.
// CHECK-LABEL: kernel.func @half_a_byte
// CHECK-NOT:     memref.prefetch
// CHECK:         kernel.return
kernel.func @half_a_byte(%x: memref<?x4096xf4E2M1FN>, %w: memref<2x4096x1xf4E2M1FN>, %y: memref<?x2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c4096 = arith.constant 4096 : index
  %m = memref.dim %x, %c0 : memref<?x4096xf4E2M1FN>
  scf.forall (%n) in (2) {
    scf.for %r = %c0 to %m step %c6 {
      %left = arith.subi %m, %r : index
      kernel.row_tile %left max 6 {
        %rows = kernel.row_indices %r {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : <6>
        %zero = kernel.zero : <6x1xf32>
        %acc = scf.for %k = %c0 to %c4096 step %c1 iter_args(%a = %zero) -> (!kernel.acc<6x1xf32>) {
          %s = kernel.mma %a, %x[%rows, %k], %w[%n, %k, %c0] : !kernel.acc<6x1xf32>, memref<?x4096xf4E2M1FN>, memref<2x4096x1xf4E2M1FN>
          scf.yield %s : !kernel.acc<6x1xf32>
        }
        kernel.store_tile %acc -> %y[%rows, %n] {
        ^bb0(%i: index, %j: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<6x1xf32>), memref<?x2xf32>
      }
    }
  }
  kernel.return
}

}
