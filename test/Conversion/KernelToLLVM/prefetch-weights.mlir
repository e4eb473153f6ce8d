// RUN: moe-opt %s --pass-pipeline='builtin.module(kernel.func(kernel-prefetch-weights))' | FileCheck %s

module attributes {kernel.target = #x86.target<rows = 6, columns = 64, vector = 16>} {

// Row tiles 1 to 4 fetch what follows, a cache line per step of K; the others do not. Step s of row tile 1 + q asks for line
// q * 32 + s behind the end of this part of K, which here is all of K: so of the next column block. Behind the last column
// block there is none: it fetches itself, which it has. With more than 48 rows, tiles 1 to 8 ask for line (q * 32 + s) / 2; with
// more than 96 rows, tiles 1 to 16 for line (q * 32 + s) / 4.
// CHECK-LABEL: kernel.func @product
// CHECK:       scf.forall (%[[COL:.*]], %[[T:.*]]) in
// CHECK:         scf.for %[[ROW:[a-z0-9]+]] = %[[FIRST:[a-z0-9]+]] to %[[ROWS:[a-z0-9]+]] step %[[SIX:[a-z0-9]+]] {
// CHECK:           %[[DISTANCE:.*]] = arith.subi %[[ROW]], %[[FIRST]]
// CHECK:           %[[NUMBER:.*]] = arith.divui %[[DISTANCE]], %[[SIX]]
// CHECK:           %[[TURN:.*]] = arith.subi %[[NUMBER]], %c1{{(_[0-9]+)?}} :
// CHECK:           %[[HEIGHT:.*]] = arith.subi %[[ROWS]], %[[FIRST]]
// CHECK:           %[[EIGHT:.*]] = arith.muli %[[SIX]], %c8{{(_[0-9]+)?}} :
// CHECK:           %[[MORE:.*]] = arith.cmpi sgt, %[[HEIGHT]], %[[EIGHT]]
// CHECK:           %[[HALF:.*]] = arith.select %[[MORE]], %c1{{(_[0-9]+)?}}, %c0{{(_[0-9]+)?}} :
// CHECK:           %[[SIXTEEN:.*]] = arith.muli %[[SIX]], %c16{{(_[0-9]+)?}} :
// CHECK:           %[[MOST:.*]] = arith.cmpi sgt, %[[HEIGHT]], %[[SIXTEEN]]
// CHECK:           %[[SHIFT:.*]] = arith.select %[[MOST]], %c2{{(_[0-9]+)?}}, %[[HALF]] :
// CHECK:           %[[TURNS:.*]] = arith.shli %c4{{(_[0-9]+)?}}, %[[SHIFT]]
// CHECK:           %[[FETCHES:.*]] = arith.cmpi ult, %[[TURN]], %[[TURNS]]
// CHECK:           scf.if %[[FETCHES]] {
// CHECK:             kernel.row_tile
// CHECK:               %[[LINES:.*]] = memref.collapse_shape %{{.*}} {{\[\[}}0], [1], [2, 3, 4]] : memref<8x3x32x64x2xbf16> into memref<8x3x4096xbf16>
// CHECK:               %[[END:.*]] = arith.ceildivui %c64{{(_[0-9]+)?}}, %c2{{(_[0-9]+)?}} :
// CHECK:               %[[ALL:.*]] = memref.dim
// CHECK:               %[[LAST:.*]] = arith.cmpi uge, %[[END]], %[[ALL]]
// CHECK:               %[[NEXT:.*]] = arith.addi %[[COL]], %c1{{(_[0-9]+)?}} :
// CHECK:               %[[BLOCK:.*]] = arith.minui %[[NEXT]], %c2{{(_[0-9]+)?}} :
// CHECK:               %[[FROM:.*]] = arith.select %[[LAST]], %[[BLOCK]], %[[COL]]
// CHECK:               %[[REST:.*]] = arith.select %[[LAST]], %c0{{(_[0-9]+)?}}, %[[END]]
// CHECK:               %[[STEPS:.*]] = arith.divui
// CHECK:               %[[LATEST:.*]] = arith.subi %{{.*}}, %[[STEPS]]
// CHECK:               %[[START:.*]] = arith.minui %[[REST]], %[[LATEST]]
// CHECK:               %[[BEGIN:.*]] = arith.muli %[[START]], %c4{{(_[0-9]+)?}} :
// CHECK:               %[[SHARE:.*]] = arith.muli %[[TURN]], %[[STEPS]]
// CHECK:               scf.for %[[K:[a-z0-9]+]] =
// CHECK:                 %[[IN:.*]] = arith.subi %[[K]], %c0
// CHECK:                 %[[STEP:.*]] = arith.divui %[[IN]], %c2{{(_[0-9]+)?}} :
// CHECK:                 %[[OF_ALL:.*]] = arith.addi %[[SHARE]], %[[STEP]]
// CHECK:                 %[[AMONG:.*]] = arith.shrui %[[OF_ALL]], %[[SHIFT]]
// CHECK:                 %[[LINE:.*]] = arith.addi %[[BEGIN]], %[[AMONG]]
// CHECK:                 %[[AT:.*]] = arith.muli %[[LINE]], %c32{{(_[0-9]+)?}} :
// CHECK:                 memref.prefetch %[[LINES]][%[[T]], %[[FROM]], %[[AT]]], read, locality<2>, data
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
}
