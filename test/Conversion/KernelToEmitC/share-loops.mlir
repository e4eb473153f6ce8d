// RUN: moe-opt %s --split-input-file --pass-pipeline='builtin.module(kernel.func(kernel-distribute-warps),canonicalize,cse)' | FileCheck %s

// Sums that a loop uses on the way are prefix sums: what lanes before this one add, and what groups before this one added.
// CHECK-LABEL: kernel.func @offsets
// CHECK-SAME:  (%[[COUNTS:.*]]: memref<?xi32>, %[[OFFSETS:.*]]: memref<?xi32>, %[[TOTAL:.*]]: memref<1xi32>)
kernel.func @offsets(%counts: memref<?xi32>, %offsets: memref<?xi32>, %total: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %n = memref.dim %counts, %c0 : memref<?xi32>
  scf.forall (%r) in (1) {
    // CHECK: %[[SUM:.*]] = scf.for %[[BASE:.*]] = %c0 to %[[N:.*]] step %c32 iter_args(%[[BEFORE:.*]] = %c0_i32) -> (i32) {
    // CHECK:   %[[I:.*]] = arith.addi %[[BASE]], %[[LANE:.*]] : index
    // CHECK:   %[[EXISTS:.*]] = arith.cmpi slt, %[[I]], %[[N]]
    // CHECK:   %[[OWN:.*]] = scf.if %[[EXISTS]] -> (i32) {
    // CHECK:     memref.load %[[COUNTS]][%[[I]]]
    // CHECK:   %[[UP:.*]], %{{.*}} = gpu.shuffle up %[[OWN]], %c1_i32
    // CHECK:   %[[HAS:.*]] = arith.cmpi sge, %[[LANE]], %c1
    // CHECK:   %[[LOWER:.*]] = arith.select %[[HAS]], %[[UP]], %c0_i32
    // CHECK:   arith.addi %[[OWN]], %[[LOWER]]
    // CHECK-COUNT-4: gpu.shuffle up
    // CHECK:   %[[EXCLUSIVE:.*]] = arith.subi %[[INCLUSIVE:.*]], %[[OWN]]
    // CHECK:   %[[MINE:.*]] = arith.addi %[[BEFORE]], %[[EXCLUSIVE]]
    // CHECK:   %[[LAST:.*]], %{{.*}} = gpu.shuffle idx %[[INCLUSIVE]]
    // CHECK:   %[[NEXT:.*]] = arith.addi %[[BEFORE]], %[[LAST]]
    // CHECK:   scf.if %[[EXISTS]] {
    // CHECK:     memref.store %[[MINE]], %[[OFFSETS]][%[[I]]]
    // CHECK:   scf.yield %[[NEXT]]
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%before = %zero) -> (i32) {
      %count = memref.load %counts[%i] : memref<?xi32>
      memref.store %before, %offsets[%i] : memref<?xi32>
      %next = arith.addi %before, %count : i32
      scf.yield %next : i32
    }
    memref.store %sum, %total[%c0] : memref<1xi32>
  }
  kernel.return
}

// -----

// A sum of what the loop itself writes stays with one lane.
// CHECK-LABEL: kernel.func @fed_back
// CHECK-NOT: gpu.shuffle up
kernel.func @fed_back(%x: memref<8xi32>, %y: memref<9xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0 : i32
  scf.forall (%r) in (1) {
    %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%before = %zero) -> (i32) {
      %v = memref.load %y[%i] : memref<9xi32>
      memref.store %before, %y[%i] : memref<9xi32>
      %next = arith.addi %before, %v : i32
      scf.yield %next : i32
    }
    memref.store %sum, %x[%r] : memref<8xi32>
  }
  kernel.return
}

// -----

