// Launches that need no other rank go behind the signal and in front of the wait.
// RUN: moe-opt %s --kernel-delay-waits -o %t && FileCheck %s < %t
// RUN: moe-opt %t --kernel-delay-waits | diff %t -
// RUN: moe-opt %t --kernel-verify-windows -o %t.verified

shard.grid @ep(shape = 2)

kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}

kernel.func @send(%x: memref<8xf32>, %rows: !kernel.window<2x8xf32>, %came: !kernel.window<2xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %there = kernel.part %rows[%c1] : !kernel.window<2x8xf32> -> memref<2x8xf32>
  %v = memref.load %x[%c0] : memref<8xf32>
  memref.store %v, %there[%c0, %c0] : memref<2x8xf32>
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.signal %came[%c1][%c0], %epoch : !kernel.window<2xi32>
  kernel.return
}

kernel.func @wait(%came: !kernel.window<2xi32>) {
  %c1 = arith.constant 1 : index
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.await %came[%c1] reach %epoch from %c1 : !kernel.window<2xi32>
  kernel.return
}

// Reads its first buffer and writes the second one.
kernel.func @step(%x: memref<8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<8xf32>
  memref.store %v, %y[%c0] : memref<8xf32>
  kernel.return
}

kernel.func @add(%a: memref<8xf32>, %b: memref<8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %a[%c0] : memref<8xf32>
  %w = memref.load %b[%c0] : memref<8xf32>
  %sum = arith.addf %v, %w : f32
  memref.store %sum, %y[%c0] : memref<8xf32>
  kernel.return
}

kernel.func @read_rows(%rows: memref<2x8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %rows[%c0, %c0] : memref<2x8xf32>
  memref.store %v, %y[%c0] : memref<8xf32>
  kernel.return
}

// CHECK-LABEL: func.func @both_ways
// CHECK: @step({{.*}}"for the rows"
// CHECK-NEXT: @begin
// CHECK-NEXT: @send
// CHECK-NEXT: @step({{.*}}"before"
// CHECK-NEXT: @step({{.*}}"on it"
// CHECK-NEXT: memref.alloc
// CHECK-NEXT: @step({{.*}}"behind"
// CHECK-NEXT: @wait
// CHECK-NEXT: @read_rows
// CHECK-NEXT: @step({{.*}}"needs rows"
func.func @both_ways(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  %r = memref.alloc() : memref<8xf32>
  %s = memref.alloc() : memref<8xf32>
  %t = memref.alloc() : memref<8xf32>
  %rows = kernel.window() on @ep as "rows" : !kernel.window<2x8xf32>
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  %own = kernel.part %rows : !kernel.window<2x8xf32> -> memref<2x8xf32>
  kernel.launch @step(%y, %s) rows(%c1) work(%c1) {label = "before"} : memref<8xf32>, memref<8xf32>
  kernel.launch @step(%s, %t) rows(%c1) work(%c1) {label = "on it"} : memref<8xf32>, memref<8xf32>
  kernel.launch @step(%y, %x) rows(%c1) work(%c1) {label = "for the rows"} : memref<8xf32>, memref<8xf32>
  kernel.launch @begin(%came) single rows(%c1) work(%c1) : !kernel.window<2xi32>
  kernel.launch @send(%x, %rows, %came) single rows(%c1) work(%c1) : memref<8xf32>, !kernel.window<2x8xf32>, !kernel.window<2xi32>
  kernel.launch @wait(%came) single rows(%c1) work(%c1) : !kernel.window<2xi32>
  kernel.launch @read_rows(%own, %r) rows(%c1) work(%c1) : memref<2x8xf32>, memref<8xf32>
  kernel.launch @step(%r, %z) rows(%c1) work(%c1) {label = "needs rows"} : memref<8xf32>, memref<8xf32>
  %late = memref.alloc() : memref<8xf32>
  kernel.launch @step(%t, %late) rows(%c1) work(%c1) {label = "behind"} : memref<8xf32>, memref<8xf32>
  return
}

