// RUN: moe-opt %s --kernel-to-emitc | FileCheck %s
// How kernels are launched stands in attributes of their functions, which go through text.
// RUN: moe-opt %s --kernel-to-emitc -o %t && moe-opt %t | diff %t -

// Slots: x and its rows, then the weight, of which TMA sees a row per (block, step, column). It brings rows of x too; argument 1 says how many.
// CHECK:      emitc.func @linear(%{{.*}}: !emitc.ptr<!emitc.opaque<"moe::Bf16">>, %{{.*}}: i64, %{{.*}}: !emitc.ptr
// CHECK-SAME: cuda.blocks_per_sm = 1 : i64,
// CHECK-SAME: cuda.maps = [{box = [64, 64], columns = 64 : i64, element = bf16, rows = 256 : i64, slot = 2 : i64, swizzle = 128 : i64},
// CHECK-SAME:              {box = [128, 64], columns = 96 : i64, element = bf16, rows = -2 : i64, slot = 0 : i64, swizzle = 128 : i64}],
// CHECK-SAME: cuda.pipeline = {roles = [{name = "load", registers = 56 : i64, threads = 128 : i64},
// CHECK-SAME:                           {name = "multiply", registers = 224 : i64, threads = 256 : i64}], stages = 6 : i64},
// CHECK-SAME: cuda.shared = 197632 : i64, cuda.threads = 384 : i64
// CHECK:      emitc.func @scale(
// CHECK-SAME: attributes {cuda.blocks_per_sm = 4 : i64, cuda.shared = 0 : i64, cuda.threads = 256 : i64
// The bounds for ptxas say the same.
// CHECK-SAME: specifiers = ["extern \22C\22 __global__ __launch_bounds__(256, 4)"]
// Eight rows that are read at once, 16 bytes of each: fewer blocks find room for their registers.
// CHECK:      emitc.func @sum(
// CHECK-SAME: attributes {cuda.blocks_per_sm = 3 : i64, cuda.shared = 0 : i64, cuda.threads = 256 : i64
// CHECK-SAME: specifiers = ["extern \22C\22 __global__ __launch_bounds__(256, 3)"]
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
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
  kernel.func @sum(%x: memref<8x256xf32>, %y: memref<?x256xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c6 = arith.constant 6 : index
    %c7 = arith.constant 7 : index
    %n = arith.constant 256 : index
    %rows = memref.dim %y, %c0 : memref<?x256xf32>
    scf.forall (%i) in (%rows) {
      scf.for %j = %c0 to %n step %c1 {
        %x0 = memref.load %x[%c0, %j] : memref<8x256xf32>
        %x1 = memref.load %x[%c1, %j] : memref<8x256xf32>
        %x2 = memref.load %x[%c2, %j] : memref<8x256xf32>
        %x3 = memref.load %x[%c3, %j] : memref<8x256xf32>
        %x4 = memref.load %x[%c4, %j] : memref<8x256xf32>
        %x5 = memref.load %x[%c5, %j] : memref<8x256xf32>
        %x6 = memref.load %x[%c6, %j] : memref<8x256xf32>
        %x7 = memref.load %x[%c7, %j] : memref<8x256xf32>
        %s1 = arith.addf %x0, %x1 : f32
        %s2 = arith.addf %s1, %x2 : f32
        %s3 = arith.addf %s2, %x3 : f32
        %s4 = arith.addf %s3, %x4 : f32
        %s5 = arith.addf %s4, %x5 : f32
        %s6 = arith.addf %s5, %x6 : f32
        %s7 = arith.addf %s6, %x7 : f32
        memref.store %s7, %y[%i, %j] : memref<?x256xf32>
      }
    }
    kernel.return
  }
}
