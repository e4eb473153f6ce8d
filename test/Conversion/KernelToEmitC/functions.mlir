// RUN: moe-opt %s --convert-kernel-to-emitc | mlir-translate --mlir-to-cpp | FileCheck %s

// What activations are made of near zero, powers and remainders.
// CHECK-LABEL: void near_zero(float* v1
kernel.func @near_zero(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  // CHECK: float [[X:.*]] = moe::loadGlobal
  // CHECK: float [[E:.*]] = moe::expm1([[X]]);
  // CHECK: float [[L:.*]] = moe::log1p([[E]]);
  // CHECK: float [[P:.*]] = moe::pow([[L]], [[X]]);
  // CHECK: float {{.*}} = moe::fmod([[P]], [[X]]);
  %v = memref.load %x[%c0] : memref<4xf32>
  %e = math.expm1 %v : f32
  %l = math.log1p %e : f32
  %p = math.powf %l, %v : f32
  %r = arith.remf %p, %v : f32
  memref.store %r, %x[%c0] : memref<4xf32>
  kernel.return
}

// What nn.top_k makes of numbers: their bits, and a bit that goes down through them.
// CHECK-LABEL: void bits(float* v1, int32_t* v2, int64_t* v3
kernel.func @bits(%x: memref<4xf32>, %y: memref<4xi32>, %z: memref<4xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : i32
  %c1_wide = arith.constant 1 : i64
  %least = arith.constant -2147483648 : i32
  %least_wide = arith.constant -9223372036854775808 : i64
  %v = memref.load %x[%c0] : memref<4xf32>
  // CHECK: int32_t [[B:.*]] = moe::bitsOf(
  %b = arith.bitcast %v : f32 to i32
  // A least number has no literal.
  // CHECK: int32_t [[T:.*]] = [[B]] ^ (-2147483647 - 1);
  %t = arith.xori %b, %least : i32
  // Zeros come from the left, also where the sign was.
  // CHECK: uint32_t [[U:.*]] = (uint32_t) [[T]];
  // CHECK: uint32_t [[S:.*]] = [[U]] >> 1;
  // CHECK: int32_t {{.*}} = (int32_t) [[S]];
  %s = arith.shrui %t, %c1 : i32
  memref.store %s, %y[%c0] : memref<4xi32>
  // CHECK: uint64_t {{.*}} = (uint64_t) (-9223372036854775807 - 1);
  %w = arith.shrui %least_wide, %c1_wide : i64
  memref.store %w, %z[%c0] : memref<4xi64>
  kernel.return
}
