// RUN: moe-opt %s --kernel-lower-windows --verify-diagnostics --split-input-file

kernel.func @k(%a: !kernel.window<2xi32>, %b: !kernel.window<2xi32>, %p: i1) {
  // expected-error@+1 {{'arith.select' op uses a window, which only ops of the kernel dialect can do}}
  %w = arith.select %p, %a, %b : !kernel.window<2xi32>
  %e = kernel.epoch %w : !kernel.window<2xi32> -> i32
  kernel.return
}

// -----

kernel.func @k(%w: !kernel.window<?x8xf32>, %peer: index, %v: vector<4xf32>, %i: index) {
  %there = kernel.part %w[%peer] : !kernel.window<?x8xf32> -> memref<?x8xf32>
  // expected-error@+1 {{'vector.store' op uses another rank's part of a window, to which only memref.store may write}}
  vector.store %v, %there[%i, %i] : memref<?x8xf32>, vector<4xf32>
  kernel.return
}
