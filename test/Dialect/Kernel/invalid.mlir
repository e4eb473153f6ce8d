// Every rule of the verifiers of block programs, and of the syntax of tiles.
// RUN: moe-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'kernel.func' op has no results; a kernel writes to its arguments}}
"kernel.func"() <{sym_name = "results", function_type = (memref<4xf32>) -> f32}> ({
^bb0(%a: memref<4xf32>):
  kernel.return
}) : () -> ()

// -----

// expected-error@+1 {{'kernel.func' op argument 1 must be a contiguous row-major memref, or have sizes and strides that are numbers and no offset, got 'memref<4x4xf32, strided<[1, 4]>>'}}
kernel.func @strided(%n: index, %a: memref<4x4xf32, strided<[1, 4]>>) {
  kernel.return
}

// -----

func.func @host(%n: index) {
  // expected-error@+1 {{'kernel.launch' op names no kernel: @nothing}}
  kernel.launch @nothing() rows(%n) work(%n)
  return
}

// -----

kernel.func @one(%a: memref<4xf32>) {
  kernel.return
}
func.func @host(%n: index) {
  // expected-error@+1 {{'kernel.launch' op passes 0 arguments to @one, which takes 1}}
  kernel.launch @one() rows(%n) work(%n)
  return
}

// -----

kernel.func @one(%a: memref<4xf32>) {
  kernel.return
}
func.func @host(%n: index, %a: memref<5xf32>) {
  // expected-error@+1 {{'kernel.launch' op argument 0 of @one is 'memref<5xf32>', expected 'memref<4xf32>'}}
  kernel.launch @one(%a) rows(%n) work(%n) : memref<5xf32>
  return
}

// -----

kernel.func @tile(%n: index) {
  // expected-error@+1 {{'kernel.row_tile' op max must be at least 1, got 0}}
  kernel.row_tile %n max 0 {
  }
  kernel.return
}

// -----

kernel.func @rows(%n: index) {
  // expected-error@+1 {{'kernel.row_indices' op region takes one index argument}}
  %rows = kernel.row_indices %n {
  ^bb0(%i: index, %j: index):
    kernel.yield %i : index
  } : !kernel.rows<6>
  kernel.return
}

// -----

kernel.func @rows(%n: index) {
  // expected-error@+1 {{'kernel.row_indices' op region must yield one index}}
  %rows = kernel.row_indices %n {
  ^bb0(%i: index):
    kernel.yield %i, %i : index, index
  } : !kernel.rows<6>
  kernel.return
}

// -----

// expected-error@+1 {{expected <rows>x<columns>x<element type>}}
func.func private @type(!kernel.acc<6xf32>)

// -----

// expected-error@+1 {{a tile needs at least one row and one column}}
func.func private @type(!kernel.acc<6x0xf32>)

// -----

// expected-error@+1 {{accumulators are f32, got 'bf16'}}
func.func private @type(!kernel.acc<6x64xbf16>)

// -----

// expected-error@+1 {{a tile needs at least one row}}
func.func private @type(!kernel.rows<0>)

// -----

func.func @mma(%acc: !kernel.acc<6x64xf32>, %rows: !kernel.rows<6>, %a: memref<8x8xf32>, %b: memref<8x64xf32>, %k: index) {
  // expected-error@+1 {{b needs the indices [..., k, column]}}
  %0 = kernel.mma %acc, %a[%rows, %k], %b[%k] : !kernel.acc<6x64xf32>, memref<8x8xf32>, memref<8x64xf32>
  return
}

// -----

func.func @mma(%acc: !kernel.acc<6x64xf32>, %rows: !kernel.rows<6>, %a: memref<8x8xf32>, %b: memref<8x64xf32>, %k: index, %j: index) {
  // expected-error@+1 {{a and b must step over the same k}}
  %0 = kernel.mma %acc, %a[%rows, %k], %b[%j, %k] : !kernel.acc<6x64xf32>, memref<8x8xf32>, memref<8x64xf32>
  return
}

// -----

func.func @mma(%acc: f32, %rows: !kernel.rows<6>, %a: memref<8x8xf32>, %b: memref<8x64xf32>, %k: index) {
  // expected-error@+1 {{expected a !kernel.acc}}
  %0 = kernel.mma %acc, %a[%rows, %k], %b[%k, %k] : f32, memref<8x8xf32>, memref<8x64xf32>
  return
}

// -----

func.func @mma(%acc: !kernel.acc<6x64xf32>, %rows: !kernel.rows<6>, %a: memref<8x8x8xf32>, %b: memref<8x64xf32>, %k: index) {
  // expected-error@+1 {{'kernel.mma' op a must be a matrix, got 'memref<8x8x8xf32>'}}
  %0 = kernel.mma %acc, %a[%rows, %k], %b[%k, %k] : !kernel.acc<6x64xf32>, memref<8x8x8xf32>, memref<8x64xf32>
  return
}

