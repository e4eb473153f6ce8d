// Functions that LLVM has no form of are calls of the C library, one for each element.
// RUN: moe-opt %s --kernel-call-libm | FileCheck %s

// CHECK-LABEL: func.func @numbers
// CHECK: llvm.call @cbrtf(%arg0)
// CHECK: llvm.call @atanh(%arg1)
// CHECK-NOT: math.
func.func @numbers(%x: f32, %y: f64) -> (f32, f64) {
  %a = math.cbrt %x : f32
  %b = math.atanh %y : f64
  return %a, %b : f32, f64
}

// CHECK-LABEL: func.func @elements
// CHECK-COUNT-4: llvm.call @acoshf(
// CHECK-NOT: llvm.call
// What LLVM has is left to it.
// CHECK: math.sqrt
func.func @elements(%x: vector<4xf32>) -> vector<4xf32> {
  %a = math.acosh %x : vector<4xf32>
  %b = math.sqrt %a : vector<4xf32>
  return %b : vector<4xf32>
}