// A launch of which another one writes what it uses keeps its place, also if both see the buffer through views.
// CHECK-LABEL: func.func @shares_memory
// CHECK: @send
// CHECK-NEXT: @step({{.*}}"free"
// CHECK-NEXT: @wait
// CHECK-NEXT: @read_rows
// CHECK-NEXT: memref.subview
// CHECK-NEXT: memref.cast
// CHECK-NEXT: @add({{.*}}"reads what is written"
// CHECK-NEXT: @step({{.*}}"writes what is written"
// CHECK-NEXT: @step({{.*}}"writes what is read"
func.func @shares_memory(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  %r = memref.alloc() : memref<8xf32>
  %s = memref.alloc() : memref<8xf32>
  %rows = kernel.window() on @ep as "rows" : !kernel.window<2x8xf32>
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  %own = kernel.part %rows : !kernel.window<2x8xf32> -> memref<2x8xf32>
  kernel.launch @begin(%came) single rows(%c1) work(%c1) : !kernel.window<2xi32>
  kernel.launch @send(%x, %rows, %came) single rows(%c1) work(%c1) : memref<8xf32>, !kernel.window<2x8xf32>, !kernel.window<2xi32>
  kernel.launch @wait(%came) single rows(%c1) work(%c1) : !kernel.window<2xi32>
  kernel.launch @read_rows(%own, %r) rows(%c1) work(%c1) : memref<2x8xf32>, memref<8xf32>
  %part = memref.subview %r[0] [8] [1] : memref<8xf32> to memref<8xf32, strided<[1]>>
  %view = memref.cast %part : memref<8xf32, strided<[1]>> to memref<8xf32>
  kernel.launch @add(%view, %z, %y) rows(%c1) work(%c1) {label = "reads what is written"} : memref<8xf32>, memref<8xf32>, memref<8xf32>
  kernel.launch @step(%x, %y) rows(%c1) work(%c1) {label = "writes what is written"} : memref<8xf32>, memref<8xf32>
  kernel.launch @step(%x, %z) rows(%c1) work(%c1) {label = "writes what is read"} : memref<8xf32>, memref<8xf32>
  kernel.launch @step(%x, %s) rows(%c1) work(%c1) {label = "free"} : memref<8xf32>, memref<8xf32>
  return
}

// The same in front of a signal: what the rows are made of, and what would be overwritten.
// CHECK-LABEL: func.func @before_the_signal
// CHECK: @step({{.*}}"reads what is written later"
// CHECK-NEXT: @step({{.*}}"for the rows"
// CHECK-NEXT: @begin
// CHECK-NEXT: @send
// CHECK-NEXT: @step({{.*}}"free"
// CHECK-NEXT: @wait
func.func @before_the_signal(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  %r = memref.alloc() : memref<8xf32>
  %s = memref.alloc() : memref<8xf32>
  %t = memref.alloc() : memref<8xf32>
  %rows = kernel.window() on @ep as "rows" : !kernel.window<2x8xf32>
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  %own = kernel.part %rows : !kernel.window<2x8xf32> -> memref<2x8xf32>
  kernel.launch @step(%x, %s) rows(%c1) work(%c1) {label = "reads what is written later"} : memref<8xf32>, memref<8xf32>
  kernel.launch @step(%y, %t) rows(%c1) work(%c1) {label = "free"} : memref<8xf32>, memref<8xf32>
  kernel.launch @step(%y, %x) rows(%c1) work(%c1) {label = "for the rows"} : memref<8xf32>, memref<8xf32>
  kernel.launch @begin(%came) single rows(%c1) work(%c1) : !kernel.window<2xi32>
  kernel.launch @send(%x, %rows, %came) single rows(%c1) work(%c1) : memref<8xf32>, !kernel.window<2x8xf32>, !kernel.window<2xi32>
  kernel.launch @wait(%came) single rows(%c1) work(%c1) : !kernel.window<2xi32>
  kernel.launch @read_rows(%own, %r) rows(%c1) work(%c1) : memref<2x8xf32>, memref<8xf32>
  return
}

// Windows are seen by all ranks: their launches keep their order, whichever part they take.
// CHECK-LABEL: func.func @windows
// CHECK: @send
// CHECK-NEXT: @wait
// CHECK-NEXT: @read_rows
// CHECK-NEXT: @read_rows
func.func @windows(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  %r = memref.alloc() : memref<8xf32>
  %s = memref.alloc() : memref<8xf32>
  %rows = kernel.window() on @ep as "rows" : !kernel.window<2x8xf32>
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  %own = kernel.part %rows : !kernel.window<2x8xf32> -> memref<2x8xf32>
  %others = kernel.window() on @ep as "others" : !kernel.window<2x8xf32>
  %mine = kernel.part %others : !kernel.window<2x8xf32> -> memref<2x8xf32>
  kernel.launch @begin(%came) single rows(%c1) work(%c1) : !kernel.window<2xi32>
  kernel.launch @send(%x, %rows, %came) single rows(%c1) work(%c1) : memref<8xf32>, !kernel.window<2x8xf32>, !kernel.window<2xi32>
  kernel.launch @wait(%came) single rows(%c1) work(%c1) : !kernel.window<2xi32>
  kernel.launch @read_rows(%own, %r) rows(%c1) work(%c1) : memref<2x8xf32>, memref<8xf32>
  kernel.launch @read_rows(%mine, %s) rows(%c1) work(%c1) : memref<2x8xf32>, memref<8xf32>
  return
}

