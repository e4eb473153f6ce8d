// The passes for a CPU leave what ranks exchange in its place: in the loops it stands in, and in its order with loads,
// stores and products.
// RUN: moe-opt %s --convert-kernel-to-llvm | FileCheck %s
// RUN: moe-opt %s --pass-pipeline='builtin.module(kernel-choose-plans,kernel.func(kernel-chunk-depth,kernel-lower-matrix-tiles,kernel-prefetch-weights,kernel-specialize-row-tiles,kernel-split-odd-k,kernel-lower-tiles,cse,kernel-order-products,convert-linalg-to-loops),kernel-distribute-blocks)' | FileCheck %s --check-prefix=BLOCKS

module attributes {kernel.target = #x86.target<cpu = "znver4", rows = 6, columns = 64, vector = 16, dot_bf16 = true>} {
  // An await in front of the loop over the rows of an expert, whose product reads what was awaited; then a signal. The
  // weights are long enough for chunks of K.
  // BLOCKS-LABEL: kernel.func @product
  // BLOCKS: scf.for
  // BLOCKS: %[[EPOCH:.*]] = kernel.epoch
  // BLOCKS: kernel.await %{{.*}} reach %[[EPOCH]]
  // BLOCKS: kernel.part
  // BLOCKS: scf.for
  // BLOCKS: x86vector.avx512.dot
  // BLOCKS: kernel.signal
  // BLOCKS-NOT: kernel.signal
  // BLOCKS-NOT: kernel.await
  // BLOCKS: kernel.return

  // CHECK-LABEL: llvm.func internal @product.body
  // CHECK-NOT: atomic
  // CHECK: llvm.call @moert_await
  // CHECK-NOT: llvm.call @moert_await
  // CHECK: llvm.store {{.*}} atomic release
  // CHECK-NOT: atomic release
  // CHECK: llvm.return
  kernel.func @product(%x: !kernel.window<?x4096xbf16>, %w: memref<2x4x2048x64x2xbf16>, %y: memref<?x256xf32>, %came: !kernel.window<2xi32>, %done: !kernel.window<2xi32>, %me: index, %m: index) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c6 = arith.constant 6 : index
    %c64 = arith.constant 64 : index
    %k = arith.constant 4096 : index
    scf.forall (%peer) in (2) {
      %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
      kernel.await %came[%peer] reach %epoch from %peer : !kernel.window<2xi32>
      %own = kernel.part %x : !kernel.window<?x4096xbf16> -> memref<?x4096xbf16>
      scf.for %r = %c0 to %m step %c6 {
        %left = arith.subi %m, %r : index
        kernel.row_tile %left max 6 {
          %rows = kernel.row_indices %r {
          ^bb0(%i: index):
            kernel.yield %i : index
          } : !kernel.rows<6>
          %zero = kernel.zero : !kernel.acc<6x64xf32>
          %acc = scf.for %kk = %c0 to %k step %c2 iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
            %next = kernel.mma %a, %own[%rows, %kk], %w[%peer, %c0, %kk, %c0]
                : !kernel.acc<6x64xf32>, memref<?x4096xbf16>, memref<2x4x2048x64x2xbf16>
            scf.yield %next : !kernel.acc<6x64xf32>
          }
          kernel.store_tile %acc -> %y[%rows, %c0] {
          ^bb0(%row: index, %c: index, %v: f32):
            kernel.yield %v : f32
          } : (!kernel.acc<6x64xf32>), memref<?x256xf32>
        }
      }
      kernel.signal %done[%peer][%me], %epoch : !kernel.window<2xi32>
    }
    kernel.return
  }

  // Equal loads on the two sides of an await are not one.
  // BLOCKS-LABEL: kernel.func @reload
  // BLOCKS: memref.load
  // BLOCKS: kernel.await
  // BLOCKS: memref.load
  // BLOCKS: kernel.return

  // CHECK-LABEL: llvm.func internal @reload.body
  // CHECK: llvm.load %{{.*}} -> f32
  // CHECK: llvm.call @moert_await
  // CHECK: llvm.load %{{.*}} -> f32
  // CHECK: llvm.return
  kernel.func @reload(%x: !kernel.window<8xf32>, %came: !kernel.window<2xi32>, %y: memref<2xf32>, %epoch: i32) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %own = kernel.part %x : !kernel.window<8xf32> -> memref<8xf32>
    %before = memref.load %own[%c0] : memref<8xf32>
    kernel.await %came[%c0] reach %epoch from %c0 : !kernel.window<2xi32>
    %after = memref.load %own[%c0] : memref<8xf32>
    memref.store %before, %y[%c0] : memref<2xf32>
    memref.store %after, %y[%c1] : memref<2xf32>
    kernel.return
  }

  // Two puts of equal operands are two, and stay in front of the signal.
  // CHECK-LABEL: llvm.func internal @put_twice.body
  // CHECK-COUNT-2: llvm.intr.memcpy
  // CHECK: atomic release
  // CHECK-NOT: llvm.intr.memcpy
  // CHECK: llvm.return
  kernel.func @put_twice(%x: memref<?x8xf32>, %w: !kernel.window<?x8xf32>, %came: !kernel.window<2xi32>, %i: index, %epoch: i32) {
    kernel.put %x[%i], %w[%i][%i] : memref<?x8xf32>, !kernel.window<?x8xf32>
    kernel.put %x[%i], %w[%i][%i] : memref<?x8xf32>, !kernel.window<?x8xf32>
    kernel.signal %came[%i][%i], %epoch : !kernel.window<2xi32>
    kernel.return
  }
}
