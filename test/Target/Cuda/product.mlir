// RUN: moe-translate --kernel-to-cuda %s | FileCheck %s

// A linear layer as text: op for op what kernel-specialize-warps has made of it (Conversion/KernelToCuda/product.mlir).
// CHECK:      extern "C" __global__ __launch_bounds__(384, 1) void linear(moe::Bf16* v1, int64_t v2, moe::Bf16* v3, moe::Bf16* v4, int64_t v5, const __grid_constant__ CUtensorMap v6, const __grid_constant__ CUtensorMap v7) {
// CHECK-NEXT:   // Launch: 384 threads, 132096 bytes of shared memory.
// CHECK-NEXT:   // Map v6: argument 2 as 512 x 64, boxes of 64 rows.
// CHECK-NEXT:   // Map v7: argument 0 as argument 1 x 96, boxes of 128 rows.
// CHECK-NEXT:   moe::StageRing<4, 32768> [[RING:v[0-9]+]] = moe::makeRing<4, 32768, 5, 8>();
// CHECK-NEXT:   int32_t [[THREAD:v[0-9]+]] = moe::threadIndex();

// Loading, few rows: weights by TMA, 16 bytes per thread of the rows that exist; announced two steps later.
// CHECK-NEXT:   if ([[THREAD]] < 128) {
// CHECK-NEXT:     moe::decreaseRegisters<56>();
// CHECK-NEXT:     int32_t [[ROWS:v[0-9]+]] = (int32_t) ((v2 + 127) / 128);
// CHECK-NEXT:     int32_t [[BLOCK:v[0-9]+]] = moe::blockIndex();
// CHECK-NEXT:     int32_t [[BLOCKS:v[0-9]+]] = moe::blockCount();
// CHECK-NEXT:     for (int32_t [[T:i[0-9]+]] = [[BLOCK]]; [[T]] < ([[ROWS]] * 2); [[T]] += [[BLOCKS]]) {
// CHECK-NEXT:       int32_t {{.*}} = moe::tileColumn([[T]], [[ROWS]], 2);
// CHECK:            int32_t {{.*}} = moe::tileRow([[T]], [[ROWS]], 2);
// CHECK:            if ({{v[0-9]+}} <= 16) {
// CHECK:              #pragma unroll 1
// CHECK-NEXT:         for (int64_t [[K:j[0-9]+]] = 0; [[K]] < 96; [[K]] += 64) {
// CHECK-NEXT:           int32_t [[STAGE:v[0-9]+]] = moe::acquire([[RING]]);
// CHECK-NEXT:           if ({{v[0-9]+}} == 0) {
// CHECK-NEXT:             moe::expect<16384>([[RING]]);
// CHECK:                  moe::loadBox([[RING]], {{v[0-9]+}}, v6, 0, {{v[0-9]+}});
// CHECK:                  moe::loadBox([[RING]], {{v[0-9]+}}, v6, 0, {{v[0-9]+}});
// CHECK-NEXT:           }
// CHECK:                int32_t [[TO:v[0-9]+]] = moe::swizzle({{.*}}, 128);
// CHECK:                moe::copyAsync([[TO]], {{v[0-9]+}}, {{v[0-9]+}});
// CHECK-NEXT:           moe::announce<moe::ProxyFence::Shared>([[RING]]);
// CHECK-NEXT:           moe::advance([[RING]]);
// CHECK-NEXT:         }

// Many rows: they are neighbours, TMA brings them too. What was copied before is announced first.
// CHECK-NEXT:       } else {
// CHECK-NEXT:         moe::drain<moe::ProxyFence::Shared>([[RING]]);
// CHECK:                moe::expect<32768>([[RING]]);
// CHECK:                moe::loadBox([[RING]], {{v[0-9]+}}, v7, {{v[0-9]+}}, {{v[0-9]+}});
// CHECK-COUNT-2:        moe::loadBox([[RING]], {{v[0-9]+}}, v6, 0, {{v[0-9]+}});
// CHECK-NEXT:         }
// CHECK-NEXT:         moe::arriveWarp([[RING]]);
// CHECK-NEXT:         moe::advance([[RING]]);
// CHECK:          moe::drain<moe::ProxyFence::Shared>([[RING]]);

