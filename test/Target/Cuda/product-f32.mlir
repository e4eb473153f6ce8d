// RUN: moe-translate --kernel-to-cuda %s | FileCheck %s

// A linear layer of f32: tiles, loads and epilogue are those of bf16 (product.mlir), with 32 elements to a step of K.
// CHECK:      extern "C" __global__ __launch_bounds__(384, 1) void linear(float* v1, int64_t v2, float* v3, float* v4, int64_t v5, const __grid_constant__ CUtensorMap v6, const __grid_constant__ CUtensorMap v7) {
// CHECK-NEXT:   // Launch: 384 threads, 132096 bytes of shared memory.
// CHECK-NEXT:   // Map v6: argument 2 as 512 x 32, boxes of 64 rows.
// CHECK-NEXT:   // Map v7: argument 0 as argument 1 x 40, boxes of 128 rows.

// There is no form for few rows.
// CHECK-NOT:  <= 16
// CHECK:      for (int64_t [[K:j[0-9]+]] = 0; [[K]] < 40; [[K]] += 32) {
// CHECK-NEXT:   {{.*}} = moe::acquire([[RING:v[0-9]+]]);
// CHECK:          moe::loadBox([[RING]], {{v[0-9]+}}, v7,
// CHECK-COUNT-2:  moe::loadBox([[RING]], {{v[0-9]+}}, v6,

// The threads multiply: two rows, by pairs of columns, 4 elements of K at a time.
// CHECK:      moe::Accumulators<128> [[ACC:v[0-9]+]] = moe::accumulators<128>();
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT: for (int32_t [[I:j[0-9]+]] = 0; [[I]] < 64; [[I]] += 1) {
// CHECK-NEXT:   moe::set([[ACC]], [[I]], {{v[0-9]+}});
// CHECK-NEXT: }
// CHECK:      #pragma unroll 1
// CHECK-NEXT: for (int64_t [[K:j[0-9]+]] = 0; [[K]] < 40; [[K]] += 32) {
// CHECK-NEXT:   int32_t [[STAGE:v[0-9]+]] = moe::await([[RING]]);
// CHECK-NEXT:   if ({{.*}} < {{v[0-9]+}}) {
// CHECK-NEXT:     #pragma unroll 1
// CHECK-NEXT:     for (int32_t [[C:k[0-9]+]] = 0; [[C]] < 8; [[C]] += 1) {
// CHECK:            int32_t [[ROW:v[0-9]+]] = moe::fragmentRow({{v[0-9]+}}, 0);
// CHECK-NEXT:       int32_t [[LEFT:v[0-9]+]] = moe::swizzle((([[STAGE]] + {{v[0-9]+}} * 8192) + [[ROW]] * 128) + {{v[0-9]+}}, 128);
// CHECK-NEXT:       moe::Vector<float, 4> [[UPPER:v[0-9]+]] = moe::loadShared<moe::Vector<float, 4>>([[LEFT]]);
// CHECK-NEXT:       moe::Vector<float, 4> [[LOWER:v[0-9]+]] = moe::loadShared<moe::Vector<float, 4>>([[LEFT]] + 1024);
// CHECK:            #pragma unroll
// CHECK-NEXT:       for (int32_t [[PAIR:l[0-9]+]] = 0; [[PAIR]] < 16; [[PAIR]] += 1) {
// CHECK:              moe::Vector<float, 4> [[WEIGHTS:v[0-9]+]] = moe::loadShared<moe::Vector<float, 4>>(
// CHECK:              float [[FIRST:v[0-9]+]] = moe::get([[ACC]],
// CHECK-NEXT:         float [[SECOND:v[0-9]+]] = moe::get([[ACC]],
// CHECK:              float {{v[0-9]+}} = moe::fma({{v[0-9]+}}, {{v[0-9]+}}, [[FIRST]]);
// CHECK:              float {{v[0-9]+}} = moe::fma({{v[0-9]+}}, {{v[0-9]+}}, [[SECOND]]);
// CHECK-COUNT-4:      moe::set([[ACC]],
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   moe::releaseRead<moe::ProxyFence::Shared>([[RING]]);
// CHECK-NEXT:   moe::advance([[RING]]);
// CHECK-NEXT: }

// The epilogue is that of any product.
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT: for (int32_t [[I:j[0-9]+]] = 0; [[I]] < 16; [[I]] += 1) {
// CHECK:            float [[V:v[0-9]+]] = moe::get([[ACC]], [[ELEMENT:v[0-9]+]]);
// CHECK-NEXT:       float [[W:v[0-9]+]] = moe::get([[ACC]], [[ELEMENT]] + 1);
// CHECK:            moe::storePair({{v[0-9]+}}, [[V]], [[W]]);
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  kernel.func @linear(%x: memref<?x40xf32>, %w: memref<2x2x128x32xf32>, %y: memref<?x168xf32>) attributes {kernel.plan = #cuda.plan<stages = 4, few_rows = 16, arrival = lag, proxy_fence = shared, load_registers = 56, multiply_registers = 224, few_steps = 1, few_columns = 128>} {
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
