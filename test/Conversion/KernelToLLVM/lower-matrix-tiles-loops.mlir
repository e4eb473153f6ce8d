// RUN: moe-opt %s --kernel-lower-matrix-tiles --verify-diagnostics | FileCheck %s

// Row tiles in unusual places.
module attributes {kernel.target = #x86.target<cpu = "sapphirerapids", rows = 6, columns = 64, vector = 16, dot_bf16 = true, matrix_rows = 32>} {

// Rows are counted in i32: the lines that follow are not worked out, and those of this column block are asked for.
// CHECK-LABEL: kernel.func @rows_in_i32
// CHECK-NOT:     hint = 2
// CHECK:         hint = 3
// CHECK-NOT:     hint = 2
// CHECK:         "llvm.x86.tdpbf16ps"
// CHECK-NOT:     hint = 2
// CHECK:         kernel.return
kernel.func @rows_in_i32(%x: memref<?x64xbf16>, %w: memref<2x32x64x2xbf16>, %y: memref<?x128xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant 0 : i32
  %max = arith.constant 32 : i32
  %m = memref.dim %x, %c0 : memref<?x64xbf16>
  %end = arith.index_cast %m : index to i32
  scf.forall (%n, %record) in (2, 1) {
    %col = arith.muli %n, %c64 : index
    scf.for %r = %none to %end step %max : i32 {
      %start = arith.index_cast %r : i32 to index
      %left = arith.subi %m, %start : index
      kernel.row_tile %left max 32 {
        %rows = kernel.row_indices %start {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : !kernel.rows<32>
        %zero = kernel.zero : !kernel.acc<32x64xf32>
        %acc = scf.for %k = %c0 to %c64 step %c2 iter_args(%a = %zero) -> (!kernel.acc<32x64xf32>) {
          %next = kernel.mma %a, %x[%rows, %k], %w[%n, %k, %c0]
              : !kernel.acc<32x64xf32>, memref<?x64xbf16>, memref<2x32x64x2xbf16>
          scf.yield %next : !kernel.acc<32x64xf32>
        }
        kernel.store_tile %acc -> %y[%rows, %col] {
        ^bb0(%row: index, %c: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<32x64xf32>), memref<?x128xf32>
      }
    }
  } {kernel.columns_inside}
  kernel.return
}

// What has no size that is known is no weight: nothing is asked for.
// CHECK-LABEL: kernel.func @unknown_columns
// CHECK-NOT:     llvm.intr.prefetch
// CHECK:         "llvm.x86.tdpbf16ps"
// CHECK-NOT:     llvm.intr.prefetch
// CHECK:         kernel.return
kernel.func @unknown_columns(%x: memref<?x64xbf16>, %w: memref<2x32x?x2xbf16>, %y: memref<?x128xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %m = memref.dim %x, %c0 : memref<?x64xbf16>
  scf.forall (%n, %record) in (2, 1) {
    %col = arith.muli %n, %c64 : index
    scf.for %start = %c0 to %m step %c32 {
      %left = arith.subi %m, %start : index
      kernel.row_tile %left max 32 {
        %rows = kernel.row_indices %start {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : !kernel.rows<32>
        %zero = kernel.zero : !kernel.acc<32x64xf32>
        %acc = scf.for %k = %c0 to %c64 step %c2 iter_args(%a = %zero) -> (!kernel.acc<32x64xf32>) {
          %next = kernel.mma %a, %x[%rows, %k], %w[%n, %k, %c0]
              : !kernel.acc<32x64xf32>, memref<?x64xbf16>, memref<2x32x?x2xbf16>
          scf.yield %next : !kernel.acc<32x64xf32>
        }
        kernel.store_tile %acc -> %y[%rows, %col] {
        ^bb0(%row: index, %c: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<32x64xf32>), memref<?x128xf32>
      }
    }
  } {kernel.columns_inside}
  kernel.return
}

// A loop over rows that has a result besides: as with i32.
// CHECK-LABEL: kernel.func @loop_with_result
// CHECK-NOT:     hint = 2
// CHECK:         hint = 3
// CHECK-NOT:     hint = 2
// CHECK:         "llvm.x86.tdpbf16ps"
// CHECK-NOT:     hint = 2
// CHECK:         kernel.return
kernel.func @loop_with_result(%x: memref<?x64xbf16>, %w: memref<2x32x64x2xbf16>, %y: memref<?x128xf32>, %counts: memref<2xindex>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %m = memref.dim %x, %c0 : memref<?x64xbf16>
  scf.forall (%n, %record) in (2, 1) {
    %col = arith.muli %n, %c64 : index
    %count = scf.for %start = %c0 to %m step %c32 iter_args(%sum = %c0) -> (index) {
      %left = arith.subi %m, %start : index
      kernel.row_tile %left max 32 {
        %rows = kernel.row_indices %start {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : !kernel.rows<32>
        %zero = kernel.zero : !kernel.acc<32x64xf32>
        %acc = scf.for %k = %c0 to %c64 step %c2 iter_args(%a = %zero) -> (!kernel.acc<32x64xf32>) {
          %next = kernel.mma %a, %x[%rows, %k], %w[%n, %k, %c0]
              : !kernel.acc<32x64xf32>, memref<?x64xbf16>, memref<2x32x64x2xbf16>
          scf.yield %next : !kernel.acc<32x64xf32>
        }
        kernel.store_tile %acc -> %y[%rows, %col] {
        ^bb0(%row: index, %c: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<32x64xf32>), memref<?x128xf32>
      }
      %more = arith.addi %sum, %left : index
      scf.yield %more : index
    }
    memref.store %count, %counts[%n] : memref<2xindex>
  } {kernel.columns_inside}
  kernel.return
}

// A tile in a tile: both stay.
// CHECK-LABEL: kernel.func @nested
// CHECK:         kernel.row_tile
// CHECK:         kernel.row_tile
// CHECK:         kernel.mma
// CHECK-NOT:     llvm.x86
// CHECK:         kernel.return
kernel.func @nested(%x: memref<?x64xbf16>, %w: memref<2x32x64x2xbf16>, %y: memref<?x128xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %m = memref.dim %x, %c0 : memref<?x64xbf16>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %c64 : index
    scf.for %start = %c0 to %m step %c32 {
      %left = arith.subi %m, %start : index
      // expected-warning @+1 {{a tile of up to 32 rows stays on vector registers, which hold 6 of them}}
      kernel.row_tile %left max 32 {
        // expected-warning @+1 {{a tile of up to 32 rows stays on vector registers, which hold 6 of them}}
        kernel.row_tile %left max 32 {
          %rows = kernel.row_indices %start {
          ^bb0(%i: index):
            kernel.yield %i : index
          } : !kernel.rows<32>
          %zero = kernel.zero : !kernel.acc<32x64xf32>
          %acc = scf.for %k = %c0 to %c64 step %c2 iter_args(%a = %zero) -> (!kernel.acc<32x64xf32>) {
            %next = kernel.mma %a, %x[%rows, %k], %w[%n, %k, %c0]
                : !kernel.acc<32x64xf32>, memref<?x64xbf16>, memref<2x32x64x2xbf16>
            scf.yield %next : !kernel.acc<32x64xf32>
          }
          kernel.store_tile %acc -> %y[%rows, %col] {
          ^bb0(%row: index, %c: index, %v: f32):
            kernel.yield %v : f32
          } : (!kernel.acc<32x64xf32>), memref<?x128xf32>
        }
      }
    }
  }
  kernel.return
}
}
