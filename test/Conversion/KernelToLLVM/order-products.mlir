// RUN: moe-opt %s --pass-pipeline='builtin.module(kernel.func(kernel-order-products))' | FileCheck %s

// Both accumulators of a row follow its broadcast; loads of weights stay in front.
// CHECK-LABEL: kernel.func @gated
// CHECK:         scf.for %{{.*}} iter_args(%[[G0:.*]] = %{{.*}}, %[[G1:.*]] = %{{.*}}, %[[U0:.*]] = %{{.*}}, %[[U1:.*]] = %{{.*}})
// CHECK-DAG:       %[[WG:.*]] = vector.load %arg1[%{{.*}}, %c0]
// CHECK-DAG:       %[[WU:.*]] = vector.load %arg1[%{{.*}}, %c16]
// CHECK:           memref.load
// CHECK-NEXT:      %[[X0:.*]] = vector.broadcast
// CHECK-NEXT:      %[[A:.*]] = vector.fma %[[X0]], %[[WG]], %[[G0]]
// CHECK-NEXT:      %[[B:.*]] = vector.fma %[[X0]], %[[WU]], %[[U0]]
// CHECK-NEXT:      memref.load
// CHECK-NEXT:      %[[X1:.*]] = vector.broadcast
// CHECK-NEXT:      %[[C:.*]] = vector.fma %[[X1]], %[[WG]], %[[G1]]
// CHECK-NEXT:      %[[D:.*]] = vector.fma %[[X1]], %[[WU]], %[[U1]]
// CHECK-NEXT:      scf.yield %[[A]], %[[C]], %[[B]], %[[D]]
kernel.func @gated(%x: memref<2x128xf32>, %w: memref<128x32xf32>, %y: memref<4x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %s:4 = scf.for %k = %c0 to %c128 step %c1 iter_args(%g0 = %zero, %g1 = %zero, %u0 = %zero, %u1 = %zero)
      -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
    %wg = vector.load %w[%k, %c0] : memref<128x32xf32>, vector<16xf32>
    %e0 = memref.load %x[%c0, %k] : memref<2x128xf32>
    %x0 = vector.broadcast %e0 : f32 to vector<16xf32>
    %a = vector.fma %x0, %wg, %g0 : vector<16xf32>
    %e1 = memref.load %x[%c1, %k] : memref<2x128xf32>
    %x1 = vector.broadcast %e1 : f32 to vector<16xf32>
    %c = vector.fma %x1, %wg, %g1 : vector<16xf32>
    %wu = vector.load %w[%k, %c16] : memref<128x32xf32>, vector<16xf32>
    %b = vector.fma %x0, %wu, %u0 : vector<16xf32>
    %d = vector.fma %x1, %wu, %u1 : vector<16xf32>
    scf.yield %a, %c, %b, %d : vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>
  }
  vector.store %s#0, %y[%c0, %c0] : memref<4x16xf32>, vector<16xf32>
  vector.store %s#1, %y[%c1, %c0] : memref<4x16xf32>, vector<16xf32>
  vector.store %s#2, %y[%c2, %c0] : memref<4x16xf32>, vector<16xf32>
  vector.store %s#3, %y[%c3, %c0] : memref<4x16xf32>, vector<16xf32>
  kernel.return
}

// Pairs of bf16: the broadcast passes through casts.
// CHECK-LABEL: kernel.func @pairs
// CHECK:         vector.load %arg1
// CHECK:         vector.load %arg1
// CHECK:         vector.load %arg0
// CHECK-NEXT:    vector.bitcast
// CHECK-NEXT:    vector.extract
// CHECK-NEXT:    vector.broadcast
// CHECK-NEXT:    %[[X:.*]] = vector.bitcast
// CHECK-NEXT:    x86vector.avx512.dot %{{.*}}, %{{.*}}, %[[X]]
// CHECK-NEXT:    x86vector.avx512.dot %{{.*}}, %{{.*}}, %[[X]]
// CHECK-NEXT:    scf.yield
kernel.func @pairs(%x: memref<2x128xbf16>, %w: memref<64x32x2xbf16>, %y: memref<2x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %s:2 = scf.for %k = %c0 to %c64 step %c1 iter_args(%g = %zero, %u = %zero) -> (vector<16xf32>, vector<16xf32>) {
    %wg = vector.load %w[%k, %c0, %c0] : memref<64x32x2xbf16>, vector<32xbf16>
    %e = vector.load %x[%c0, %k] : memref<2x128xbf16>, vector<2xbf16>
    %word = vector.bitcast %e : vector<2xbf16> to vector<1xi32>
    %scalar = vector.extract %word[0] : i32 from vector<1xi32>
    %all = vector.broadcast %scalar : i32 to vector<16xi32>
    %row = vector.bitcast %all : vector<16xi32> to vector<32xbf16>
    %a = x86vector.avx512.dot %g, %wg, %row : vector<32xbf16> -> vector<16xf32>
    %wu = vector.load %w[%k, %c16, %c0] : memref<64x32x2xbf16>, vector<32xbf16>
    %b = x86vector.avx512.dot %u, %wu, %row : vector<32xbf16> -> vector<16xf32>
    scf.yield %a, %b : vector<16xf32>, vector<16xf32>
  }
  vector.store %s#0, %y[%c0, %c0] : memref<2x16xf32>, vector<16xf32>
  vector.store %s#1, %y[%c1, %c0] : memref<2x16xf32>, vector<16xf32>
  kernel.return
}

