// RUN: moe-opt %s -split-input-file --kernel-verify-bounds -verify-diagnostics

// What is masked, decided by a condition, or not known is nobody's fault; nothing changes.

kernel.func @good(%x: memref<7x100xf32>, %w: memref<2x128x64xf32>, %bias: memref<100xf32>, %y: memref<7x100xf32>, %ids: memref<7xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %c64 = arith.constant 64 : index
  %k = arith.constant 128 : index
  scf.forall (%n) in (2) {
    %first = arith.muli %n, %c64 : index
    // Rows 0 and 6, and columns 0 and 64: of the last tiles less exists.
    scf.for %r = %c0 to %c7 step %c6 {
      %left = arith.subi %c7, %r : index
      kernel.row_tile %left max 6 {
        %rows = kernel.row_indices %r {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : !kernel.rows<6>
        %zero = kernel.zero : !kernel.acc<6x64xf32>
        // Steps of K behind the last column of x count as zero.
        %acc = scf.for %kk = %c0 to %k step %c1 iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
          %next = kernel.mma %a, %x[%rows, %kk], %w[%n, %kk, %c0] : !kernel.acc<6x64xf32>, memref<7x100xf32>, memref<2x128x64xf32>
          scf.yield %next : !kernel.acc<6x64xf32>
        }
        kernel.store_tile %acc -> %y[%rows, %first] {
        ^bb0(%row: index, %c: index, %v: f32):
          %b = memref.load %bias[%c] : memref<100xf32>
          %sum = arith.addf %v, %b : f32
          kernel.yield %sum : f32
        } : (!kernel.acc<6x64xf32>), memref<7x100xf32>
      }
    }
  }
  // Seven elements in steps of four: the last one starts at 4, and a condition keeps what lies behind.
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i64
  scf.for %i = %c0 to %c7 step %c4 {
    scf.for %j = %c0 to %c4 step %c1 {
      %at = arith.addi %i, %j : index
      %inside = arith.cmpi ult, %at, %c7 : index
      scf.if %inside {
        memref.store %zero, %ids[%at] : memref<7xi64>
      }
      %clamped = arith.minui %at, %c6 : index
      memref.store %zero, %ids[%clamped] : memref<7xi64>
    }
    scf.for %j = %c0 to %c3 step %c1 {
      %at = arith.addi %i, %j : index
      memref.store %zero, %ids[%at] : memref<7xi64>
    }
  }
  // No iteration, so no access.
  scf.for %i = %c7 to %c7 step %c1 {
    memref.store %zero, %ids[%i] : memref<7xi64>
  }
  kernel.return
}

// -----

kernel.func @constant(%t: memref<8x5xf32>) {
  %c0 = arith.constant 0 : index
  %c77 = arith.constant 77 : index
  // expected-error @below {{'memref.load' op reaches element 77 of dimension 0 of 'memref<8x5xf32>', which has 8 (0 to 7)}}
  %v = memref.load %t[%c77, %c0] : memref<8x5xf32>
  memref.store %v, %t[%c0, %c0] : memref<8x5xf32>
  kernel.return
}

// -----

// Whatever the condition is, no run of this access is right.
kernel.func @constant_in_condition(%t: memref<8xf32>, %do: i1) {
  %c8 = arith.constant 8 : index
  %v = arith.constant 0.0 : f32
  scf.if %do {
    // expected-error @below {{'memref.store' op reaches element 8 of dimension 0}}
    memref.store %v, %t[%c8] : memref<8xf32>
  }
  kernel.return
}

// -----

kernel.func @negative(%t: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %before = arith.subi %i, %c1 : index
    // expected-error @below {{'memref.load' op reaches element -1 of dimension 0}}
    %v = memref.load %t[%before] : memref<8xf32>
    memref.store %v, %t[%i] : memref<8xf32>
  }
  kernel.return
}

// -----

