// RUN: moe-opt %s --kernel-lower-windows --verify-diagnostics

kernel.func @k(%a: !kernel.window<2xi32>, %b: !kernel.window<2xi32>, %p: i1) {
  // expected-error@+1 {{'arith.select' op uses a window, which only ops of the kernel dialect can do}}
  %w = arith.select %p, %a, %b : !kernel.window<2xi32>
  %e = kernel.epoch %w : !kernel.window<2xi32> -> i32
  kernel.return
}
