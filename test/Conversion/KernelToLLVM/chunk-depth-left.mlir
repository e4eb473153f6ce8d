// RUN: moe-opt %s --pass-pipeline='builtin.module(kernel.func(kernel-chunk-depth))' | FileCheck %s

// Long column blocks of weights that stay whole all the same.
// CHECK-NOT: kernel.load_tile
module attributes {kernel.target = #x86.target<cpu = "sapphirerapids", rows = 6, columns = 64, vector = 16, dot_bf16 = true, matrix_rows = 32>} {

// The epilogue writes what later tiles read.
// CHECK-LABEL: kernel.func @writes_rows
// CHECK-NOT: kernel.load_tile
kernel.func @writes_rows(%x: memref<?x2048xf32>, %w: memref<2x2048x64xf32>, %y: memref<?x128xf32>, %map: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %step = arith.constant 1 : index
  %max = arith.constant 6 : index
  %width = arith.constant 64 : index
  %k = arith.constant 2048 : index
  %m = memref.dim %x, %c0 : memref<?x2048xf32>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %width : index
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
        kernel.store_tile %acc -> %x[%rows, %col] {
        ^bb0(%row: index, %c: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<6x64xf32>), memref<?x2048xf32>
      }
    }
  }
  kernel.return
}

// The same through a view.
// CHECK-LABEL: kernel.func @writes_view
// CHECK-NOT: kernel.load_tile
kernel.func @writes_view(%x: memref<?x2048xf32>, %w: memref<2x2048x64xf32>, %y: memref<?x128xf32>, %map: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %step = arith.constant 1 : index
  %max = arith.constant 6 : index
  %width = arith.constant 64 : index
  %k = arith.constant 2048 : index
  %m = memref.dim %x, %c0 : memref<?x2048xf32>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %width : index
    scf.for %r = %c0 to %m step %max {
      %left = arith.subi %m, %r : index
      %view = memref.cast %x : memref<?x2048xf32> to memref<?x?xf32>
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
        kernel.store_tile %acc -> %view[%rows, %col] {
        ^bb0(%row: index, %c: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<6x64xf32>), memref<?x?xf32>
      }
    }
  }
  kernel.return
}

