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

// Two accumulators; a branch that reads memory runs element by element: once in the text, over what the registers held.
// CHECK-LABEL: kernel.func @elements
// CHECK-SAME: (%[[Y:[a-z0-9]+]]: memref<?x4xf32>, %[[X:[a-z0-9]+]]: memref<4xf32>
// CHECK-DAG: %[[PLACES:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1xindex>
// CHECK-DAG: %[[V:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1x4xf32>
// CHECK-DAG: %[[U:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1x4xf32>
// CHECK: vector.store %{{.*}}, %[[U]][%c0, %c0] : memref<1x4xf32>, vector<4xf32>
// CHECK: vector.store %cst, %[[V]][%c0, %c0] : memref<1x4xf32>, vector<4xf32>
// CHECK: memref.store %c0, %[[PLACES]][%c0] : memref<1xindex>
// CHECK: scf.for %[[COLUMN:.*]] = %c0 to %c4 step %c1 {
// CHECK:   memref.load %[[U]][%c0, %[[COLUMN]]]
// CHECK:   memref.load %[[V]][%c0, %[[COLUMN]]]
// CHECK:   %[[O:.*]] = scf.if {{.*}} -> (f32)
// CHECK:     memref.load %[[X]][%[[COLUMN]]]
// CHECK:   memref.store %[[O]], %[[Y]][%{{.*}}, %[[COLUMN]]] : memref<?x4xf32>
// CHECK-NOT: scf.if
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

// -----

// Rows and columns of a tile that the limit may cut: two loops, of which the inner one ends at the limit. A branch that
// divides is not computed where it is not taken.
// CHECK-LABEL: kernel.func @cut
// CHECK-SAME: %[[COL:[a-z0-9]+]]: index, %[[LIMIT:[a-z0-9]+]]: index)
// CHECK-DAG: %[[PLACES:.*]] = memref.alloca() {alignment = 64 : i64} : memref<2xindex>
// CHECK-DAG: %[[HELD:.*]] = memref.alloca() {alignment = 64 : i64} : memref<2x32xf32>
// CHECK: vector.store %cst, %[[HELD]][%c1, %c16]
// CHECK: %[[REST:.*]] = arith.subi %[[LIMIT]], %[[COL]]
// CHECK: %[[COUNT:.*]] = arith.minsi %[[REST]], %c32
// CHECK: scf.for %[[I:.*]] = %c0 to %c2 step %c1 {
// CHECK:   %[[ROW:.*]] = memref.load %[[PLACES]][%[[I]]]
// CHECK:   scf.for %[[J:.*]] = %c0 to %[[COUNT]] step %c1 {
// CHECK:     %[[AT:.*]] = arith.addi %[[COL]], %[[J]]
// CHECK:     memref.load %[[HELD]][%[[I]], %[[J]]]
// CHECK:     scf.if
// CHECK:       arith.divsi
// CHECK:     memref.store %{{.*}}, %{{.*}}[%[[ROW]], %[[AT]]] : memref<?x64xf32>
// CHECK-NOT: arith.divsi
kernel.func @cut(%y: memref<?x64xf32>, %col: index, %limit: index) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %none = arith.constant 0 : i32
  %rows = kernel.row_indices %c0 {
  ^bb0(%i: index):
    kernel.yield %i : index
  } : !kernel.rows<2>
  %acc = kernel.zero : !kernel.acc<2x32xf32>
  kernel.store_tile %acc -> %y[%rows, %col] limit(%limit) {
  ^bb0(%r: index, %c: index, %v: f32):
    %n = arith.fptosi %v : f32 to i32
    %p = arith.cmpi ne, %n, %none : i32
    %o = scf.if %p -> (i32) {
      %q = arith.divsi %one, %n : i32
      scf.yield %q : i32
    } else {
      scf.yield %none : i32
    }
    %f = arith.sitofp %o : i32 to f32
    kernel.yield %f : f32
  } : (!kernel.acc<2x32xf32>), memref<?x64xf32>
  kernel.return
}

// -----

// Branches that nothing forbids to compute: both are, on vectors, and each lane selects. A condition that is the same in
// all lanes stays a scalar, and so does a branch that does not depend on the column.
// CHECK-LABEL: kernel.func @branches
// CHECK-SAME: %[[FLAG:[a-z0-9]+]]: i1
// CHECK-DAG: %[[P:.*]] = arith.cmpf ogt, %[[U:.*]], %[[V:.*]] : vector<16xf32>
// CHECK-DAG: %[[S:.*]] = arith.addf %[[U]], %[[V]] : vector<16xf32>
// CHECK-DAG: %[[M:.*]] = arith.mulf %[[U]], %[[V]] : vector<16xf32>
// CHECK-DAG: %[[Q:.*]] = arith.cmpf olt, %[[M]], %{{.*}} : vector<16xf32>
// CHECK-DAG: %[[INNER:.*]] = arith.select %[[Q]], %[[M]], %[[V]] : vector<16xi1>, vector<16xf32>
// CHECK-DAG: %[[OUTER:.*]] = arith.select %[[P]], %[[S]], %[[INNER]] : vector<16xi1>, vector<16xf32>
// CHECK-DAG: arith.select %[[FLAG]], %[[OUTER]], %{{.*}} : vector<16xf32>
// CHECK-NOT: scf.for
kernel.func @branches(%y: memref<?x16xf32>, %x: memref<?x16xf32>, %flag: i1) {
  %c0 = arith.constant 0 : index
  %rows = kernel.row_indices %c0 {
  ^bb0(%i: index):
    kernel.yield %i : index
  } : !kernel.rows<1>
  %a = kernel.load_tile %x[%rows, %c0] : memref<?x16xf32> -> <1x16xf32>
  %b = kernel.load_tile %y[%rows, %c0] : memref<?x16xf32> -> <1x16xf32>
  kernel.store_tile %a, %b -> %y[%rows, %c0] {
  ^bb0(%r: index, %c: index, %u: f32, %v: f32):
    %p = arith.cmpf ogt, %u, %v : f32
    %o = scf.if %p -> (f32) {
      %s = arith.addf %u, %v : f32
      scf.yield %s : f32
    } else {
      %m = arith.mulf %u, %v : f32
      %q = arith.cmpf olt, %m, %u : f32
      %w = scf.if %q -> (f32) {
        scf.yield %m : f32
      } else {
        scf.yield %v : f32
      }
      scf.yield %w : f32
    }
    %z = scf.if %flag -> (f32) {
      scf.yield %o : f32
    } else {
      %i = arith.index_cast %r : index to i32
      %f = arith.sitofp %i : i32 to f32
      scf.yield %f : f32
    }
    kernel.yield %z : f32
  } : (!kernel.acc<1x16xf32>, !kernel.acc<1x16xf32>), memref<?x16xf32>
  kernel.return
}
