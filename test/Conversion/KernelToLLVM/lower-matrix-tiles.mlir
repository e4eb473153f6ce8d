// RUN: moe-opt %s --kernel-lower-matrix-tiles | FileCheck %s
// RUN: moe-opt %s --kernel-lower-matrix-tiles -o %t && moe-opt %t --kernel-lower-matrix-tiles | diff %t -

module attributes {kernel.target = #x86.target<cpu = "sapphirerapids", rows = 6, columns = 64, vector = 16, dot_bf16 = true, matrix_rows = 32>} {

// Rows that follow each other are read in place; 64 is two whole steps, so there is no rest. More than 16 rows: 2 x 2
// registers of sums, twice for 64 columns. Up to 16 rows: 4 beside each other. The epilogue runs a row at a time.
// CHECK-LABEL: kernel.func @in_place
// CHECK-DAG: %[[SUMS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<32x64xf32>
// CHECK-DAG: %[[CONFIG:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64xi8>
// CHECK: vector.store %{{.*}}, %[[CONFIG]]
// CHECK: scf.forall
// CHECK: %[[COUNT:.*]] = arith.minui %{{.*}}, %c32{{.*}} : index
// CHECK: %[[TALL:.*]] = arith.cmpi ugt, %[[COUNT]], %c16
// CHECK: scf.if %[[TALL]] {
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK-COUNT-4: "llvm.x86.tilezero"
// CHECK: scf.for
// CHECK-COUNT-3: "llvm.x86.tileloadd64"
// CHECK-COUNT-2: "llvm.x86.tdpbf16ps"
// CHECK: "llvm.x86.tileloadd64"
// CHECK-COUNT-2: "llvm.x86.tdpbf16ps"
// CHECK-COUNT-4: "llvm.x86.tilestored64"
// CHECK: scf.for
// CHECK-COUNT-4: "llvm.x86.tilestored64"
// CHECK: } else {
// CHECK: scf.for
// CHECK-COUNT-2: "llvm.x86.tileloadd64"
// CHECK: "llvm.x86.tdpbf16ps"
// CHECK-COUNT-4: "llvm.x86.tilestored64"
// CHECK-NOT: kernel.mma
// CHECK: scf.for %[[ROW:.*]] = %c0{{.*}} to %[[COUNT]]
// CHECK: vector.load %[[SUMS]][%[[ROW]], %{{.*}}] : memref<32x64xf32>, vector<16xf32>
// CHECK: %[[LINE:.*]] = builtin.unrealized_conversion_cast %{{.*}} to !kernel.acc<1x64xf32>
// CHECK: kernel.row_indices
// CHECK: } : <1>
// CHECK: kernel.store_tile %[[LINE]]
// CHECK: "llvm.x86.tilerelease"
// CHECK-NEXT: kernel.return
kernel.func @in_place(%x: memref<?x64xbf16>, %w: memref<2x32x64x2xbf16>, %y: memref<?x128xbf16>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %m = memref.dim %x, %c0 : memref<?x64xbf16>
  scf.forall (%n) in (2) {
    %col = arith.muli %n, %c64 : index
    scf.for %r = %c0 to %m step %c32 {
      %left = arith.subi %m, %r : index
      kernel.row_tile %left max 32 {
        %rows = kernel.row_indices %r {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : !kernel.rows<32>
        %zero = kernel.zero : !kernel.acc<32x64xf32>
        %acc = scf.for %k = %c0 to %c64 step %c2 iter_args(%a = %zero) -> (!kernel.acc<32x64xf32>) {
          %next = kernel.mma %a, %x[%rows, %k], %w[%n, %k, %c0]
              : !kernel.acc<32x64xf32>, memref<?x64xbf16>, memref<2x32x64x2xbf16>
          scf.yield %next : !kernel.acc<32x64xf32>
        }
        kernel.store_tile %acc -> %y[%rows, %col] {
        ^bb0(%row: index, %c: index, %v: f32):
          %o = arith.truncf %v : f32 to bf16
          kernel.yield %o : bf16
        } : (!kernel.acc<32x64xf32>), memref<?x128xbf16>
      }
    }
  }
  kernel.return
}

// Gathered rows are listed, and copied a step ahead; gate and up have a pass each for many rows, one for few; what K has
// behind the last whole step is copied with zeros beside it.
// CHECK-LABEL: kernel.func @gathered
// CHECK: %[[INDEX:.*]] = memref.load %{{.*}} : memref<?xindex>
// CHECK: memref.store %[[INDEX]], %[[LIST:.*]][%{{.*}}] : memref<32xindex>
// CHECK: scf.if
// CHECK: memref.load %[[LIST]]
// CHECK: vector.load %{{.*}} : memref<?x41xbf16>, vector<32xbf16>
// CHECK: vector.store %{{.*}} : memref<2x32x32xbf16>, vector<32xbf16>
// CHECK: vector.create_mask
// CHECK: vector.maskedload
// CHECK-COUNT-4: "llvm.x86.tilestored64"
// CHECK-COUNT-4: "llvm.x86.tilestored64"
// CHECK: } else {
// CHECK-COUNT-4: "llvm.x86.tilestored64"
// CHECK-NOT: "llvm.x86.tilestored64"
// CHECK: kernel.store_tile %{{.*}}, %{{.*}} ->
kernel.func @gathered(%x: memref<?x41xbf16>, %map: memref<?xindex>, %w: memref<1x21x64x2xbf16>, %y: memref<?x32xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c41 = arith.constant 41 : index
  %m = memref.dim %map, %c0 : memref<?xindex>
  kernel.row_tile %m max 32 {
    %from = kernel.row_indices %c0 {
    ^bb0(%i: index):
      %row = memref.load %map[%i] : memref<?xindex>
      kernel.yield %row : index
    } : !kernel.rows<32>
    %to = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<32>
    %zero = kernel.zero : !kernel.acc<32x32xf32>
    %sums:2 = scf.for %k = %c0 to %c41 step %c2 iter_args(%g = %zero, %u = %zero)
        -> (!kernel.acc<32x32xf32>, !kernel.acc<32x32xf32>) {
      %gate = kernel.mma %g, %x[%from, %k], %w[%c0, %k, %c0]
          : !kernel.acc<32x32xf32>, memref<?x41xbf16>, memref<1x21x64x2xbf16>
      %up = kernel.mma %u, %x[%from, %k], %w[%c0, %k, %c32]
          : !kernel.acc<32x32xf32>, memref<?x41xbf16>, memref<1x21x64x2xbf16>
      scf.yield %gate, %up : !kernel.acc<32x32xf32>, !kernel.acc<32x32xf32>
    }
    kernel.store_tile %sums#0, %sums#1 -> %y[%to, %c0] {
    ^bb0(%row: index, %c: index, %g: f32, %u: f32):
      %v = arith.mulf %g, %u : f32
      kernel.yield %v : f32
    } : (!kernel.acc<32x32xf32>, !kernel.acc<32x32xf32>), memref<?x32xf32>
  }
  kernel.return
}

// With the column blocks inside, tiles of many rows fetch the next column block: each pass a share of the cache lines that
// belong to a step (64 for 64 x 32 bf16), if there are at least four tiles. All tiles fetch their own block three steps
// ahead: in front of each load the 16 lines that it needs then.
// CHECK-LABEL: kernel.func @fetch
// CHECK-SAME: %{{.*}}: memref<?x64xbf16>, %[[W:.*]]: memref<3x32x64x2xbf16>
// CHECK: %[[PAIRS:.*]] = arith.ceildivui %c64{{.*}}, %c2
// CHECK: %[[LAST:.*]] = arith.cmpi uge, %[[PAIRS]], %{{.*}}
// CHECK: %[[FOLLOWING:.*]] = arith.addi %[[N:.*]], %c1
// CHECK: %[[NEXT:.*]] = arith.minui %[[FOLLOWING]], %c2
// CHECK: arith.select %[[LAST]], %[[NEXT]], %[[N]]
// CHECK: arith.select %[[LAST]], %c0{{.*}}, %[[PAIRS]]
// CHECK: %[[TURN:.*]] = arith.ceildivui
// CHECK: %[[TURNS:.*]] = arith.ceildivui
// CHECK: scf.if
// CHECK: %[[ALL_TURNS:.*]] = arith.muli %[[TURNS]], %c2
// CHECK: %[[PASS:.*]] = arith.addi %{{.*}}, %c0
// CHECK: %[[GROUPS:.*]] = arith.ceildivui %c16{{.*}}, %[[ALL_TURNS]]
// CHECK: %[[LINES:.*]] = arith.muli %[[GROUPS]], %c4
// CHECK: %[[SHARED:.*]] = arith.cmpi uge, %[[TURNS]], %c4
// CHECK: %[[SHARE:.*]] = arith.select %[[SHARED]], %[[LINES]], %c0
// CHECK: %[[BEGIN:.*]] = arith.muli %[[PASS]], %[[SHARE]]
// CHECK: %[[FIRST:.*]] = arith.minui %[[BEGIN]], %c64
// CHECK: %[[SUM:.*]] = arith.addi %[[FIRST]], %[[SHARE]]
// CHECK: %[[END:.*]] = arith.minui %[[SUM]], %c64
// CHECK: memref.extract_aligned_pointer_as_index %[[W]]
// CHECK: scf.for %[[STEP:.*]] = %c0{{.*}} to
// CHECK: %[[LINE:.*]] = arith.muli %[[STEP]], %c64
// CHECK: %[[FROM:.*]] = arith.addi %[[LINE]], %[[FIRST]]
// CHECK: %[[TO:.*]] = arith.addi %[[LINE]], %[[END]]
// CHECK: scf.for %[[I:.*]] = %[[FROM]] to %[[TO]] step %c4
// CHECK: arith.muli %[[I]], %c64
// CHECK-COUNT-4: "llvm.intr.prefetch"{{.*}} hint = 2
// CHECK-COUNT-32: "llvm.intr.prefetch"{{.*}} hint = 3
// CHECK-NOT: hint = 3
// CHECK: "llvm.intr.prefetch"{{.*}} hint = 2
// CHECK-COUNT-3: "llvm.intr.prefetch"{{.*}} hint = 2
// CHECK-COUNT-32: "llvm.intr.prefetch"{{.*}} hint = 3
// CHECK-NOT: llvm.intr.prefetch
// CHECK: } else {
// CHECK: %[[COLUMNS:.*]] = memref.dim %[[W]]
// CHECK: %[[LINE:.*]] = arith.muli %[[COLUMNS]], %c4
// CHECK: %[[STRIDE:.*]] = arith.index_cast %[[LINE]]
// CHECK: %[[BYTES:.*]] = arith.muli %[[LINE]], %c16
// CHECK: %[[STEP_BYTES:.*]] = arith.index_cast %[[BYTES]]
// CHECK: scf.for
// CHECK: "llvm.x86.tileloadd64"
// CHECK: %[[THREE_STEPS:.*]] = arith.muli %[[STEP_BYTES]], %c3
// CHECK: %[[AHEAD:.*]] = arith.addi %[[NOW:.*]], %[[THREE_STEPS]]
// CHECK: %[[LINE0:.*]] = llvm.inttoptr %[[AHEAD]]
// CHECK-NEXT: "llvm.intr.prefetch"(%[[LINE0]]) {{.*}} hint = 3
// CHECK-NEXT: %[[SECOND:.*]] = arith.addi %[[AHEAD]], %[[STRIDE]]
// CHECK-NEXT: %[[LINE1:.*]] = llvm.inttoptr %[[SECOND]]
// CHECK-NEXT: "llvm.intr.prefetch"(%[[LINE1]]) {{.*}} hint = 3
// CHECK-COUNT-14: "llvm.intr.prefetch"{{.*}} hint = 3
// CHECK-NOT: llvm.intr.prefetch
// CHECK: %[[POINTER:.*]] = llvm.inttoptr %[[NOW]]
// CHECK: "llvm.x86.tileloadd64"({{.*}}%[[POINTER]], %[[STRIDE]])
// CHECK-COUNT-16: "llvm.intr.prefetch"{{.*}} hint = 3
// CHECK: "llvm.x86.tileloadd64"
// CHECK-COUNT-16: "llvm.intr.prefetch"{{.*}} hint = 3
// CHECK: "llvm.x86.tileloadd64"
// CHECK-COUNT-16: "llvm.intr.prefetch"{{.*}} hint = 3
// CHECK: "llvm.x86.tileloadd64"
// CHECK-NOT: llvm.intr.prefetch
// CHECK: kernel.return
kernel.func @fetch(%x: memref<?x64xbf16>, %w: memref<3x32x64x2xbf16>, %y: memref<?x192xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %m = memref.dim %x, %c0 : memref<?x64xbf16>
  scf.forall (%n, %record) in (3, 1) {
    %col = arith.muli %n, %c64 : index
    scf.for %r = %c0 to %m step %c32 {
      %left = arith.subi %m, %r : index
      kernel.row_tile %left max 32 {
        %rows = kernel.row_indices %r {
        ^bb0(%i: index):
          kernel.yield %i : index
        } : !kernel.rows<32>
        %zero = kernel.zero : !kernel.acc<32x64xf32>
        %acc = scf.for %k = %c0 to %c64 step %c2 iter_args(%a = %zero) -> (!kernel.acc<32x64xf32>) {
          %next = kernel.mma %a, %x[%rows, %k], %w[%n, %k, %c0]
              : !kernel.acc<32x64xf32>, memref<?x64xbf16>, memref<3x32x64x2xbf16>
          scf.yield %next : !kernel.acc<32x64xf32>
        }
        kernel.store_tile %acc -> %y[%rows, %col] {
        ^bb0(%row: index, %c: index, %v: f32):
          kernel.yield %v : f32
        } : (!kernel.acc<32x64xf32>), memref<?x192xf32>
      }
    }
  } {kernel.columns_inside}
  kernel.return
}

// A step takes a pair, also the last one of an odd end, as long as `a` has both elements: 6 of 8 here, not 5.
// CHECK-LABEL: kernel.func @odd_end
// CHECK: %[[SIZE:.*]] = memref.dim %{{.*}} : memref<?x8xbf16>
// CHECK: %[[DISTANCE:.*]] = arith.subi %c5{{.*}}, %c0
// CHECK: %[[PAIRS:.*]] = arith.ceildivsi %[[DISTANCE]], %c2
// CHECK: %[[EVEN:.*]] = arith.muli %[[PAIRS]], %c2
// CHECK: %[[END:.*]] = arith.addi %c0{{.*}}, %[[EVEN]]
// CHECK: %[[LAST:.*]] = arith.minsi %[[END]], %{{.*}}
// CHECK: %[[LENGTH:.*]] = arith.subi %[[LAST]], %c0
// CHECK: %[[SOME:.*]] = arith.maxsi %[[LENGTH]], %c0
// CHECK: arith.divui %[[SOME]], %c32
// CHECK: arith.remui %[[SOME]], %c32
// CHECK: "llvm.intr.prefetch"{{.*}} hint = 3
// CHECK: vector.maskedload
// CHECK-NOT: llvm.intr.prefetch
// CHECK: } else {
// CHECK: "llvm.x86.tilezero"
// CHECK: "llvm.intr.prefetch"{{.*}} hint = 3
// CHECK: vector.maskedload
// CHECK-NOT: llvm.intr.prefetch
// CHECK: kernel.return
kernel.func @odd_end(%x: memref<?x8xbf16>, %w: memref<1x4x16x2xbf16>, %y: memref<?x16xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %m = memref.dim %x, %c0 : memref<?x8xbf16>
  kernel.row_tile %m max 4 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<4>
    %zero = kernel.zero : !kernel.acc<4x16xf32>
    %acc = scf.for %k = %c0 to %c5 step %c2 iter_args(%a = %zero) -> (!kernel.acc<4x16xf32>) {
      %next = kernel.mma %a, %x[%rows, %k], %w[%c0, %k, %c0]
          : !kernel.acc<4x16xf32>, memref<?x8xbf16>, memref<1x4x16x2xbf16>
      scf.yield %next : !kernel.acc<4x16xf32>
    }
    kernel.store_tile %acc -> %y[%rows, %c0] {
    ^bb0(%r: index, %c: index, %v: f32):
      kernel.yield %v : f32
    } : (!kernel.acc<4x16xf32>), memref<?x16xf32>
  }
  kernel.return
}

