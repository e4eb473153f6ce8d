// RUN: moe-opt %s --kernel-set-target=target=cpu:znver4 --kernel-lower-tiles --split-input-file --verify-diagnostics

kernel.func @dtype(%a: memref<?x8xf64>, %b: memref<8x16xf64>, %k: index) {
  %c0 = arith.constant 0 : index
  %rows = kernel.row_indices %c0 {
  ^bb0(%i: index):
    kernel.yield %i : index
  } : !kernel.rows<1>
  %zero = kernel.zero : !kernel.acc<1x16xf32>
  // expected-error@+1 {{'kernel.mma' op has no CPU lowering for 'f64'; supported are f32, bf16, f16 and pairs of bf16}}
  %acc = kernel.mma %zero, %a[%rows, %k], %b[%k, %c0] : !kernel.acc<1x16xf32>, memref<?x8xf64>, memref<8x16xf64>
  kernel.return
}

// -----

kernel.func @pairs(%a: memref<?x8xf32>, %b: memref<4x16x2xf32>, %k: index) {
  %c0 = arith.constant 0 : index
  %rows = kernel.row_indices %c0 {
  ^bb0(%i: index):
    kernel.yield %i : index
  } : !kernel.rows<1>
  %zero = kernel.zero : !kernel.acc<1x16xf32>
  // expected-error@+1 {{'kernel.mma' op has no CPU lowering for pairs of 'f32'; supported are f32, bf16, f16 and pairs of bf16}}
  %acc = kernel.mma %zero, %a[%rows, %k], %b[%k, %c0] : !kernel.acc<1x16xf32>, memref<?x8xf32>, memref<4x16x2xf32>
  kernel.return
}
