// RUN: moe-opt %s --kernel-lower-matrix-tiles --verify-diagnostics | FileCheck %s

// What matrix registers cannot compute stays as it is: products of f32, half a register of columns, more than 32 rows, a
// tile of which one product has no form on them, pairs from an odd k on, weights that a step of the loop chooses.
// CHECK-NOT: llvm.x86
module attributes {kernel.target = #x86.target<cpu = "sapphirerapids", rows = 6, columns = 64, vector = 16, dot_bf16 = true, matrix_rows = 32>} {

// CHECK-LABEL: kernel.func @f32
// CHECK: kernel.row_tile
// CHECK: kernel.mma
kernel.func @f32(%x: memref<?x8xf32>, %w: memref<1x8x16xf32>, %y: memref<?x16xf32>) {
  %c0 = arith.constant 0 : index
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %m = memref.dim %x, %c0 : memref<?x8xf32>
  kernel.row_tile %m max 4 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<4>
    %zero = kernel.zero : !kernel.acc<4x16xf32>
    %acc = scf.for %k = %first to %c8 step %step iter_args(%a = %zero) -> (!kernel.acc<4x16xf32>) {
      %next = kernel.mma %a, %x[%rows, %k], %w[%c0, %k, %c0] : !kernel.acc<4x16xf32>, memref<?x8xf32>, memref<1x8x16xf32>
      scf.yield %next : !kernel.acc<4x16xf32>
    }
    kernel.store_tile %acc -> %y[%rows, %c0] {
    ^bb0(%row: index, %c: index, %s: f32):
      kernel.yield %s : f32
    } : (!kernel.acc<4x16xf32>), memref<?x16xf32>
  }
  kernel.return
}

// CHECK-LABEL: kernel.func @half_register
// CHECK: kernel.row_tile
// CHECK: kernel.mma
kernel.func @half_register(%x: memref<?x8xbf16>, %w: memref<1x4x24x2xbf16>, %y: memref<?x24xf32>) {
  %c0 = arith.constant 0 : index
  %first = arith.constant 0 : index
  %step = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %m = memref.dim %x, %c0 : memref<?x8xbf16>
  // expected-warning @+1 {{a tile of up to 20 rows stays on vector registers, which hold 6 of them; matrix registers need at most 32 rows}}
  kernel.row_tile %m max 20 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<20>
    %zero = kernel.zero : !kernel.acc<20x24xf32>
    %acc = scf.for %k = %first to %c8 step %step iter_args(%a = %zero) -> (!kernel.acc<20x24xf32>) {
      %next = kernel.mma %a, %x[%rows, %k], %w[%c0, %k, %c0] : !kernel.acc<20x24xf32>, memref<?x8xbf16>, memref<1x4x24x2xbf16>
      scf.yield %next : !kernel.acc<20x24xf32>
    }
    kernel.store_tile %acc -> %y[%rows, %c0] {
    ^bb0(%row: index, %c: index, %s: f32):
      kernel.yield %s : f32
    } : (!kernel.acc<20x24xf32>), memref<?x24xf32>
  }
  kernel.return
}

// CHECK-LABEL: kernel.func @few_rows
// CHECK: kernel.row_tile
// CHECK: kernel.mma
kernel.func @few_rows(%x: memref<?x8xbf16>, %w: memref<1x4x24x2xbf16>, %y: memref<?x24xf32>) {
  %c0 = arith.constant 0 : index
  %first = arith.constant 0 : index
  %step = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %m = memref.dim %x, %c0 : memref<?x8xbf16>
  kernel.row_tile %m max 4 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<4>
    %zero = kernel.zero : !kernel.acc<4x24xf32>
    %acc = scf.for %k = %first to %c8 step %step iter_args(%a = %zero) -> (!kernel.acc<4x24xf32>) {
      %next = kernel.mma %a, %x[%rows, %k], %w[%c0, %k, %c0] : !kernel.acc<4x24xf32>, memref<?x8xbf16>, memref<1x4x24x2xbf16>
      scf.yield %next : !kernel.acc<4x24xf32>
    }
    kernel.store_tile %acc -> %y[%rows, %c0] {
    ^bb0(%row: index, %c: index, %s: f32):
      kernel.yield %s : f32
    } : (!kernel.acc<4x24xf32>), memref<?x24xf32>
  }
  kernel.return
}

// CHECK-LABEL: kernel.func @many_rows
// CHECK: kernel.row_tile
// CHECK: kernel.mma
kernel.func @many_rows(%x: memref<?x8xbf16>, %w: memref<1x4x16x2xbf16>, %y: memref<?x16xf32>) {
  %c0 = arith.constant 0 : index
  %first = arith.constant 0 : index
  %step = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %m = memref.dim %x, %c0 : memref<?x8xbf16>
  // expected-warning @+1 {{a tile of up to 33 rows stays on vector registers, which hold 6 of them; matrix registers need at most 32 rows}}
  kernel.row_tile %m max 33 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<33>
    %zero = kernel.zero : !kernel.acc<33x16xf32>
    %acc = scf.for %k = %first to %c8 step %step iter_args(%a = %zero) -> (!kernel.acc<33x16xf32>) {
      %next = kernel.mma %a, %x[%rows, %k], %w[%c0, %k, %c0] : !kernel.acc<33x16xf32>, memref<?x8xbf16>, memref<1x4x16x2xbf16>
      scf.yield %next : !kernel.acc<33x16xf32>
    }
    kernel.store_tile %acc -> %y[%rows, %c0] {
    ^bb0(%row: index, %c: index, %s: f32):
      kernel.yield %s : f32
    } : (!kernel.acc<33x16xf32>), memref<?x16xf32>
  }
  kernel.return
}

