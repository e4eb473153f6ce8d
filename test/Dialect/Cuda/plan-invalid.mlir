// A plan that was edited by hand.
// RUN: moe-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'stages' is 2; a ring with arrival = lag has 3..8}}
kernel.func @f() attributes {kernel.plan = #cuda.plan<stages = 2, few_rows = 16, arrival = lag, proxy_fence = shared, load_registers = 56, multiply_registers = 224, few_steps = 1, few_columns = 128>} {
  kernel.return
}

// -----

// expected-error@+1 {{'stages' is 1; a ring with arrival = noinc has 2..8}}
kernel.func @f() attributes {kernel.plan = #cuda.plan<stages = 1, few_rows = 16, arrival = noinc, proxy_fence = shared, load_registers = 56, multiply_registers = 224, few_steps = 1, few_columns = 128>} {
  kernel.return
}

// -----

// expected-error@+1 {{'few_rows' is 24; the form for few rows has multiples of 16 up to 64, and 0 leaves it out}}
kernel.func @f() attributes {kernel.plan = #cuda.plan<stages = 4, few_rows = 24, arrival = lag, proxy_fence = shared, load_registers = 56, multiply_registers = 224, few_steps = 1, few_columns = 128>} {
  kernel.return
}

// -----

// expected-error@+1 {{'load_registers' is 60; a role has multiples of 8 in 24..240}}
kernel.func @f() attributes {kernel.plan = #cuda.plan<stages = 4, few_rows = 16, arrival = lag, proxy_fence = shared, load_registers = 60, multiply_registers = 224, few_steps = 1, few_columns = 128>} {
  kernel.return
}

// -----

// expected-error@+1 {{the roles need 65536 registers; a block of 384 threads starts with 64512}}
kernel.func @f() attributes {kernel.plan = #cuda.plan<stages = 4, few_rows = 16, arrival = lag, proxy_fence = shared, load_registers = 64, multiply_registers = 224, few_steps = 1, few_columns = 128>} {
  kernel.return
}

// -----

// expected-error@+1 {{'few_steps' is 9; a stage holds 1..8 steps of K of few rows}}
kernel.func @f() attributes {kernel.plan = #cuda.plan<stages = 4, few_rows = 16, arrival = lag, proxy_fence = shared, load_registers = 56, multiply_registers = 224, few_steps = 9, few_columns = 128>} {
  kernel.return
}

// -----

// expected-error@+1 {{'few_columns' is 96; a strip has 64 or 128 columns}}
kernel.func @f() attributes {kernel.plan = #cuda.plan<stages = 4, few_rows = 16, arrival = lag, proxy_fence = shared, load_registers = 56, multiply_registers = 224, few_steps = 1, few_columns = 96>} {
  kernel.return
}

// -----

// expected-error@+1 {{'threads' is 48; a block has multiples of 32 in 32..1024}}
kernel.func @f() attributes {kernel.plan = #cuda.row_plan<threads = 48, blocks_per_sm = 4>} {
  kernel.return
}

// -----

// expected-error@+1 {{'blocks_per_sm' is 0; a multiprocessor has 1..32}}
kernel.func @f() attributes {kernel.plan = #cuda.row_plan<threads = 64, blocks_per_sm = 0>} {
  kernel.return
}

// -----

// expected-error@+1 {{3 blocks have 3072 threads; a multiprocessor has 2048}}
kernel.func @f() attributes {kernel.plan = #cuda.row_plan<threads = 1024, blocks_per_sm = 3>} {
  kernel.return
}

// -----

// expected-error@+1 {{'kernel.plan' is a plan of a kernel.func, as kernel-choose-plans writes it}}
kernel.func @f() attributes {kernel.plan = 4} {
  kernel.return
}

// -----

