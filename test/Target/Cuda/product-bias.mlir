// RUN: moe-translate --kernel-to-cuda %s | FileCheck %s

// A thread has pairs of columns in two rows: the biases of the two columns are read once for both rows, where the columns exist; the residual,
// which depends on the row too, is read in each.
// CHECK:      moe::Accumulators<128> [[ACC:v[0-9]+]] =
// CHECK:      moe::wgmmaWait<0>([[ACC]]);
// CHECK:      if ({{v[0-9]+}} < 168) {
// CHECK:        moe::Bf16 [[B:v[0-9]+]] = moe::loadGlobal(v4 + [[COLUMN:v[0-9]+]]);
// CHECK-NEXT:   float [[LEFT:v[0-9]+]] = moe::toFloat([[B]]);
// CHECK-NEXT:   moe::Bf16 [[C:v[0-9]+]] = moe::loadGlobal(v4 + [[NEXT:v[0-9]+]]);
// CHECK-NEXT:   float [[RIGHT:v[0-9]+]] = moe::toFloat([[C]]);
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (int32_t [[HALF:k[0-9]+]] = 0; [[HALF]] < 2; [[HALF]] += 1) {
// CHECK-NOT:        moe::loadGlobal(v4
// CHECK:            float [[OLD:v[0-9]+]] = moe::loadGlobal(v5 + ({{.*}} * 168 + [[COLUMN]]));
// CHECK-NEXT:       {{.*}} = moe::fromFloat<moe::Bf16>(({{.*}} + [[LEFT]]) + [[OLD]]);
// CHECK-NOT:        moe::loadGlobal(v4
// CHECK:            float [[OLD:v[0-9]+]] = moe::loadGlobal(v5 + ({{.*}} * 168 + [[NEXT]]));
// CHECK-NEXT:       {{.*}} = moe::fromFloat<moe::Bf16>(({{.*}} + [[RIGHT]]) + [[OLD]]);
// CHECK:            moe::storePair(
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  kernel.func @linear(%x: memref<?x96xbf16>, %w: memref<2x2x128x64xbf16>, %bias: memref<168xbf16>, %residual: memref<?x168xf32>, %y: memref<?x168xbf16>) attributes {kernel.plan = #cuda.plan<stages = 4, few_rows = 16, arrival = lag, proxy_fence = shared, load_registers = 56, multiply_registers = 224, few_steps = 1, few_columns = 128>} {
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
            %b = memref.load %bias[%c] : memref<168xbf16>
            %wide = arith.extf %b : bf16 to f32
            %sum = arith.addf %v, %wide : f32
            %old = memref.load %residual[%r, %c] : memref<?x168xf32>
            %all = arith.addf %sum, %old : f32
            %o = arith.truncf %all : f32 to bf16
            kernel.yield %o : bf16
          } : (!kernel.acc<128x128xf32>), memref<?x168xbf16>
        }
      }
    }
    kernel.return
  }
}