// Multiplying, few rows: the weights are the left operand. A stage is released when the products of the next one are on their way.
// CHECK-NEXT:   } else {
// CHECK-NEXT:     moe::increaseRegisters<224>();
// CHECK:          moe::Accumulators<16> [[ACC:v[0-9]+]] = moe::accumulators<16>();
// CHECK-NEXT:     #pragma unroll 1
// CHECK-NEXT:     for (int64_t [[K:j[0-9]+]] = 0; [[K]] < 96; [[K]] += 64) {
// CHECK-NEXT:       int32_t [[STAGE:v[0-9]+]] = moe::await([[RING]]);
// CHECK-NEXT:       int32_t [[THREAD:v[0-9]+]] = moe::threadIndex();
// CHECK-NEXT:       int64_t [[LEFT:v[0-9]+]] = moe::matrixDescriptor(([[STAGE]] + 2048) + ([[THREAD]] / 128 + -1) * 8192, 128);
// CHECK-NEXT:       int64_t [[RIGHT:v[0-9]+]] = moe::matrixDescriptor([[STAGE]], 128);
// CHECK-NEXT:       bool [[LATER:v[0-9]+]] = [[K]] != 0;
// CHECK-NEXT:       moe::wgmmaFence();
// CHECK-NEXT:       int64_t [[A:v[0-9]+]] = moe::advanceK([[LEFT]], 0);
// CHECK-NEXT:       int64_t [[B:v[0-9]+]] = moe::advanceK([[RIGHT]], 0);
// CHECK-NEXT:       moe::wgmmaBf16([[ACC]], [[A]], [[B]], [[LATER]]);
// CHECK-COUNT-3:    moe::wgmmaBf16([[ACC]], {{v[0-9]+}}, {{v[0-9]+}}, true);
// CHECK-NEXT:       moe::wgmmaCommit();
// CHECK-NEXT:       moe::wgmmaWait<1>();
// CHECK-NEXT:       if ([[LATER]]) {
// CHECK-NEXT:         moe::release<1>([[RING]]);
// CHECK-NEXT:       }
// CHECK-NEXT:       moe::advance([[RING]]);
// CHECK-NEXT:     }
// CHECK-NEXT:     moe::wgmmaWait<0>([[ACC]]);
// CHECK-NEXT:     moe::release<1>([[RING]]);
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int32_t [[I:j[0-9]+]] = 0; [[I]] < 8; [[I]] += 1) {
// CHECK:            int32_t [[COLUMN:v[0-9]+]] = moe::fragmentRow({{v[0-9]+}}, [[I]]);
// CHECK-NEXT:       int32_t [[ROW:v[0-9]+]] = moe::fragmentColumn({{v[0-9]+}}, [[I]]);
// CHECK:            if ([[ROW]] < (int32_t) {{v[0-9]+}} && {{v[0-9]+}} < 168) {
// CHECK:              moe::storeGlobal(

// Many rows: 64 for each warpgroup; neighbours are stored together.
// CHECK:          moe::Accumulators<128> [[ACC:v[0-9]+]] = moe::accumulators<128>();
// CHECK:            = moe::matrixDescriptor([[STAGE:v[0-9]+]] + ({{v[0-9]+}} / 128 + -1) * 8192, 128);
// CHECK-NEXT:       {{.*}} = moe::matrixDescriptor([[STAGE]] + 16384, 128);
// CHECK:            moe::wgmmaBf16([[ACC]],
// CHECK:          moe::wgmmaWait<0>([[ACC]]);
// CHECK:          for (int32_t [[I:j[0-9]+]] = 0; [[I]] < 16; [[I]] += 1) {
// CHECK-NEXT:       int32_t [[FIRST:v[0-9]+]] = [[I]] * 4;
// CHECK:            moe::fragmentColumn({{v[0-9]+}}, [[FIRST]]);
// CHECK:            if ({{v[0-9]+}} < 168) {
// CHECK-NEXT:         #pragma unroll
// CHECK-NEXT:         for (int32_t [[HALF:k[0-9]+]] = 0; [[HALF]] < 2; [[HALF]] += 1) {
// CHECK-NEXT:           int32_t [[ELEMENT:v[0-9]+]] = [[FIRST]] + [[HALF]] * 2;
// CHECK:                if ({{v[0-9]+}} < (int32_t) {{v[0-9]+}}) {
// CHECK-NEXT:             float [[V:v[0-9]+]] = moe::get([[ACC]], [[ELEMENT]]);
// CHECK-NEXT:             moe::Bf16 [[LEFT:v[0-9]+]] = moe::fromFloat<moe::Bf16>([[V]]);
// CHECK-NEXT:             float [[W:v[0-9]+]] = moe::get([[ACC]], [[ELEMENT]] + 1);
// CHECK-NEXT:             moe::Bf16 [[RIGHT:v[0-9]+]] = moe::fromFloat<moe::Bf16>([[W]]);
// CHECK:                  moe::storePair({{v[0-9]+}}, [[LEFT]], [[RIGHT]]);
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  kernel.func @linear(%x: memref<?x96xbf16>, %w: memref<2x2x128x64xbf16>, %y: memref<?x168xbf16>) attributes {kernel.plan = #cuda.plan<stages = 4, few_rows = 16, arrival = lag, proxy_fence = shared, load_registers = 56, multiply_registers = 224, few_steps = 1, few_columns = 128>} {
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
