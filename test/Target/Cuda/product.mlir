// RUN: moe-translate --kernel-to-cuda %s | FileCheck %s

// A linear layer: the first warpgroup loads, the others multiply; both walk the same loops, and both have a form for few rows.
// CHECK:      extern "C" __global__ __launch_bounds__(384, 1) void linear(moe::Bf16* v1, int64_t v2, moe::Bf16* v3, moe::Bf16* v4, int64_t v5, const __grid_constant__ CUtensorMap v6, const __grid_constant__ CUtensorMap v7) {
// CHECK-NEXT:   // Launch: 384 threads, 132096 bytes of shared memory.
// CHECK-NEXT:   // Map v6: argument 2 as 512 x 64, boxes of 64 rows.
// CHECK-NEXT:   // Map v7: argument 0 as argument 1 x 96, boxes of 128 rows.
// CHECK-NEXT:   const moe::SharedAddress barriers = moe::dynamicShared(), stages = barriers + 1024;
// CHECK-NEXT:   if (moe::threadIndex() == 0) {
// CHECK-NEXT:     moe::initBarrier(barriers + 0, 5);
// CHECK-NEXT:     moe::initBarrier(barriers + 8, 8);
// CHECK:          moe::fenceBarrierInit();
// CHECK-NEXT:   }
// CHECK-NEXT:   moe::syncBlock();
// CHECK-NEXT:   moe::Ring ring;

// Loading, few rows: weights by TMA, 16 bytes per thread of the rows that exist; announced two steps later.
// CHECK-NEXT:   if (moe::threadIndex() < 128) {
// CHECK-NEXT:     moe::decreaseRegisters<56>();
// CHECK-NEXT:     int unannounced = 0;
// CHECK-NEXT:     const int rowTiles = int(((v2) - (0) + 127) / 128), columnTiles = int(2);
// CHECK-NEXT:     const int tiles = rowTiles * columnTiles;
// CHECK-NEXT:     for (int32_t [[T:.*]] = moe::blockIndex(); [[T]] < tiles; [[T]] += moe::blockCount()) {
// CHECK-NEXT:       const moe::TilePlace place = moe::tilePlace([[T]], rowTiles, columnTiles);
// CHECK-NEXT:       int64_t [[ROW:.*]] = 0 + int64_t(place.row) * 128;
// CHECK-NEXT:       int64_t [[COUNT:.*]] = v2 - [[ROW]];
// CHECK-NEXT:       if ([[COUNT]] <= 16) {
// CHECK-NEXT:         const moe::Bf16 *rows[1];
// CHECK-NEXT:         #pragma unroll
// CHECK-NEXT:         for (int32_t [[I:.*]] = 0; [[I]] < 1; [[I]] += 1) {
// CHECK-NEXT:           const int64_t inTile = moe::threadIndex() / 8 + 16 * [[I]];
// CHECK-NEXT:           rows{{\[}}[[I]]] = v1 + ([[ROW]] + (inTile < [[COUNT]] ? inTile : [[COUNT]] - 1)) * 96;
// CHECK-NEXT:         }
// CHECK-NEXT:         const int64_t weights = {{.*}} * 128;
// CHECK-NEXT:         #pragma unroll 1
// CHECK-NEXT:         for (int64_t [[K:.*]] = 0; [[K]] < 96; [[K]] += 64) {
// CHECK-NEXT:           moe::wait(barriers + 16 * ring.stage + 8, ring.parity ^ 1);
// CHECK-NEXT:           const moe::SharedAddress full = barriers + 16 * ring.stage, stage = stages + 32768 * ring.stage;
// CHECK-NEXT:           if (moe::threadIndex() == 0) {
// CHECK-NEXT:             moe::arriveExpect(full, 16384);
// CHECK-NEXT:             const int weightRow = int(weights + [[K]] / 64 * 128);
// CHECK-NEXT:             moe::loadTile2d(stage + 16384, &v6, full, 0, weightRow + int(0) + 0);
// CHECK-NEXT:             moe::loadTile2d(stage + 24576, &v6, full, 0, weightRow + int(0) + 64);
// CHECK-NEXT:           }
// CHECK-NEXT:           const int column = int([[K]]) + moe::threadIndex() % 8 * 8;
// CHECK-NEXT:           #pragma unroll
// CHECK-NEXT:           for (int32_t [[I:.*]] = 0; [[I]] < 1; [[I]] += 1) {
// CHECK-NEXT:             const int inTile = moe::threadIndex() / 8 + 16 * [[I]];
// CHECK-NEXT:             const moe::SharedAddress to = moe::swizzle(stage + 128 * inTile + 16 * (moe::threadIndex() % 8), 128);
// CHECK-NEXT:             const bool exists = inTile < [[COUNT]] && column < 96;
// CHECK-NEXT:             moe::copyAsync(to, rows{{\[}}[[I]]] + (exists ? column : 0), exists ? 16 : 0);
// CHECK-NEXT:           }
// CHECK-NEXT:           moe::commitCopies();
// CHECK-NEXT:           if (unannounced < 2) {
// CHECK-NEXT:             ++unannounced;
// CHECK-NEXT:           } else {
// CHECK-NEXT:             moe::waitCopies<2>();
// CHECK-NEXT:             moe::fenceProxyAsyncShared();
// CHECK-NEXT:             moe::syncWarp();
// CHECK-NEXT:             if (moe::threadIndex() % 32 == 0) moe::arrive(barriers + 16 * ((ring.stage + 4 - 2) % 4));
// CHECK-NEXT:           }
// CHECK-NEXT:           moe::advance<4>(ring);
// CHECK-NEXT:         }