// A chunk of K: registers of sums start with what waits in memory and go back there, without an epilogue; the tile that
// ends the chunks reads them a row at a time.
// CHECK-LABEL: kernel.func @chunk
// CHECK-SAME:    %{{.*}}: memref<?x64xbf16>, %{{.*}}: memref<1x32x64x2xbf16>, %[[SUMS:.*]]: memref<64x64xf32>, %[[Y:[a-z0-9]+]]:
// CHECK-NOT:     llvm.x86.tilezero
// CHECK:         memref.extract_aligned_pointer_as_index %[[SUMS]]
// CHECK:         llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK:         llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK:         memref.extract_aligned_pointer_as_index %[[SUMS]]
// CHECK:         llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK:         scf.for %[[ROW:.*]] = %c0{{.*}} to
// CHECK:           %[[AT:.*]] = arith.addi %{{.*}}, %[[ROW]]
// CHECK:           vector.load %[[SUMS]][%[[AT]], %c0
// CHECK:           kernel.store_tile %{{.*}} -> %[[Y]]
// CHECK-NOT:     kernel.load_tile
// CHECK-NOT:     kernel.row_tile
// CHECK:         kernel.return
kernel.func @chunk(%x: memref<?x64xbf16>, %w: memref<1x32x64x2xbf16>, %sums: memref<64x64xf32>, %y: memref<?x64xf32>, %place: index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %m = memref.dim %x, %c0 : memref<?x64xbf16>
  kernel.row_tile %m max 32 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<32>
    %waiting = kernel.row_indices %place {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<32>
    %start = kernel.load_tile %sums[%waiting, %c0] : memref<64x64xf32> -> <32x64xf32>
    %acc = scf.for %k = %c32 to %c64 step %c2 iter_args(%a = %start) -> (!kernel.acc<32x64xf32>) {
      %next = kernel.mma %a, %x[%rows, %k], %w[%c0, %k, %c0]
          : !kernel.acc<32x64xf32>, memref<?x64xbf16>, memref<1x32x64x2xbf16>
      scf.yield %next : !kernel.acc<32x64xf32>
    }
    kernel.store_tile %acc -> %sums[%waiting, %c0] {
    ^bb0(%row: index, %c: index, %v: f32):
      kernel.yield %v : f32
    } : (!kernel.acc<32x64xf32>), memref<64x64xf32>
  }
  kernel.row_tile %m max 32 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<32>
    %waiting = kernel.row_indices %place {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<32>
    %acc = kernel.load_tile %sums[%waiting, %c0] : memref<64x64xf32> -> <32x64xf32>
    kernel.store_tile %acc -> %y[%rows, %c0] {
    ^bb0(%row: index, %c: index, %v: f32):
      kernel.yield %v : f32
    } : (!kernel.acc<32x64xf32>), memref<?x64xf32>
  }
  kernel.return
}
}
