// REQUIRES: nvrtc
// RUN: rm -rf %t && mkdir %t
// RUN: env MOE_CACHE_DIR=%t/cache moe-translate --kernel-to-cubin %s -o %t/first.cubin
// RUN: env MOE_CACHE_DIR=%t/cache moe-translate --kernel-to-cubin %s -o %t/second.cubin
// RUN: env MOE_CACHE_DIR= moe-translate --kernel-to-cubin %s -o %t/third.cubin
// RUN: diff %t/first.cubin %t/second.cubin && diff %t/first.cubin %t/third.cubin
// RUN: llvm-readelf -h -s %t/first.cubin | FileCheck %s
// RUN: moe-translate --kernel-to-cuda %s | diff - %t/cache/kernels/*/kernel.cu

// CHECK: Machine: NVIDIA CUDA architecture
// CHECK: FUNC GLOBAL DEFAULT {{.*}} scale{{$}}
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  kernel.func @scale(%x: memref<?xf32>, %y: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %rows = memref.dim %x, %c0 : memref<?xf32>
    scf.forall (%i) in (%rows) {
      %a = memref.load %x[%i] : memref<?xf32>
      %b = arith.addf %a, %a : f32
      memref.store %b, %y[%i] : memref<?xf32>
    }
    kernel.return
  }
}
