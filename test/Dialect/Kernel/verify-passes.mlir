// Exchanges in a loop over passes: what holds for any number of them, and what each fault says. Lines of the loop are numbered.
// RUN: moe-opt %s --kernel-verify-windows -o %t && moe-opt %s -o - | diff %t -
// RUN: moe-opt %s --kernel-plan-windows --kernel-verify-windows -o %t.planned
// RUN: sed '/LINE 6/d; /LINE 7/d; /LINE 8/d' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=REUSE
// RUN: sed '/LINE 1/d' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=ADVANCE
// RUN: sed '/LINE 2/d' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=BEFORE
// RUN: sed '/LINE 7/d; /LINE 8/d' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=END
// RUN: sed 's|// BEHIND ||' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=BEHIND
// RUN: sed 's|// ADDED ||' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=ADDED
// RUN: sed 's|// UNTOLD ||' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=UNTOLD
// RUN: sed 's|// INSIDE ||' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=INSIDE
// RUN: sed 's| {kernel.passes} // LOOP||' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=LOOP
// RUN: sed 's|%half = arith.andi %epoch, %one|%half = arith.andi %one, %one|' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=HALF
// Who reads both halves, or by another grid's epoch; and more than one exchange in a pass.
// RUN: sed 's|@use_half(%own, %given, %y)|@use_rows(%own, %y)|; s|memref<?x8xf32>, !kernel.window<2xi32>, memref<?x8xf32> // HALF|memref<?x8xf32>, memref<?x8xf32>|' %s \
// RUN:   | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=HALVES
// RUN: sed 's|@use_half(%own, %given, %y)|@use_half(%own, %others, %y)|; s|kernel.agree .passes on @ep : index$|arith.constant 4 : index|' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=HALF
// RUN: sed 's|// TWICE ||; s|// THREE TIMES ||' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=HALF
// RUN: sed 's|// TWICE ||' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=HALF
// RUN: sed 's|kernel.agree \(.passes\) on @ep : index // NUMBER|arith.addi \1, \1 : index|' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: sed 's|on @ep : index // NUMBER|on @dp : index|' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: sed '/COUNTERS TO 0/d' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=COUNTERS

// Without a way back a rank may be at the next pass while another one still reads.
// REUSE: 'kernel.launch' op of @use_rows reads 'rows', to which other ranks put in the next pass; between them this rank must signal flags that they await
// Flags of the pass before would pass for those of this one, and those from before the loop for those of the first.
// ADVANCE: 'kernel.launch' op of @give signals 'came' before a kernel.advance on @ep; flags that are as old would pass for it
// BEFORE: 'kernel.launch' op of @receive awaits 'came', which no launch has signalled since the last kernel.advance on @ep
// The last pass may be none.
// BEHIND: 'kernel.launch' op of @receive awaits 'returned', which no launch has signalled since the last kernel.advance on @ep
// ADDED: 'kernel.launch' op of @give signals 'came' before a kernel.advance on @ep
// END: 'scf.for' op ends a pass with rows that were put to 'back', but 'returned' is not awaited in it; the next pass would write over them
// UNTOLD: 'kernel.launch' op of @send writes to 'rows' of other ranks, but no kernel.signal follows; they cannot know when to read
// INSIDE: 'kernel.part' op stands inside a region; a host function exchanges rows at its top level
// LOOP: op stands inside a region; a host function exchanges rows at its top level
// HALVES: 'kernel.launch' op of @use_rows reads 'summands', to which other ranks put in the next pass
// HALF: 'kernel.launch' op of @use_half reads 'summands', to which other ranks put in the next pass
// A size that a region makes may be another on each rank.
// RUN: sed 's|arith.ceildivui %all, %c1 : index|scf.if %own_rows -> index { scf.yield %n : index } else { scf.yield %all : index }|' %s \
// RUN:   | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: 'scf.for' op runs passes whose number is not the same on all ranks; it must follow from constants and, for windows of one grid, from what its ranks agree on (kernel.agree)
// COUNTERS: 'kernel.launch' op of @count arrives at the counters of its operand 0, which no launch has set to 0 since they were used

