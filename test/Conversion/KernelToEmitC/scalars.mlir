// RUN: moe-opt %s --convert-kernel-to-emitc | mlir-translate --mlir-to-cpp | FileCheck %s

// Every memref is a pointer and its dynamic sizes; offsets are row-major.
// CHECK-LABEL: extern "C" __global__ __launch_bounds__(256, 4) void memory(float* v1, int64_t v2, int64_t v3, int32_t* v4, int64_t v5)
kernel.func @memory(%x: memref<?x3x?xf32>, %y: memref<8xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %rows = memref.dim %x, %c0 : memref<?x3x?xf32>
  // CHECK: int64_t [[A:.*]] = v5 * 3;
  // CHECK: int64_t [[B:.*]] = [[A]] + 2;
  // CHECK: int64_t [[C:.*]] = [[B]] * v3;
  // CHECK: int64_t [[D:.*]] = [[C]] + v2;
  // CHECK: float* [[P:.*]] = v1 + [[D]];
  // CHECK: float [[V:.*]] = moe::loadGlobal([[P]]);
  %v = memref.load %x[%n, %c2, %rows] : memref<?x3x?xf32>
  %i = arith.fptosi %v : f32 to i32
  // CHECK: int32_t* [[Q:.*]] = v4 + 2;
  // CHECK: moe::storeGlobal([[Q]], {{.*}});
  memref.store %i, %y[%c2] : memref<8xi32>
  kernel.return
}

// CHECK-LABEL: void comparisons(float v1, float v2, int32_t v3
kernel.func @comparisons(%a: f32, %b: f32, %i: i32, %y: memref<8xi1>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : i32
  // A negative number is a huge unsigned one.
  // CHECK: uint32_t [[U:.*]] = (uint32_t) v3;
  // CHECK: uint32_t [[E:.*]] = (uint32_t) 8;
  // CHECK: [[U]] < [[E]]
  %0 = arith.cmpi ult, %i, %c8 : i32
  memref.store %0, %y[%c0] : memref<8xi1>
  // CHECK: bool [[G:.*]] = v1 <= v2;
  // CHECK: bool {{.*}} = ![[G]];
  %1 = arith.cmpf ugt, %a, %b : f32
  memref.store %1, %y[%c0] : memref<8xi1>
  // CHECK: bool [[NA:.*]] = v1 != v1;
  // CHECK: bool [[NB:.*]] = v2 != v2;
  // CHECK: [[NA]] || [[NB]]
  %2 = arith.cmpf uno, %a, %b : f32
  memref.store %2, %y[%c0] : memref<8xi1>
  kernel.return
}

// 16-bit floats are storage: they are widened to compute and rounded to store.
// CHECK-LABEL: void bf16(moe::Bf16* v1
kernel.func @bf16(%x: memref<4xbf16>) {
  %c0 = arith.constant 0 : index
  // CHECK: moe::Bf16 [[L:.*]] = moe::loadGlobal
  // CHECK: float [[W:.*]] = moe::toFloat([[L]]);
  // CHECK: float [[S:.*]] = moe::exp([[W]]);
  // CHECK: moe::Bf16 [[R:.*]] = moe::fromFloat<moe::Bf16>([[S]]);
  %v = memref.load %x[%c0] : memref<4xbf16>
  %w = arith.extf %v : bf16 to f32
  %e = math.exp %w : f32
  %r = arith.truncf %e : f32 to bf16
  memref.store %r, %x[%c0] : memref<4xbf16>
  kernel.return
}

// The type of a stored constant is that of the memory: a literal would be an int.
// CHECK-LABEL: void constants(int64_t* v1, int8_t* v2, int32_t* v3
kernel.func @constants(%x: memref<4xi64>, %y: memref<4xi8>, %z: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  %wide = arith.constant 7 : i64
  %narrow = arith.constant 7 : i8
  %plain = arith.constant 7 : i32
  // CHECK: moe::storeGlobal<int64_t>({{.*}}, 7);
  memref.store %wide, %x[%c0] : memref<4xi64>
  // CHECK: moe::storeGlobal<int8_t>({{.*}}, 7);
  memref.store %narrow, %y[%c0] : memref<4xi8>
  // CHECK: moe::storeGlobal({{.*}}, 7);
  memref.store %plain, %z[%c0] : memref<4xi32>
  kernel.return
}

