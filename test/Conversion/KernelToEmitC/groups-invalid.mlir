// RUN: moe-opt %s --kernel-to-emitc --split-input-file --verify-diagnostics

// What groups of launches need has no form on a GPU yet, with products and without.
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  kernel.func @phase(%x: memref<8x8xf32>) {
    // expected-error@+1 {{'kernel.phase' op is for launches that run at the same time, which a GPU does not run in this release}}
    %phase = kernel.phase : index
    %zero = arith.constant 0.0 : f32
    scf.forall (%i) in (8) {
      memref.store %zero, %x[%phase, %i] : memref<8x8xf32>
    }
    kernel.return
  }
}

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  kernel.func @product(%x: memref<?x96xbf16>, %w: memref<1x2x128x64xbf16>, %y: memref<?x40xbf16>, %done: memref<2xi32>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c96 = arith.constant 96 : index
    %rows = memref.dim %x, %c0 : memref<?x96xbf16>
    scf.forall (%block) in (1) {
      kernel.row_tile %rows max 128 {
        %index = kernel.row_indices %c0 {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : <128>
        %zero = kernel.zero : <128x128xf32>
        %acc = scf.for %k = %c0 to %c96 step %c64 iter_args(%a = %zero) -> (!kernel.acc<128x128xf32>) {
          %next = kernel.mma %a, %x[%index, %k], %w[%block, %k, %c0] : !kernel.acc<128x128xf32>, memref<?x96xbf16>, memref<1x2x128x64xbf16>
          scf.yield %next : !kernel.acc<128x128xf32>
        }
        kernel.store_tile %acc -> %y[%index, %c0] {
        ^bb0(%r: index, %c: index, %v: f32):
          %o = arith.truncf %v : f32 to bf16
          kernel.yield %o : bf16
        } : (!kernel.acc<128x128xf32>), memref<?x40xbf16>
      }
      // expected-error@+1 {{'kernel.arrive' op is for launches that run at the same time, which a GPU does not run in this release}}
      kernel.arrive %done[%c0] : memref<2xi32>
    }
    kernel.return
  }
}
