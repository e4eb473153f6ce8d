// RUN: moe-opt %s --convert-host-to-moert --canonicalize --cse | FileCheck %s
// RUN: moe-opt %s --convert-host-to-moert --remarks-filter=convert-host-to-moert --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// What the host decides by an element of a buffer comes from the GPU's memory, at the element's address, behind the launch that wrote it.
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  kernel.func @k(%x: memref<?x3xi64>, %y: memref<?x3xi64>) {
    kernel.return
  }

  // CHECK-LABEL: llvm.func @moe_run
  // CHECK-SAME: (%[[CTX:.*]]: !llvm.ptr)
  // CHECK: %[[Y:.*]] = moert.output %[[CTX]], 0
  // CHECK: moert.launch %[[CTX]], @k
  // CHECK-NOT: llvm.load
  // CHECK: %[[AT:.*]] = llvm.getelementptr %[[Y]][%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  // CHECK-NEXT: %[[VALUE:.*]] = moert.read %[[CTX]], %[[AT]] : i64
  // CHECK: %[[HOLDS:.*]] = llvm.icmp "slt" %[[VALUE]]
  // CHECK: moert.check %[[CTX]], %[[HOLDS]], "an index is outside"
  // REMARK: reads-gpu.mlir:[[#@LINE+8]]:{{.*}}remark: [Missed] HostRead | Category:convert-host-to-moert | {{.*}}the host waits for the GPU and reads an element of memref<?x3xi64>
  func.func @main(%x: memref<?x3xi64> {moe.name = "x", moe.dims = ["n", ""]}) -> (memref<?x3xi64> {moe.name = "y", moe.dims = ["n", ""]}) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c9 = arith.constant 9 : i64
    %n = memref.dim %x, %c0 : memref<?x3xi64>
    %y = memref.alloc(%n) : memref<?x3xi64>
    kernel.launch @k(%x, %y) rows(%n) work(%n) : memref<?x3xi64>, memref<?x3xi64>
    %value = memref.load %y[%c0, %c2] : memref<?x3xi64>
    %holds = arith.cmpi slt, %value, %c9 : i64
    kernel.check %holds, "an index is outside"
    return %y : memref<?x3xi64>
  }
}