// Many rows: they are neighbours, TMA brings them too. What was copied before is announced first.
// CHECK-NEXT:       } else {
// CHECK-NEXT:         moe::waitCopies<0>();
// CHECK-NEXT:         moe::fenceProxyAsyncShared();
// CHECK-NEXT:         moe::syncWarp();
// CHECK-NEXT:         for (; unannounced > 0; --unannounced)
// CHECK-NEXT:           if (moe::threadIndex() % 32 == 0) moe::arrive(barriers + 16 * ((ring.stage + 4 - unannounced) % 4));
// CHECK:              moe::wait(barriers + 16 * ring.stage + 8, ring.parity ^ 1);
// CHECK:                moe::arriveExpect(full, 32768);
// CHECK-NEXT:           moe::loadTile2d(stage, &v7, full, int([[K:.*]]), int([[ROW]] + 0));
// CHECK-NEXT:           const int weightRow = int(weights + [[K]] / 64 * 128);
// CHECK-NEXT:           moe::loadTile2d(stage + 16384, &v6, full, 0, weightRow + 0);
// CHECK-NEXT:           moe::loadTile2d(stage + 24576, &v6, full, 0, weightRow + 64);
// CHECK-NEXT:         }
// CHECK-NEXT:         moe::syncWarp();
// CHECK-NEXT:         if (moe::threadIndex() % 32 == 0) moe::arrive(full);
// CHECK-NEXT:         moe::advance<4>(ring);
// CHECK:          moe::waitCopies<0>();

