// RUN: moe-opt %s --kernel-to-emitc | FileCheck %s
// How kernels are launched stands in attributes of their functions, which go through text.
// RUN: moe-opt %s --kernel-to-emitc -o %t && moe-opt %t | diff %t -

// Slots: x and its rows, then the weight, of which TMA sees a row per (block, step, column). It brings rows of x too; argument 1 says how many.
// CHECK:      emitc.func @linear(%{{.*}}: !emitc.ptr<!emitc.opaque<"moe::Bf16">>, %{{.*}}: i64, %{{.*}}: !emitc.ptr
// CHECK-SAME: cuda.blocks_per_sm = 1 : i64,
// CHECK-SAME: cuda.maps = [{box = [64, 64], columns = 64 : i64, element = bf16, rows = 256 : i64, slot = 2 : i64, swizzle = 128 : i64},
// CHECK-SAME:              {box = [128, 64], columns = 96 : i64, element = bf16, rows = -2 : i64, slot = 0 : i64, swizzle = 128 : i64}],
// CHECK-SAME: cuda.shared = 132096 : i64, cuda.threads = 384 : i64
// CHECK:      emitc.func @scale(
// CHECK-SAME: attributes {cuda.blocks_per_sm = 4 : i64, cuda.shared = 0 : i64, cuda.threads = 256 : i64
module attributes {kernel.target = {columns = 128 : i64, cuda = "sm_90a", depth = 64 : i64, rows = 128 : i64, stages = 4 : i64}} {
  kernel.func @linear(%x: memref<?x96xbf16>, %w: memref<1x2x128x64xbf16>, %y: memref<?x40xbf16>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c96 = arith.constant 96 : index
    %rows = memref.dim %x, %c0 : memref<?x96xbf16>
    scf.forall (%block) in (1) {
      kernel.row_tile %rows max 128 {
        %index = kernel.row_indices %c0 {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : <128>
        %zero = kernel.zero : <128x128xf32>
        %acc = scf.for %k = %c0 to %c96 step %c64 iter_args(%a = %zero) -> (!kernel.acc<128x128xf32>) {
          %next = kernel.mma %a, %x[%index, %k], %w[%block, %k, %c0] : !kernel.acc<128x128xf32>, memref<?x96xbf16>, memref<1x2x128x64xbf16>
          scf.yield %next : !kernel.acc<128x128xf32>
        }
        kernel.store_tile %acc -> %y[%index, %c0] {
        ^bb0(%r: index, %c: index, %v: f32):
          %o = arith.truncf %v : f32 to bf16
          kernel.yield %o : bf16
        } : (!kernel.acc<128x128xf32>), memref<?x40xbf16>
      }
    }
    kernel.return
  }
  kernel.func @scale(%x: memref<?xf32>, %y: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %n = memref.dim %x, %c0 : memref<?xf32>
    scf.forall (%i) in (%n) {
      %a = memref.load %x[%i] : memref<?xf32>
      memref.store %a, %y[%i] : memref<?xf32>
    }
    kernel.return
  }
}
