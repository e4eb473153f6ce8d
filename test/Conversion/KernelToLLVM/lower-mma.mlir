// RUN: moe-opt %s --kernel-set-target=target=cpu:znver4 --kernel-lower-tiles | FileCheck %s --check-prefixes=CHECK,DOT
// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v4 --kernel-lower-tiles | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: not moe-opt %s --kernel-lower-tiles 2>&1 | FileCheck %s --check-prefix=NOTARGET
// RUN: moe-opt %s --kernel-set-target=target=cpu:znver4 --kernel-lower-tiles -o %t && moe-opt %t --kernel-lower-tiles | diff %t -
// NOTARGET: error: module has no 'kernel.target' attribute; run kernel-set-target first

// Weights once per step, one broadcast per row, one multiply-add per vector; row indices before the loop.
// CHECK-LABEL: kernel.func @f32
// CHECK: %[[R0:.*]] = arith.index_cast
// CHECK: %[[R1:.*]] = arith.index_cast
// CHECK: scf.for %[[K:.*]] = %{{.*}} iter_args(%[[A0:.*]] = %{{.*}}, %[[A1:.*]] = %{{.*}}, %[[A2:.*]] = %{{.*}}, %[[A3:.*]] = %{{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK:   %[[W0:.*]] = vector.load %{{.*}}[%{{.*}}, %[[K]], %{{.*}}] : memref<2x?x64xf32>, vector<16xf32>
// CHECK:   %[[W1:.*]] = vector.load
// CHECK:   %[[X0:.*]] = memref.load %{{.*}}[%[[R0]], %[[K]]]
// CHECK:   %[[B0:.*]] = vector.broadcast %[[X0]] : f32 to vector<16xf32>
// CHECK:   vector.fma %[[B0]], %[[W0]], %[[A0]]
// CHECK:   vector.fma %[[B0]], %[[W1]], %[[A1]]
// CHECK:   memref.load %{{.*}}[%[[R1]], %[[K]]]
// CHECK:   vector.fma
// CHECK:   vector.fma
// CHECK-NOT: vector.fma
// CHECK:   scf.yield
kernel.func @f32(%a: memref<?x?xf32>, %b: memref<2x?x64xf32>, %map: memref<?xi32>, %y: memref<?x32xf32>, %k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = kernel.row_indices %c0 {
  ^bb0(%i: index):
    %row = memref.load %map[%i] : memref<?xi32>
    %at = arith.index_cast %row : i32 to index
    kernel.yield %at : index
  } : !kernel.rows<2>
  %zero = kernel.zero : !kernel.acc<2x32xf32>
  %acc = scf.for %kk = %c0 to %k step %c1 iter_args(%s = %zero) -> (!kernel.acc<2x32xf32>) {
    %next = kernel.mma %s, %a[%rows, %kk], %b[%c1, %kk, %c0]
        : !kernel.acc<2x32xf32>, memref<?x?xf32>, memref<2x?x64xf32>
    scf.yield %next : !kernel.acc<2x32xf32>
  }
  kernel.store_tile %acc -> %y[%rows, %c0] {
  ^bb0(%r: index, %c: index, %v: f32):
    kernel.yield %v : f32
  } : (!kernel.acc<2x32xf32>), memref<?x32xf32>
  kernel.return
}

