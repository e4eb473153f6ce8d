// What a kernel may do with windows, by kernel-verify-windows.
// RUN: moe-opt %s --kernel-verify-windows --split-input-file --verify-diagnostics

// What is put is signalled.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @k(%x: memref<2x8xf32>, %rows: !kernel.window<2x8xf32>, %n: index) {
  kernel.put %x[%n], %rows[%n][%n] : memref<2x8xf32>, !kernel.window<2x8xf32>
  kernel.return
}
func.func @main(%x: memref<2x8xf32>, %n: index, %e: i32, %p: i1, %v: f32) {
  %rows = kernel.window() on @ep as "rows" : !kernel.window<2x8xf32>
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  // expected-error@+1 {{'kernel.launch' op of @k writes to 'rows' of other ranks, but no kernel.signal follows; they cannot know when to read}}
  kernel.launch @k(%x, %rows, %n) rows(%n) work(%n) : memref<2x8xf32>, !kernel.window<2x8xf32>, index
  return
}

// -----

// A signal before it does not count.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @k(%x: memref<2x8xf32>, %rows: !kernel.window<2x8xf32>, %came: !kernel.window<2xi32>, %n: index, %e: i32) {
  kernel.signal %came[%n][%n], %e : !kernel.window<2xi32>
  kernel.put %x[%n], %rows[%n][%n] : memref<2x8xf32>, !kernel.window<2x8xf32>
  kernel.return
}
func.func @main(%x: memref<2x8xf32>, %n: index, %e: i32, %p: i1, %v: f32) {
  %rows = kernel.window() on @ep as "rows" : !kernel.window<2x8xf32>
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  // expected-error@+1 {{'kernel.launch' op of @k writes to 'rows' of other ranks, but no kernel.signal follows; they cannot know when to read}}
  kernel.launch @k(%x, %rows, %came, %n, %e) rows(%n) work(%n) : memref<2x8xf32>, !kernel.window<2x8xf32>, !kernel.window<2xi32>, index, i32
  return
}

// -----

// Nor does one behind the scf.forall, which another block may reach first.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @k(%x: memref<2x8xf32>, %rows: !kernel.window<2x8xf32>, %came: !kernel.window<2xi32>, %n: index, %e: i32) {
  scf.forall (%peer) in (2) {
    kernel.put %x[%n], %rows[%peer][%n] : memref<2x8xf32>, !kernel.window<2x8xf32>
  }
  kernel.signal %came[%n][%n], %e : !kernel.window<2xi32>
  kernel.return
}
func.func @main(%x: memref<2x8xf32>, %n: index, %e: i32, %p: i1, %v: f32) {
  %rows = kernel.window() on @ep as "rows" : !kernel.window<2x8xf32>
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  // expected-error@+1 {{'kernel.launch' op of @k writes to 'rows' of other ranks, but no kernel.signal follows; they cannot know when to read}}
  kernel.launch @k(%x, %rows, %came, %n, %e) rows(%n) work(%n) : memref<2x8xf32>, !kernel.window<2x8xf32>, !kernel.window<2xi32>, index, i32
  return
}

// -----

// Nor does one in the other branch.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @k(%x: memref<2x8xf32>, %rows: !kernel.window<2x8xf32>, %came: !kernel.window<2xi32>, %n: index, %e: i32, %p: i1) {
  scf.if %p {
    kernel.put %x[%n], %rows[%n][%n] : memref<2x8xf32>, !kernel.window<2x8xf32>
  } else {
    kernel.signal %came[%n][%n], %e : !kernel.window<2xi32>
  }
  kernel.return
}
func.func @main(%x: memref<2x8xf32>, %n: index, %e: i32, %p: i1, %v: f32) {
  %rows = kernel.window() on @ep as "rows" : !kernel.window<2x8xf32>
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  // expected-error@+1 {{'kernel.launch' op of @k writes to 'rows' of other ranks, but no kernel.signal follows; they cannot know when to read}}
  kernel.launch @k(%x, %rows, %came, %n, %e, %p) rows(%n) work(%n) : memref<2x8xf32>, !kernel.window<2x8xf32>, !kernel.window<2xi32>, index, i32, i1
  return
}

// -----

// The same holds for a store into another rank's part.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @k(%rows: !kernel.window<2x8xf32>, %n: index, %v: f32) {
  %there = kernel.part %rows[%n] : !kernel.window<2x8xf32> -> memref<2x8xf32>
  memref.store %v, %there[%n, %n] : memref<2x8xf32>
  kernel.return
}
func.func @main(%x: memref<2x8xf32>, %n: index, %e: i32, %p: i1, %v: f32) {
  %rows = kernel.window() on @ep as "rows" : !kernel.window<2x8xf32>
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  // expected-error@+1 {{'kernel.launch' op of @k writes to 'rows' of other ranks, but no kernel.signal follows; they cannot know when to read}}
  kernel.launch @k(%rows, %n, %v) rows(%n) work(%n) : !kernel.window<2x8xf32>, index, f32
  return
}

// -----