// -----

func.func @mma(%acc: !kernel.acc<6x64xf32>, %rows: !kernel.rows<6>, %a: memref<8x8xbf16>, %b: memref<8x64xf32>, %k: index) {
  // expected-error@+1 {{'kernel.mma' op a and b must have one element type, got 'bf16' and 'f32'}}
  %0 = kernel.mma %acc, %a[%rows, %k], %b[%k, %k] : !kernel.acc<6x64xf32>, memref<8x8xbf16>, memref<8x64xf32>
  return
}

// -----

func.func @mma(%acc: !kernel.acc<6x64xf32>, %rows: !kernel.rows<4>, %a: memref<8x8xf32>, %b: memref<8x64xf32>, %k: index) {
  // expected-error@+1 {{'kernel.mma' op rows and accumulators must have the same number of rows}}
  %0 = "kernel.mma"(%acc, %a, %rows, %b, %k, %k)
      : (!kernel.acc<6x64xf32>, memref<8x8xf32>, !kernel.rows<4>, memref<8x64xf32>, index, index) -> !kernel.acc<6x64xf32>
  return
}

// -----

func.func @mma(%acc: !kernel.acc<6x64xf32>, %rows: !kernel.rows<6>, %a: memref<8x8xf32>, %b: memref<8x64x3xf32>, %k: index) {
  // expected-error@+1 {{'kernel.mma' op b needs 0 leading dimensions, then steps of k, columns and at most a power of two of elements per step; got 'memref<8x64x3xf32>'}}
  %0 = kernel.mma %acc, %a[%rows, %k], %b[%k, %k] : !kernel.acc<6x64xf32>, memref<8x8xf32>, memref<8x64x3xf32>
  return
}

// -----

func.func @mma(%acc: !kernel.acc<6x64xf32>, %rows: !kernel.rows<6>, %a: memref<8x8xf32>, %b: memref<8x32xf32>, %k: index) {
  // expected-error@+1 {{'kernel.mma' op b has 32 columns, fewer than the tile's 64}}
  %0 = kernel.mma %acc, %a[%rows, %k], %b[%k, %k] : !kernel.acc<6x64xf32>, memref<8x8xf32>, memref<8x32xf32>
  return
}

// -----

func.func @store(%acc: !kernel.acc<6x64xf32>, %dest: memref<8x64xf32>, %i: index) {
  // expected-error@+1 {{expected accumulators and dest[..., rows, column]}}
  kernel.store_tile %acc -> %dest[%i] {
  ^bb0(%row: index, %c: index, %v: f32):
    kernel.yield %v : f32
  } : (!kernel.acc<6x64xf32>), memref<8x64xf32>
  return
}

// -----

func.func @store(%rows: !kernel.rows<6>, %dest: memref<8x64xf32>, %i: index) {
  // expected-error@+1 {{'kernel.store_tile' op stores at least one accumulator}}
  "kernel.store_tile"(%dest, %rows, %i) <{operandSegmentSizes = array<i32: 0, 1, 0, 1, 1, 0>}> ({
  ^bb0(%row: index, %c: index):
    %v = arith.constant 0.0 : f32
    kernel.yield %v : f32
  }) : (memref<8x64xf32>, !kernel.rows<6>, index) -> ()
  return
}

// -----

func.func @store(%a: !kernel.acc<6x64xf32>, %b: !kernel.acc<6x32xf32>, %rows: !kernel.rows<6>, %dest: memref<8x64xf32>, %i: index) {
  // expected-error@+1 {{'kernel.store_tile' op accumulators must have one shape}}
  kernel.store_tile %a, %b -> %dest[%rows, %i] {
  ^bb0(%row: index, %c: index, %v: f32, %w: f32):
    kernel.yield %v : f32
  } : (!kernel.acc<6x64xf32>, !kernel.acc<6x32xf32>), memref<8x64xf32>
  return
}

// -----

func.func @store(%acc: !kernel.acc<6x64xf32>, %rows: !kernel.rows<4>, %dest: memref<8x64xf32>, %i: index) {
  // expected-error@+1 {{'kernel.store_tile' op rows and accumulators must have the same number of rows}}
  "kernel.store_tile"(%acc, %dest, %rows, %i) <{operandSegmentSizes = array<i32: 1, 1, 0, 1, 1, 0>}> ({
  ^bb0(%row: index, %c: index, %v: f32):
    kernel.yield %v : f32
  }) : (!kernel.acc<6x64xf32>, memref<8x64xf32>, !kernel.rows<4>, index) -> ()
  return
}

// -----

func.func @store(%acc: !kernel.acc<6x64xf32>, %rows: !kernel.rows<6>, %dest: memref<8xf32>, %i: index) {
  // expected-error@+1 {{'kernel.store_tile' op dest must have rank 2, got 'memref<8xf32>'}}
  kernel.store_tile %acc -> %dest[%rows, %i] {
  ^bb0(%row: index, %c: index, %v: f32):
    kernel.yield %v : f32
  } : (!kernel.acc<6x64xf32>), memref<8xf32>
  return
}

