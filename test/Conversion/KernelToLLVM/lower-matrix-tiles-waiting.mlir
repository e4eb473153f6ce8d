// RUN: moe-opt %s --kernel-lower-matrix-tiles | FileCheck %s

// Sums stay in the function's own memory where the program says that other memory is read or written before they go there.
module attributes {kernel.target = #x86.target<cpu = "sapphirerapids", rows = 6, columns = 64, vector = 16, dot_bf16 = true, matrix_rows = 32>} {

// An epilogue in front of the store reads what the store writes.
// CHECK-LABEL: kernel.func @read_between
// CHECK-SAME:    %{{.*}}, %{{.*}}, %[[S:[a-z0-9]+]]: memref<64x64xf32>, %{{[a-z0-9]+}}: memref<64x64xf32>)
// CHECK-NOT:     memref.extract_aligned_pointer_as_index %[[S]]
// CHECK:         kernel.return
kernel.func @read_between(%x: memref<?x64xbf16>, %w: memref<1x32x64x2xbf16>, %s: memref<64x64xf32>, %y: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %m = memref.dim %x, %c0 : memref<?x64xbf16>
  kernel.row_tile %m max 32 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<32>
    %zero = kernel.zero : !kernel.acc<32x64xf32>
    %acc = scf.for %k = %c0 to %c64 step %c2 iter_args(%a0 = %zero) -> (!kernel.acc<32x64xf32>) {
      %n0 = kernel.mma %a0, %x[%rows, %k], %w[%c0, %k, %c0] : !kernel.acc<32x64xf32>, memref<?x64xbf16>, memref<1x32x64x2xbf16>
      scf.yield %n0 : !kernel.acc<32x64xf32>
    }
    %other = scf.for %k = %c0 to %c64 step %c2 iter_args(%a0 = %zero) -> (!kernel.acc<32x64xf32>) {
      %n0 = kernel.mma %a0, %x[%rows, %k], %w[%c0, %k, %c0] : !kernel.acc<32x64xf32>, memref<?x64xbf16>, memref<1x32x64x2xbf16>
      scf.yield %n0 : !kernel.acc<32x64xf32>
    }
    kernel.store_tile %other -> %y[%rows, %c0] {
    ^bb0(%row: index, %c: index, %v: f32):
      %z = memref.load %s[%row, %c] : memref<64x64xf32>
      %sum = arith.addf %v, %z : f32
      kernel.yield %sum : f32
    } : (!kernel.acc<32x64xf32>), memref<64x64xf32>
    kernel.store_tile %acc -> %s[%rows, %c0] {
    ^bb0(%row: index, %c: index, %v: f32):
      kernel.yield %v : f32
    } : (!kernel.acc<32x64xf32>), memref<64x64xf32>
  }
  kernel.return
}

// The place is computed behind the product.
// CHECK-LABEL: kernel.func @late_place
// CHECK-SAME:    %{{.*}}, %{{.*}}, %[[S:[a-z0-9]+]]: memref<64x64xf32>)
// CHECK-NOT:     memref.extract_aligned_pointer_as_index %[[S]]
// CHECK:         kernel.store_tile %{{.*}} -> %[[S]]
// CHECK:         kernel.return
kernel.func @late_place(%x: memref<?x64xbf16>, %w: memref<1x32x64x2xbf16>, %s: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %m = memref.dim %x, %c0 : memref<?x64xbf16>
  kernel.row_tile %m max 32 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<32>
    %zero = kernel.zero : !kernel.acc<32x64xf32>
    %acc = scf.for %k = %c0 to %c64 step %c2 iter_args(%a0 = %zero) -> (!kernel.acc<32x64xf32>) {
      %n0 = kernel.mma %a0, %x[%rows, %k], %w[%c0, %k, %c0] : !kernel.acc<32x64xf32>, memref<?x64xbf16>, memref<1x32x64x2xbf16>
      scf.yield %n0 : !kernel.acc<32x64xf32>
    }
    %late = arith.addi %m, %c32 : index
    %place = kernel.row_indices %late {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<32>
    kernel.store_tile %acc -> %s[%place, %c0] {
    ^bb0(%row: index, %c: index, %v: f32):
      kernel.yield %v : f32
    } : (!kernel.acc<32x64xf32>), memref<64x64xf32>
  }
  kernel.return
}

