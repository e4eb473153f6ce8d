// What is asked of a call is refused by all ranks together as long as no launch has begun it.
// RUN: moe-opt %s --convert-host-to-moert --canonicalize --cse | FileCheck %s

kernel.func @k(%x: memref<?xf32>, %y: memref<?xf32>) {
  kernel.return
}

// CHECK-LABEL: llvm.func @moe_run
// CHECK: moert.check %{{.*}}, %{{.*}}, "an odd number" {of_call}
// CHECK: moert.check %{{.*}}, %{{.*}}, "a large number"{{$}}
// CHECK: moert.check %{{.*}}, %{{.*}}, "no number of threes" {of_call}
// CHECK: moert.launch
// CHECK: moert.check %{{.*}}, %{{.*}}, "too late"{{$}}
func.func @main(%x: memref<?xf32> {moe.name = "x", moe.dims = ["n"]}) -> (memref<?xf32> {moe.name = "y", moe.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4096 = arith.constant 4096 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %rest = arith.remui %n, %c2 : index
  %even = arith.cmpi eq, %rest, %c0 : index
  cf.assert %even, "an odd number" {moe.of_call}
  %small = arith.cmpi ult, %n, %c4096 : index
  cf.assert %small, "a large number"
  %y = memref.alloc(%n) : memref<?xf32>
  kernel.launch @k(%x, %y) rows(%n) work(%n) : memref<?xf32>, memref<?xf32>
  %element = memref.load %y[%c0] : memref<?xf32>
  %zero = arith.constant 0.0 : f32
  %holds = arith.cmpf oeq, %element, %zero : f32
  cf.assert %holds, "too late" {moe.of_call}
  %c3 = arith.constant 3 : index
  %third = arith.remui %n, %c3 : index
  %threes = arith.cmpi eq, %third, %c0 : index
  cf.assert %threes, "no number of threes" {moe.of_call}
  return %y : memref<?xf32>
}
