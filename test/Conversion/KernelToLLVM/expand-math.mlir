// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v3 --kernel-expand-math | FileCheck %s --check-prefixes=CHECK,OLD
// RUN: moe-opt %s --kernel-set-target=target=cpu:znver4 --kernel-expand-math | FileCheck %s --check-prefixes=CHECK,NEW
// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v3 --kernel-expand-math -o %t && moe-opt %t --kernel-expand-math | diff %t -

// CHECK-LABEL: func.func @f
// CHECK-NOT: math.exp
// CHECK: math.sin
// OLD-NOT: arith.truncf
// NEW: arith.truncf
func.func @f(%x: vector<8xf32>, %y: f32) -> (vector<8xbf16>, f32, f32) {
  %e = math.exp %x : vector<8xf32>
  %t = math.exp %y : f32
  %s = math.sin %y : f32
  %b = arith.truncf %e : vector<8xf32> to vector<8xbf16>
  return %b, %t, %s : vector<8xbf16>, f32, f32
}
