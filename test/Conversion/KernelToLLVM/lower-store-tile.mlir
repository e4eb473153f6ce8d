// RUN: moe-opt %s --kernel-set-target=target=cpu:znver4 --kernel-lower-tiles --canonicalize --cse --split-input-file | FileCheck %s

// Column and limit are multiples of the tile: one test, no masks. The load at the column is a vector, the one at the row
// a scalar that is broadcast.
// CHECK-LABEL: kernel.func @aligned
// CHECK: scf.if
// CHECK:   %[[BIAS:.*]] = vector.load %{{.*}}[%[[COL:.*]]] : memref<64xf32>, vector<16xf32>
// CHECK:   %[[SUM:.*]] = arith.addf {{.*}}%[[BIAS]]{{.*}} : vector<16xf32>
// CHECK:   %[[SCALE:.*]] = memref.load
// CHECK:   vector.broadcast %[[SCALE]] : f32 to vector<16xf32>
// CHECK:   %[[ROUNDED:.*]] = arith.truncf {{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK:   vector.store %[[ROUNDED]], %{{.*}}[%{{.*}}, %[[COL]]] : memref<?x64xbf16>, vector<16xbf16>
// CHECK-NOT: mask
// CHECK-NOT: else
kernel.func @aligned(%y: memref<?x64xbf16>, %bias: memref<64xf32>, %scale: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %col = arith.muli %n, %c16 : index
  %rows = kernel.row_indices %c0 {
  ^bb0(%i: index):
    kernel.yield %i : index
  } : !kernel.rows<1>
  %acc = kernel.zero : !kernel.acc<1x16xf32>
  kernel.store_tile %acc -> %y[%rows, %col] {
  ^bb0(%r: index, %c: index, %v: f32):
    %b = memref.load %bias[%c] : memref<64xf32>
    %t = arith.addf %v, %b : f32
    %s = memref.load %scale[%r] : memref<?xf32>
    %u = arith.mulf %t, %s : f32
    %o = arith.truncf %u : f32 to bf16
    kernel.yield %o : bf16
  } : (!kernel.acc<1x16xf32>), memref<?x64xbf16>
  kernel.return
}

// -----

// Otherwise a second copy with masks; lanes beyond the limit are not read either.
// CHECK-LABEL: kernel.func @masked
// CHECK-SAME: %[[LIMIT:[a-z0-9]+]]: index)
// CHECK: %[[END:.*]] = arith.addi %[[COL:.*]], %c16
// CHECK: %[[FULL:.*]] = arith.cmpi sle, %[[END]], %[[LIMIT]]
// CHECK: scf.if %[[FULL]] {
// CHECK:   vector.load
// CHECK:   vector.store
// CHECK: } else {
// CHECK:   arith.cmpi slt, %[[COL]], %[[LIMIT]]
// CHECK:   scf.if
// CHECK:     %[[COUNT:.*]] = arith.subi %[[LIMIT]], %[[COL]]
// CHECK:     %[[MASK:.*]] = vector.create_mask %[[COUNT]] : vector<16xi1>
// CHECK:     vector.maskedload %{{.*}}[%[[COL]]], %[[MASK]]
// CHECK:     vector.maskedstore %{{.*}}[%{{.*}}, %[[COL]]], %[[MASK]]
kernel.func @masked(%y: memref<?x64xf32>, %bias: memref<64xf32>, %col: index, %limit: index) {
  %c0 = arith.constant 0 : index
  %rows = kernel.row_indices %c0 {
  ^bb0(%i: index):
    kernel.yield %i : index
  } : !kernel.rows<1>
  %acc = kernel.zero : !kernel.acc<1x16xf32>
  kernel.store_tile %acc -> %y[%rows, %col] limit(%limit) {
  ^bb0(%r: index, %c: index, %v: f32):
    %b = memref.load %bias[%c] : memref<64xf32>
    %o = arith.addf %v, %b : f32
    kernel.yield %o : f32
  } : (!kernel.acc<1x16xf32>), memref<?x64xf32>
  kernel.return
}

// -----

// Two accumulators; a region with control flow runs element by element.
// CHECK-LABEL: kernel.func @elements
// CHECK: vector.extract %{{.*}}[0] : f32 from vector<4xf32>
// CHECK: scf.if {{.*}} -> (f32)
// CHECK: memref.store {{.*}} : memref<?x4xf32>
kernel.func @elements(%y: memref<?x4xf32>, %x: memref<4xf32>, %g: memref<?x1xf32>, %w: memref<1x4xf32>) {
  %c0 = arith.constant 0 : index
  %rows = kernel.row_indices %c0 {
  ^bb0(%i: index):
    kernel.yield %i : index
  } : !kernel.rows<1>
  %zero = kernel.zero : !kernel.acc<1x4xf32>
  %acc = kernel.mma %zero, %g[%rows, %c0], %w[%c0, %c0] : !kernel.acc<1x4xf32>, memref<?x1xf32>, memref<1x4xf32>
  kernel.store_tile %acc, %zero -> %y[%rows, %c0] {
  ^bb0(%r: index, %c: index, %u: f32, %v: f32):
    %p = arith.cmpf ogt, %u, %v : f32
    %o = scf.if %p -> (f32) {
      %l = memref.load %x[%c] : memref<4xf32>
      scf.yield %l : f32
    } else {
      scf.yield %u : f32
    }
    kernel.yield %o : f32
  } : (!kernel.acc<1x4xf32>, !kernel.acc<1x4xf32>), memref<?x4xf32>
  kernel.return
}
