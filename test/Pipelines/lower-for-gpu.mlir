// Kernels for a GPU become CUDA C++; those for a CPU are left to the passes that follow.
// RUN: sed 's/TARGET/#cuda.target<device = "h200", rows = 128, columns = 64, depth = 64, activation = approximate>/' %s | moe-opt --kernel-lower-for-gpu | FileCheck %s --check-prefix=GPU
// RUN: sed 's/TARGET/#x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>/' %s | moe-opt -o %t.cpu
// RUN: moe-opt %t.cpu --kernel-lower-for-gpu | diff %t.cpu -

// GPU-NOT: kernel.func
// GPU: emitc
// GPU-NOT: kernel.func

module attributes {kernel.target = TARGET} {
  kernel.func @copy(%x: memref<?xf32>, %y: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %n = memref.dim %x, %c0 : memref<?xf32>
    scf.forall (%i) in (%n) {
      %v = memref.load %x[%i] : memref<?xf32>
      memref.store %v, %y[%i] : memref<?xf32>
    }
    kernel.return
  }
}
