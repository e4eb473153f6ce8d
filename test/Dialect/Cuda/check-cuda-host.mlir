// RUN: moe-opt %s --split-input-file --verify-diagnostics --kernel-check-cuda-host

// Sizes and launches are all that a host program needs.
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  kernel.func @k(%x: memref<?xf32>, %y: memref<?xf32>) {
    kernel.return
  }
  func.func @main(%x: memref<?xf32>) -> memref<?xf32> {
    %c0 = arith.constant 0 : index
    %n = memref.dim %x, %c0 : memref<?xf32>
    %y = memref.alloc(%n) : memref<?xf32>
    kernel.launch @k(%x, %y) rows(%n) work(%n) : memref<?xf32>, memref<?xf32>
    return %y : memref<?xf32>
  }
}

// -----

// A value that decides something comes by the runtime.
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  func.func @main(%x: memref<1xi64>) -> index {
    %c0 = arith.constant 0 : index
    %n = memref.load %x[%c0] : memref<1xi64>
    %i = arith.index_cast %n : i64 to index
    return %i : index
  }
}

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) {
    // expected-error@+1 {{'memref.copy' op accesses device memory from the host program: on a GPU kernels do that, and memref.load may read; compile it for --target=cpu}}
    memref.copy %x, %y : memref<4xf32> to memref<4xf32>
    return
  }
}

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  func.func @main(%x: memref<4xf32>, %v: f32) {
    %c0 = arith.constant 0 : index
    // expected-error@+1 {{'memref.store' op accesses device memory}}
    memref.store %v, %x[%c0] : memref<4xf32>
    return
  }
}

// -----

// The runtime brings constants to the GPU.
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  memref.global "private" constant @table : memref<2xf32> = dense<[1.0, 2.0]>
  func.func @main() -> memref<2xf32> {
    %t = memref.get_global @table : memref<2xf32>
    return %t : memref<2xf32>
  }
}

// -----

// With a CPU the host may do all of this.
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>} {
  func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) {
    memref.copy %x, %y : memref<4xf32> to memref<4xf32>
    return
  }
}