// CHECK-LABEL: kernel.func @odd_start
// CHECK: kernel.row_tile
// CHECK: kernel.mma
kernel.func @odd_start(%x: memref<?x8xbf16>, %w: memref<1x4x16x2xbf16>, %y: memref<?x16xf32>) {
  %c0 = arith.constant 0 : index
  %first = arith.constant 1 : index
  %step = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %m = memref.dim %x, %c0 : memref<?x8xbf16>
  // expected-warning @+1 {{a tile of up to 20 rows stays on vector registers, which hold 6 of them; matrix registers need at most 32 rows}}
  kernel.row_tile %m max 20 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<20>
    %zero = kernel.zero : !kernel.acc<20x16xf32>
    %acc = scf.for %k = %first to %c8 step %step iter_args(%a = %zero) -> (!kernel.acc<20x16xf32>) {
      %next = kernel.mma %a, %x[%rows, %k], %w[%c0, %k, %c0] : !kernel.acc<20x16xf32>, memref<?x8xbf16>, memref<1x4x16x2xbf16>
      scf.yield %next : !kernel.acc<20x16xf32>
    }
    kernel.store_tile %acc -> %y[%rows, %c0] {
    ^bb0(%row: index, %c: index, %s: f32):
      kernel.yield %s : f32
    } : (!kernel.acc<20x16xf32>), memref<?x16xf32>
  }
  kernel.return
}

// CHECK-LABEL: kernel.func @index_inside
// CHECK: kernel.row_tile
// CHECK: kernel.mma
kernel.func @index_inside(%x: memref<?x8xbf16>, %w: memref<1x4x16x2xbf16>, %y: memref<?x16xf32>) {
  %c0 = arith.constant 0 : index
  %first = arith.constant 0 : index
  %step = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %m = memref.dim %x, %c0 : memref<?x8xbf16>
  // expected-warning @+1 {{a tile of up to 20 rows stays on vector registers, which hold 6 of them; matrix registers need at most 32 rows}}
  kernel.row_tile %m max 20 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<20>
    %zero = kernel.zero : !kernel.acc<20x16xf32>
    %acc = scf.for %k = %first to %c8 step %step iter_args(%a = %zero) -> (!kernel.acc<20x16xf32>) {
      %next = kernel.mma %a, %x[%rows, %k], %w[%k, %k, %c0] : !kernel.acc<20x16xf32>, memref<?x8xbf16>, memref<1x4x16x2xbf16>
      scf.yield %next : !kernel.acc<20x16xf32>
    }
    kernel.store_tile %acc -> %y[%rows, %c0] {
    ^bb0(%row: index, %c: index, %s: f32):
      kernel.yield %s : f32
    } : (!kernel.acc<20x16xf32>), memref<?x16xf32>
  }
  kernel.return
}

// CHECK-LABEL: kernel.func @one_of_two
// CHECK: kernel.row_tile
// CHECK: kernel.mma
kernel.func @one_of_two(%x: memref<?x8xbf16>, %w: memref<1x4x16x2xbf16>, %y: memref<?x16xf32>) {
  %c0 = arith.constant 0 : index
  %first = arith.constant 0 : index
  %step = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %m = memref.dim %x, %c0 : memref<?x8xbf16>
  // expected-warning @+1 {{a tile of up to 20 rows stays on vector registers, which hold 6 of them; matrix registers need at most 32 rows}}
  kernel.row_tile %m max 20 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<20>
    %zero = kernel.zero : !kernel.acc<20x16xf32>
    %acc = scf.for %k = %first to %c8 step %step iter_args(%a = %zero) -> (!kernel.acc<20x16xf32>) {
      %next = kernel.mma %a, %x[%rows, %k], %w[%c0, %k, %c0] : !kernel.acc<20x16xf32>, memref<?x8xbf16>, memref<1x4x16x2xbf16>
      scf.yield %next : !kernel.acc<20x16xf32>
    }
    kernel.store_tile %acc -> %y[%rows, %c0] {
    ^bb0(%row: index, %c: index, %s: f32):
      kernel.yield %s : f32
    } : (!kernel.acc<20x16xf32>), memref<?x16xf32>
    %one = kernel.mma %zero, %x[%rows, %c0], %w[%c0, %c0, %c0] : !kernel.acc<20x16xf32>, memref<?x8xbf16>, memref<1x4x16x2xbf16>
    kernel.store_tile %one -> %y[%rows, %c0] {
    ^bb0(%row: index, %c: index, %s: f32):
      kernel.yield %s : f32
    } : (!kernel.acc<20x16xf32>), memref<?x16xf32>
  }
  kernel.return
}
}