// Two sums that change places.
// CHECK-LABEL: kernel.func @exchange
// CHECK:         memref.alloca() {{.*}} : memref<32x32xf32>
// CHECK:         memref.alloca() {{.*}} : memref<32x32xf32>
// CHECK:         kernel.store_tile
// CHECK:         kernel.store_tile
// CHECK:         kernel.return
kernel.func @exchange(%x: memref<?x64xbf16>, %w: memref<1x32x64x2xbf16>, %s: memref<64x32xf32>, %t: memref<64x32xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %m = memref.dim %x, %c0 : memref<?x64xbf16>
  kernel.row_tile %m max 32 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<32>
    %g = kernel.load_tile %s[%rows, %c0] : memref<64x32xf32> -> <32x32xf32>
    %u = kernel.load_tile %t[%rows, %c0] : memref<64x32xf32> -> <32x32xf32>
    %acc:2 = scf.for %k = %c0 to %c64 step %c2 iter_args(%a0 = %g, %a1 = %u) -> (!kernel.acc<32x32xf32>, !kernel.acc<32x32xf32>) {
      %n0 = kernel.mma %a0, %x[%rows, %k], %w[%c0, %k, %c0] : !kernel.acc<32x32xf32>, memref<?x64xbf16>, memref<1x32x64x2xbf16>
      %n1 = kernel.mma %a1, %x[%rows, %k], %w[%c0, %k, %c32] : !kernel.acc<32x32xf32>, memref<?x64xbf16>, memref<1x32x64x2xbf16>
      scf.yield %n0, %n1 : !kernel.acc<32x32xf32>, !kernel.acc<32x32xf32>
    }
    kernel.store_tile %acc#0 -> %t[%rows, %c0] {
    ^bb0(%row: index, %c: index, %v: f32):
      kernel.yield %v : f32
    } : (!kernel.acc<32x32xf32>), memref<64x32xf32>
    kernel.store_tile %acc#1 -> %s[%rows, %c0] {
    ^bb0(%row: index, %c: index, %v: f32):
      kernel.yield %v : f32
    } : (!kernel.acc<32x32xf32>), memref<64x32xf32>
  }
  kernel.return
}

// Two sums that go to one place, the second one last.
// CHECK-LABEL: kernel.func @one_of_two
// CHECK:         memref.alloca() {{.*}} : memref<32x32xf32>
// CHECK:         memref.alloca() {{.*}} : memref<32x32xf32>
// CHECK:         kernel.store_tile
// CHECK:         kernel.store_tile
// CHECK:         kernel.return
kernel.func @one_of_two(%x: memref<?x64xbf16>, %w: memref<1x32x64x2xbf16>, %s: memref<64x32xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %m = memref.dim %x, %c0 : memref<?x64xbf16>
  kernel.row_tile %m max 32 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<32>
    %zero = kernel.zero : !kernel.acc<32x32xf32>
    %acc:2 = scf.for %k = %c0 to %c64 step %c2 iter_args(%a0 = %zero, %a1 = %zero) -> (!kernel.acc<32x32xf32>, !kernel.acc<32x32xf32>) {
      %n0 = kernel.mma %a0, %x[%rows, %k], %w[%c0, %k, %c0] : !kernel.acc<32x32xf32>, memref<?x64xbf16>, memref<1x32x64x2xbf16>
      %n1 = kernel.mma %a1, %x[%rows, %k], %w[%c0, %k, %c32] : !kernel.acc<32x32xf32>, memref<?x64xbf16>, memref<1x32x64x2xbf16>
      scf.yield %n0, %n1 : !kernel.acc<32x32xf32>, !kernel.acc<32x32xf32>
    }
    kernel.store_tile %acc#0 -> %s[%rows, %c0] {
    ^bb0(%row: index, %c: index, %v: f32):
      kernel.yield %v : f32
    } : (!kernel.acc<32x32xf32>), memref<64x32xf32>
    kernel.store_tile %acc#1 -> %s[%rows, %c0] {
    ^bb0(%row: index, %c: index, %v: f32):
      kernel.yield %v : f32
    } : (!kernel.acc<32x32xf32>), memref<64x32xf32>
  }
  kernel.return
}

// A tile that was loaded before its memory was written: not on matrix registers.
// CHECK-LABEL: kernel.func @written_since
// CHECK-NOT:     llvm.x86
// CHECK:         kernel.load_tile
// CHECK:         kernel.mma
// CHECK:         kernel.return
kernel.func @written_since(%x: memref<?x64xbf16>, %w: memref<1x32x64x2xbf16>, %s: memref<64x64xf32>, %y: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %m = memref.dim %x, %c0 : memref<?x64xbf16>
  kernel.row_tile %m max 32 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<32>
    %zero = kernel.zero : !kernel.acc<32x64xf32>
    %old = kernel.load_tile %s[%rows, %c0] : memref<64x64xf32> -> <32x64xf32>
    %acc = scf.for %k = %c0 to %c64 step %c2 iter_args(%a0 = %zero) -> (!kernel.acc<32x64xf32>) {
      %n0 = kernel.mma %a0, %x[%rows, %k], %w[%c0, %k, %c0] : !kernel.acc<32x64xf32>, memref<?x64xbf16>, memref<1x32x64x2xbf16>
      scf.yield %n0 : !kernel.acc<32x64xf32>
    }
    kernel.store_tile %acc -> %s[%rows, %c0] {
    ^bb0(%row: index, %c: index, %v: f32):
      kernel.yield %v : f32
    } : (!kernel.acc<32x64xf32>), memref<64x64xf32>
    kernel.store_tile %old -> %y[%rows, %c0] {
    ^bb0(%row: index, %c: index, %v: f32):
      kernel.yield %v : f32
    } : (!kernel.acc<32x64xf32>), memref<64x64xf32>
  }
  kernel.return
}