// expected-error@+1 {{5 stages need 246784 bytes of shared memory; a block has 232448}}
kernel.func @wide(%x: memref<?x64xbf16>, %w: memref<1x1x256x64xbf16>, %y: memref<?x256xf32>)
    attributes {kernel.plan = #cuda.plan<stages = 5, few_rows = 16, arrival = lag, proxy_fence = shared, load_registers = 56, multiply_registers = 224, few_steps = 1, few_columns = 128>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %rows = memref.dim %x, %c0 : memref<?x64xbf16>
  scf.forall (%block) in (1) {
    kernel.row_tile %rows max 128 {
      %index = kernel.row_indices %c0 {
      ^bb0(%i: index):
        kernel.yield %i : index
      } : <128>
      %zero = kernel.zero : <128x256xf32>
      %acc = scf.for %k = %c0 to %c64 step %c64 iter_args(%a = %zero) -> (!kernel.acc<128x256xf32>) {
        %next = kernel.mma %a, %x[%index, %k], %w[%block, %k, %c0] : !kernel.acc<128x256xf32>, memref<?x64xbf16>, memref<1x1x256x64xbf16>
        scf.yield %next : !kernel.acc<128x256xf32>
      }
      kernel.store_tile %acc -> %y[%index, %c0] {
      ^bb0(%r: index, %c: index, %v: f32):
        kernel.yield %v : f32
      } : (!kernel.acc<128x256xf32>), memref<?x256xf32>
    }
  }
  kernel.return
}

// -----

// expected-error@+1 {{5 steps of K of 16 rows need 51200 bytes of a stage, which has 49152}}
kernel.func @wide(%x: memref<?x64xbf16>, %w: memref<1x1x256x64xbf16>, %y: memref<?x256xf32>)
    attributes {kernel.plan = #cuda.plan<stages = 4, few_rows = 16, arrival = lag, proxy_fence = shared, load_registers = 56, multiply_registers = 224, few_steps = 5, few_columns = 64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %rows = memref.dim %x, %c0 : memref<?x64xbf16>
  scf.forall (%block) in (1) {
    kernel.row_tile %rows max 128 {
      %index = kernel.row_indices %c0 {
      ^bb0(%i: index):
        kernel.yield %i : index
      } : <128>
      %zero = kernel.zero : <128x256xf32>
      %acc = scf.for %k = %c0 to %c64 step %c64 iter_args(%a = %zero) -> (!kernel.acc<128x256xf32>) {
        %next = kernel.mma %a, %x[%index, %k], %w[%block, %k, %c0] : !kernel.acc<128x256xf32>, memref<?x64xbf16>, memref<1x1x256x64xbf16>
        scf.yield %next : !kernel.acc<128x256xf32>
      }
      kernel.store_tile %acc -> %y[%index, %c0] {
      ^bb0(%r: index, %c: index, %v: f32):
        kernel.yield %v : f32
      } : (!kernel.acc<128x256xf32>), memref<?x256xf32>
    }
  }
  kernel.return
}

// -----

// expected-error@+1 {{has products; its 'kernel.plan' for a GPU is a #cuda.plan}}
kernel.func @wide(%x: memref<?x64xbf16>, %w: memref<1x1x256x64xbf16>, %y: memref<?x256xf32>)
    attributes {kernel.plan = #cuda.row_plan<threads = 256, blocks_per_sm = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %rows = memref.dim %x, %c0 : memref<?x64xbf16>
  scf.forall (%block) in (1) {
    kernel.row_tile %rows max 128 {
      %index = kernel.row_indices %c0 {
      ^bb0(%i: index):
        kernel.yield %i : index
      } : <128>
      %zero = kernel.zero : <128x256xf32>
      %acc = scf.for %k = %c0 to %c64 step %c64 iter_args(%a = %zero) -> (!kernel.acc<128x256xf32>) {
        %next = kernel.mma %a, %x[%index, %k], %w[%block, %k, %c0] : !kernel.acc<128x256xf32>, memref<?x64xbf16>, memref<1x1x256x64xbf16>
        scf.yield %next : !kernel.acc<128x256xf32>
      }
      kernel.store_tile %acc -> %y[%index, %c0] {
      ^bb0(%r: index, %c: index, %v: f32):
        kernel.yield %v : f32
      } : (!kernel.acc<128x256xf32>), memref<?x256xf32>
    }
  }
  kernel.return
}
