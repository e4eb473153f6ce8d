// RUN: moe-opt %s --kernel-lower-counters | FileCheck %s
// The passes in front of it leave counters where they stand: behind the stores of an iteration, before its loads.
// RUN: moe-opt %s --convert-kernel-to-llvm | FileCheck %s --check-prefix=ORDER

module attributes {kernel.target = #x86.target<cpu = "znver4", rows = 6, columns = 64, vector = 16, dot_bf16 = true>} {
  // CHECK-LABEL: kernel.func @use
  // CHECK-SAME: (%[[X:.*]]: memref<?xf32>, %[[DONE:.*]]: memref<?xi32>, %[[I:.*]]: index, %[[N:.*]]: index)
  // ORDER-LABEL: llvm.func internal @use.body
  // ORDER: llvm.store %{{.*}}, %{{.*}} : f32, !llvm.ptr
  // ORDER: llvm.atomicrmw add
  // ORDER: llvm.call @moert_await_arrivals
  // ORDER: llvm.load %{{.*}} : !llvm.ptr -> f32
  // ORDER: llvm.return
  kernel.func @use(%x: memref<?xf32>, %done: memref<?xi32>, %i: index, %n: index) {
    %one = arith.constant 1.0 : f32
    scf.forall (%j) in (4) {
      memref.store %one, %x[%j] : memref<?xf32>
      // CHECK: %[[BASE:.*]] = llvm.extractvalue %{{.*}}[1]
      // CHECK: %[[I64:.*]] = arith.index_cast %[[I]] : index to i64
      // CHECK: %[[AT:.*]] = llvm.getelementptr %{{.*}}[%[[I64]]] : (!llvm.ptr, i64) -> !llvm.ptr, i32
      // CHECK: %[[ONE:.*]] = llvm.mlir.constant(1 : i32) : i32
      // CHECK: llvm.atomicrmw add %[[AT]], %[[ONE]] release : !llvm.ptr, i32
      kernel.arrive %done[%i] : memref<?xi32>
      // CHECK: %[[AT2:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, i32
      // CHECK: %[[N64:.*]] = arith.index_cast %[[N]] : index to i64
      // CHECK: llvm.call @moert_await_arrivals(%[[AT2]], %[[N64]]) : (!llvm.ptr, i64) -> i32
      kernel.await_arrivals %done[%i] reach %n : memref<?xi32>
      %v = memref.load %x[%i] : memref<?xf32>
      memref.store %v, %x[%n] : memref<?xf32>
    }
    // CHECK-NOT: kernel.a
    // CHECK: kernel.return
    kernel.return
  }
}