// How much of K a tile takes depends on its rows.
// CHECK-LABEL: kernel.func @bound_of_row
// CHECK-NOT: kernel.load_tile
kernel.func @bound_of_row(%x: memref<?x2048xf32>, %w: memref<2x2048x64xf32>, %y: memref<?x128xf32>, %map: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %step = arith.constant 1 : index
  %max = arith.constant 6 : index
  %width = arith.constant 64 : index
  %k = arith.constant 2048 : index
  %m = memref.dim %x, %c0 : memref<?x2048xf32>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %width : index
    scf.for %r = %c0 to %m step %max {
      %left = arith.subi %m, %r : index
      kernel.row_tile %left max 6 {
        %rows = kernel.row_indices %r {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : !kernel.rows<6>
        %zero = kernel.zero : !kernel.acc<6x64xf32>
        %acc = scf.for %kk = %c0 to %left step %step iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
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

// A bound that is only known inside of the loop over rows.
// CHECK-LABEL: kernel.func @bound_inside
// CHECK-NOT: kernel.load_tile
kernel.func @bound_inside(%x: memref<?x2048xf32>, %w: memref<2x2048x64xf32>, %y: memref<?x128xf32>, %map: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %step = arith.constant 1 : index
  %max = arith.constant 6 : index
  %width = arith.constant 64 : index
  %k = arith.constant 2048 : index
  %m = memref.dim %x, %c0 : memref<?x2048xf32>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %width : index
    scf.for %r = %c0 to %m step %max {
      %left = arith.subi %m, %r : index
      kernel.row_tile %left max 6 {
        %rows = kernel.row_indices %r {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : !kernel.rows<6>
        %inside = arith.constant 2048 : index
        %zero = kernel.zero : !kernel.acc<6x64xf32>
        %acc = scf.for %kk = %c0 to %inside step %step iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
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

// A loop that does not count in indices.
// CHECK-LABEL: kernel.func @other_index
// CHECK-NOT: kernel.load_tile
kernel.func @other_index(%x: memref<?x2048xf32>, %w: memref<2x2048x64xf32>, %y: memref<?x128xf32>, %map: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %step = arith.constant 1 : index
  %max = arith.constant 6 : index
  %width = arith.constant 64 : index
  %k = arith.constant 2048 : index
  %m = memref.dim %x, %c0 : memref<?x2048xf32>
  %i0 = arith.constant 0 : i32
  %imax = arith.constant 6 : i32
  %im = arith.index_cast %m : index to i32
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %width : index
    scf.for %ri = %i0 to %im step %imax : i32 {
      %r = arith.index_cast %ri : i32 to index
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

// More rows than a chunk serves.
// CHECK-LABEL: kernel.func @too_tall
// CHECK-NOT: kernel.load_tile
kernel.func @too_tall(%x: memref<?x2048xf32>, %w: memref<2x2048x64xf32>, %y: memref<?x128xf32>, %map: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %step = arith.constant 1 : index
  %max = arith.constant 400 : index
  %width = arith.constant 64 : index
  %k = arith.constant 2048 : index
  %m = memref.dim %x, %c0 : memref<?x2048xf32>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %width : index
    scf.for %r = %c0 to %m step %max {
      %left = arith.subi %m, %r : index
      kernel.row_tile %left max 400 {
        %rows = kernel.row_indices %r {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : !kernel.rows<400>
        %zero = kernel.zero : !kernel.acc<400x64xf32>
        %acc = scf.for %kk = %c0 to %k step %step iter_args(%a = %zero) -> (!kernel.acc<400x64xf32>) {
          %next = kernel.mma %a, %x[%rows, %kk], %w[%n, %kk, %c0] : !kernel.acc<400x64xf32>, memref<?x2048xf32>, memref<2x2048x64xf32>
          scf.yield %next : !kernel.acc<400x64xf32>
        }
        kernel.store_tile %acc -> %y[%rows, %col] {
        ^bb0(%row: index, %c: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<400x64xf32>), memref<?x128xf32>
      }
    }
  }
  kernel.return
}

// Rows that are found by writing.
// CHECK-LABEL: kernel.func @writing_map
// CHECK-NOT: kernel.load_tile
kernel.func @writing_map(%x: memref<?x2048xf32>, %w: memref<2x2048x64xf32>, %y: memref<?x128xf32>, %map: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %step = arith.constant 1 : index
  %max = arith.constant 6 : index
  %width = arith.constant 64 : index
  %k = arith.constant 2048 : index
  %m = memref.dim %x, %c0 : memref<?x2048xf32>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %width : index
    scf.for %r = %c0 to %m step %max {
      %left = arith.subi %m, %r : index
      kernel.row_tile %left max 6 {
        %rows = kernel.row_indices %r {
        ^bb0(%i: index):
          %one = arith.constant 1 : i32
          memref.store %one, %map[%i] : memref<?xi32>
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

// An epilogue that writes beside its result.
// CHECK-LABEL: kernel.func @region_writes
// CHECK-NOT: kernel.load_tile
kernel.func @region_writes(%x: memref<?x2048xf32>, %w: memref<2x2048x64xf32>, %y: memref<?x128xf32>, %map: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %step = arith.constant 1 : index
  %max = arith.constant 6 : index
  %width = arith.constant 64 : index
  %k = arith.constant 2048 : index
  %m = memref.dim %x, %c0 : memref<?x2048xf32>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %width : index
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
          %zero_row = arith.constant 0.0 : f32
          memref.store %zero_row, %x[%row, %c] : memref<?x2048xf32>
          kernel.yield %v : f32
        } : (!kernel.acc<6x64xf32>), memref<?x128xf32>
      }
    }
  }
  kernel.return
}

// Memory of which it is not known whose it is.
// CHECK-LABEL: kernel.func @either
// CHECK-NOT: kernel.load_tile
kernel.func @either(%x: memref<?x2048xf32>, %w: memref<2x2048x64xf32>, %y: memref<?x128xf32>, %map: memref<?xi32>, %b: i1, %z: memref<?x2048xf32>) {
  %c0 = arith.constant 0 : index
  %step = arith.constant 1 : index
  %max = arith.constant 6 : index
  %width = arith.constant 64 : index
  %k = arith.constant 2048 : index
  %m = memref.dim %x, %c0 : memref<?x2048xf32>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %width : index
    scf.for %r = %c0 to %m step %max {
      %left = arith.subi %m, %r : index
      %d = arith.select %b, %x, %z : memref<?x2048xf32>
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
        kernel.store_tile %acc -> %d[%rows, %col] {
        ^bb0(%row: index, %c: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<6x64xf32>), memref<?x2048xf32>
      }
    }
  }
  kernel.return
}

// Rows of which it is not known in whose memory they lie.
// CHECK-LABEL: kernel.func @rows_of_either
// CHECK-NOT: kernel.load_tile
kernel.func @rows_of_either(%x: memref<?x2048xf32>, %w: memref<2x2048x64xf32>, %y: memref<?x128xf32>, %b: i1, %z: memref<?x2048xf32>) {
  %c0 = arith.constant 0 : index
  %step = arith.constant 1 : index
  %max = arith.constant 6 : index
  %width = arith.constant 64 : index
  %k = arith.constant 2048 : index
  %m = memref.dim %x, %c0 : memref<?x2048xf32>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %width : index
    scf.for %r = %c0 to %m step %max {
      %left = arith.subi %m, %r : index
      %d = arith.select %b, %x, %z : memref<?x2048xf32>
      kernel.row_tile %left max 6 {
        %rows = kernel.row_indices %r {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : !kernel.rows<6>
        %zero = kernel.zero : !kernel.acc<6x64xf32>
        %acc = scf.for %kk = %c0 to %k step %step iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
          %next = kernel.mma %a, %d[%rows, %kk], %w[%n, %kk, %c0] : !kernel.acc<6x64xf32>, memref<?x2048xf32>, memref<2x2048x64xf32>
          scf.yield %next : !kernel.acc<6x64xf32>
        }
        kernel.store_tile %acc -> %z[%rows, %col] {
        ^bb0(%row: index, %c: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<6x64xf32>), memref<?x2048xf32>
      }
    }
  }
  kernel.return
}

// Memory that is no memref.
// CHECK-LABEL: kernel.func @pointer
// CHECK-NOT: kernel.load_tile
kernel.func @pointer(%x: memref<?x2048xf32>, %w: memref<2x2048x64xf32>, %y: memref<?x128xf32>, %p: !llvm.ptr, %z: memref<?x2048xf32>) {
  %c0 = arith.constant 0 : index
  %step = arith.constant 1 : index
  %max = arith.constant 6 : index
  %width = arith.constant 64 : index
  %k = arith.constant 2048 : index
  %m = memref.dim %x, %c0 : memref<?x2048xf32>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %width : index
    scf.for %r = %c0 to %m step %max {
      %left = arith.subi %m, %r : index
      kernel.row_tile %left max 6 {
        %rows = kernel.row_indices %r {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : !kernel.rows<6>
        %bias = llvm.load %p : !llvm.ptr -> f32
        %zero = kernel.zero : !kernel.acc<6x64xf32>
        %acc = scf.for %kk = %c0 to %k step %step iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
          %next = kernel.mma %a, %x[%rows, %kk], %w[%n, %kk, %c0] : !kernel.acc<6x64xf32>, memref<?x2048xf32>, memref<2x2048x64xf32>
          scf.yield %next : !kernel.acc<6x64xf32>
        }
        kernel.store_tile %acc -> %z[%rows, %col] {
        ^bb0(%row: index, %c: index, %v: f32):
          %w0 = arith.addf %v, %bias : f32
          kernel.yield %w0 : f32
        } : (!kernel.acc<6x64xf32>), memref<?x2048xf32>
      }
    }
  }
  kernel.return
}
}
