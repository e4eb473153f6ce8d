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

// Every optional part: blocks with memory of their own, pairs, leading indices, two accumulators, a limit.
// CHECK-LABEL: kernel.func @gated
kernel.func @gated(%x: memref<?x127xbf16>, %w: memref<8x2x64x64x2xbf16>, %map: memref<?xindex>, %h: memref<3x?x768xbf16>, %e: index, %n: index, %left: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  // CHECK: %[[BLOCK:.*]] = kernel.block_id
  %block = kernel.block_id
  kernel.row_tile %left max 6 {
    // CHECK: kernel.row_indices %[[BLOCK]] {
    // CHECK: ^bb0(%[[I:.*]]: index):
    // CHECK: %[[ROW:.*]] = memref.load %{{.*}}[%[[I]]]
    // CHECK: kernel.yield %[[ROW]] : index
    // CHECK: } : <6>
    %rows = kernel.row_indices %block {
    ^bb0(%i: index):
      %row = memref.load %map[%i] : memref<?xindex>
      kernel.yield %row : index
    } : !kernel.rows<6>
    // CHECK: kernel.zero : <6x32xf32>
    %zero = kernel.zero : !kernel.acc<6x32xf32>
    // CHECK: kernel.mma %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] {inbounds} : !kernel.acc<6x32xf32>, memref<?x127xbf16>, memref<8x2x64x64x2xbf16>
    %g = kernel.mma %zero, %x[%rows, %c0], %w[%e, %n, %c0, %c0] {inbounds} : !kernel.acc<6x32xf32>, memref<?x127xbf16>, memref<8x2x64x64x2xbf16>
    %u = kernel.mma %zero, %x[%rows, %c0], %w[%e, %n, %c0, %c32] : !kernel.acc<6x32xf32>, memref<?x127xbf16>, memref<8x2x64x64x2xbf16>
    // CHECK: kernel.store_tile %{{.*}}, %{{.*}} -> %{{.*}}[%[[BLOCK]], %{{.*}}, %{{.*}}] limit(%{{.*}}) {
    // CHECK: } : (!kernel.acc<6x32xf32>, !kernel.acc<6x32xf32>), memref<3x?x768xbf16>
    kernel.store_tile %g, %u -> %h[%block, %rows, %c0] limit(%end) {
    ^bb0(%row: index, %c: index, %gate: f32, %up: f32):
      %v = arith.mulf %gate, %up : f32
      %o = arith.truncf %v : f32 to bf16
      kernel.yield %o : bf16
    } : (!kernel.acc<6x32xf32>, !kernel.acc<6x32xf32>), memref<3x?x768xbf16>
  }
  kernel.return
}

// CHECK-LABEL: kernel.func @nothing()
kernel.func @nothing() {
  kernel.return
}

// CHECK-LABEL: func.func @host
func.func @host(%x: memref<?x128xf32>, %w: memref<2x128x64xf32>, %y: memref<?x128xf32>, %m: index) {
  // CHECK: kernel.launch @linear
  kernel.launch @linear(%x, %w, %y) rows(%m) work(%m) : memref<?x128xf32>, memref<2x128x64xf32>, memref<?x128xf32>
  // CHECK: %[[BLOCKS:.*]] = kernel.blocks
  %blocks = kernel.blocks
  // CHECK: kernel.launch @nothing() single rows(%[[BLOCKS]]) work(%{{.*}}){{$}}
  kernel.launch @nothing() single rows(%blocks) work(%m)
  return
}

// CHECK-LABEL: kernel.func @from_memory
kernel.func @from_memory(%sums: memref<384x64xf32>, %y: memref<?x64xf32>, %base: index) {
  %c0 = arith.constant 0 : index
  %rows = kernel.row_indices %base {
  ^bb0(%i: index):
    kernel.yield %i : index
  } : !kernel.rows<6>
  // CHECK: kernel.load_tile %{{.*}}[%{{.*}}, %{{.*}}] : memref<384x64xf32> -> <6x64xf32>
  %acc = kernel.load_tile %sums[%rows, %c0] : memref<384x64xf32> -> <6x64xf32>
  kernel.store_tile %acc -> %y[%rows, %c0] {
  ^bb0(%row: index, %c: index, %v: f32):
    kernel.yield %v : f32
  } : (!kernel.acc<6x64xf32>), memref<?x64xf32>
  kernel.return
}
