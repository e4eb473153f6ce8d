// RUN: moe-opt %s --convert-kernel-to-emitc --split-input-file --verify-diagnostics

// expected-error@+1 {{'kernel.func' op argument 0 of type 'memref<4xf64>' has no C++ form}}
kernel.func @wide(%x: memref<4xf64>) {
  kernel.return
}

// -----

kernel.func @vector(%x: memref<4xf32>) {
  // expected-error@+1 {{'arith.constant' op has a result of type 'vector<4xf32>', which has no C++ form}}
  %v = arith.constant dense<0.0> : vector<4xf32>
  kernel.return
}

// -----

// Inside a loop the operation is named, not the loop.
kernel.func @inside(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    // expected-error@+1 {{'math.cbrt' op has no CUDA C++ form}}
    %w = math.cbrt %v : f32
    memref.store %w, %x[%i] : memref<?xf32>
  }
  kernel.return
}
