// What a kernel's plan says is what its lowering does: the same kernel with the plan that its target chooses, and with others.
// RUN: moe-opt %s --pass-pipeline='builtin.module(kernel-choose-plans,kernel.func(kernel-chunk-depth))' | FileCheck %s --check-prefixes=CHECK,CHOSEN
// RUN: sed 's/func @product(\(.*\)) {/func @product(\1) attributes {kernel.plan = #x86.plan<block_above = 262144, block_bytes = 131072, block_rows = 96, stream_ahead = 0, spread = 4>} {/' %s \
// RUN:   | moe-opt --pass-pipeline='builtin.module(kernel.func(kernel-chunk-depth))' | FileCheck %s --check-prefixes=CHECK,EDITED
// RUN: sed 's/func @product(\(.*\)) {/func @product(\1) attributes {kernel.plan = #x86.plan<block_above = 524288, block_bytes = 65536, block_rows = 384, stream_ahead = 0, spread = 4>} {/' %s \
// RUN:   | moe-opt --pass-pipeline='builtin.module(kernel.func(kernel-chunk-depth))' | FileCheck %s --check-prefixes=CHECK,WHOLE
// RUN: sed 's/func @product(\(.*\)) {/func @product(\1) attributes {kernel.plan = #x86.plan<block_above = 262144, block_bytes = 65536, block_rows = 384, stream_ahead = 4096, spread = 4>} {/' %s \
// RUN:   | moe-opt --pass-pipeline='builtin.module(kernel.func(kernel-prefetch-weights))' | FileCheck %s --check-prefixes=CHECK,AHEAD
// RUN: moe-opt %s --pass-pipeline='builtin.module(kernel.func(kernel-prefetch-weights))' | FileCheck %s --check-prefixes=CHECK,NOTHING

module attributes {kernel.target = #x86.target<rows = 6, columns = 64, vector = 16>} {

// CHECK-LABEL:     kernel.func @product(
// CHOSEN:            memref.alloca() {alignment = 64 : i64} : memref<384x64xf32>
// CHOSEN:            scf.for %{{.*}} = %c0 to %c2048 step %c256
// EDITED:            memref.alloca() {alignment = 64 : i64} : memref<96x64xf32>
// EDITED:            scf.for %{{.*}} = %c0 to %c2048 step %c512
// WHOLE-NOT:         memref.alloca
// AHEAD:             memref.prefetch
// NOTHING-NOT:       memref.prefetch
// CHECK:             kernel.return
kernel.func @product(%x: memref<?x2048xf32>, %w: memref<2x2048x64xf32>, %y: memref<?x128xf32>) {
  %c0 = arith.constant 0 : index
  %step = arith.constant 1 : index
  %max = arith.constant 6 : index
  %c64 = arith.constant 64 : index
  %k = arith.constant 2048 : index
  %m = memref.dim %x, %c0 : memref<?x2048xf32>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %c64 : index
    scf.for %r = %c0 to %m step %max {
      %left = arith.subi %m, %r : index
      kernel.row_tile %left max 6 {
        %rows = kernel.row_indices %r {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : !kernel.rows<6>
        %zero = kernel.zero : !kernel.acc<6x64xf32>
        %acc = scf.for %kk = %c0 to %k step %step iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
          %next = kernel.mma %a, %x[%rows, %kk], %w[%n, %kk, %c0] : !kernel.acc<6x64xf32>, memref<?x2048xf32>, memref<2x2048x64xf32>
          scf.yield %next : !kernel.acc<6x64xf32>
        }
        kernel.store_tile %acc -> %y[%rows, %col] {
        ^bb0(%row: index, %c: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<6x64xf32>), memref<?x128xf32>
      }
    }
  }
  kernel.return
}
}
