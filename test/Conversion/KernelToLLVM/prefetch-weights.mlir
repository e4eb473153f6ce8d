// RUN: moe-opt %s --pass-pipeline='builtin.module(kernel.func(kernel-prefetch-weights))' | FileCheck %s

// Row tiles 1 to 4 fetch the next column block, a cache line (16 columns' pairs) per step of K; the others do not. Step s of
// row tile 1 + q asks for line q * 32 + s: of step line / 4, columns 16 * (line % 4). Behind the last column block there is
// none: it fetches itself, which it has.
// CHECK-LABEL: kernel.func @product
// CHECK:       scf.forall (%[[COL:.*]], %[[T:.*]]) in
// CHECK:         scf.for %[[ROW:[a-z0-9]+]] = %[[FIRST:[a-z0-9]+]] to %{{.*}} step %[[SIX:[a-z0-9]+]] {
// CHECK:           %[[DISTANCE:.*]] = arith.subi %[[ROW]], %[[FIRST]]
// CHECK:           %[[NUMBER:.*]] = arith.divui %[[DISTANCE]], %[[SIX]]
// CHECK:           %[[TURN:.*]] = arith.subi %[[NUMBER]], %c1{{(_[0-9]+)?}} :
// CHECK:           %[[FETCHES:.*]] = arith.cmpi ult, %[[TURN]], %c4{{(_[0-9]+)?}} :
// CHECK:           scf.if %[[FETCHES]] {
// CHECK:             %[[NEXT:.*]] = arith.addi %[[COL]], %c1{{(_[0-9]+)?}} :
// CHECK:             %[[BLOCK:.*]] = arith.minui %[[NEXT]], %c2{{(_[0-9]+)?}} :
// CHECK:             kernel.row_tile
// CHECK:               %[[START:.*]] = arith.muli %[[TURN]], %{{.*}} : index
// CHECK:               scf.for %[[K:[a-z0-9]+]] =
// CHECK:                 %[[STEP:.*]] = arith.divui %[[K]], %c2{{(_[0-9]+)?}} :
// CHECK:                 %[[LINE:.*]] = arith.addi %[[START]], %[[STEP]]
// CHECK:                 %[[REST:.*]] = arith.remui %[[LINE]], %c4{{(_[0-9]+)?}} :
// CHECK:                 %[[COLUMN:.*]] = arith.muli %[[REST]], %c16{{(_[0-9]+)?}} :
// CHECK:                 %[[AT:.*]] = arith.divui %[[LINE]], %c4{{(_[0-9]+)?}} :
// CHECK:                 memref.prefetch %{{.*}}[%{{.*}}, %[[BLOCK]], %[[AT]], %[[COLUMN]], %c0{{.*}}], read, locality<2>, data
// CHECK:                 kernel.mma
// CHECK:           } else {
// CHECK:             kernel.row_tile
// CHECK-NOT:           memref.prefetch
// CHECK:               kernel.mma
kernel.func @product(%x: memref<?x64xbf16>, %w: memref<8x3x32x64x2xbf16>, %y: memref<?x192xf32>, %tiles: index, %rows: index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %c64 = arith.constant 64 : index
  scf.forall (%col, %t) in (%c3, %tiles) {
    scf.for %row = %t to %rows step %c6 {
      %left = arith.subi %rows, %row : index
      kernel.row_tile %left max 6 {
        %r = kernel.row_indices %row {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : <6>
        %zero = kernel.zero : <6x64xf32>
        %acc = scf.for %k = %c0 to %c64 step %c2 iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
          %s = kernel.mma %a, %x[%r, %k], %w[%t, %col, %k, %c0] : !kernel.acc<6x64xf32>, memref<?x64xbf16>, memref<8x3x32x64x2xbf16>
          scf.yield %s : !kernel.acc<6x64xf32>
        }
        %column = arith.muli %col, %c64 : index
        kernel.store_tile %acc -> %y[%r, %column] {
        ^bb0(%i: index, %j: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<6x64xf32>), memref<?x192xf32>
      }
    }
  } {kernel.columns_inside}
  kernel.return
}

// Without the attribute the next column block is not the next work of the thread.
// CHECK-LABEL: kernel.func @other_order
// CHECK-NOT:     memref.prefetch
kernel.func @other_order(%x: memref<?x64xbf16>, %w: memref<3x32x64x2xbf16>, %y: memref<?x192xf32>, %tiles: index, %rows: index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %c64 = arith.constant 64 : index
  scf.forall (%col, %t) in (%c3, %tiles) {
    scf.for %row = %t to %rows step %c6 {
      %left = arith.subi %rows, %row : index
      kernel.row_tile %left max 6 {
        %r = kernel.row_indices %row {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : <6>
        %zero = kernel.zero : <6x64xf32>
        %acc = scf.for %k = %c0 to %c64 step %c2 iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
          %s = kernel.mma %a, %x[%r, %k], %w[%col, %k, %c0] : !kernel.acc<6x64xf32>, memref<?x64xbf16>, memref<3x32x64x2xbf16>
          scf.yield %s : !kernel.acc<6x64xf32>
        }
        %column = arith.muli %col, %c64 : index
        kernel.store_tile %acc -> %y[%r, %column] {
        ^bb0(%i: index, %j: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<6x64xf32>), memref<?x192xf32>
      }
    }
  }
  kernel.return
}

// A row tile that passes the column block in strips leaves the next one alone.
// CHECK-LABEL: kernel.func @strips
// CHECK-NOT:     memref.prefetch
kernel.func @strips(%x: memref<?x64xbf16>, %w: memref<8x3x32x64x2xbf16>, %y: memref<?x192xf32>, %tiles: index, %rows: index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  scf.forall (%col, %t) in (%c3, %tiles) {
    scf.for %row = %t to %rows step %c6 {
      %left = arith.subi %rows, %row : index
      kernel.row_tile %left max 6 {
        %r = kernel.row_indices %row {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : <6>
        scf.for %strip = %c0 to %c64 step %c16 {
          %zero = kernel.zero : <6x16xf32>
          %acc = scf.for %k = %c0 to %c64 step %c2 iter_args(%a = %zero) -> (!kernel.acc<6x16xf32>) {
            %s = kernel.mma %a, %x[%r, %k], %w[%t, %col, %k, %strip] : !kernel.acc<6x16xf32>, memref<?x64xbf16>, memref<8x3x32x64x2xbf16>
            scf.yield %s : !kernel.acc<6x16xf32>
          }
          %first = arith.muli %col, %c64 : index
          %column = arith.addi %first, %strip : index
          kernel.store_tile %acc -> %y[%r, %column] {
          ^bb0(%i: index, %j: index, %v: f32):
            kernel.yield %v : f32
          } : (!kernel.acc<6x16xf32>), memref<?x192xf32>
        }
      }
    }
  } {kernel.columns_inside}
  kernel.return
}
