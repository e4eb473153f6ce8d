// A group whose waits all end, and edits of it.
// RUN: moe-opt %s --kernel-verify-windows -o /dev/null
//
// A wait that is left out, or comes too late.
// RUN: sed '/kernel.await %came/d' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: error: 'kernel.launch' op of @multiply reads 'rows', to which @send writes at the same time, but 'came' is not awaited before
// RUN: sed '/kernel.await_arrivals/d' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=ARRIVALS
// ARRIVALS: error: 'kernel.launch' op of @give_back reads its operand 0, which @multiply writes at the same time; it must await arrivals (kernel.await_arrivals) that stand behind that (kernel.arrive)
// RUN: sed -e '/kernel.await_arrivals/{h;d}' -e '/%z\[/{H;x}' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: error: 'kernel.launch' op of @give_back reads its operand 0, which @multiply writes at the same time; it must await arrivals (kernel.await_arrivals) that stand behind that (kernel.arrive)
//
// A signal that is left out, or comes too early.
// RUN: sed '/kernel.signal/d' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=SIGNAL
// SIGNAL: error: 'kernel.launch' op of @multiply awaits 'came', which no launch has signalled since the last kernel.advance on @ep
// RUN: sed -e '/kernel.put/{h;d}' -e '/kernel.signal/{G}' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=EARLYSIGNAL
// EARLYSIGNAL: error: 'kernel.launch' op of @multiply reads 'rows', to which @send writes at the same time without a kernel.signal behind it
// RUN: sed '/kernel.arrive/d' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=ARRIVE
// ARRIVE: error: 'kernel.launch' op of @give_back awaits arrivals at its operand 1, where no launch before has arrived
// RUN: sed -e '/kernel.arrive/d' -e 's/^    .*= memref.load %own.*/kernel.arrive %done[%%phase] : memref<4xi32>\n&/' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=EARLYARRIVE
// EARLYARRIVE: error: 'kernel.launch' op of @give_back reads its operand 0, which @multiply writes at the same time; it must await arrivals (kernel.await_arrivals) that stand behind that (kernel.arrive)
//
// Behind the loop a block does not know of what others have stored.
// RUN: sed -e '/kernel.arrive/{N;s/\(.*\)\n\(.*\)/\2\n\1/}' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=BEHINDLOOP
// BEHINDLOOP: error: 'kernel.launch' op of @give_back reads its operand 0, which @multiply writes at the same time; it must await arrivals (kernel.await_arrivals) that stand behind that (kernel.arrive)
//
// Who waits stands before who signals, or is made to by a lag; a lag of its own makes up for that.
// RUN: sed '/launch @send(/{h;d};/launch @multiply(/G' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=PLACE
// PLACE: error: 'kernel.launch' op of @multiply awaits 'came', but blocks of @send that signal it do not start before; move the launch behind it, or raise its lag
// RUN: sed -e '/launch @send(/{h;d};/launch @multiply(/G' -e '/launch @multiply(/s/phases(2)/phases(2) lag(1)/' %s | moe-opt --kernel-verify-windows -o /dev/null
// RUN: sed '/launch @send(/s/ rows/ lag(1) rows/' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=LAG
// LAG: error: 'kernel.launch' op of @multiply awaits 'came', but blocks of @send that signal it do not start before; move the launch behind it, or raise its lag
//
// A launch that stands behind needs no lag to await the same phase, and one for each phase to await any other.
// RUN: sed 's/ lag(1)//' %s | moe-opt --kernel-verify-windows -o /dev/null
// RUN: sed -e '/launch @multiply(/{h;d};/launch @give_back(/G' -e 's/ lag(1)//' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=PHASES
// PHASES: error: 'kernel.launch' op of @give_back awaits arrivals at its operand 1, but blocks of @multiply that arrive there do not start before; move the launch behind it, or raise its lag
// RUN: sed -e '/await_arrivals/s/%done.%%phase./%done[%i]/' -e 's/ lag(1)//' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=ANY
// ANY: error: 'kernel.launch' op of @give_back awaits arrivals at its operand 1, but blocks of @multiply that arrive there do not start before; move the launch behind it, or raise its lag
// RUN: sed '/await_arrivals/s/%done.%%phase./%done[%i]/' %s | moe-opt --kernel-verify-windows -o /dev/null
// RUN: sed '/launch @give_back(/s/phases(2)/phases(3)/' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=MORE
// MORE: error: 'kernel.launch' op of @give_back awaits arrivals at its operand 1, but blocks of @multiply that arrive there do not start before; move the launch behind it, or raise its lag
//
// Counters are set to 0 by a launch before.
// RUN: sed '/launch @clear(/d' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: error: 'kernel.launch' op of @multiply arrives at the counters of its operand 3, which no launch has set to 0 since they were used; one of a kernel that stores nothing but 0 to them must stand before
// RUN: sed 's/constant 0 : i32/constant 1 : i32/' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: error: 'kernel.launch' op of @multiply arrives at the counters of its operand 3, which no launch has set to 0 since they were used; one of a kernel that stores nothing but 0 to them must stand before
// RUN: sed '/launch @clear(/{p;h;d};/launch @send(/G' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=GROUPZERO
// GROUPZERO: error: 'kernel.launch' op of @clear writes to its operand 0, the counters of @multiply in its group; set them to 0 in a launch before
//
// The epoch advances before a group, and two launches of it write to different buffers.
// RUN: sed '/launch @begin(/{h;d};/launch @send(/G' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=ADVANCE
// ADVANCE: error: 'kernel.launch' op of @begin advances the epoch while others of its group run; it must stand before the group
// RUN: sed -e '/await_arrivals/d' -e 's/@give_back(%y, %done, %z/@give_back(%z, %done, %y/' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=WRITE
// WRITE: error: 'kernel.launch' op of @give_back writes to its operand 2, which @multiply writes at the same time; it must await arrivals
//
// One after the other, as they stand and in another order; a group in a branch.
// RUN: sed -e '/launch_group/d' -e '/^  }  *.. of the group/d' -e 's/ lag(1)//' %s | moe-opt --kernel-verify-windows -o /dev/null
// RUN: sed -e '/launch_group/d' -e '/^  }  *.. of the group/d' -e 's/ lag(1)//' -e '/launch @multiply(/{h;d};/launch @give_back(/G' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: 'kernel.launch' op of @give_back awaits arrivals at its operand 1, where no launch before has arrived
// RUN: sed -e 's/^  kernel.launch_group/scf.if %on {\n&/' -e 's/^  }  *.. of the group/}\n}/' %s | not moe-opt --kernel-verify-windows 2>&1 | FileCheck %s --check-prefix=BRANCH
// BRANCH: error: 'kernel.launch' op stands inside a region; a host function has groups and counters at its top level

shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<8xi32>) {
  kernel.advance %came : !kernel.window<8xi32>
  kernel.return
}
kernel.func @clear(%done: memref<4xi32>) {
  %zero = arith.constant 0 : i32
  scf.forall (%i) in (4) {
    memref.store %zero, %done[%i] : memref<4xi32>
  }
  kernel.return
}
kernel.func @send(%x: memref<?x8xf32>, %rows: !kernel.window<?x8xf32>, %came: !kernel.window<8xi32>, %me: index) {
  %epoch = kernel.epoch %came : !kernel.window<8xi32> -> i32
  scf.forall (%peer) in (2) {
    kernel.put %x[%me], %rows[%peer][%me] : memref<?x8xf32>, !kernel.window<?x8xf32>
    kernel.signal %came[%peer][%me], %epoch : !kernel.window<8xi32>
  }
  kernel.return
}
kernel.func @multiply(%rows: !kernel.window<?x8xf32>, %came: !kernel.window<8xi32>, %y: memref<?x8xf32>, %done: memref<4xi32>, %n: index) {
  %own = kernel.part %rows : !kernel.window<?x8xf32> -> memref<?x8xf32>
  %epoch = kernel.epoch %came : !kernel.window<8xi32> -> i32
  %phase = kernel.phase : index
  scf.forall (%i) in (%n) {
    kernel.await %came[%i] reach %epoch from %i : !kernel.window<8xi32>
    %v = memref.load %own[%i, %i] : memref<?x8xf32>
    memref.store %v, %y[%i, %phase] : memref<?x8xf32>
    kernel.arrive %done[%phase] : memref<4xi32>
  }
  kernel.return
}
kernel.func @give_back(%y: memref<?x8xf32>, %done: memref<4xi32>, %z: memref<?x8xf32>, %n: index) {
  %phase = kernel.phase : index
  scf.forall (%i) in (%n) {
    kernel.await_arrivals %done[%phase] reach %n : memref<4xi32>
    %v = memref.load %y[%i, %phase] : memref<?x8xf32>
    memref.store %v, %z[%i, %phase] : memref<?x8xf32>
  }
  kernel.return
}
func.func @main(%x: memref<?x8xf32>, %y: memref<?x8xf32>, %z: memref<?x8xf32>, %n: index, %on: i1) {
  %rows = kernel.window(%n) on @ep as "rows" : !kernel.window<?x8xf32>
  %came = kernel.window() on @ep as "came" : !kernel.window<8xi32>
  %done = memref.alloc() : memref<4xi32>
  %me = kernel.rank on @ep : index
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<8xi32>
  kernel.launch @clear(%done) rows(%n) work(%n) : memref<4xi32>
  kernel.launch_group {
    kernel.launch @send(%x, %rows, %came, %me) rows(%n) work(%n) : memref<?x8xf32>, !kernel.window<?x8xf32>, !kernel.window<8xi32>, index
    kernel.launch @multiply(%rows, %came, %y, %done, %n) phases(2) rows(%n) work(%n) : !kernel.window<?x8xf32>, !kernel.window<8xi32>, memref<?x8xf32>, memref<4xi32>, index
    kernel.launch @give_back(%y, %done, %z, %n) phases(2) lag(1) rows(%n) work(%n) : memref<?x8xf32>, memref<4xi32>, memref<?x8xf32>, index
  } // of the group
  return
}