// CHECK-LABEL: kernel.func @pairs
// CHECK: %[[HALF:.*]] = arith.shrui
// CHECK: %[[W:.*]] = vector.load %{{.*}}[%[[HALF]], %{{.*}}, %{{.*}}] : memref<4x16x2xbf16>, vector<32xbf16>
// DOT: %[[PAIR:.*]] = vector.load %{{.*}} : memref<?x8xbf16>, vector<2xbf16>
// DOT: vector.bitcast %[[PAIR]] : vector<2xbf16> to vector<1xi32>
// DOT: vector.broadcast {{.*}} : i32 to vector<16xi32>
// DOT: %[[X:.*]] = vector.bitcast {{.*}} : vector<16xi32> to vector<32xbf16>
// DOT: x86vector.avx512.dot %{{.*}}, %[[W]], %[[X]] : vector<32xbf16> -> vector<16xf32>
// The odd elements first, as the instruction does it.
// WIDE: %[[WI:.*]] = vector.bitcast %[[W]] : vector<32xbf16> to vector<16xi32>
// WIDE: %[[XI:.*]] = vector.broadcast {{.*}} : i32 to vector<16xi32>
// WIDE: arith.andi %[[WI]]
// WIDE: arith.andi %[[XI]]
// WIDE: %[[ODD:.*]] = vector.fma
// WIDE: arith.shli %[[WI]]
// WIDE: arith.shli %[[XI]]
// WIDE: vector.fma {{.*}}, %[[ODD]]
kernel.func @pairs(%a: memref<?x8xbf16>, %b: memref<4x16x2xbf16>, %y: memref<?x16xf32>, %k: index) {
  %c0 = arith.constant 0 : index
  %rows = kernel.row_indices %c0 {
  ^bb0(%i: index):
    kernel.yield %i : index
  } : !kernel.rows<1>
  %zero = kernel.zero : !kernel.acc<1x16xf32>
  %acc = kernel.mma %zero, %a[%rows, %k], %b[%k, %c0] {inbounds}
      : !kernel.acc<1x16xf32>, memref<?x8xbf16>, memref<4x16x2xbf16>
  kernel.store_tile %acc -> %y[%rows, %c0] {
  ^bb0(%r: index, %c: index, %v: f32):
    kernel.yield %v : f32
  } : (!kernel.acc<1x16xf32>), memref<?x16xf32>
  kernel.return
}

// Without `inbounds` the second element is read only if it exists.
// CHECK-LABEL: kernel.func @half_pair
// CHECK: %[[NEXT:.*]] = arith.addi
// CHECK: %[[EXISTS:.*]] = arith.cmpi ult, %[[NEXT]]
// CHECK: scf.if %[[EXISTS]] -> (i32)
// CHECK:   vector.load {{.*}} vector<2xbf16>
// CHECK: else
// CHECK:   memref.load {{.*}} : memref<?x7xbf16>
// CHECK:   arith.extui {{.*}} : i16 to i32
kernel.func @half_pair(%a: memref<?x7xbf16>, %b: memref<4x16x2xbf16>, %y: memref<?x16xf32>, %k: index) {
  %c0 = arith.constant 0 : index
  %rows = kernel.row_indices %c0 {
  ^bb0(%i: index):
    kernel.yield %i : index
  } : !kernel.rows<1>
  %zero = kernel.zero : !kernel.acc<1x16xf32>
  %acc = kernel.mma %zero, %a[%rows, %k], %b[%k, %c0]
      : !kernel.acc<1x16xf32>, memref<?x7xbf16>, memref<4x16x2xbf16>
  kernel.store_tile %acc -> %y[%rows, %c0] {
  ^bb0(%r: index, %c: index, %v: f32):
    kernel.yield %v : f32
  } : (!kernel.acc<1x16xf32>), memref<?x16xf32>
  kernel.return
}

// Sums that waited in memory: vector v of row r from its place.
// CHECK-LABEL: kernel.func @from_memory
// CHECK: %[[A:.*]] = vector.load %arg0[%[[R0:.*]], %c16] : memref<8x64xf32>, vector<16xf32>
// CHECK: %[[AT:.*]] = arith.addi %c16{{.*}}, %c16
// CHECK: %[[B:.*]] = vector.load %arg0[%[[R0]], %[[AT]]]
// CHECK: vector.load %arg0[%[[R1:.*]], %c16]
// CHECK: vector.load %arg0[%[[R1]],
// CHECK-NOT: vector.load
// CHECK: vector.store %[[A]]
kernel.func @from_memory(%sums: memref<8x64xf32>, %y: memref<?x32xf32>, %base: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %rows = kernel.row_indices %base {
  ^bb0(%i: index):
    kernel.yield %i : index
  } : !kernel.rows<2>
  %acc = kernel.load_tile %sums[%rows, %c16] : memref<8x64xf32> -> <2x32xf32>
  kernel.store_tile %acc -> %y[%rows, %c0] {
  ^bb0(%r: index, %c: index, %v: f32):
    kernel.yield %v : f32
  } : (!kernel.acc<2x32xf32>), memref<?x32xf32>
  kernel.return
}
