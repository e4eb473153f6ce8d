// RUN: moe-opt %s --pass-pipeline='builtin.module(kernel.func(kernel-chunk-depth))' | FileCheck %s
// RUN: moe-opt %s --pass-pipeline='builtin.module(kernel.func(kernel-chunk-depth))' --remarks-filter=kernel-chunk-depth --remark-format=emitRemark -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: moe-opt %t --pass-pipeline='builtin.module(kernel.func(kernel-chunk-depth))' | diff %t -

// REMARK-DAG: remark: [Passed] Chunks | Category:kernel-chunk-depth | Function=product | elements=256
// REMARK-DAG: Function=matrix | elements=2048
// REMARK-NOT: Function=short

module attributes {kernel.target = #x86.target<cpu = "sapphirerapids", rows = 6, columns = 64, vector = 16, dot_bf16 = true, matrix_rows = 32>} {

// One tile takes all of K. More take 256 steps (64 KiB of weights) each in turn, and their sums wait in memory; the epilogue
// comes last.
// CHECK-LABEL: kernel.func @product
// CHECK:         %[[SUMS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<384x64xf32>
// CHECK:         scf.forall (%[[COL:.*]]) in
// CHECK:           %[[HEIGHT:.*]] = arith.subi %[[M:[a-z0-9]+]], %c0
// CHECK:           %[[SINGLE:.*]] = arith.cmpi sle, %[[HEIGHT]], %c6
// CHECK:           scf.if %[[SINGLE]] {
// CHECK:             %[[SOME:.*]] = arith.cmpi sgt, %[[HEIGHT]]
// CHECK:             scf.if %[[SOME]] {
// CHECK:               kernel.row_tile %{{.*}} max 6 {
// CHECK:                 scf.for %{{.*}} = %c0 to %c2048 step %c1
// CHECK:           } else {
// CHECK:             scf.for %[[GROUP:[a-z0-9]+]] = %c0 to %[[M]] step %c384
// CHECK:               %[[END:.*]] = arith.minsi %{{.*}}, %[[M]]
// CHECK:               %[[ROWS:.*]] = memref.subview %[[SUMS]]
// CHECK:               linalg.fill {{.*}} outs(%[[ROWS]]
// CHECK:               scf.for %[[K:[a-z0-9]+]] = %c0 to %c2048 step %c256
// CHECK:                 %[[TO:.*]] = arith.minsi %{{.*}}, %c2048
// CHECK:                 scf.for %[[ROW:[a-z0-9]+]] = %[[GROUP]] to %[[END]] step %c6
// CHECK:                   %[[LEFT:.*]] = arith.subi %[[M]], %[[ROW]]
// CHECK:                   kernel.row_tile %[[LEFT]] max 6 {
// CHECK:                     %[[FROM:.*]] = kernel.row_indices %[[ROW]] {
// CHECK:                     %[[PLACE:.*]] = arith.subi %[[ROW]], %[[GROUP]]
// CHECK:                     %[[WAITING:.*]] = kernel.row_indices %[[PLACE]] {
// CHECK:                     %[[START:.*]] = kernel.load_tile %[[SUMS]][%[[WAITING]], %c0{{.*}}]
// CHECK:                     %[[ACC:.*]] = scf.for %{{.*}} = %[[K]] to %[[TO]] step %c1 iter_args(%{{.*}} = %[[START]])
// CHECK:                     kernel.store_tile %[[ACC]] -> %[[SUMS]][%[[WAITING]], %c0{{.*}}]
// CHECK:               scf.for %[[ROW2:[a-z0-9]+]] = %[[GROUP]] to %[[END]] step %c6
// CHECK:                 kernel.row_tile
// CHECK:                   %[[DONE:.*]] = kernel.load_tile %[[SUMS]]
// CHECK-NOT:               kernel.mma
// CHECK:                   kernel.store_tile %[[DONE]] -> %arg2
// CHECK:         kernel.return
kernel.func @product(%x: memref<?x2048xf32>, %w: memref<2x2048x64xf32>, %y: memref<?x128xf32>) {
  %c0 = arith.constant 0 : index
  %step = arith.constant 1 : index
  %max = arith.constant 6 : index
  %c64 = arith.constant 64 : index
  %k = arith.constant 2048 : index
  %m = memref.dim %x, %c0 : memref<?x2048xf32>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %c64 : index
    scf.for %r = %c0 to %m step %max {
      %left = arith.subi %m, %r : index
      kernel.row_tile %left max 6 {
        %rows = kernel.row_indices %r {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : !kernel.rows<6>
        %zero = kernel.zero : !kernel.acc<6x64xf32>
        %acc = scf.for %kk = %c0 to %k step %step iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
          %next = kernel.mma %a, %x[%rows, %kk], %w[%n, %kk, %c0] : !kernel.acc<6x64xf32>, memref<?x2048xf32>, memref<2x2048x64xf32>
          scf.yield %next : !kernel.acc<6x64xf32>
        }
        kernel.store_tile %acc -> %y[%rows, %col] {
        ^bb0(%row: index, %c: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<6x64xf32>), memref<?x128xf32>
      }
    }
  }
  kernel.return
}

// Matrix registers pass over a chunk several times even for one tile: 2048 elements (256 KiB) at a time, 12 tiles of 32 rows.
// CHECK-LABEL: kernel.func @matrix
// CHECK:         memref.alloca() {{.*}} : memref<384x64xf32>
// CHECK-NOT:     scf.if
// CHECK:         scf.for %{{.*}} = %c0 to %{{.*}} step %c384
// CHECK:           scf.for %{{.*}} = %c0 to %c4096 step %c2048
// CHECK:             scf.for %{{.*}} step %c32
// CHECK:               kernel.load_tile %{{.*}} : memref<384x64xf32> -> <32x64xf32>
// CHECK:         kernel.return
kernel.func @matrix(%x: memref<?x4096xbf16>, %w: memref<2x2048x64x2xbf16>, %y: memref<?x128xf32>) {
  %c0 = arith.constant 0 : index
  %step = arith.constant 2 : index
  %max = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %k = arith.constant 4096 : index
  %m = memref.dim %x, %c0 : memref<?x4096xbf16>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %c64 : index
    scf.for %r = %c0 to %m step %max {
      %left = arith.subi %m, %r : index
      kernel.row_tile %left max 32 {
        %rows = kernel.row_indices %r {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : !kernel.rows<32>
        %zero = kernel.zero : !kernel.acc<32x64xf32>
        %acc = scf.for %kk = %c0 to %k step %step iter_args(%a = %zero) -> (!kernel.acc<32x64xf32>) {
          %next = kernel.mma %a, %x[%rows, %kk], %w[%n, %kk, %c0] : !kernel.acc<32x64xf32>, memref<?x4096xbf16>, memref<2x2048x64x2xbf16>
          scf.yield %next : !kernel.acc<32x64xf32>
        }
        kernel.store_tile %acc -> %y[%rows, %col] {
        ^bb0(%row: index, %c: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<32x64xf32>), memref<?x128xf32>
      }
    }
  }
  kernel.return
}

// Short enough to stay in the second-level cache: 256 KiB.
// CHECK-LABEL: kernel.func @short_k
// CHECK-NOT:     kernel.load_tile
// CHECK:         kernel.return
kernel.func @short_k(%x: memref<?x1024xf32>, %w: memref<2x1024x64xf32>, %y: memref<?x128xf32>) {
  %c0 = arith.constant 0 : index
  %step = arith.constant 1 : index
  %max = arith.constant 6 : index
  %c64 = arith.constant 64 : index
  %k = arith.constant 1024 : index
  %m = memref.dim %x, %c0 : memref<?x1024xf32>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %c64 : index
    scf.for %r = %c0 to %m step %max {
      %left = arith.subi %m, %r : index
      kernel.row_tile %left max 6 {
        %rows = kernel.row_indices %r {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : !kernel.rows<6>
        %zero = kernel.zero : !kernel.acc<6x64xf32>
        %acc = scf.for %kk = %c0 to %k step %step iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
          %next = kernel.mma %a, %x[%rows, %kk], %w[%n, %kk, %c0] : !kernel.acc<6x64xf32>, memref<?x1024xf32>, memref<2x1024x64xf32>
          scf.yield %next : !kernel.acc<6x64xf32>
        }
        kernel.store_tile %acc -> %y[%rows, %col] {
        ^bb0(%row: index, %c: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<6x64xf32>), memref<?x128xf32>
      }
    }
  }
  kernel.return
}

// Sums that two epilogues read, and a loop over rows that does something else beside the tile, stay as they are.
// CHECK-LABEL: kernel.func @two_epilogues
// CHECK-NOT:     kernel.load_tile
// CHECK:         kernel.return
kernel.func @two_epilogues(%x: memref<?x2048xf32>, %w: memref<2x2048x64xf32>, %y: memref<?x128xf32>) {
  %c0 = arith.constant 0 : index
  %step = arith.constant 1 : index
  %max = arith.constant 6 : index
  %c64 = arith.constant 64 : index
  %k = arith.constant 2048 : index
  %m = memref.dim %x, %c0 : memref<?x2048xf32>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %c64 : index
    scf.for %r = %c0 to %m step %max {
      %left = arith.subi %m, %r : index
      kernel.row_tile %left max 6 {
        %rows = kernel.row_indices %r {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : !kernel.rows<6>
        %zero = kernel.zero : !kernel.acc<6x64xf32>
        %acc = scf.for %kk = %c0 to %k step %step iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
          %next = kernel.mma %a, %x[%rows, %kk], %w[%n, %kk, %c0] : !kernel.acc<6x64xf32>, memref<?x2048xf32>, memref<2x2048x64xf32>
          scf.yield %next : !kernel.acc<6x64xf32>
        }
        kernel.store_tile %acc -> %y[%rows, %col] {
        ^bb0(%row: index, %c: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<6x64xf32>), memref<?x128xf32>
        kernel.store_tile %acc -> %y[%rows, %col] {
        ^bb0(%row: index, %c: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<6x64xf32>), memref<?x128xf32>
      }
    }
  }
  kernel.return
}

// CHECK-LABEL: kernel.func @writes_beside
// CHECK-NOT:     kernel.load_tile
// CHECK:         kernel.return
kernel.func @writes_beside(%x: memref<?x2048xf32>, %w: memref<2x2048x64xf32>, %y: memref<?x128xf32>) {
  %c0 = arith.constant 0 : index
  %step = arith.constant 1 : index
  %max = arith.constant 6 : index
  %c64 = arith.constant 64 : index
  %k = arith.constant 2048 : index
  %m = memref.dim %x, %c0 : memref<?x2048xf32>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %c64 : index
    scf.for %r = %c0 to %m step %max {
      %left = arith.subi %m, %r : index
      %nothing = arith.constant 0.0 : f32
      memref.store %nothing, %y[%r, %col] : memref<?x128xf32>
      kernel.row_tile %left max 6 {
        %rows = kernel.row_indices %r {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : !kernel.rows<6>
        %zero = kernel.zero : !kernel.acc<6x64xf32>
        %acc = scf.for %kk = %c0 to %k step %step iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
          %next = kernel.mma %a, %x[%rows, %kk], %w[%n, %kk, %c0] : !kernel.acc<6x64xf32>, memref<?x2048xf32>, memref<2x2048x64xf32>
          scf.yield %next : !kernel.acc<6x64xf32>
        }
        kernel.store_tile %acc -> %y[%rows, %col] {
        ^bb0(%row: index, %c: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<6x64xf32>), memref<?x128xf32>
      }
    }
  }
  kernel.return
}

// Gathered rows from a first row on, K from an even element on to an odd end; both accumulators wait, apart from each other.
// CHECK-LABEL: kernel.func @gated
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x2055xf32>, {{.*}}, %[[MAP:[a-z0-9]+]]: memref<?xi32>, %[[LO:[a-z0-9]+]]: index
// CHECK:         %[[GATE:.*]] = memref.alloca() {{.*}} : memref<384x32xf32>
// CHECK:         %[[UP:.*]] = memref.alloca() {{.*}} : memref<384x32xf32>
// CHECK:         scf.for %[[GROUP:[a-z0-9]+]] = %[[LO]] to %{{.*}} step %c384
// CHECK:           %[[HEIGHT:.*]] = arith.subi
// CHECK:           %[[TILES:.*]] = arith.ceildivui %[[HEIGHT]], %c6
// CHECK:           %[[CLEAR:.*]] = arith.muli %[[TILES]], %c6
// CHECK:           %[[GATES:.*]] = memref.subview %[[GATE]][0, 0] [%[[CLEAR]], 32] [1, 1]
// CHECK:           linalg.fill {{.*}} outs(%[[GATES]]
// CHECK:           %[[UPS:.*]] = memref.subview %[[UP]][0, 0] [%[[CLEAR]], 32] [1, 1]
// CHECK:           linalg.fill {{.*}} outs(%[[UPS]]
// CHECK:           scf.for %[[K:[a-z0-9]+]] = %c2 to %c2055 step %c256
// CHECK:             %[[TO:.*]] = arith.minsi %{{.*}}, %c2055
// CHECK:             memref.load %[[MAP]]
// CHECK:             %[[G:.*]] = kernel.load_tile %[[GATE]]
// CHECK:             %[[U:.*]] = kernel.load_tile %[[UP]]
// CHECK:             %[[ACC:.*]]:2 = scf.for %{{.*}} = %[[K]] to %[[TO]] step %c1 iter_args(%{{.*}} = %[[G]], %{{.*}} = %[[U]])
// CHECK:             kernel.store_tile %[[ACC]]#0 -> %[[GATE]]
// CHECK:             kernel.store_tile %[[ACC]]#1 -> %[[UP]]
// CHECK:           %[[G2:.*]] = kernel.load_tile %[[GATE]]
// CHECK:           %[[U2:.*]] = kernel.load_tile %[[UP]]
// CHECK-NOT:       kernel.mma
// CHECK:           kernel.store_tile %[[G2]], %[[U2]] -> %{{.*}} limit
// CHECK:         kernel.return
kernel.func @gated(%x: memref<?x2055xf32>, %w: memref<2x2055x64xf32>, %y: memref<?x60xf32>, %map: memref<?xi32>, %lo: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  %c32 = arith.constant 32 : index
  %c60 = arith.constant 60 : index
  %k = arith.constant 2055 : index
  %m = memref.dim %map, %c0 : memref<?xi32>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %c32 : index
    scf.for %r = %lo to %m step %c6 {
      %left = arith.subi %m, %r : index
      kernel.row_tile %left max 6 {
        %from = kernel.row_indices %r {
        ^bb0(%i: index):
          %at = memref.load %map[%i] : memref<?xi32>
          %row = arith.index_cast %at : i32 to index
          kernel.yield %row : index
        } : !kernel.rows<6>
        %to = kernel.row_indices %r {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : !kernel.rows<6>
        %zero = kernel.zero : !kernel.acc<6x32xf32>
        %acc:2 = scf.for %kk = %c2 to %k step %c1 iter_args(%g = %zero, %u = %zero)
            -> (!kernel.acc<6x32xf32>, !kernel.acc<6x32xf32>) {
          %gate = kernel.mma %g, %x[%from, %kk], %w[%n, %kk, %c0] : !kernel.acc<6x32xf32>, memref<?x2055xf32>, memref<2x2055x64xf32>
          %up = kernel.mma %u, %x[%from, %kk], %w[%n, %kk, %c32] : !kernel.acc<6x32xf32>, memref<?x2055xf32>, memref<2x2055x64xf32>
          scf.yield %gate, %up : !kernel.acc<6x32xf32>, !kernel.acc<6x32xf32>
        }
        kernel.store_tile %acc#0, %acc#1 -> %y[%to, %col] limit(%c60) {
        ^bb0(%row: index, %c: index, %gate: f32, %up: f32):
          %v = arith.mulf %gate, %up : f32
          kernel.yield %v : f32
        } : (!kernel.acc<6x32xf32>, !kernel.acc<6x32xf32>), memref<?x60xf32>
      }
    }
  }
  kernel.return
}

// What may run on matrix registers is cut at multiples of their 32 elements: 64 KiB of 48 columns are 682 of them.
// CHECK-LABEL: kernel.func @whole_steps
// CHECK:         scf.if
// CHECK:         scf.for %{{.*}} = %c0 to %c8192 step %c672
// CHECK:         kernel.return
kernel.func @whole_steps(%x: memref<?x8192xbf16>, %w: memref<2x4096x48x2xbf16>, %y: memref<?x128xf32>, %map: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %step = arith.constant 2 : index
  %max = arith.constant 6 : index
  %width = arith.constant 48 : index
  %k = arith.constant 8192 : index
  %m = memref.dim %x, %c0 : memref<?x8192xbf16>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %width : index
    scf.for %r = %c0 to %m step %max {
      %left = arith.subi %m, %r : index
      kernel.row_tile %left max 6 {
        %rows = kernel.row_indices %r {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : !kernel.rows<6>
        %zero = kernel.zero : !kernel.acc<6x48xf32>
        %acc = scf.for %kk = %c0 to %k step %step iter_args(%a = %zero) -> (!kernel.acc<6x48xf32>) {
          %next = kernel.mma %a, %x[%rows, %kk], %w[%n, %kk, %c0] : !kernel.acc<6x48xf32>, memref<?x8192xbf16>, memref<2x4096x48x2xbf16>
          scf.yield %next : !kernel.acc<6x48xf32>
        }
        kernel.store_tile %acc -> %y[%rows, %col] {
        ^bb0(%row: index, %c: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<6x48xf32>), memref<?x128xf32>
      }
    }
  }
  kernel.return
}
}