// Elements that are counted up in turn: those who meet at one know how many of them come first, and the last writes.
// CHECK-LABEL: kernel.func @ranks
// CHECK-SAME:  (%[[IDS:.*]]: memref<?xi32>, %[[COUNTS:.*]]: memref<8xi32>, %[[RANKS:.*]]: memref<?xi32>)
kernel.func @ranks(%ids: memref<?xi32>, %counts: memref<8xi32>, %ranks: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %limit = arith.constant 8 : i32
  %n = memref.dim %ids, %c0 : memref<?xi32>
  scf.forall (%r) in (1) {
    // CHECK: scf.for %[[BASE:.*]] = %c0 to %[[N:.*]] step %c32 {
    // CHECK:   nvvm.bar.warp.sync
    // CHECK:   %[[FOUND:.*]]:2 = scf.if %[[EXISTS:.*]] -> (i32, i32) {
    // CHECK:     memref.load %[[IDS]]
    // CHECK:     memref.load %[[COUNTS]]
    // CHECK:   %[[SAME:.*]] = nvvm.match.sync any %{{.*}}, %[[FOUND]]#0
    // CHECK:   %[[BELOW:.*]] = arith.andi %[[SAME]], %{{.*}} : i32
    // CHECK:   %[[RANK:.*]] = math.ctpop %[[BELOW]]
    // CHECK:   %[[ALL:.*]] = math.ctpop %[[SAME]]
    // CHECK:   %[[LAST:.*]] = arith.cmpi eq, %{{.*}}, %[[ALL]]
    // CHECK:   %[[COUNT:.*]] = arith.addi %[[FOUND]]#1, %[[RANK]]
    // CHECK-NEXT: nvvm.bar.warp.sync
    // CHECK:   scf.if %[[EXISTS]] {
    // CHECK:     scf.if
    // CHECK:       %[[NEXT:.*]] = arith.addi %[[COUNT]], %c1_i32
    // CHECK:       scf.if %[[LAST]] {
    // CHECK-NEXT:    memref.store %[[NEXT]], %[[COUNTS]]
    // CHECK:       memref.store %[[COUNT]], %[[RANKS]]
    scf.for %i = %c0 to %n step %c1 {
      %id = memref.load %ids[%i] : memref<?xi32>
      %exists = arith.cmpi ult, %id, %limit : i32
      scf.if %exists {
        %e = arith.index_cast %id : i32 to index
        %count = memref.load %counts[%e] : memref<8xi32>
        %next = arith.addi %count, %one : i32
        memref.store %next, %counts[%e] : memref<8xi32>
        memref.store %count, %ranks[%i] : memref<?xi32>
      }
    }
  }
  kernel.return
}

// -----

// Counting by two is not that: one lane does it.
// CHECK-LABEL: kernel.func @by_two
// CHECK-NOT: nvvm.match.sync
kernel.func @by_two(%ids: memref<8xindex>, %counts: memref<8xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %two = arith.constant 2 : i32
  scf.forall (%r) in (1) {
    scf.for %i = %c0 to %c8 step %c1 {
      %e = memref.load %ids[%i] : memref<8xindex>
      %count = memref.load %counts[%e] : memref<8xi32>
      %next = arith.addi %count, %two : i32
      memref.store %next, %counts[%e] : memref<8xi32>
    }
  }
  kernel.return
}

// -----