// Its last iteration is 8, not 9.
kernel.func @steps(%t: memref<12xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c10 = arith.constant 10 : index
  %v = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c10 step %c4 {
    scf.for %j = %c0 to %c4 step %c1 {
      %at = arith.addi %i, %j : index
      memref.store %v, %t[%at] : memref<12xf32>
    }
    scf.for %j = %c0 to %c5 step %c1 {
      %at = arith.addi %i, %j : index
      // expected-error @below {{'memref.store' op reaches element 12 of dimension 0}}
      memref.store %v, %t[%at] : memref<12xf32>
    }
  }
  kernel.return
}

// -----

func.func @host(%t: memref<?x4xi64>, %i: index) -> i64 {
  %c4 = arith.constant 4 : index
  // expected-error @below {{'memref.load' op reaches element 4 of dimension 1 of 'memref<?x4xi64>', which has 4 (0 to 3)}}
  %v = memref.load %t[%i, %c4] : memref<?x4xi64>
  return %v : i64
}

// -----

kernel.func @k(%x: memref<?x128xf32>, %w: memref<128x64xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = arith.constant 129 : index
  kernel.row_tile %m max 6 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<6>
    %zero = kernel.zero : !kernel.acc<6x64xf32>
    %acc = scf.for %kk = %c0 to %k step %c1 iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
      // expected-error @below {{'kernel.mma' op reaches element 128 of dimension 0 of 'memref<128x64xf32>', which has 128 (0 to 127)}}
      %next = kernel.mma %a, %x[%rows, %kk], %w[%kk, %c0] : !kernel.acc<6x64xf32>, memref<?x128xf32>, memref<128x64xf32>
      scf.yield %next : !kernel.acc<6x64xf32>
    }
  }
  kernel.return
}

// -----

// Pairs: 64 steps of two elements.
kernel.func @pairs(%x: memref<?x128xbf16>, %w: memref<64x64x2xbf16>, %m: index) {
  %c0 = arith.constant 0 : index
  %c127 = arith.constant 127 : index
  kernel.row_tile %m max 6 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<6>
    %zero = kernel.zero : !kernel.acc<6x64xf32>
    // expected-error @below {{'kernel.mma' op reaches element 128 of dimension 0 of 'memref<64x64x2xbf16>', which has 128 (0 to 127)}}
    %next = kernel.mma %zero, %x[%rows, %c127], %w[%c127, %c0] : !kernel.acc<6x64xf32>, memref<?x128xbf16>, memref<64x64x2xbf16>
  }
  kernel.return
}

// -----

kernel.func @inbounds(%x: memref<?x100xf32>, %w: memref<128x64xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %c100 = arith.constant 100 : index
  kernel.row_tile %m max 6 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<6>
    %zero = kernel.zero : !kernel.acc<6x64xf32>
    // expected-error @below {{'kernel.mma' op reaches element 100 of dimension 1 of 'memref<?x100xf32>', which has 100 (0 to 99)}}
    %next = kernel.mma %zero, %x[%rows, %c100], %w[%c100, %c0] {inbounds} : !kernel.acc<6x64xf32>, memref<?x100xf32>, memref<128x64xf32>
  }
  kernel.return
}

// -----

kernel.func @columns(%x: memref<?x128xf32>, %w: memref<128x64xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  kernel.row_tile %m max 6 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<6>
    %zero = kernel.zero : !kernel.acc<6x48xf32>
    // expected-error @below {{'kernel.mma' op reaches element 79 of dimension 1 of 'memref<128x64xf32>', which has 64 (0 to 63)}}
    %next = kernel.mma %zero, %x[%rows, %c0], %w[%c0, %c32] : !kernel.acc<6x48xf32>, memref<?x128xf32>, memref<128x64xf32>
  }
  kernel.return
}

// -----

kernel.func @leading(%x: memref<?x128xf32>, %w: memref<2x128x64xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  scf.forall (%n) in (3) {
    kernel.row_tile %m max 6 {
      %rows = kernel.row_indices %c0 {
      ^bb0(%i: index):
        kernel.yield %i : index
      } : !kernel.rows<6>
      %zero = kernel.zero : !kernel.acc<6x64xf32>
      // expected-error @below {{'kernel.mma' op reaches element 2 of dimension 0 of 'memref<2x128x64xf32>', which has 2 (0 to 1)}}
      %next = kernel.mma %zero, %x[%rows, %c0], %w[%n, %c0, %c0] : !kernel.acc<6x64xf32>, memref<?x128xf32>, memref<2x128x64xf32>
    }
  }
  kernel.return
}

