// Dimensions that a buffer does not have, as numbers or computed, end the way to level runtime.
// RUN: moe-opt %s --split-input-file --verify-diagnostics --kernel-to-runtime

module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>} {
  func.func @behind(%x: memref<?x8xf32>) -> memref<?x8xf32> {
    %c7 = arith.constant 7 : index
    // expected-error@+1 {{'memref.dim' op asks for the size of dimension 7 of a buffer that has 2; they count from 0}}
    %n = memref.dim %x, %c7 : memref<?x8xf32>
    %y = memref.alloc(%n) : memref<?x8xf32>
    return %y : memref<?x8xf32>
  }
}

// -----

module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>} {
  func.func @computed(%x: memref<?x8xf32> {moe.dims = ["tokens", ""]}) -> memref<?x8xf32> {
    %c1 = arith.constant 1 : index
    %c2 = arith.addi %c1, %c1 : index
    // expected-error@+1 {{'memref.dim' op asks for the size of dimension 2 of a buffer that has 2; they count from 0}}
    %n = memref.dim %x, %c2 : memref<?x8xf32>
    %y = memref.alloc(%n) : memref<?x8xf32>
    return %y : memref<?x8xf32>
  }
}

// -----

module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>} {
  func.func @before(%x: memref<?x8xf32> {moe.dims = ["tokens", ""]}) -> memref<?x8xf32> {
    %below = arith.constant -1 : index
    // expected-error@+1 {{'memref.dim' op asks for the size of dimension -1 of a buffer that has 2; they count from 0}}
    %n = memref.dim %x, %below : memref<?x8xf32>
    %y = memref.alloc(%n) : memref<?x8xf32>
    return %y : memref<?x8xf32>
  }
}
