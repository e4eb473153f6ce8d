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

// An f32 rounded to odd stands between: one rounding in all, on any CPU.
// CHECK-LABEL: func.func @round_once
// CHECK: %[[NEAR:.*]] = arith.truncf %{{.*}} : vector<8xf64> to vector<8xf32>
// CHECK: %[[BACK:.*]] = arith.extf %[[NEAR]] : vector<8xf32> to vector<8xf64>
// CHECK: %[[ABOVE:.*]] = arith.cmpf ogt
// CHECK: %[[INEXACT:.*]] = arith.cmpf one, %[[BACK]]
// CHECK: arith.subi
// CHECK: arith.ori
// CHECK: arith.truncf %{{.*}} : vector<8xf32> to vector<8xf16>
// OLD-NOT: arith.truncf{{.*}} to bf16
// NEW: arith.truncf %{{.*}} : f32 to bf16
func.func @round_once(%x: vector<8xf64>, %y: f64) -> (vector<8xf16>, bf16) {
  %a = arith.truncf %x : vector<8xf64> to vector<8xf16>
  %b = arith.truncf %y to_nearest_even : f64 to bf16
  return %a, %b : vector<8xf16>, bf16
}

// CHECK-LABEL: func.func @fused_product
// CHECK: math.fma %{{.*}} : f64
// CHECK-NOT: math.fma %{{.*}} : f16
// CHECK: math.fma %{{.*}} : f32
// CHECK-NOT: math.fma %{{.*}} : bf16
func.func @fused_product(%x: f16, %y: bf16) -> (f16, bf16) {
  %a = math.fma %x, %x, %x : f16
  %b = math.fma %y, %y, %y : bf16
  return %a, %b : f16, bf16
}