// -----

func.func @store(%acc: !kernel.acc<6x64xf32>, %rows: !kernel.rows<6>, %dest: memref<8x64xf32>, %i: index) {
  // expected-error@+1 {{'kernel.store_tile' op region takes (row: index, column: index) and 1 value(s)}}
  kernel.store_tile %acc -> %dest[%rows, %i] {
  ^bb0(%row: index, %v: f32):
    kernel.yield %v : f32
  } : (!kernel.acc<6x64xf32>), memref<8x64xf32>
  return
}

// -----

func.func @store(%acc: !kernel.acc<6x64xf32>, %rows: !kernel.rows<6>, %dest: memref<8x64xbf16>, %i: index) {
  // expected-error@+1 {{'kernel.store_tile' op region's values must be 'f32'}}
  kernel.store_tile %acc -> %dest[%rows, %i] {
  ^bb0(%row: index, %c: index, %v: bf16):
    kernel.yield %v : bf16
  } : (!kernel.acc<6x64xf32>), memref<8x64xbf16>
  return
}

// -----

func.func @store(%acc: !kernel.acc<6x64xf32>, %rows: !kernel.rows<6>, %dest: memref<8x64xbf16>, %i: index) {
  // expected-error@+1 {{'kernel.store_tile' op region must yield one 'bf16'}}
  kernel.store_tile %acc -> %dest[%rows, %i] {
  ^bb0(%row: index, %c: index, %v: f32):
    kernel.yield %v : f32
  } : (!kernel.acc<6x64xf32>), memref<8x64xbf16>
  return
}

// -----

func.func private @host()
func.func @not_a_kernel(%n: index) {
  // expected-error@+1 {{'kernel.launch' op names no kernel: @host}}
  kernel.launch @host() rows(%n) work(%n)
  return
}

// -----

kernel.func @negative_row_tile(%n: index) {
  // expected-error@+1 {{'kernel.row_tile' op max must be at least 1, got -6}}
  kernel.row_tile %n max -6 {
  }
  kernel.return
}

// -----

kernel.func @tile_of_another_height(%n: index) {
  kernel.row_tile %n max 6 {
    // expected-error@+1 {{'kernel.zero' op makes a tile of 4 rows inside a row_tile of 6}}
    %zero = kernel.zero : !kernel.acc<4x64xf32>
  }
  kernel.return
}

// -----

kernel.func @rows_of_another_height(%n: index) {
  kernel.row_tile %n max 6 {
    // expected-error@+1 {{'kernel.row_indices' op makes a tile of 8 rows inside a row_tile of 6}}
    %rows = kernel.row_indices %n {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<8>
  }
  kernel.return
}

// -----

func.func @return() {
  // expected-error@+1 {{'kernel.return' op expects parent op 'kernel.func'}}
  kernel.return
}

// -----

kernel.func @yield(%n: index) {
  // expected-error@+1 {{'kernel.yield' op expects parent op to be one of 'kernel.row_indices, kernel.store_tile'}}
  kernel.yield %n : index
}

// -----

kernel.func @independent(%n: index) {
  // expected-error@+1 {{'scf.forall' op 'kernel.independent' is a unit attribute of scf.for}}
  scf.forall (%i) in (%n) {
  } {kernel.independent}
  kernel.return
}

// -----

kernel.func @columns_inside(%n: index) {
  // expected-error@+1 {{'scf.forall' op 'kernel.columns_inside' is a unit attribute of an scf.forall over column blocks and tiles}}
  scf.forall (%i) in (%n) {
  } {kernel.columns_inside}
  kernel.return
}

// -----

func.func @load(%sums: memref<8x64xbf16>, %rows: !kernel.rows<6>, %i: index) {
  // expected-error@+1 {{'kernel.load_tile' op source must hold 'f32', got 'memref<8x64xbf16>'}}
  %acc = kernel.load_tile %sums[%rows, %i] : memref<8x64xbf16> -> <6x64xf32>
  return
}

// -----

func.func @load(%sums: memref<8x32xf32>, %rows: !kernel.rows<6>, %i: index) {
  // expected-error@+1 {{'kernel.load_tile' op source has 32 columns, fewer than the tile's 64}}
  %acc = kernel.load_tile %sums[%rows, %i] : memref<8x32xf32> -> <6x64xf32>
  return
}

// -----

func.func @load(%sums: memref<8x64xf32>, %rows: !kernel.rows<5>, %i: index) {
  // expected-error@+1 {{'kernel.load_tile' op failed to verify that a row index for each row}}
  "kernel.load_tile"(%sums, %rows, %i) : (memref<8x64xf32>, !kernel.rows<5>, index) -> !kernel.acc<6x64xf32>
  return
}