// What is put is not read before a signal.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @k(%x: memref<2x8xf32>, %rows: !kernel.window<2x8xf32>, %n: index) {
  kernel.put %x[%n], %rows[%n][%n] : memref<2x8xf32>, !kernel.window<2x8xf32>
  kernel.return
}
kernel.func @look(%own: memref<2x8xf32>, %x: memref<2x8xf32>, %n: index) {
  %v = memref.load %own[%n, %n] : memref<2x8xf32>
  memref.store %v, %x[%n, %n] : memref<2x8xf32>
  kernel.return
}
func.func @main(%x: memref<2x8xf32>, %n: index, %e: i32, %p: i1, %v: f32) {
  %rows = kernel.window() on @ep as "rows" : !kernel.window<2x8xf32>
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  %own = kernel.part %rows : !kernel.window<2x8xf32> -> memref<2x8xf32>
  kernel.launch @k(%x, %rows, %n) rows(%n) work(%n) : memref<2x8xf32>, !kernel.window<2x8xf32>, index
  // expected-error@+1 {{'kernel.launch' op of @look reads 'rows', which ranks put to, but no kernel.signal stands between, nor an await}}
  kernel.launch @look(%own, %x, %n) rows(%n) work(%n) : memref<2x8xf32>, memref<2x8xf32>, index
  return
}

// -----

// One block signals before it awaits.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @meet(%came: !kernel.window<2xi32>, %n: index) {
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.await %came[%n] reach %epoch from %n : !kernel.window<2xi32>
  kernel.signal %came[%n][%n], %epoch : !kernel.window<2xi32>
  kernel.return
}
func.func @main(%x: memref<2x8xf32>, %n: index, %e: i32, %p: i1, %v: f32) {
  %rows = kernel.window() on @ep as "rows" : !kernel.window<2x8xf32>
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  // expected-error@+1 {{'kernel.launch' op of @meet awaits 'came' in the launch that signals it, whose blocks run in any order; await in a later one, or behind the signal in a launch with 'single'}}
  kernel.launch @meet(%came, %n) single rows(%n) work(%n) : !kernel.window<2xi32>, index
  return
}

// -----

// Another rank's part is not read.
kernel.func @k(%rows: !kernel.window<2x8xf32>, %n: index) {
  %there = kernel.part %rows[%n] : !kernel.window<2x8xf32> -> memref<2x8xf32>
  // expected-error@+1 {{'memref.load' op reads another rank's part of a window, which may only be stored to}}
  %v = memref.load %there[%n, %n] : memref<2x8xf32>
  kernel.return
}

// -----

// Not by a view either, nor by a put.
kernel.func @k(%rows: !kernel.window<2x8xf32>, %other: !kernel.window<?x16xf32>, %n: index) {
  %there = kernel.part %rows[%n] : !kernel.window<2x8xf32> -> memref<2x8xf32>
  %flat = memref.collapse_shape %there [[0, 1]] : memref<2x8xf32> into memref<16xf32>
  %row = memref.expand_shape %flat [[0, 1]] output_shape [1, 16] : memref<16xf32> into memref<1x16xf32>
  // expected-error@+1 {{'kernel.put' op reads another rank's part of a window, which may only be stored to}}
  kernel.put %row[%n], %other[%n][%n] : memref<1x16xf32>, !kernel.window<?x16xf32>
  kernel.return
}

// -----

// Nor where it cannot be followed.
kernel.func @k(%rows: !kernel.window<2x8xf32>, %n: index, %p: i1, %x: memref<2x8xf32>) {
  %there = kernel.part %rows[%n] : !kernel.window<2x8xf32> -> memref<2x8xf32>
  // expected-error@+1 {{'arith.select' op reads another rank's part of a window, which may only be stored to}}
  %one = arith.select %p, %there, %x : memref<2x8xf32>
  kernel.return
}

// -----

// The epoch is not advanced by a kernel that signals.
kernel.func @k(%came: !kernel.window<2xi32>, %n: index, %e: i32) {
  kernel.signal %came[%n][%n], %e : !kernel.window<2xi32>
  // expected-error@+1 {{'kernel.advance' op stands in a kernel that signals or awaits; it needs a launch of its own}}
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}

// -----

// The epoch is not advanced by a kernel that awaits.
kernel.func @k(%came: !kernel.window<2xi32>, %n: index, %e: i32) {
  kernel.await %came[%n] reach %e from %n : !kernel.window<2xi32>
  // expected-error@+1 {{'kernel.advance' op stands in a kernel that signals or awaits; it needs a launch of its own}}
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}

// -----

// Nor in a loop.
kernel.func @k(%came: !kernel.window<2xi32>) {
  scf.forall (%i) in (2) {
  // expected-error@+1 {{'kernel.advance' op stands in a loop or a branch; one block begins an exchange once}}
    kernel.advance %came : !kernel.window<2xi32>
  }
  kernel.return
}

// -----

// Windows are arguments.
kernel.func @k(%a: !kernel.window<2xi32>, %b: !kernel.window<2xi32>, %p: i1) {
  // expected-error@+2 {{'kernel.epoch' op uses a window that is no argument of its kernel}}
  %w = arith.select %p, %a, %b : !kernel.window<2xi32>
  %e = kernel.epoch %w : !kernel.window<2xi32> -> i32
  kernel.return
}