// Numbers of Python are of f64; what a kernel rounds to f32 is written so.
// CHECK-LABEL: void rounded(float v1, float* v2)
// CHECK-NOT: double
// CHECK: = 1.346573590e+00f;
kernel.func @rounded(%a: f32, %y: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %wide = arith.constant 1.3465735902799727 : f64
  %scale = arith.truncf %wide : f64 to f32
  %b = arith.mulf %a, %scale : f32
  memref.store %b, %y[%c0] : memref<1xf32>
  kernel.return
}

// So what a region computes in them is computed in f32.
// CHECK-LABEL: void halves(moe::F16 v1, moe::Bf16 v2, moe::F16* v3, moe::Bf16* v4
kernel.func @halves(%a: f16, %b: bf16, %y: memref<1xf16>, %z: memref<1xbf16>) {
  %c0 = arith.constant 0 : index
  // CHECK-DAG: float [[A:.*]] = moe::toFloat(v1);
  // CHECK: moe::F16 [[S:.*]] = moe::fromFloat<moe::F16>({{.*}});
  // CHECK: moe::storeGlobal({{.*}}, [[S]]);
  %s = arith.addf %a, %a : f16
  memref.store %s, %y[%c0] : memref<1xf16>
  // CHECK: float [[E:.*]] = moe::exp({{.*}});
  // CHECK: moe::Bf16 [[R:.*]] = moe::fromFloat<moe::Bf16>([[E]]);
  %e = math.exp %b : bf16
  // CHECK: float [[F:.*]] = moe::fma(
  // CHECK: moe::fromFloat<moe::Bf16>([[F]]);
  %f = math.fma %b, %b, %e : bf16
  memref.store %f, %z[%c0] : memref<1xbf16>
  %zero = arith.constant 0.0 : bf16
  %positive = arith.cmpf ogt, %b, %zero : bf16
  // CHECK: ? [[R]] : v2;
  %r = arith.select %positive, %e, %b : bf16
  memref.store %r, %z[%c0] : memref<1xbf16>
  kernel.return
}

// Quotients of C++ are rounded towards zero.
// CHECK-LABEL: void quotients(int64_t v1, int64_t v2
kernel.func @quotients(%a: i64, %b: i64, %y: memref<4xi64>) {
  %c0 = arith.constant 0 : index
  // CHECK: int64_t [[Q:.*]] = v1 / v2;
  // CHECK: int64_t [[BACK:.*]] = [[Q]] * v2;
  // CHECK: bool {{.*}} = v1 != [[BACK]];
  // CHECK: int64_t [[LESS:.*]] = [[Q]] + -1;
  // CHECK: ? [[LESS]] : [[Q]];
  %down = arith.floordivsi %a, %b : i64
  memref.store %down, %y[%c0] : memref<4xi64>
  // CHECK: int64_t [[MORE:.*]] = {{.*}} + 1;
  // CHECK: ? [[MORE]] : {{.*}};
  %up = arith.ceildivsi %a, %b : i64
  memref.store %up, %y[%c0] : memref<4xi64>
  // CHECK: int64_t {{.*}} = v1 >> v2;
  %half = arith.shrsi %a, %b : i64
  memref.store %half, %y[%c0] : memref<4xi64>
  // CHECK: uint64_t [[X:.*]] = (uint64_t) v1;
  // CHECK: uint64_t [[Y:.*]] = (uint64_t) v2;
  // CHECK: uint64_t [[R:.*]] = [[X]] % [[Y]];
  // CHECK: int64_t {{.*}} = (int64_t) [[R]];
  %rest = arith.remui %a, %b : i64
  memref.store %rest, %y[%c0] : memref<4xi64>
  kernel.return
}

// CHECK-LABEL: void unsigned_to_float(int32_t v1, bool v2, float* v3)
// CHECK: uint32_t [[U:.*]] = (uint32_t) v1;
// CHECK: float [[F:.*]] = (float) [[U]];
// CHECK: float [[G:.*]] = (float) v2;
kernel.func @unsigned_to_float(%a: i32, %b: i1, %y: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f = arith.uitofp %a : i32 to f32
  memref.store %f, %y[%c0] : memref<2xf32>
  %g = arith.uitofp %b : i1 to f32
  memref.store %g, %y[%c1] : memref<2xf32>
  kernel.return
}
