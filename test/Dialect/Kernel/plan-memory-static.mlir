// RUN: moe-opt %s --kernel-plan-memory | FileCheck %s

kernel.func @numbers(%x: memref<9xindex>, %p: memref<65xi1>, %b: memref<1xbf16>) {
  kernel.return
}

// 72 bytes take 128, 65 bytes take 128, 2 bytes take 64.
// CHECK-LABEL: func.func @elements
// CHECK: %[[BYTES:.*]] = arith.constant 320 : index
// CHECK: memref.alloc(%[[BYTES]]) {kernel.arena} : memref<?xi8>
func.func @elements(%m: index) {
  %a = memref.alloc() : memref<9xindex>
  %b = memref.alloc() : memref<65xi1>
  %c = memref.alloc() : memref<1xbf16>
  kernel.launch @numbers(%a, %b, %c) rows(%m) work(%m) : memref<9xindex>, memref<65xi1>, memref<1xbf16>
  return
}
