// RUN: moe-translate --kernel-to-cuda --split-input-file --verify-diagnostics %s

// expected-error@+1 {{has no kernels; CUDA C++ is made of the kernel level (moe-compile --to=kernel)}}
module {
}

// -----

// Products are written for the sizes of a GPU.
// expected-error@+1 {{'kernel.target' is for CPU 'znver4'; make the kernels from level spmd for a GPU (moe-spmd-to-scheduled=target=cuda:sm_90a)}}
module attributes {kernel.target = #x86.target<cpu = "znver4", rows = 6, columns = 64, vector = 16>} {
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

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64, activation = approximate>} {
  kernel.func @linear(%x: memref<?x96xf32>, %w: memref<1x96x128xf32>, %y: memref<?x40xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c96 = arith.constant 96 : index
    %rows = memref.dim %x, %c0 : memref<?x96xf32>
    scf.forall (%block) in (1) {
      kernel.row_tile %rows max 128 {
        %index = kernel.row_indices %c0 {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : <128>
        %zero = kernel.zero : <128x128xf32>
        %acc = scf.for %k = %c0 to %c96 step %c1 iter_args(%a = %zero) -> (!kernel.acc<128x128xf32>) {
          // expected-error@+1 {{'kernel.mma' op has a weight in steps of 1, not of 32}}
          %next = kernel.mma %a, %x[%index, %k], %w[%block, %k, %c0] : !kernel.acc<128x128xf32>, memref<?x96xf32>, memref<1x96x128xf32>
          scf.yield %next : !kernel.acc<128x128xf32>
        }
        kernel.store_tile %acc -> %y[%index, %c0] {
        ^bb0(%r: index, %c: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<128x128xf32>), memref<?x40xf32>
      }
    }
    kernel.return
  }
}

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64, activation = approximate>} {
  kernel.func @linear(%x: memref<?x96xbf16>, %w: memref<?x2x128x64xbf16>, %y: memref<?x40xbf16>) {
    %c0 = arith.constant 0 : index
    %rows = memref.dim %x, %c0 : memref<?x96xbf16>
    kernel.row_tile %rows max 128 {
      %index = kernel.row_indices %c0 {
      ^bb0(%i: index):
        kernel.yield %i : index
      } : <128>
      %zero = kernel.zero : <128x128xf32>
      // expected-error@+1 {{'kernel.mma' op has a weight of dynamic size, which has no tensor map}}
      %acc = kernel.mma %zero, %x[%index, %c0], %w[%c0, %c0, %c0] : !kernel.acc<128x128xf32>, memref<?x96xbf16>, memref<?x2x128x64xbf16>
      kernel.store_tile %acc -> %y[%index, %c0] {
      ^bb0(%r: index, %c: index, %v: f32):
        %o = arith.truncf %v : f32 to bf16
        kernel.yield %o : bf16
      } : (!kernel.acc<128x128xf32>), memref<?x40xbf16>
    }
    kernel.return
  }
}

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64, activation = approximate>} {
  kernel.func @linear(%x: memref<?x96xbf16>, %w: memref<1x3x128x32xbf16>, %y: memref<?x40xbf16>) {
    %c0 = arith.constant 0 : index
    %rows = memref.dim %x, %c0 : memref<?x96xbf16>
    kernel.row_tile %rows max 128 {
      %index = kernel.row_indices %c0 {
      ^bb0(%i: index):
        kernel.yield %i : index
      } : <128>
      %zero = kernel.zero : <128x128xf32>
      // expected-error@+1 {{'kernel.mma' op has a weight in steps of 32, not of 64}}
      %acc = kernel.mma %zero, %x[%index, %c0], %w[%c0, %c0, %c0] : !kernel.acc<128x128xf32>, memref<?x96xbf16>, memref<1x3x128x32xbf16>
      kernel.store_tile %acc -> %y[%index, %c0] {
      ^bb0(%r: index, %c: index, %v: f32):
        %o = arith.truncf %v : f32 to bf16
        kernel.yield %o : bf16
      } : (!kernel.acc<128x128xf32>), memref<?x40xbf16>
    }
    kernel.return
  }
}

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64, activation = approximate>} {
  kernel.func @linear(%x: memref<?x96xi8>, %w: memref<1x1x128x128xi8>, %y: memref<?x40xf32>) {
    %c0 = arith.constant 0 : index
    %rows = memref.dim %x, %c0 : memref<?x96xi8>
    kernel.row_tile %rows max 128 {
      %index = kernel.row_indices %c0 {
      ^bb0(%i: index):
        kernel.yield %i : index
      } : <128>
      %zero = kernel.zero : <128x128xf32>
      // expected-error@+1 {{'kernel.mma' op multiplies 'i8'; on a GPU, products are of f32, bf16 or f16}}
      %acc = kernel.mma %zero, %x[%index, %c0], %w[%c0, %c0, %c0] : !kernel.acc<128x128xf32>, memref<?x96xi8>, memref<1x1x128x128xi8>
      kernel.store_tile %acc -> %y[%index, %c0] {
      ^bb0(%r: index, %c: index, %v: f32):
        kernel.yield %v : f32
      } : (!kernel.acc<128x128xf32>), memref<?x40xf32>
    }
    kernel.return
  }
}

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64, activation = approximate>} {
  kernel.func @two(%x: memref<?x96xbf16>, %w: memref<1x2x128x64xbf16>, %z: memref<?x96xf32>, %v: memref<1x3x128x32xf32>, %y: memref<?x40xf32>) {
    %c0 = arith.constant 0 : index
    %rows = memref.dim %x, %c0 : memref<?x96xbf16>
    kernel.row_tile %rows max 128 {
      %index = kernel.row_indices %c0 {
      ^bb0(%i: index):
        kernel.yield %i : index
      } : <128>
      %zero = kernel.zero : <128x128xf32>
      %acc = kernel.mma %zero, %x[%index, %c0], %w[%c0, %c0, %c0] : !kernel.acc<128x128xf32>, memref<?x96xbf16>, memref<1x2x128x64xbf16>
      // expected-error@+1 {{'kernel.mma' op multiplies 'f32' where another product multiplies 'bf16'; on a GPU, a kernel has products of one type}}
      %other = kernel.mma %zero, %z[%index, %c0], %v[%c0, %c0, %c0] : !kernel.acc<128x128xf32>, memref<?x96xf32>, memref<1x3x128x32xf32>
      kernel.store_tile %acc, %other -> %y[%index, %c0] {
      ^bb0(%r: index, %c: index, %a: f32, %b: f32):
        kernel.yield %a : f32
      } : (!kernel.acc<128x128xf32>, !kernel.acc<128x128xf32>), memref<?x40xf32>
    }
    kernel.return
  }
}
