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
    // expected-error@+1 {{'math.cbrt' op has no CUDA C++ form; leave it out, or compile for --target=cpu}}
    %w = math.cbrt %v : f32
    memref.store %w, %x[%i] : memref<?xf32>
  }
  kernel.return
}

// -----

kernel.func @dimension(%x: memref<?x4xf32>) {
  %c5 = arith.constant 5 : index
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'memref.dim' op asks for a dimension that its memref does not have}}
  %d = memref.dim %x, %c5 : memref<?x4xf32>
  %v = arith.index_cast %d : index to i32
  %f = arith.sitofp %v : i32 to f32
  memref.store %f, %x[%c0, %c0] : memref<?x4xf32>
  kernel.return
}

// -----

// Threads of a product have roles, and none of them is the one that signals.
kernel.func @roles(%flags: !kernel.window<2xi32>, %n: index, %epoch: i32) {
  cuda.warp_roles {
    cuda.role @one warps(4) registers(40) {
      // expected-error@+1 {{'kernel.signal' op is in a kernel with products, whose threads have roles; exchange in a launch of its own}}
      kernel.signal %flags[%n][%n], %epoch : !kernel.window<2xi32>
    }
  }
  kernel.return
}

// -----

// expected-error@+1 {{'kernel.func' op argument 0 of type '!kernel.window<2xf64>' has no C++ form}}
kernel.func @element(%rows: !kernel.window<2xf64>) {
  kernel.return
}

// -----

// Bits are read of f32 only.
kernel.func @number_of_bits(%x: memref<?xi32>, %y: memref<?xf32>, %i: index) {
  %v = memref.load %x[%i] : memref<?xi32>
  // expected-error@+1 {{'arith.bitcast' op has no CUDA C++ form}}
  %w = arith.bitcast %v : i32 to f32
  memref.store %w, %y[%i] : memref<?xf32>
  kernel.return
}