// Multiplying, few rows: the weights are the left operand. A stage is released when the products of the next one are on their way.
// CHECK:        } else {
// CHECK-NEXT:     moe::increaseRegisters<224>();
// CHECK-NEXT:     const int warpgroup = moe::threadIndex() / 128 - 1;
// CHECK:          moe::Accumulators<16> acc0;
// CHECK-NEXT:     #pragma unroll 1
// CHECK-NEXT:     for (int64_t [[K:.*]] = 0; [[K]] < 96; [[K]] += 64) {
// CHECK-NEXT:       moe::wait(barriers + 16 * ring.stage, ring.parity);
// CHECK-NEXT:       const moe::SharedAddress stage = stages + 32768 * ring.stage;
// CHECK-NEXT:       const uint64_t left0 = moe::matrixDescriptor(stage + 16384 + 8192 * warpgroup, 128);
// CHECK-NEXT:       const uint64_t right0 = moe::matrixDescriptor(stage, 128);
// CHECK-NEXT:       moe::wgmmaFence();
// CHECK-NEXT:       moe::wgmmaBf16(acc0, moe::advanceK(left0, 0), moe::advanceK(right0, 0), [[K]] != 0);
// CHECK-NEXT:       moe::wgmmaBf16(acc0, moe::advanceK(left0, 32), moe::advanceK(right0, 32), true);
// CHECK-NEXT:       moe::wgmmaBf16(acc0, moe::advanceK(left0, 64), moe::advanceK(right0, 64), true);
// CHECK-NEXT:       moe::wgmmaBf16(acc0, moe::advanceK(left0, 96), moe::advanceK(right0, 96), true);
// CHECK-NEXT:       moe::wgmmaCommit();
// CHECK-NEXT:       moe::wgmmaWait<1>();
// CHECK-NEXT:       if ([[K]] != 0 && moe::threadIndex() % 32 == 0) moe::arrive(barriers + 16 * ((ring.stage + 3) % 4) + 8);
// CHECK-NEXT:       moe::advance<4>(ring);
// CHECK-NEXT:     }
// CHECK-NEXT:     moe::wgmmaWait<0>(acc0);
// CHECK-NEXT:     if (moe::threadIndex() % 32 == 0) moe::arrive(barriers + 16 * ((ring.stage + 3) % 4) + 8);
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int32_t [[I:.*]] = 0; [[I]] < 8; [[I]] += 1) {
// CHECK-NEXT:       const int element = [[I]];
// CHECK-NEXT:       const int inTile = moe::fragmentColumn(moe::threadIndex(), element), column = int({{.*}}) + moe::fragmentRow(moe::threadIndex(), element) + 64 * warpgroup;
// CHECK-NEXT:       const bool exists = inTile < int([[COUNT:.*]]) && column < int(168);
// CHECK:              moe::storeGlobal(

// Many rows: 64 for each warpgroup; neighbours are stored together.
// CHECK:          moe::Accumulators<128> acc1;
// CHECK:            const uint64_t left0 = moe::matrixDescriptor(stage + 8192 * warpgroup, 128);
// CHECK-NEXT:       const uint64_t right0 = moe::matrixDescriptor(stage + 16384 + uint32_t(0) * 128, 128);
// CHECK:            moe::wgmmaBf16(acc1, moe::advanceK(left0, 0), moe::advanceK(right0, 0), [[K:.*]] != 0);
// CHECK:          moe::wgmmaWait<0>(acc1);
// CHECK:          for (int32_t [[I:.*]] = 0; [[I]] < 16; [[I]] += 1) {
// CHECK-NEXT:       const int column = int({{.*}}) + moe::fragmentColumn(moe::threadIndex(), 4 * [[I]]);
// CHECK-NEXT:       const bool hasColumns = column < int(168);
// CHECK-NEXT:       if (hasColumns) {
// CHECK-NEXT:         #pragma unroll
// CHECK-NEXT:         for (int32_t [[HALF:.*]] = 0; [[HALF]] < 2; [[HALF]] += 1) {
// CHECK-NEXT:           const int element = 4 * [[I]] + 2 * [[HALF]];
// CHECK-NEXT:           const int inTile = moe::fragmentRow(moe::threadIndex(), element) + 64 * warpgroup;
// CHECK-NEXT:           const bool exists = inTile < int([[COUNT]]);
// CHECK:                  float [[V:.*]] = moe::get(acc1, element);
// CHECK-NEXT:             moe::Bf16 [[W:.*]] = moe::fromFloat<moe::Bf16>([[V]]);
// CHECK:                  moe::storePair({{.*}}, [[W]], {{.*}});
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  kernel.func @linear(%x: memref<?x96xbf16>, %w: memref<2x2x128x64xbf16>, %y: memref<?x168xbf16>) attributes {kernel.plan = #cuda.plan<stages = 4, few_rows = 16, arrival = lag, proxy_fence = shared, load_registers = 56, multiply_registers = 224>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c96 = arith.constant 96 : index
    %c128 = arith.constant 128 : index
    %rows = memref.dim %x, %c0 : memref<?x96xbf16>
    scf.forall (%block) in (2) {
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
            %next = kernel.mma %a, %x[%index, %k], %w[%block, %k, %c0] : !kernel.acc<128x128xf32>, memref<?x96xbf16>, memref<2x2x128x64xbf16>
            scf.yield %next : !kernel.acc<128x128xf32>
          }
          kernel.store_tile %acc -> %y[%index, %column] {
          ^bb0(%r: index, %c: index, %v: f32):
            %o = arith.truncf %v : f32 to bf16
            kernel.yield %o : bf16
          } : (!kernel.acc<128x128xf32>), memref<?x168xbf16>
        }
      }
    }
    kernel.return
  }
}
