// Kernels with products get the plan that the target chooses, others none; a plan that is there stays.
// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v3 --kernel-choose-plans | FileCheck %s --check-prefixes=CHECK,V3
// RUN: moe-opt %s --kernel-set-target=target=cpu:sapphirerapids --kernel-choose-plans | FileCheck %s --check-prefixes=CHECK,AMX
// RUN: moe-opt %s --kernel-set-target=target=cuda:h200 --kernel-choose-plans | FileCheck %s --check-prefixes=CHECK,CUDA
// Of 64 steps of K, copies announce themselves; of 65 they do not.
// RUN: sed 's/1x64x64x2x/1x65x64x2x/;s/x128xbf16/x130xbf16/;s/%c128/%c130/;s/constant 128/constant 130/' %s | moe-opt --kernel-set-target=target=cuda:h200 --kernel-choose-plans | FileCheck %s --check-prefixes=CHECK,LONG
// Where tiles have 128 rows, a stage has room for two steps of K of few rows, if the steps are even in number.
// RUN: sed 's/<32/<128/;s/max 32/max 128/' %s | moe-opt --kernel-set-target=target=cuda:h200 --kernel-choose-plans | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: sed 's/<32/<128/;s/max 32/max 128/;s/1x64x64x2x/1x63x64x2x/;s/x128xbf16/x126xbf16/;s/%c128/%c126/;s/constant 128/constant 126/' %s | moe-opt --kernel-set-target=target=cuda:h200 --kernel-choose-plans | FileCheck %s --check-prefixes=CHECK,ODD
// RUN: moe-opt %s --kernel-choose-plans | FileCheck %s --check-prefixes=CHECK,NONE
// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v3 --kernel-choose-plans -o %t && moe-opt %t --kernel-choose-plans | diff %t -
// RUN: not moe-opt %s --kernel-set-target=target=cpu:sapphirerapids --convert-kernel-to-llvm 2>&1 | FileCheck %s --check-prefix=OTHER

// V3: @product({{.*}} attributes {kernel.plan = #x86.plan<block_above = 262144, block_bytes = 65536, block_rows = 384, stream_ahead = 0, spread = 4>}
// AMX: @product({{.*}} attributes {kernel.plan = #x86.plan<block_above = 262144, block_bytes = 262144, block_rows = 384, stream_ahead = 2048, spread = 4>}
// LONG: @product({{.*}}x65x{{.*}} arrival = lag, {{.*}}few_steps = 1, few_columns = 128>
// CUDA: @product({{.*}} attributes {kernel.plan = #cuda.plan<stages = 8, few_rows = 16, arrival = noinc, proxy_fence = shared, load_registers = 56, multiply_registers = 224, few_steps = 1, few_columns = 128>}
// TWO: @product({{.*}} few_steps = 2, few_columns = 64>}
// ODD: @product({{.*}} few_steps = 1, few_columns = 128>}
// NONE-NOT: @product({{.*}}kernel.plan
kernel.func @product(%x: memref<?x128xbf16>, %w: memref<1x64x64x2xbf16>, %y: memref<?x64xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %rows = memref.dim %x, %c0 : memref<?x128xbf16>
  scf.forall (%block) in (1) {
    kernel.row_tile %rows max 32 {
      %index = kernel.row_indices %c0 {
      ^bb0(%i: index):
        kernel.yield %i : index
      } : <32>
      %zero = kernel.zero : <32x64xf32>
      %acc = scf.for %k = %c0 to %c128 step %c2 iter_args(%a = %zero) -> (!kernel.acc<32x64xf32>) {
        %next = kernel.mma %a, %x[%index, %k], %w[%block, %k, %c0] : !kernel.acc<32x64xf32>, memref<?x128xbf16>, memref<1x64x64x2xbf16>
        scf.yield %next : !kernel.acc<32x64xf32>
      }
      kernel.store_tile %acc -> %y[%index, %c0] {
      ^bb0(%r: index, %c: index, %v: f32):
        kernel.yield %v : f32
      } : (!kernel.acc<32x64xf32>), memref<?x64xf32>
    }
  }
  kernel.return
}

// CHECK: @planned() attributes {kernel.plan = #cuda.plan<stages = 3,
// OTHER: error: 'kernel.func' op 'kernel.plan' is for another target than CPU 'sapphirerapids'
kernel.func @planned() attributes {kernel.plan = #cuda.plan<stages = 3, few_rows = 0, arrival = lag, proxy_fence = all, load_registers = 56, multiply_registers = 224, few_steps = 1, few_columns = 128>} {
  kernel.return
}

// V3: @rows() {
// AMX: @rows() {
// CUDA: @rows() attributes {kernel.plan = #cuda.row_plan<threads = 256, blocks_per_sm = 4>}
// NONE: @rows() {
kernel.func @rows() {
  kernel.return
}

// An index of the scf.forall is the work of a block.
// V3: @shared({{.*}}) {
// CUDA: @shared({{.*}}) attributes {kernel.plan = #cuda.row_plan<threads = 1024, blocks_per_sm = 1>}
kernel.func @shared(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %zero = arith.constant 0.0 : f32
  scf.forall (%block) in (4) {
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      memref.store %zero, %x[%i] : memref<?xf32>
      scf.reduce
    }
  }
  kernel.return
}