// Rows added up in memory: lanes take columns, and the sum stays in a register.
// CHECK-LABEL: kernel.func @sum_of_rows
// CHECK-SAME:  (%[[X:.*]]: memref<?x40xi32>, %[[Y:.*]]: memref<40xi32>)
kernel.func @sum_of_rows(%x: memref<?x40xi32>, %y: memref<40xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  %n = memref.dim %x, %c0 : memref<?x40xi32>
  scf.forall (%r) in (1) {
    // CHECK: scf.for %[[E:.*]] = %{{.*}} to %c40 step %c32 {
    // CHECK-NEXT: %[[START:.*]] = memref.load %[[Y]][%[[E]]]
    // CHECK-NEXT: %[[SUM:.*]] = scf.for %[[C:.*]] = %c0 to %{{.*}} step %c1 iter_args(%[[ACC:.*]] = %[[START]]) -> (i32) {
    // CHECK-NEXT:   %[[V:.*]] = memref.load %[[X]][%[[C]], %[[E]]]
    // CHECK-NEXT:   %[[NEXT:.*]] = arith.addi %[[ACC]], %[[V]]
    // CHECK-NEXT:   scf.yield %[[NEXT]]
    // CHECK-NEXT: } {unroll = 16 : i64}
    // CHECK-NEXT: memref.store %[[SUM]], %[[Y]][%[[E]]]
    scf.for %c = %c0 to %n step %c1 {
      scf.for %e = %c0 to %c40 step %c1 {
        %a = memref.load %y[%e] : memref<40xi32>
        %v = memref.load %x[%c, %e] : memref<?x40xi32>
        %s = arith.addi %a, %v : i32
        memref.store %s, %y[%e] : memref<40xi32>
      }
    }
  }
  kernel.return
}

// -----

// Along rows of a size that 16 bytes divide, one access stands for several elements.
// CHECK-LABEL: kernel.func @scale
// CHECK-SAME:  (%[[X:.*]]: memref<?x512xf32>, %[[Y:.*]]: memref<?x512xbf16>)
kernel.func @scale(%x: memref<?x512xf32>, %y: memref<?x512xbf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %two = arith.constant 2.0 : f32
  %n = memref.dim %x, %c0 : memref<?x512xf32>
  scf.forall (%r) in (%n) {
    // CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c4
    // CHECK: scf.for %[[I:.*]] = %[[FIRST]] to %c512 step %c128 {
    // CHECK:   %[[V:.*]] = vector.load %[[X]][%{{.*}}, %[[I]]] : memref<?x512xf32>, vector<4xf32>
    // CHECK:   %[[O:.*]] = scf.for %[[K:.*]] = %c0 to %c4 step %c1 iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<4xbf16>) {
    // CHECK:     vector.extract %[[V]][%[[K]]]
    // CHECK:     vector.insert %{{.*}}, %[[ACC]] [%[[K]]]
    // CHECK:   } {unroll}
    // CHECK:   vector.store %[[O]], %[[Y]][%{{.*}}, %[[I]]] : memref<?x512xbf16>, vector<4xbf16>
    scf.for %i = %c0 to %c512 step %c1 {
      %v = memref.load %x[%r, %i] : memref<?x512xf32>
      %s = arith.mulf %v, %two : f32
      %o = arith.truncf %s : f32 to bf16
      memref.store %o, %y[%r, %i] : memref<?x512xbf16>
    }
  }
  kernel.return
}

// -----

// Rows that do not start at such multiples, or a range that does not, are accessed by elements.
// CHECK-LABEL: kernel.func @unaligned
// CHECK-NOT: vector.
kernel.func @unaligned(%x: memref<?x513xf32>, %y: memref<?x512xf32>, %from: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %n = memref.dim %x, %c0 : memref<?x513xf32>
  scf.forall (%r) in (%n) {
    scf.for %i = %c0 to %c512 step %c1 {
      %v = memref.load %x[%r, %i] : memref<?x513xf32>
      memref.store %v, %y[%r, %i] : memref<?x512xf32>
    }
    scf.for %i = %from to %c512 step %c1 {
      %v = memref.load %y[%r, %i] : memref<?x512xf32>
      %s = arith.negf %v : f32
      memref.store %s, %y[%r, %i] : memref<?x512xf32>
    }
  }
  kernel.return
}

// -----

