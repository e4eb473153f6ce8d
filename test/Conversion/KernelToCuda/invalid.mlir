// Products in forms that roles cannot have.
// RUN: moe-opt %s --split-input-file --verify-diagnostics --pass-pipeline="builtin.module(kernel.func(kernel-specialize-warps))"

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64, activation = approximate>} {
  kernel.func @linear(%x: memref<?x96xbf16>, %w: memref<1x2x128x64xbf16>, %y: memref<?x40xbf16>, %flag: i1) attributes {kernel.plan = #cuda.plan<stages = 4, few_rows = 16, arrival = lag, proxy_fence = shared, load_registers = 56, multiply_registers = 224, few_steps = 1, few_columns = 128>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %rows = memref.dim %x, %c0 : memref<?x96xbf16>
    kernel.row_tile %rows max 128 {
      %index = kernel.row_indices %c0 {
      ^bb0(%i: index):
        kernel.yield %i : index
      } : <128>
      %zero = kernel.zero : <128x128xf32>
      %acc = scf.for %k = %c0 to %c128 step %c64 iter_args(%a = %zero) -> (!kernel.acc<128x128xf32>) {
        %next = kernel.mma %a, %x[%index, %k], %w[%c0, %k, %c0] : !kernel.acc<128x128xf32>, memref<?x96xbf16>, memref<1x2x128x64xbf16>
        scf.yield %next : !kernel.acc<128x128xf32>
      }
      scf.if %flag {
        // expected-error@+1 {{'kernel.store_tile' op uses a tile or its rows in a way that kernels for a GPU do not have}}
        kernel.store_tile %acc -> %y[%index, %c0] {
      ^bb0(%r: index, %c: index, %v: f32):
        %o = arith.truncf %v : f32 to bf16
        kernel.yield %o : bf16
      } : (!kernel.acc<128x128xf32>), memref<?x40xbf16>
      }
    }
    kernel.return
  }
}

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64, activation = approximate>} {
  kernel.func @linear(%x: memref<?x96xbf16>, %w: memref<1x2x128x64xbf16>, %y: memref<?x40xbf16>, %flag: i1) attributes {kernel.plan = #cuda.plan<stages = 4, few_rows = 16, arrival = lag, proxy_fence = shared, load_registers = 56, multiply_registers = 224, few_steps = 1, few_columns = 128>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %rows = memref.dim %x, %c0 : memref<?x96xbf16>
    kernel.row_tile %rows max 128 {
      %index = kernel.row_indices %c0 {
      ^bb0(%i: index):
        kernel.yield %i : index
      } : <128>
      %zero = kernel.zero : <128x128xf32>
      // expected-error@+1 {{'scf.for' op does not step over K from zero by products of the same operands, one for each accumulator}}
      %acc = scf.for %k = %c0 to %c128 step %c64 iter_args(%a = %zero) -> (!kernel.acc<128x128xf32>) {
        %next = kernel.mma %a, %x[%index, %k], %w[%c0, %k, %k] : !kernel.acc<128x128xf32>, memref<?x96xbf16>, memref<1x2x128x64xbf16>
        scf.yield %next : !kernel.acc<128x128xf32>
      }
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
  kernel.func @linear(%x: memref<?x96xbf16>, %w: memref<1x2x60x64xbf16>, %y: memref<?x40xbf16>, %flag: i1) attributes {kernel.plan = #cuda.plan<stages = 4, few_rows = 16, arrival = lag, proxy_fence = shared, load_registers = 56, multiply_registers = 224, few_steps = 1, few_columns = 128>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %rows = memref.dim %x, %c0 : memref<?x96xbf16>
    kernel.row_tile %rows max 128 {
      %index = kernel.row_indices %c0 {
      ^bb0(%i: index):
        kernel.yield %i : index
      } : <128>
      %zero = kernel.zero : <128x60xf32>
      %acc = scf.for %k = %c0 to %c128 step %c64 iter_args(%a = %zero) -> (!kernel.acc<128x60xf32>) {
        // expected-error@+1 {{'kernel.mma' op has 60 columns; on a GPU, products have multiples of 8 up to 256}}
        %next = kernel.mma %a, %x[%index, %k], %w[%c0, %k, %c0] : !kernel.acc<128x60xf32>, memref<?x96xbf16>, memref<1x2x60x64xbf16>
        scf.yield %next : !kernel.acc<128x60xf32>
      }
      kernel.store_tile %acc -> %y[%index, %c0] {
      ^bb0(%r: index, %c: index, %v: f32):
        %o = arith.truncf %v : f32 to bf16
        kernel.yield %o : bf16
      } : (!kernel.acc<128x60xf32>), memref<?x40xbf16>
    }
    kernel.return
  }
}

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64, activation = approximate>} {
  kernel.func @linear(%x: memref<?x96xbf16>, %w: memref<1x2x128x64xbf16>, %y: memref<?x40xbf16>, %flag: i1) attributes {kernel.plan = #cuda.plan<stages = 4, few_rows = 16, arrival = lag, proxy_fence = shared, load_registers = 56, multiply_registers = 224, few_steps = 1, few_columns = 128>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %rows = memref.dim %x, %c0 : memref<?x96xbf16>
    kernel.row_tile %rows max 128 {
      %index = kernel.row_indices %c0 {
      ^bb0(%i: index):
        kernel.yield %i : index
      } : <128>
      %other = arith.select %flag, %index, %index : !kernel.rows<128>
      %zero = kernel.zero : <128x128xf32>
      %acc = scf.for %k = %c0 to %c128 step %c64 iter_args(%a = %zero) -> (!kernel.acc<128x128xf32>) {
        // expected-error@+1 {{'kernel.mma' op has rows that no kernel.row_indices says}}
        %next = kernel.mma %a, %x[%other, %k], %w[%c0, %k, %c0] : !kernel.acc<128x128xf32>, memref<?x96xbf16>, memref<1x2x128x64xbf16>
        scf.yield %next : !kernel.acc<128x128xf32>
      }
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

// A slice of a weight as variants have it: two blocks of four.
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64, activation = approximate>} {
  // expected-error@+1 {{'kernel.func' op has argument 1 with gaps, 'memref<2x2x128x64xbf16, strided<[32768, 8192, 64, 1]>>'; kernels for a GPU take rows one behind the other}}
  kernel.func @linear(%x: memref<?x96xbf16>, %w: memref<2x2x128x64xbf16, strided<[32768, 8192, 64, 1]>>, %y: memref<?x40xbf16>) attributes {kernel.plan = #cuda.plan<stages = 4, few_rows = 16, arrival = lag, proxy_fence = shared, load_registers = 56, multiply_registers = 224, few_steps = 1, few_columns = 128>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %rows = memref.dim %x, %c0 : memref<?x96xbf16>
    kernel.row_tile %rows max 128 {
      %index = kernel.row_indices %c0 {
      ^bb0(%i: index):
        kernel.yield %i : index
      } : <128>
      %zero = kernel.zero : <128x128xf32>
      %acc = scf.for %k = %c0 to %c128 step %c64 iter_args(%a = %zero) -> (!kernel.acc<128x128xf32>) {
        %next = kernel.mma %a, %x[%index, %k], %w[%c0, %k, %c0] : !kernel.acc<128x128xf32>, memref<?x96xbf16>, memref<2x2x128x64xbf16, strided<[32768, 8192, 64, 1]>>
        scf.yield %next : !kernel.acc<128x128xf32>
      }
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

// Of rows without products, too.
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64, activation = approximate>} {
  // expected-error@+1 {{'kernel.func' op has argument 0 with gaps, 'memref<4x8xf32, strided<[16, 1]>>'}}
  kernel.func @rows(%x: memref<4x8xf32, strided<[16, 1]>>) {
    kernel.return
  }
}

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64, activation = approximate>} {
  kernel.func @odd_steps(%x: memref<?x192xbf16>, %w: memref<1x3x128x64xbf16>, %y: memref<?x128xbf16>) attributes {kernel.plan = #cuda.plan<stages = 4, few_rows = 16, arrival = lag, proxy_fence = shared, load_registers = 56, multiply_registers = 224, few_steps = 2, few_columns = 64>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c192 = arith.constant 192 : index
    %rows = memref.dim %x, %c0 : memref<?x192xbf16>
    kernel.row_tile %rows max 128 {
      %index = kernel.row_indices %c0 {
      ^bb0(%i: index):
        kernel.yield %i : index
      } : <128>
      %zero = kernel.zero : <128x128xf32>
      %acc = scf.for %k = %c0 to %c192 step %c64 iter_args(%a = %zero) -> (!kernel.acc<128x128xf32>) {
        // expected-error@+1 {{'few_steps' is 2, but K has 3 steps; stages of few rows are all full}}
        %next = kernel.mma %a, %x[%index, %k], %w[%c0, %k, %c0] : !kernel.acc<128x128xf32>, memref<?x192xbf16>, memref<1x3x128x64xbf16>
        scf.yield %next : !kernel.acc<128x128xf32>
      }
      kernel.store_tile %acc -> %y[%index, %c0] {
      ^bb0(%r: index, %c: index, %v: f32):
        %o = arith.truncf %v : f32 to bf16
        kernel.yield %o : bf16
      } : (!kernel.acc<128x128xf32>), memref<?x128xbf16>
    }
    kernel.return
  }
}
