// RUN: moe-translate --kernel-to-cuda %s | FileCheck %s

// The whole text of a norm, as a reader sees it.
// CHECK:      #include "device.cuh"
// CHECK-EMPTY:
// CHECK-NEXT: extern "C" __global__ __launch_bounds__(256, 4) void norm(moe::Bf16* v1, int64_t v2, moe::Bf16* v3, int64_t v4) {
// CHECK:        for (int64_t [[ROW:.*]] = (int64_t) [[BLOCK:.*]] * [[PER:.*]] + (int64_t) [[WARP:.*]]; [[ROW]] < v2; [[ROW]] += (int64_t) [[BLOCKS:.*]] * [[PER]]) {
// CHECK-NEXT:     float [[SUM:.*]];
// CHECK-NEXT:     [[SUM]] = [[ZERO:.*]];
// CHECK-NEXT:     for (int64_t [[I:.*]] = [[FIRST:.*]]; [[I]] < 96; [[I]] += 32) {
// CHECK-NEXT:       float [[OLD:.*]] = [[SUM]];
// CHECK-NEXT:       moe::Bf16 [[X:.*]] = moe::loadGlobal(v1 + ([[ROW]] * 96 + [[I]]));
// CHECK-NEXT:       float [[W:.*]] = moe::toFloat([[X]]);
// CHECK-NEXT:       [[SUM]] = [[OLD]] + [[W]] * [[W]];
// CHECK-NEXT:     }
// CHECK-NEXT:     float [[A:.*]] = [[SUM]];
// CHECK-NEXT:     float [[B:.*]] = moe::shuffleXor([[A]], 16);
// CHECK:          float [[SCALE:.*]] = moe::rsqrt(
// CHECK-NEXT:     moe::syncWarp();
// CHECK-NEXT:     for (int64_t [[J:.*]] = [[FIRST]]; [[J]] < 96; [[J]] += 32) {
// CHECK:            moe::storeGlobal(
// CHECK-NEXT:     }
// CHECK-NEXT:     moe::syncWarp();
// CHECK-NEXT:   }
// CHECK-NEXT:   return;
// CHECK-NEXT: }
kernel.func @norm(%x: memref<?x96xbf16>, %y: memref<?x96xbf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c96 = arith.constant 96 : index
  %rows = memref.dim %x, %c0 : memref<?x96xbf16>
  scf.forall (%r) in (%rows) {
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %i = %c0 to %c96 step %c1 iter_args(%a = %zero) -> (f32) {
      %v = memref.load %x[%r, %i] : memref<?x96xbf16>
      %w = arith.extf %v : bf16 to f32
      %q = arith.mulf %w, %w : f32
      %s = arith.addf %a, %q fastmath<reassoc> : f32
      scf.yield %s : f32
    }
    %scale = math.rsqrt %sum : f32
    scf.for %i = %c0 to %c96 step %c1 {
      %v = memref.load %x[%r, %i] : memref<?x96xbf16>
      %w = arith.extf %v : bf16 to f32
      %q = arith.mulf %w, %scale : f32
      %o = arith.truncf %q : f32 to bf16
      memref.store %o, %y[%r, %i] : memref<?x96xbf16>
    }
  }
  kernel.return
}