// Stores at places that the program says are different; and quotients and remainders, which are.
// CHECK-LABEL: kernel.func @scatter
// CHECK-SAME:  (%[[AT:.*]]: memref<?xindex>, %[[Y:.*]]: memref<?xindex>, %[[Z:.*]]: memref<?x4xindex>)
kernel.func @scatter(%at: memref<?xindex>, %y: memref<?xindex>, %z: memref<?x4xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = memref.dim %at, %c0 : memref<?xindex>
  scf.forall (%r) in (1) {
    // CHECK: scf.for %[[I:.*]] = %[[LANE:.*]] to %{{.*}} step %c32 {
    // CHECK:   memref.store %[[I]], %[[Y]]
    scf.for %i = %c0 to %n step %c1 {
      %place = memref.load %at[%i] : memref<?xindex>
      memref.store %i, %y[%place] : memref<?xindex>
    } {kernel.independent}
    // CHECK: scf.for %[[J:.*]] = %[[LANE]] to %{{.*}} step %c32 {
    // CHECK:   memref.store %[[J]], %[[Z]]
    scf.for %i = %c0 to %n step %c1 {
      %q = arith.divui %i, %c4 : index
      %m = arith.remui %i, %c4 : index
      memref.store %i, %z[%q, %m] : memref<?x4xindex>
    }
  }
  kernel.return
}

// -----

// Columns of a slice, stored from its first one on: places are as far from each other as the columns, and 16 bytes start at multiples of them.
// CHECK-LABEL: kernel.func @slice
// CHECK-SAME:  (%[[X:.*]]: memref<?x512xf32>, %[[Y:.*]]: memref<?x128xf32>, %[[Z:.*]]: memref<?x128xf32>, %[[ANY:.*]]: index)
kernel.func @slice(%x: memref<?x512xf32>, %y: memref<?x128xf32>, %z: memref<?x128xf32>, %any: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %n = memref.dim %x, %c0 : memref<?x512xf32>
  scf.forall (%r) in (%n) {
    // CHECK: scf.for %[[I:.*]] = %{{.*}} to %c256 step %{{.*}} {
    // CHECK:   %[[V:.*]] = vector.load %[[X]][%{{.*}}, %[[I]]]
    // CHECK:   %[[AT:.*]] = arith.subi %[[I]], %c128
    // CHECK:   vector.store %{{.*}}, %[[Y]][%{{.*}}, %[[AT]]]
    scf.for %i = %c128 to %c256 step %c1 {
      %v = memref.load %x[%r, %i] : memref<?x512xf32>
      %at = arith.subi %i, %c128 : index
      memref.store %v, %y[%r, %at] : memref<?x128xf32>
    }
    // From any one on, one element a lane.
    // CHECK: scf.for %[[J:.*]] = %{{.*}} to %c256 step %c32 {
    // CHECK:   %[[W:.*]] = memref.load %[[X]][%{{.*}}, %[[J]]]
    // CHECK:   %[[TO:.*]] = arith.subi %[[J]], %[[ANY]]
    // CHECK:   memref.store %[[W]], %[[Z]][%{{.*}}, %[[TO]]]
    scf.for %i = %c128 to %c256 step %c1 {
      %v = memref.load %x[%r, %i] : memref<?x512xf32>
      %at = arith.subi %i, %any : index
      memref.store %v, %z[%r, %at] : memref<?x128xf32>
    }
  }
  kernel.return
}

// -----

// A shuffle exchanges four bytes: a largest number of eight is found by every lane for itself.
// CHECK-LABEL: kernel.func @wide
// CHECK-NOT:     gpu.shuffle
// CHECK:         arith.maxsi
// CHECK-NOT:     gpu.shuffle
// CHECK:       kernel.return
kernel.func @wide(%x: memref<?x8xi64>, %y: memref<?xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %least = arith.constant -1 : i64
  %n = memref.dim %x, %c0 : memref<?x8xi64>
  scf.forall (%r) in (%n) {
    %m = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %least) -> (i64) {
      %v = memref.load %x[%r, %i] : memref<?x8xi64>
      %b = arith.maxsi %a, %v : i64
      scf.yield %b : i64
    }
    memref.store %m, %y[%r] : memref<?xi64>
  }
  kernel.return
}