// Nothing moves into the exchange before, nor in front of a check that has to wait itself.
// CHECK-LABEL: func.func @two_exchanges
// CHECK: @send
// CHECK-NEXT: @wait
// CHECK-NEXT: @read_rows
// CHECK-NEXT: @begin
// CHECK-NEXT: @send
// CHECK-NEXT: kernel.check
// CHECK-NEXT: @step({{.*}}"relies on the first check"
// CHECK-NEXT: @wait
// CHECK: memref.load
// CHECK: kernel.check
// CHECK-NEXT: @step({{.*}}"relies on the second check"
func.func @two_exchanges(%x: memref<8xf32>, %y: memref<8xf32>, %ok: i1) {
  %c1 = arith.constant 1 : index
  %r = memref.alloc() : memref<8xf32>
  %s = memref.alloc() : memref<8xf32>
  %t = memref.alloc() : memref<8xf32>
  %rows = kernel.window() on @ep as "rows" : !kernel.window<2x8xf32>
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  %own = kernel.part %rows : !kernel.window<2x8xf32> -> memref<2x8xf32>
  kernel.launch @begin(%came) single rows(%c1) work(%c1) : !kernel.window<2xi32>
  kernel.launch @send(%x, %rows, %came) single rows(%c1) work(%c1) : memref<8xf32>, !kernel.window<2x8xf32>, !kernel.window<2xi32>
  kernel.launch @wait(%came) single rows(%c1) work(%c1) : !kernel.window<2xi32>
  kernel.launch @read_rows(%own, %r) rows(%c1) work(%c1) : memref<2x8xf32>, memref<8xf32>
  kernel.launch @begin(%came) single rows(%c1) work(%c1) : !kernel.window<2xi32>
  kernel.launch @send(%x, %rows, %came) single rows(%c1) work(%c1) : memref<8xf32>, !kernel.window<2x8xf32>, !kernel.window<2xi32>
  kernel.launch @wait(%came) single rows(%c1) work(%c1) : !kernel.window<2xi32>
  kernel.check %ok, "wrong"
  kernel.launch @step(%x, %s) rows(%c1) work(%c1) {label = "relies on the first check"} : memref<8xf32>, memref<8xf32>
  %v = memref.load %own[%c1, %c1] : memref<2x8xf32>
  %zero = arith.constant 0.0 : f32
  %fits = arith.cmpf oge, %v, %zero : f32
  kernel.check %fits, "negative"
  kernel.launch @step(%x, %t) rows(%c1) work(%c1) {label = "relies on the second check"} : memref<8xf32>, memref<8xf32>
  return
}

// What is made of a buffer in a way that is not known may be any buffer.
// CHECK-LABEL: func.func @unknown_buffer
// CHECK: @wait
// CHECK-NEXT: @read_rows
// CHECK: arith.select
// CHECK-NEXT: @step({{.*}}"on either"
func.func @unknown_buffer(%x: memref<8xf32>, %y: memref<8xf32>, %ok: i1) {
  %c1 = arith.constant 1 : index
  %r = memref.alloc() : memref<8xf32>
  %s = memref.alloc() : memref<8xf32>
  %rows = kernel.window() on @ep as "rows" : !kernel.window<2x8xf32>
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  %own = kernel.part %rows : !kernel.window<2x8xf32> -> memref<2x8xf32>
  kernel.launch @begin(%came) single rows(%c1) work(%c1) : !kernel.window<2xi32>
  kernel.launch @send(%x, %rows, %came) single rows(%c1) work(%c1) : memref<8xf32>, !kernel.window<2x8xf32>, !kernel.window<2xi32>
  kernel.launch @wait(%came) single rows(%c1) work(%c1) : !kernel.window<2xi32>
  kernel.launch @read_rows(%own, %r) rows(%c1) work(%c1) : memref<2x8xf32>, memref<8xf32>
  %either = arith.select %ok, %r, %y : memref<8xf32>
  kernel.launch @step(%either, %s) rows(%c1) work(%c1) {label = "on either"} : memref<8xf32>, memref<8xf32>
  return
}
