// RUN: moe-translate --kernel-to-cuda %s | FileCheck %s

// Rows that are long enough for all lanes: 8 elements of bf16 in one access, computed one by one.
// CHECK:      extern "C" __global__ __launch_bounds__(256, 4) void scale(moe::Bf16* v1, int64_t v2, moe::Bf16* v3, int64_t v4) {
// CHECK-NEXT:   moe::Vector<moe::Bf16, 8> [[NONE:.*]] = {};
// CHECK:          for (int64_t [[I:.*]] = {{.*}} * 8; [[I]] < 512; [[I]] += 256) {
// CHECK-NEXT:       moe::Vector<moe::Bf16, 8> [[X:.*]] = moe::loadVector<moe::Vector<moe::Bf16, 8>>(v1 + ([[ROW:.*]] * 512 + [[I]]));
// CHECK-NEXT:       moe::Vector<moe::Bf16, 8> [[Y:.*]];
// CHECK-NEXT:       [[Y]] = [[NONE]];
// CHECK-NEXT:       #pragma unroll
// CHECK-NEXT:       for (int64_t [[J:.*]] = 0; [[J]] < 8; [[J]] += 1) {
// CHECK-NEXT:         moe::Vector<moe::Bf16, 8> [[OLD:.*]] = [[Y]];
// CHECK-NEXT:         moe::Bf16 [[V:.*]] = moe::element([[X]], [[J]]);
// CHECK-NEXT:         float [[W:.*]] = moe::toFloat([[V]]);
// CHECK-NEXT:         moe::Bf16 [[O:.*]] = moe::fromFloat<moe::Bf16>([[W]] * [[W]]);
// CHECK-NEXT:         [[Y]] = moe::withElement([[OLD]], [[J]], [[O]]);
// CHECK-NEXT:       }
// CHECK:            moe::storeVector(
kernel.func @scale(%x: memref<?x512xbf16>, %y: memref<?x512xbf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %rows = memref.dim %x, %c0 : memref<?x512xbf16>
  scf.forall (%r) in (%rows) {
    scf.for %i = %c0 to %c512 step %c1 {
      %v = memref.load %x[%r, %i] : memref<?x512xbf16>
      %w = arith.extf %v : bf16 to f32
      %q = arith.mulf %w, %w : f32
      %o = arith.truncf %q : f32 to bf16
      memref.store %o, %y[%r, %i] : memref<?x512xbf16>
    }
  }
  kernel.return
}