// A product that something else in the body reads, or memory that is written there: the order stays.
// CHECK-LABEL: kernel.func @read_beside
// CHECK:         vector.fma
// CHECK-NEXT:    arith.addf
// CHECK-NEXT:    vector.load
// CHECK-LABEL: kernel.func @written_beside
// CHECK:         vector.fma
// CHECK-NEXT:    memref.store
// CHECK-NEXT:    scf.yield
kernel.func @read_beside(%x: memref<2x128xf32>, %w: memref<128x32xf32>, %y: memref<4x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %s:2 = scf.for %k = %c0 to %c128 step %c1 iter_args(%g = %zero, %u = %zero) -> (vector<16xf32>, vector<16xf32>) {
    %wg = vector.load %w[%k, %c0] : memref<128x32xf32>, vector<16xf32>
    %e = memref.load %x[%c0, %k] : memref<2x128xf32>
    %row = vector.broadcast %e : f32 to vector<16xf32>
    %a = vector.fma %row, %wg, %g : vector<16xf32>
    %twice = arith.addf %a, %a : vector<16xf32>
    %wu = vector.load %w[%k, %c16] : memref<128x32xf32>, vector<16xf32>
    %b = vector.fma %row, %wu, %u : vector<16xf32>
    scf.yield %twice, %b : vector<16xf32>, vector<16xf32>
  }
  vector.store %s#0, %y[%c0, %c0] : memref<4x16xf32>, vector<16xf32>
  vector.store %s#1, %y[%c1, %c0] : memref<4x16xf32>, vector<16xf32>
  kernel.return
}
kernel.func @written_beside(%x: memref<2x128xf32>, %w: memref<128x32xf32>, %y: memref<4x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %nothing = arith.constant 0.0 : f32
  %s = scf.for %k = %c0 to %c128 step %c1 iter_args(%g = %zero) -> (vector<16xf32>) {
    %wg = vector.load %w[%k, %c0] : memref<128x32xf32>, vector<16xf32>
    %e = memref.load %x[%c0, %k] : memref<2x128xf32>
    %row = vector.broadcast %e : f32 to vector<16xf32>
    %a = vector.fma %row, %wg, %g : vector<16xf32>
    memref.store %nothing, %x[%c0, %k] : memref<2x128xf32>
    scf.yield %a : vector<16xf32>
  }
  vector.store %s, %y[%c0, %c0] : memref<4x16xf32>, vector<16xf32>
  kernel.return
}

// A row that comes back behind another one in the same sum: the order stays.
// CHECK-LABEL: kernel.func @comes_back
// CHECK:         vector.fma
// CHECK-NEXT:    vector.fma
// CHECK-NEXT:    vector.load
// CHECK-NEXT:    vector.fma
// CHECK-NEXT:    scf.yield
kernel.func @comes_back(%x: memref<2x128xf32>, %w: memref<128x32xf32>, %y: memref<4x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %s = scf.for %k = %c0 to %c128 step %c1 iter_args(%g = %zero) -> (vector<16xf32>) {
    %wg = vector.load %w[%k, %c0] : memref<128x32xf32>, vector<16xf32>
    %e0 = memref.load %x[%c0, %k] : memref<2x128xf32>
    %x0 = vector.broadcast %e0 : f32 to vector<16xf32>
    %e1 = memref.load %x[%c1, %k] : memref<2x128xf32>
    %x1 = vector.broadcast %e1 : f32 to vector<16xf32>
    %a = vector.fma %x0, %wg, %g : vector<16xf32>
    %b = vector.fma %x1, %wg, %a : vector<16xf32>
    %wu = vector.load %w[%k, %c16] : memref<128x32xf32>, vector<16xf32>
    %c = vector.fma %x0, %wu, %b : vector<16xf32>
    scf.yield %c : vector<16xf32>
  }
  vector.store %s, %y[%c0, %c0] : memref<4x16xf32>, vector<16xf32>
  kernel.return
}
