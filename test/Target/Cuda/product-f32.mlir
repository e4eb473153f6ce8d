// RUN: moe-translate --kernel-to-cuda %s | FileCheck %s

// A linear layer of f32: tiles, loads and epilogue are those of bf16 (product.mlir), with 32 elements to a step of K.
// CHECK:      extern "C" __global__ __launch_bounds__(384, 1) void linear(float* v1, int64_t v2, float* v3, float* v4, int64_t v5, const __grid_constant__ CUtensorMap v6, const __grid_constant__ CUtensorMap v7) {
// CHECK-NEXT:   // Launch: 384 threads, 132096 bytes of shared memory.
// CHECK-NEXT:   // Map v6: argument 2 as 512 x 32, boxes of 64 rows.
// CHECK-NEXT:   // Map v7: argument 0 as argument 1 x 40, boxes of 128 rows.

// There is no form for few rows.
// CHECK-NOT:  <= 16
// CHECK:      for (int64_t [[K:.*]] = 0; [[K]] < 40; [[K]] += 32) {
// CHECK-NEXT:   moe::wait(barriers + 16 * ring.stage + 8, ring.parity ^ 1);
// CHECK:          moe::loadTile2d(stage, &v7, full, int([[K]]), int(([[ROW:.*]]) + 0));
// CHECK-NEXT:     const int weightRow = int(weights + [[K]] / 32 * 128);
// CHECK-NEXT:     moe::loadTile2d(stage + 16384, &v6, full, 0, weightRow + 0);
// CHECK-NEXT:     moe::loadTile2d(stage + 24576, &v6, full, 0, weightRow + 64);

// The threads multiply: two rows, by pairs of columns, 4 elements of K at a time.
// CHECK:      moe::Accumulators<128> acc0;
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT: for (int32_t [[I:.*]] = 0; [[I]] < 64; [[I]] += 1) {
// CHECK-NEXT:   moe::set(acc0, [[I]], 0.0f);
// CHECK-NEXT: }
// CHECK-NEXT: const bool hasRows = 64 * warpgroup + moe::threadIndex() % 128 / 32 * 16 < [[COUNT:.*]];
// CHECK-NEXT: #pragma unroll 1
// CHECK-NEXT: for (int64_t [[K:.*]] = 0; [[K]] < 40; [[K]] += 32) {
// CHECK-NEXT:   moe::wait(barriers + 16 * ring.stage, ring.parity);
// CHECK-NEXT:   const moe::SharedAddress stage = stages + 32768 * ring.stage;
// CHECK-NEXT:   if (hasRows) {
// CHECK-NEXT:     #pragma unroll 1
// CHECK-NEXT:     for (int32_t [[C:.*]] = 0; [[C]] < 8; [[C]] += 1) {
// CHECK-NEXT:       const moe::SharedAddress left = moe::swizzle(stage + 8192 * warpgroup + 128 * moe::fragmentRow(moe::threadIndex(), 0) + 16 * [[C]], 128);
// CHECK-NEXT:       const auto upper = moe::loadShared<moe::Vector<float, 4>>(left), lower = moe::loadShared<moe::Vector<float, 4>>(left + 1024);
// CHECK-NEXT:       moe::SharedAddress right0[2];
// CHECK-NEXT:       #pragma unroll
// CHECK-NEXT:       for (int32_t [[I:.*]] = 0; [[I]] < 2; [[I]] += 1) {
// CHECK-NEXT:         right0{{\[}}[[I]]] = moe::swizzle(stage + 16384 + uint32_t(0) * 128 + 128 * moe::fragmentColumn(moe::threadIndex(), [[I]]) + 16 * [[C]], 128);
// CHECK-NEXT:       }
// CHECK-NEXT:       #pragma unroll
// CHECK-NEXT:       for (int32_t [[I:.*]] = 0; [[I]] < 32; [[I]] += 1) {
// CHECK-NEXT:         const int element = [[I]] / 2 * 4 + [[I]] % 2;
// CHECK-NEXT:         const auto weights = moe::loadShared<moe::Vector<float, 4>>(right0{{\[}}[[I]] % 2] + 1024 * ([[I]] / 2));
// CHECK-NEXT:         float first = moe::get(acc0, element), second = moe::get(acc0, element + 2);
// CHECK-NEXT:         #pragma unroll
// CHECK-NEXT:         for (int32_t [[J:.*]] = 0; [[J]] < 4; [[J]] += 1) {
// CHECK-NEXT:           first = moe::fma(upper.at{{\[}}[[J]]], weights.at{{\[}}[[J]]], first);
// CHECK-NEXT:           second = moe::fma(lower.at{{\[}}[[J]]], weights.at{{\[}}[[J]]], second);
// CHECK-NEXT:         }
// CHECK-NEXT:         moe::set(acc0, element, first);
// CHECK-NEXT:         moe::set(acc0, element + 2, second);
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   moe::fenceProxyAsyncShared();
// CHECK-NEXT:   moe::syncWarp();
// CHECK-NEXT:   if (moe::threadIndex() % 32 == 0) moe::arrive(barriers + 16 * ring.stage + 8);
// CHECK-NEXT:   moe::advance<4>(ring);
// CHECK-NEXT: }

// The epilogue is that of any product.
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT: for (int32_t [[I:.*]] = 0; [[I]] < 16; [[I]] += 1) {
// CHECK:        const int element = 4 * [[I]] + 2 * {{.*}};
// CHECK:            float [[V:.*]] = moe::get(acc0, element);
// CHECK:            float [[W:.*]] = moe::get(acc0, (element + 1));
// CHECK-NEXT:       moe::storePair({{.*}}, [[V]], [[W]]);
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  kernel.func @linear(%x: memref<?x40xf32>, %w: memref<2x2x128x32xf32>, %y: memref<?x168xf32>) attributes {kernel.plan = #cuda.plan<stages = 4, few_rows = 16, arrival = lag, proxy_fence = shared, load_registers = 56, multiply_registers = 224>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c40 = arith.constant 40 : index
    %c128 = arith.constant 128 : index
    %rows = memref.dim %x, %c0 : memref<?x40xf32>
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
          %acc = scf.for %k = %c0 to %c40 step %c32 iter_args(%a = %zero) -> (!kernel.acc<128x128xf32>) {
            %next = kernel.mma %a, %x[%index, %k], %w[%block, %k, %c0] : !kernel.acc<128x128xf32>, memref<?x40xf32>, memref<2x2x128x32xf32>
            scf.yield %next : !kernel.acc<128x128xf32>
          }
          kernel.store_tile %acc -> %y[%index, %column] {
          ^bb0(%r: index, %c: index, %v: f32):
            kernel.yield %v : f32
          } : (!kernel.acc<128x128xf32>), memref<?x168xf32>
        }
      }
    }
    kernel.return
  }
}