shard.grid @ep(shape = 2)
shard.grid @dp(shape = 2)

kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}

kernel.func @give(%x: memref<?x8xf32>, %rows: !kernel.window<?x8xf32>, %came: !kernel.window<2xi32>, %first: index, %me: index) {
  scf.forall (%peer) in (2) {
    %token = arith.addi %first, %peer : index
    kernel.put %x[%token], %rows[%peer][%me] : memref<?x8xf32>, !kernel.window<?x8xf32>
    %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
    kernel.signal %came[%peer][%me], %epoch : !kernel.window<2xi32>
  }
  kernel.return
}

kernel.func @send(%x: memref<?x8xf32>, %rows: !kernel.window<?x8xf32>, %me: index) {
  kernel.put %x[%me], %rows[%me][%me] : memref<?x8xf32>, !kernel.window<?x8xf32>
  kernel.return
}

kernel.func @receive(%came: !kernel.window<2xi32>) {
  scf.forall (%peer) in (2) {
    %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
    kernel.await %came[%peer] reach %epoch from %peer : !kernel.window<2xi32>
  }
  kernel.return
}

kernel.func @use_rows(%rows: memref<?x8xf32>, %y: memref<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %rows[%c0, %c0] : memref<?x8xf32>
  memref.store %v, %y[%c0, %c0] : memref<?x8xf32>
  kernel.return
}

// Halves of a window take turns, so that what was read needs no answer.
kernel.func @give_half(%x: memref<?x8xf32>, %summands: !kernel.window<?x8xf32>, %given: !kernel.window<2xi32>, %me: index) {
  %one = arith.constant 1 : i32
  scf.forall (%peer) in (2) {
    %epoch = kernel.epoch %given : !kernel.window<2xi32> -> i32
    %half = arith.andi %epoch, %one : i32
    %at = arith.index_cast %half : i32 to index
    kernel.put %x[%me], %summands[%peer][%at] : memref<?x8xf32>, !kernel.window<?x8xf32>
    kernel.signal %given[%peer][%me], %epoch : !kernel.window<2xi32>
  }
  kernel.return
}

kernel.func @use_half(%summands: memref<?x8xf32>, %given: !kernel.window<2xi32>, %y: memref<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %now = kernel.epoch %given : !kernel.window<2xi32> -> i32
  %which = arith.andi %now, %one : i32
  %at = arith.index_cast %which : i32 to index
  %v = memref.load %summands[%at, %c0] : memref<?x8xf32>
  memref.store %v, %y[%c0, %c0] : memref<?x8xf32>
  kernel.return
}

kernel.func @clear(%done: memref<2xi32>) {
  %zero = arith.constant 0 : i32
  scf.forall (%i) in (2) {
    memref.store %zero, %done[%i] : memref<2xi32>
  }
  kernel.return
}

kernel.func @count(%done: memref<2xi32>) {
  scf.forall (%i) in (2) {
    kernel.arrive %done[%i] : memref<2xi32>
  }
  kernel.return
}

