// RUN: moe-translate --kernel-to-cuda %s | FileCheck %s

// A linear layer: the first warpgroup loads, the others multiply; both walk the same loops.
// CHECK:      extern "C" __global__ __launch_bounds__(384, 1) void linear(moe::Bf16* v1, int64_t v2, moe::Bf16* v3, moe::Bf16* v4, int64_t v5, const __grid_constant__ CUtensorMap v6) {
// CHECK-NEXT:   // Launch: 384 threads, 132096 bytes of shared memory, weights in boxes of 128 rows.
// CHECK-NEXT:   const moe::SharedAddress barriers = moe::dynamicShared(), stages = barriers + 1024;
// CHECK-NEXT:   if (moe::threadIndex() == 0) {
// CHECK-NEXT:     moe::initBarrier(barriers + 0, 128);
// CHECK-NEXT:     moe::initBarrier(barriers + 8, 8);
// CHECK:          moe::fenceBarrierInit();
// CHECK-NEXT:   }
// CHECK-NEXT:   moe::syncBlock();
// CHECK-NEXT:   moe::Ring ring;

// Loading: a row per thread, 16 bytes at a time, zeros beyond K; then the weights.
// CHECK-NEXT:   if (moe::threadIndex() < 128) {
// CHECK-NEXT:     moe::decreaseRegisters<40>();
// CHECK:          const auto *row = v1 + (
// CHECK-NEXT:     const int64_t weights = {{.*}} * 128;
// CHECK-NEXT:     for (int64_t [[K:.*]] = 0; [[K]] < 96; [[K]] += 64) {
// CHECK-NEXT:       moe::wait(barriers + 16 * ring.stage + 8, ring.parity ^ 1);
// CHECK-NEXT:       const moe::SharedAddress stage = stages + 32768 * ring.stage;
// CHECK-NEXT:       for (int32_t [[C:.*]] = 0; [[C]] < 8; [[C]] += 1) {
// CHECK-NEXT:         const int64_t column = [[K]] + 8 * [[C]];
// CHECK-NEXT:         const uint4 value = column < 96 ? moe::loadGlobal(reinterpret_cast<const uint4 *>(row + column)) : uint4();
// CHECK-NEXT:         moe::storeShared(moe::swizzle(stage + 128 * moe::threadIndex() + 16 * [[C]], 128), value);
// CHECK-NEXT:       }
// CHECK-NEXT:       moe::fenceProxyAsync();
// CHECK-NEXT:       if (moe::threadIndex() == 0) {
// CHECK-NEXT:         moe::arriveExpect(barriers + 16 * ring.stage, 16384);
// CHECK-NEXT:         moe::loadTile2d(stage + 16384, &v6, barriers + 16 * ring.stage, 0, int(weights + [[K]] / 64 * 128));
// CHECK-NEXT:       } else {
// CHECK-NEXT:         moe::arrive(barriers + 16 * ring.stage);
// CHECK-NEXT:       }
// CHECK-NEXT:       moe::advance<4>(ring);
// CHECK-NEXT:     }

// Multiplying: a stage is released when the products of the next one are on their way.
// CHECK:        } else {
// CHECK-NEXT:     moe::increaseRegisters<232>();
// CHECK-NEXT:     const int warpgroup = moe::threadIndex() / 128 - 1;
// CHECK:          moe::Accumulators<128> acc0;
// CHECK-NEXT:     for (int64_t [[K:.*]] = 0; [[K]] < 96; [[K]] += 64) {
// CHECK-NEXT:       moe::wait(barriers + 16 * ring.stage, ring.parity);
// CHECK-NEXT:       const moe::SharedAddress stage = stages + 32768 * ring.stage;
// CHECK-NEXT:       const uint64_t a = moe::matrixDescriptor(stage + 8192 * warpgroup, 128);
// CHECK-NEXT:       const uint64_t b0 = moe::matrixDescriptor(stage + 16384 + uint32_t(0) * 128, 128);
// CHECK-NEXT:       moe::wgmmaFence();
// CHECK-NEXT:       moe::wgmmaBf16(acc0, moe::advanceK(a, 0), moe::advanceK(b0, 0), [[K]] != 0);
// CHECK-NEXT:       moe::wgmmaBf16(acc0, moe::advanceK(a, 32), moe::advanceK(b0, 32), true);
// CHECK-NEXT:       moe::wgmmaBf16(acc0, moe::advanceK(a, 64), moe::advanceK(b0, 64), true);
// CHECK-NEXT:       moe::wgmmaBf16(acc0, moe::advanceK(a, 96), moe::advanceK(b0, 96), true);
// CHECK-NEXT:       moe::wgmmaCommit();
// CHECK-NEXT:       moe::wgmmaWait<1>();
// CHECK-NEXT:       if ([[K]] != 0 && moe::threadIndex() % 32 == 0) moe::arrive(barriers + 16 * ((ring.stage + 3) % 4) + 8);
// CHECK-NEXT:       moe::advance<4>(ring);
// CHECK-NEXT:     }
// CHECK-NEXT:     moe::wgmmaWait<0>(acc0);
// CHECK-NEXT:     if (moe::threadIndex() % 32 == 0) moe::arrive(barriers + 16 * ((ring.stage + 3) % 4) + 8);
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int32_t [[I:.*]] = 0; [[I]] < 64; [[I]] += 1) {
// CHECK:            float [[V:.*]] = moe::get(acc0, [[I]]);
// CHECK-NEXT:       moe::Bf16 [[W:.*]] = moe::fromFloat<moe::Bf16>([[V]]);
// CHECK:            moe::storeGlobal({{.*}}, [[W]]);
module attributes {kernel.target = {columns = 128 : i64, cuda = "sm_90a", depth = 64 : i64, rows = 128 : i64, stages = 4 : i64}} {
  kernel.func @linear(%x: memref<?x96xbf16>, %w: memref<1x2x128x64xbf16>, %y: memref<?x40xbf16>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c96 = arith.constant 96 : index
    %c128 = arith.constant 128 : index
    %rows = memref.dim %x, %c0 : memref<?x96xbf16>
    scf.forall (%block) in (1) {
      %column = arith.muli %block, %c128 : index
      scf.for %row = %c0 to %rows step %c128 {
        %left = arith.subi %rows, %row : index
        kernel.row_tile %left max 128 {
          %index = kernel.row_indices %row {
          ^bb0(%i: index):
            kernel.yield %i : index
          } : <128>
          %zero = kernel.zero : <128x128xf32>
          %acc = scf.for %k = %c0 to %c96 step %c64 iter_args(%a = %zero) -> (!kernel.acc<128x128xf32>) {
            %next = kernel.mma %a, %x[%index, %k], %w[%block, %k, %c0] : !kernel.acc<128x128xf32>, memref<?x96xbf16>, memref<1x2x128x64xbf16>
            scf.yield %next : !kernel.acc<128x128xf32>
          }
          kernel.store_tile %acc -> %y[%index, %column] {
          ^bb0(%r: index, %c: index, %v: f32):
            %o = arith.truncf %v : f32 to bf16
            kernel.yield %o : bf16
          } : (!kernel.acc<128x128xf32>), memref<?x40xbf16>
        }
      }
    }
    kernel.return
  }
}