// -----

kernel.func @load_tile(%sums: memref<384x64xf32>, %y: memref<?x64xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  kernel.row_tile %m max 6 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<6>
    // expected-error @below {{'kernel.load_tile' op reaches element 79 of dimension 1 of 'memref<384x64xf32>'}}
    %acc = kernel.load_tile %sums[%rows, %c32] : memref<384x64xf32> -> <6x48xf32>
  }
  kernel.return
}

// -----

// The first row of a tile exists, here and where rows are gathered.
kernel.func @rows(%map: memref<12xindex>, %y: memref<12x64xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %c18 = arith.constant 18 : index
  scf.for %r = %c0 to %c18 step %c6 {
    kernel.row_tile %m max 6 {
      %rows = kernel.row_indices %r {
      ^bb0(%i: index):
        // expected-error @below {{'memref.load' op reaches element 12 of dimension 0 of 'memref<12xindex>'}}
        %at = memref.load %map[%i] : memref<12xindex>
        kernel.yield %at : index
      } : !kernel.rows<6>
      %acc = kernel.zero : !kernel.acc<6x64xf32>
      kernel.store_tile %acc -> %y[%rows, %c0] {
      ^bb0(%row: index, %c: index, %v: f32):
        kernel.yield %v : f32
      } : (!kernel.acc<6x64xf32>), memref<12x64xf32>
    }
  }
  kernel.return
}

// -----

kernel.func @stored_rows(%y: memref<12x64xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %c12 = arith.constant 12 : index
  kernel.row_tile %m max 6 {
    %rows = kernel.row_indices %c12 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<6>
    %acc = kernel.zero : !kernel.acc<6x64xf32>
    // expected-error @below {{'kernel.store_tile' op reaches element 12 of dimension 0 of 'memref<12x64xf32>'}}
    kernel.store_tile %acc -> %y[%rows, %c0] {
    ^bb0(%row: index, %c: index, %v: f32):
      kernel.yield %v : f32
    } : (!kernel.acc<6x64xf32>), memref<12x64xf32>
  }
  kernel.return
}

// -----

kernel.func @limit(%y: memref<?x64xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %c65 = arith.constant 65 : index
  kernel.row_tile %m max 6 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<6>
    %acc = kernel.zero : !kernel.acc<6x64xf32>
    // expected-error @below {{'kernel.store_tile' op stores columns up to the limit 65 of 'memref<?x64xf32>', which has 64}}
    kernel.store_tile %acc -> %y[%rows, %c0] limit(%c65) {
    ^bb0(%row: index, %c: index, %v: f32):
      kernel.yield %v : f32
    } : (!kernel.acc<6x64xf32>), memref<?x64xf32>
  }
  kernel.return
}

// -----

// What an epilogue loads beside the columns that it stores.
kernel.func @epilogue(%bias: memref<40xf32>, %y: memref<?x60xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  kernel.row_tile %m max 6 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<6>
    %acc = kernel.zero : !kernel.acc<6x64xf32>
    kernel.store_tile %acc -> %y[%rows, %c0] {
    ^bb0(%row: index, %c: index, %v: f32):
      // expected-error @below {{'memref.load' op reaches element 59 of dimension 0 of 'memref<40xf32>', which has 40 (0 to 39)}}
      %b = memref.load %bias[%c] : memref<40xf32>
      %sum = arith.addf %v, %b : f32
      kernel.yield %sum : f32
    } : (!kernel.acc<6x64xf32>), memref<?x60xf32>
  }
  kernel.return
}

// -----

// Numbers that do not fit into a machine's.
kernel.func @huge(%t: memref<8xf32>) {
  %huge = arith.constant 9223372036854775807 : index
  %v = arith.constant 0.0 : f32
  %sum = arith.addi %huge, %huge : index
  memref.store %v, %t[%sum] : memref<8xf32>
  // expected-error @below {{'memref.store' op reaches element 9223372036854775807 of dimension 0}}
  memref.store %v, %t[%huge] : memref<8xf32>
  kernel.return
}
