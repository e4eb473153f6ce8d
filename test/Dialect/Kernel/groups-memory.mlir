// Launches of a group are one step of the memory plan: what one of them uses last does not share with what another one uses first.
// RUN: moe-opt %s --kernel-plan-memory | FileCheck %s
// One after the other they do share.
// RUN: sed '/launch_group/d;/of the group/d' %s | moe-opt --kernel-plan-memory | FileCheck %s --check-prefix=ALONE

kernel.func @k(%a: memref<64xf32>) {
  kernel.return
}

// CHECK-LABEL: func.func @main
// CHECK: %[[BYTES:.*]] = arith.constant 512 : index
// CHECK: memref.alloc(%[[BYTES]]) {kernel.arena}
// ALONE-LABEL: func.func @main
// ALONE: %[[BYTES:.*]] = arith.constant 256 : index
// ALONE: memref.alloc(%[[BYTES]]) {kernel.arena}
func.func @main(%n: index) {
  %a = memref.alloc() : memref<64xf32>
  %b = memref.alloc() : memref<64xf32>
  kernel.launch @k(%a) rows(%n) work(%n) : memref<64xf32>
  kernel.launch_group {
    kernel.launch @k(%a) rows(%n) work(%n) : memref<64xf32>
    kernel.launch @k(%b) rows(%n) work(%n) : memref<64xf32>
  } // of the group
  kernel.launch @k(%b) rows(%n) work(%n) : memref<64xf32>
  return
}