func.func @main(%x: memref<?x8xf32>, %y: memref<?x8xf32>, %n: index, %passes: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %me = kernel.rank on @ep : index
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  %returned = kernel.window() on @ep as "returned" : !kernel.window<2xi32>
  %rows = kernel.window(%n) on @ep as "rows" : !kernel.window<?x8xf32>
  %back = kernel.window(%n) on @ep as "back" : !kernel.window<?x8xf32>
  %own = kernel.part %rows : !kernel.window<?x8xf32> -> memref<?x8xf32>
  %gone = kernel.part %back : !kernel.window<?x8xf32> -> memref<?x8xf32>
  %made = memref.alloc(%n) : memref<?x8xf32>
  %all = kernel.agree %passes on @ep : index // NUMBER
  %own_rows = arith.constant true
  %count = arith.ceildivui %all, %c1 : index
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  // UNTOLD kernel.launch @send(%x, %rows, %me) rows(%n) work(%n) : memref<?x8xf32>, !kernel.window<?x8xf32>, index
  scf.for %pass = %c0 to %count step %c1 {
    %first = arith.muli %pass, %n : index
    // INSIDE %again = kernel.part %rows : !kernel.window<?x8xf32> -> memref<?x8xf32>
    kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32> // LINE 1
    kernel.launch @give(%x, %rows, %came, %first, %me) rows(%n) work(%n) : memref<?x8xf32>, !kernel.window<?x8xf32>, !kernel.window<2xi32>, index, index // LINE 2
    kernel.launch @receive(%came) rows(%n) work(%n) : !kernel.window<2xi32>
    kernel.launch @use_rows(%own, %made) rows(%n) work(%n) : memref<?x8xf32>, memref<?x8xf32>
    kernel.launch @give(%made, %back, %returned, %c0, %me) rows(%n) work(%n) : memref<?x8xf32>, !kernel.window<?x8xf32>, !kernel.window<2xi32>, index, index // LINE 6
    kernel.launch @receive(%returned) rows(%n) work(%n) : !kernel.window<2xi32> // LINE 7
    kernel.launch @use_rows(%gone, %y) rows(%n) work(%n) : memref<?x8xf32>, memref<?x8xf32> // LINE 8
  } {kernel.passes} // LOOP
  // BEHIND kernel.launch @receive(%returned) rows(%n) work(%n) : !kernel.window<2xi32>
  // ADDED kernel.launch @give(%x, %rows, %came, %c0, %me) rows(%n) work(%n) : memref<?x8xf32>, !kernel.window<?x8xf32>, !kernel.window<2xi32>, index, index

  // The next layer.
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  kernel.launch @give(%x, %rows, %came, %c0, %me) rows(%n) work(%n) : memref<?x8xf32>, !kernel.window<?x8xf32>, !kernel.window<2xi32>, index, index
  kernel.launch @receive(%came) rows(%n) work(%n) : !kernel.window<2xi32>
  kernel.launch @use_rows(%own, %y) rows(%n) work(%n) : memref<?x8xf32>, memref<?x8xf32>
  return
}

func.func @sums(%x: memref<?x8xf32>, %y: memref<?x8xf32>, %n: index, %passes: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %me = kernel.rank on @ep : index
  %given = kernel.window() on @ep as "given" : !kernel.window<2xi32>
  %others = kernel.window() on @dp as "given" : !kernel.window<2xi32>
  %summands = kernel.window(%n) on @ep as "summands" : !kernel.window<?x8xf32>
  %own = kernel.part %summands : !kernel.window<?x8xf32> -> memref<?x8xf32>
  %count = kernel.agree %passes on @ep : index
  scf.for %pass = %c0 to %count step %c1 {
    kernel.launch @begin(%given) single rows(%n) work(%n) : !kernel.window<2xi32>
    // TWICE kernel.launch @begin(%given) single rows(%n) work(%n) : !kernel.window<2xi32>
    // THREE TIMES kernel.launch @begin(%given) single rows(%n) work(%n) : !kernel.window<2xi32>
    kernel.launch @give_half(%x, %summands, %given, %me) rows(%n) work(%n) : memref<?x8xf32>, !kernel.window<?x8xf32>, !kernel.window<2xi32>, index
    kernel.launch @receive(%given) rows(%n) work(%n) : !kernel.window<2xi32>
    kernel.launch @use_half(%own, %given, %y) rows(%n) work(%n) : memref<?x8xf32>, !kernel.window<2xi32>, memref<?x8xf32> // HALF
  } {kernel.passes}
  return
}

func.func @counters(%n: index, %passes: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %done = memref.alloc() : memref<2xi32>
  kernel.launch @clear(%done) rows(%n) work(%n) : memref<2xi32>
  scf.for %pass = %c0 to %passes step %c1 {
    kernel.launch @clear(%done) rows(%n) work(%n) : memref<2xi32> // COUNTERS TO 0
    kernel.launch @count(%done) rows(%n) work(%n) : memref<2xi32>
  } {kernel.passes}
  return
}