// A tile that is put into other rows of where it comes from: as a whole, not row by row.
// CHECK-LABEL: kernel.func @shifted
// CHECK:         kernel.load_tile
// CHECK:         kernel.store_tile
// CHECK:         kernel.return
kernel.func @shifted(%x: memref<?x64xbf16>, %w: memref<1x32x64x2xbf16>, %s: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %m = memref.dim %x, %c0 : memref<?x64xbf16>
  kernel.row_tile %m max 32 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<32>
    %below = arith.addi %c2, %c2 : index
    %later = kernel.row_indices %below {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<32>
    %l = kernel.load_tile %s[%rows, %c0] : memref<64x64xf32> -> <32x64xf32>
    kernel.store_tile %l -> %s[%later, %c0] {
    ^bb0(%row: index, %c: index, %v: f32):
      kernel.yield %v : f32
    } : (!kernel.acc<32x64xf32>), memref<64x64xf32>
  }
  kernel.return
}

// Sums that go to another view of the memory that they start from.
// CHECK-LABEL: kernel.func @own_view
// CHECK:         memref.alloca() {{.*}} : memref<32x64xf32>
// CHECK:         kernel.store_tile
// CHECK:         kernel.return
kernel.func @own_view(%x: memref<?x64xbf16>, %w: memref<1x32x64x2xbf16>, %bytes: memref<65536xi8>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %m = memref.dim %x, %c0 : memref<?x64xbf16>
  kernel.row_tile %m max 32 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<32>
    %from = memref.view %bytes[%c0][] : memref<65536xi8> to memref<64x64xf32>
    %to = memref.view %bytes[%c64][] : memref<65536xi8> to memref<64x64xf32>
    %start = kernel.load_tile %from[%rows, %c0] : memref<64x64xf32> -> <32x64xf32>
    %acc = scf.for %k = %c0 to %c64 step %c2 iter_args(%a0 = %start) -> (!kernel.acc<32x64xf32>) {
      %n0 = kernel.mma %a0, %x[%rows, %k], %w[%c0, %k, %c0] : !kernel.acc<32x64xf32>, memref<?x64xbf16>, memref<1x32x64x2xbf16>
      scf.yield %n0 : !kernel.acc<32x64xf32>
    }
    kernel.store_tile %acc -> %to[%rows, %c0] {
    ^bb0(%row: index, %c: index, %v: f32):
      kernel.yield %v : f32
    } : (!kernel.acc<32x64xf32>), memref<64x64xf32>
  }
  kernel.return
}

// An epilogue that does something beside.
// CHECK-LABEL: kernel.func @region_writes
// CHECK:         kernel.store_tile
// CHECK:           memref.store
// CHECK:         kernel.return
kernel.func @region_writes(%x: memref<?x64xbf16>, %w: memref<1x32x64x2xbf16>, %s: memref<64x64xf32>, %y: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %m = memref.dim %x, %c0 : memref<?x64xbf16>
  kernel.row_tile %m max 32 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<32>
    %zero = kernel.zero : !kernel.acc<32x64xf32>
    %acc = scf.for %k = %c0 to %c64 step %c2 iter_args(%a0 = %zero) -> (!kernel.acc<32x64xf32>) {
      %n0 = kernel.mma %a0, %x[%rows, %k], %w[%c0, %k, %c0] : !kernel.acc<32x64xf32>, memref<?x64xbf16>, memref<1x32x64x2xbf16>
      scf.yield %n0 : !kernel.acc<32x64xf32>
    }
    kernel.store_tile %acc -> %s[%rows, %c0] {
    ^bb0(%row: index, %c: index, %v: f32):
      memref.store %v, %y[%row, %c] : memref<64x64xf32>
      kernel.yield %v : f32
    } : (!kernel.acc<32x64xf32>), memref<64x64xf32>
  }
  kernel.return
}
}
