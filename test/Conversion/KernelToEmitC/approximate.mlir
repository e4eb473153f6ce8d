// RUN: moe-translate --kernel-to-cuda %s | FileCheck %s

// What may be approximated says so by its fastmath flags; everything else is exact.
// CHECK-LABEL: void flags(
// CHECK: moe::approximateExp(
// CHECK: moe::exp(
// CHECK: moe::approximateQuotient(
// CHECK-COUNT-2: {{ / }}
// CHECK-NOT: moe::approximate
kernel.func @flags(%x: memref<?xf32>, %y: memref<?x5xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %rows = memref.dim %x, %c0 : memref<?xf32>
  scf.forall (%i) in (%rows) {
    %a = memref.load %x[%i] : memref<?xf32>
    %0 = math.exp %a fastmath<afn> : f32
    %1 = math.exp %a : f32
    %2 = arith.divf %0, %a fastmath<afn,arcp> : f32
    %3 = arith.divf %1, %a fastmath<arcp> : f32
    %4 = arith.divf %1, %0 : f32
    memref.store %0, %y[%i, %c0] : memref<?x5xf32>
    memref.store %1, %y[%i, %c1] : memref<?x5xf32>
    memref.store %2, %y[%i, %c2] : memref<?x5xf32>
    memref.store %3, %y[%i, %c3] : memref<?x5xf32>
    memref.store %4, %y[%i, %c4] : memref<?x5xf32>
  }
  kernel.return
}
