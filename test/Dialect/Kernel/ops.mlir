// RUN: moe-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: kernel.func @linear
kernel.func @linear(%x: memref<?x128xf32>, %w: memref<2x128x64xf32>, %y: memref<?x128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c64 = arith.constant 64 : index
  %k = arith.constant 128 : index
  %m = memref.dim %x, %c0 : memref<?x128xf32>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %c64 : index
    scf.for %r = %c0 to %m step %c6 {
      %left = arith.subi %m, %r : index
      // CHECK: kernel.row_tile %{{.*}} max 6
      kernel.row_tile %left max 6 {
        // CHECK: kernel.row_indices
        %rows = kernel.row_indices %r {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : !kernel.rows<6>
        %zero = kernel.zero : !kernel.acc<6x64xf32>
        %acc = scf.for %kk = %c0 to %k step %c1 iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
          // CHECK: kernel.mma %{{.*}}, %{{.*}}[%{{.*}}, %[[K:.*]]], %{{.*}}[%{{.*}}, %[[K]], %{{.*}}] : !kernel.acc<6x64xf32>, memref<?x128xf32>, memref<2x128x64xf32>
          %next = kernel.mma %a, %x[%rows, %kk], %w[%n, %kk, %c0]
              : !kernel.acc<6x64xf32>, memref<?x128xf32>, memref<2x128x64xf32>
          scf.yield %next : !kernel.acc<6x64xf32>
        }
        // CHECK: kernel.store_tile %{{.*}} -> %{{.*}}[%{{.*}}, %{{.*}}]
        kernel.store_tile %acc -> %y[%rows, %col] {
        ^bb0(%row: index, %c: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<6x64xf32>), memref<?x128xf32>
      }
    }
  }
  kernel.return
}

// CHECK-LABEL: func.func @host
func.func @host(%x: memref<?x128xf32>, %w: memref<2x128x64xf32>, %y: memref<?x128xf32>, %m: index) {
  // CHECK: kernel.launch @linear
  kernel.launch @linear(%x, %w, %y) rows(%m) work(%m) : memref<?x128xf32>, memref<2x128x64xf32>, memref<?x128xf32>
  return
}
