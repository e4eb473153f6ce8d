// RUN: moe-translate --kernel-to-cuda --split-input-file --verify-diagnostics %s

// expected-error@+1 {{has no kernels; CUDA C++ is made of the kernel level (moe-compile --to=kernel)}}
module {
}

// -----

// Products are written for the sizes of a GPU.
module attributes {kernel.target = {columns = 64 : i64, cpu = "znver4", rows = 6 : i64, vector = 16 : i64}} {
  // expected-error@+1 {{'kernel.target' is not that of a GPU; run kernel-set-target{cuda=sm_90a}}}
  kernel.func @linear(%x: memref<?x96xbf16>, %w: memref<1x48x64x2xbf16>, %y: memref<?x40xbf16>) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c96 = arith.constant 96 : index
    %rows = memref.dim %x, %c0 : memref<?x96xbf16>
    scf.forall (%block) in (1) {
      kernel.row_tile %rows max 6 {
        %index = kernel.row_indices %c0 {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : <6>
        %zero = kernel.zero : <6x64xf32>
        %acc = scf.for %k = %c0 to %c96 step %c2 iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
          %next = kernel.mma %a, %x[%index, %k], %w[%block, %k, %c0] : !kernel.acc<6x64xf32>, memref<?x96xbf16>, memref<1x48x64x2xbf16>
          scf.yield %next : !kernel.acc<6x64xf32>
        }
        kernel.store_tile %acc -> %y[%index, %c0] {
        ^bb0(%r: index, %c: index, %v: f32):
          %o = arith.truncf %v : f32 to bf16
          kernel.yield %o : bf16
        } : (!kernel.acc<6x64xf32>), memref<?x40xbf16>
      }
    }
    kernel.return
  }
}
