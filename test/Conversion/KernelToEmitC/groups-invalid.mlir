// RUN: moe-opt %s --kernel-to-emitc --split-input-file --verify-diagnostics

// A kernel that nobody launches has no loop over phases.
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  kernel.func @phase(%x: memref<8x8xf32>) {
    // expected-error@+1 {{'kernel.phase' op is in no loop over phases; kernel-join-groups makes one, as a launch says}}
    %phase = kernel.phase : index
    %zero = arith.constant 0.0 : f32
    scf.forall (%i) in (8) {
      memref.store %zero, %x[%phase, %i] : memref<8x8xf32>
    }
    kernel.return
  }
}

// -----

// No loop over tiles of rows stands before the arrival.
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
      // expected-error@+1 {{'kernel.arrive' op stands in a kernel with products, but not around the tiles of a record, where the roles of a GPU's warps wait and arrive}}
      kernel.arrive %done[%c0] : memref<2xi32>
    }
    kernel.return
  }
}

// -----

// What is in a window decides which rows there are, and is read behind the wait.
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  kernel.func @product(%x: !kernel.window<?x96xbf16>, %sizes: !kernel.window<2xi32>, %came: !kernel.window<2xi32>, %w: memref<1x2x128x64xbf16>, %y: memref<?x40xbf16>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c96 = arith.constant 96 : index
    %c128 = arith.constant 128 : index
    %own = kernel.part %x : !kernel.window<?x96xbf16> -> memref<?x96xbf16>
    %counts = kernel.part %sizes : !kernel.window<2xi32> -> memref<2xi32>
    %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
    scf.forall (%block) in (2) {
      kernel.await %came[%block] reach %epoch from %block : !kernel.window<2xi32>
      // expected-error@+1 {{'memref.load' op reads a window behind a wait but outside of the tiles of rows; on a GPU, who waits loads tiles only}}
      %count = memref.load %counts[%block] : memref<2xi32>
      %rows = arith.index_cast %count : i32 to index
      scf.for %row = %c0 to %rows step %c128 {
        %left = arith.subi %rows, %row : index
        kernel.row_tile %left max 128 {
          %index = kernel.row_indices %row {
          ^bb0(%i: index):
            kernel.yield %i : index
          } : <128>
          %zero = kernel.zero : <128x128xf32>
          %acc = scf.for %k = %c0 to %c96 step %c64 iter_args(%a = %zero) -> (!kernel.acc<128x128xf32>) {
            %next = kernel.mma %a, %own[%index, %k], %w[%c0, %k, %c0] : !kernel.acc<128x128xf32>, memref<?x96xbf16>, memref<1x2x128x64xbf16>
            scf.yield %next : !kernel.acc<128x128xf32>
          }
          kernel.store_tile %acc -> %y[%index, %c0] {
          ^bb0(%r: index, %c: index, %v: f32):
            %o = arith.truncf %v : f32 to bf16
            kernel.yield %o : bf16
          } : (!kernel.acc<128x128xf32>), memref<?x40xbf16>
        }
      }
    }
    kernel.return
  }
}

// -----

// All tiles of a record wait for the same.
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  kernel.func @product(%x: memref<?x96xbf16>, %counts: memref<2xi32>, %came: !kernel.window<2xi32>, %w: memref<2x2x128x64xbf16>, %y: memref<?x256xbf16>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c96 = arith.constant 96 : index
    %c128 = arith.constant 128 : index
    %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
    scf.forall (%column, %record) in (2, 2) {
      // expected-error@+1 {{'kernel.await' op depends on the columns of a tile; on a GPU, the tiles of a record wait together}}
      kernel.await %came[%column] reach %epoch from %column : !kernel.window<2xi32>
      %count = memref.load %counts[%record] : memref<2xi32>
      %rows = arith.index_cast %count : i32 to index
      %first = arith.muli %column, %c128 : index
      scf.for %row = %c0 to %rows step %c128 {
        %left = arith.subi %rows, %row : index
        kernel.row_tile %left max 128 {
          %index = kernel.row_indices %row {
          ^bb0(%i: index):
            kernel.yield %i : index
          } : <128>
          %zero = kernel.zero : <128x128xf32>
          %acc = scf.for %k = %c0 to %c96 step %c64 iter_args(%a = %zero) -> (!kernel.acc<128x128xf32>) {
            %next = kernel.mma %a, %x[%index, %k], %w[%column, %k, %c0] : !kernel.acc<128x128xf32>, memref<?x96xbf16>, memref<2x2x128x64xbf16>
            scf.yield %next : !kernel.acc<128x128xf32>
          }
          kernel.store_tile %acc -> %y[%index, %first] {
          ^bb0(%r: index, %c: index, %v: f32):
            %o = arith.truncf %v : f32 to bf16
            kernel.yield %o : bf16
          } : (!kernel.acc<128x128xf32>), memref<?x256xbf16>
        }
      }
    }
    kernel.return
  }
}
