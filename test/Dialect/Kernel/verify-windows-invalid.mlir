// Every rule of kernel-verify-windows.
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

// -----

// An await without a signal.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @receive(%came: !kernel.window<2xi32>, %me: index) {
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.await %came[%me] reach %epoch from %me : !kernel.window<2xi32>
  kernel.return
}
func.func @main(%n: index) {
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  // expected-error@+1 {{'kernel.launch' op of @receive awaits 'came', which no launch has signalled since the last kernel.advance on @ep}}
  kernel.launch @receive(%came, %n) rows(%n) work(%n) : !kernel.window<2xi32>, index
  return
}

// -----

// An await before the signal.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @tell(%came: !kernel.window<2xi32>, %me: index) {
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.signal %came[%me][%me], %epoch : !kernel.window<2xi32>
  kernel.return
}
kernel.func @receive(%came: !kernel.window<2xi32>, %me: index) {
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.await %came[%me] reach %epoch from %me : !kernel.window<2xi32>
  kernel.return
}
func.func @main(%n: index) {
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  // expected-error@+1 {{'kernel.launch' op of @receive awaits 'came', which no launch has signalled since the last kernel.advance on @ep}}
  kernel.launch @receive(%came, %n) rows(%n) work(%n) : !kernel.window<2xi32>, index
  kernel.launch @tell(%came, %n) rows(%n) work(%n) : !kernel.window<2xi32>, index
  return
}

// -----

// An await of the exchange before.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @tell(%came: !kernel.window<2xi32>, %me: index) {
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.signal %came[%me][%me], %epoch : !kernel.window<2xi32>
  kernel.return
}
kernel.func @receive(%came: !kernel.window<2xi32>, %me: index) {
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.await %came[%me] reach %epoch from %me : !kernel.window<2xi32>
  kernel.return
}
func.func @main(%n: index) {
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  kernel.launch @tell(%came, %n) rows(%n) work(%n) : !kernel.window<2xi32>, index
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  // expected-error@+1 {{'kernel.launch' op of @receive awaits 'came', which no launch has signalled since the last kernel.advance on @ep}}
  kernel.launch @receive(%came, %n) rows(%n) work(%n) : !kernel.window<2xi32>, index
  return
}

// -----

// An await of other flags.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @tell(%came: !kernel.window<2xi32>, %me: index) {
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.signal %came[%me][%me], %epoch : !kernel.window<2xi32>
  kernel.return
}
kernel.func @receive(%came: !kernel.window<2xi32>, %me: index) {
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.await %came[%me] reach %epoch from %me : !kernel.window<2xi32>
  kernel.return
}
func.func @main(%n: index) {
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  %other = kernel.window() on @ep as "other" : !kernel.window<2xi32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  kernel.launch @tell(%came, %n) rows(%n) work(%n) : !kernel.window<2xi32>, index
  // expected-error@+1 {{'kernel.launch' op of @receive awaits 'other', which no launch has signalled since the last kernel.advance on @ep}}
  kernel.launch @receive(%other, %n) rows(%n) work(%n) : !kernel.window<2xi32>, index
  return
}

// -----

// An await in the launch that signals: its peers may wait in all of their blocks.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @both(%came: !kernel.window<2xi32>, %me: index) {
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.signal %came[%me][%me], %epoch : !kernel.window<2xi32>
  kernel.await %came[%me] reach %epoch from %me : !kernel.window<2xi32>
  kernel.return
}
func.func @main(%n: index) {
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  // expected-error@+1 {{'kernel.launch' op of @both awaits 'came' in the launch that signals it, whose blocks run in any order; await in a later one, or behind the signal in a launch with 'single'}}
  kernel.launch @both(%came, %n) rows(%n) work(%n) : !kernel.window<2xi32>, index
  return
}

// -----

// A signal in an exchange that did not begin.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @tell(%came: !kernel.window<2xi32>, %me: index) {
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.signal %came[%me][%me], %epoch : !kernel.window<2xi32>
  kernel.return
}
func.func @main(%n: index) {
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  // expected-error@+1 {{'kernel.launch' op of @tell signals 'came' before a kernel.advance on @ep; flags that are as old would pass for it}}
  kernel.launch @tell(%came, %n) rows(%n) work(%n) : !kernel.window<2xi32>, index
  return
}

// -----

// A signal twice in one exchange.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @tell(%came: !kernel.window<2xi32>, %me: index) {
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.signal %came[%me][%me], %epoch : !kernel.window<2xi32>
  kernel.return
}
kernel.func @receive(%came: !kernel.window<2xi32>, %me: index) {
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.await %came[%me] reach %epoch from %me : !kernel.window<2xi32>
  kernel.return
}
func.func @main(%n: index) {
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  kernel.launch @tell(%came, %n) rows(%n) work(%n) : !kernel.window<2xi32>, index
  kernel.launch @receive(%came, %n) rows(%n) work(%n) : !kernel.window<2xi32>, index
  // expected-error@+1 {{'kernel.launch' op of @tell signals 'came' a second time in one exchange; a launch with kernel.advance must stand between}}
  kernel.launch @tell(%came, %n) rows(%n) work(%n) : !kernel.window<2xi32>, index
  return
}

// -----

// Also by another window of the same name.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @tell(%came: !kernel.window<2xi32>, %me: index) {
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.signal %came[%me][%me], %epoch : !kernel.window<2xi32>
  kernel.return
}
func.func @main(%n: index) {
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  %again = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  kernel.launch @tell(%came, %n) rows(%n) work(%n) : !kernel.window<2xi32>, index
  // expected-error@+1 {{'kernel.launch' op of @tell signals 'came' a second time in one exchange; a launch with kernel.advance must stand between}}
  kernel.launch @tell(%again, %n) rows(%n) work(%n) : !kernel.window<2xi32>, index
  return
}

// -----

// An advance by several blocks.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
func.func @main(%n: index) {
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  // expected-error@+1 {{'kernel.launch' op of @begin advances the epoch in each of its blocks; launch it with 'single'}}
  kernel.launch @begin(%came) rows(%n) work(%n) : !kernel.window<2xi32>
  return
}

// -----

// A read of what was put without an await.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @give(%x: memref<2x8xf32>, %rows: !kernel.window<2x8xf32>, %came: !kernel.window<2xi32>, %me: index) {
  kernel.put %x[%me], %rows[%me][%me] : memref<2x8xf32>, !kernel.window<2x8xf32>
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.signal %came[%me][%me], %epoch : !kernel.window<2xi32>
  kernel.return
}
kernel.func @use_rows(%rows: !kernel.window<2x8xf32>, %n: index) {
  %own = kernel.part %rows : !kernel.window<2x8xf32> -> memref<2x8xf32>
  %v = memref.load %own[%n, %n] : memref<2x8xf32>
  kernel.return
}
func.func @main(%x: memref<2x8xf32>, %n: index) {
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  %rows = kernel.window() on @ep as "rows" : !kernel.window<2x8xf32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  kernel.launch @give(%x, %rows, %came, %n) rows(%n) work(%n) : memref<2x8xf32>, !kernel.window<2x8xf32>, !kernel.window<2xi32>, index
  // expected-error@+1 {{'kernel.launch' op of @use_rows reads 'rows', which ranks put to, but 'came' is not awaited before}}
  kernel.launch @use_rows(%rows, %n) rows(%n) work(%n) : !kernel.window<2x8xf32>, index
  return
}

// -----

// The await of the exchange before is not enough.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @give(%x: memref<2x8xf32>, %rows: !kernel.window<2x8xf32>, %came: !kernel.window<2xi32>, %me: index) {
  kernel.put %x[%me], %rows[%me][%me] : memref<2x8xf32>, !kernel.window<2x8xf32>
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.signal %came[%me][%me], %epoch : !kernel.window<2xi32>
  kernel.return
}
kernel.func @receive(%came: !kernel.window<2xi32>, %me: index) {
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.await %came[%me] reach %epoch from %me : !kernel.window<2xi32>
  kernel.return
}
kernel.func @use_rows(%rows: !kernel.window<2x8xf32>, %n: index) {
  %own = kernel.part %rows : !kernel.window<2x8xf32> -> memref<2x8xf32>
  %v = memref.load %own[%n, %n] : memref<2x8xf32>
  kernel.return
}
func.func @main(%x: memref<2x8xf32>, %n: index) {
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  %rows = kernel.window() on @ep as "rows" : !kernel.window<2x8xf32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  kernel.launch @give(%x, %rows, %came, %n) rows(%n) work(%n) : memref<2x8xf32>, !kernel.window<2x8xf32>, !kernel.window<2xi32>, index
  kernel.launch @receive(%came, %n) rows(%n) work(%n) : !kernel.window<2xi32>, index
  kernel.launch @use_rows(%rows, %n) rows(%n) work(%n) : !kernel.window<2x8xf32>, index
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  kernel.launch @give(%x, %rows, %came, %n) rows(%n) work(%n) : memref<2x8xf32>, !kernel.window<2x8xf32>, !kernel.window<2xi32>, index
  // expected-error@+1 {{'kernel.launch' op of @use_rows reads 'rows', which ranks put to, but 'came' is not awaited before}}
  kernel.launch @use_rows(%rows, %n) rows(%n) work(%n) : !kernel.window<2x8xf32>, index
  return
}

// -----

// The same by the part as a buffer.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @give(%x: memref<2x8xf32>, %rows: !kernel.window<2x8xf32>, %came: !kernel.window<2xi32>, %me: index) {
  kernel.put %x[%me], %rows[%me][%me] : memref<2x8xf32>, !kernel.window<2x8xf32>
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.signal %came[%me][%me], %epoch : !kernel.window<2xi32>
  kernel.return
}
kernel.func @use(%rows: memref<2x8xf32>, %n: index) {
  %v = memref.load %rows[%n, %n] : memref<2x8xf32>
  kernel.return
}
func.func @main(%x: memref<2x8xf32>, %n: index) {
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  %rows = kernel.window() on @ep as "rows" : !kernel.window<2x8xf32>
  %own = kernel.part %rows : !kernel.window<2x8xf32> -> memref<2x8xf32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  kernel.launch @give(%x, %rows, %came, %n) rows(%n) work(%n) : memref<2x8xf32>, !kernel.window<2x8xf32>, !kernel.window<2xi32>, index
  // expected-error@+1 {{'kernel.launch' op of @use reads 'rows', which ranks put to, but 'came' is not awaited before}}
  kernel.launch @use(%own, %n) rows(%n) work(%n) : memref<2x8xf32>, index
  return
}

// -----

// And by the host program.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @give(%x: memref<2x8xf32>, %rows: !kernel.window<2x8xf32>, %came: !kernel.window<2xi32>, %me: index) {
  kernel.put %x[%me], %rows[%me][%me] : memref<2x8xf32>, !kernel.window<2x8xf32>
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.signal %came[%me][%me], %epoch : !kernel.window<2xi32>
  kernel.return
}
func.func @main(%x: memref<2x8xf32>, %n: index) {
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  %rows = kernel.window() on @ep as "rows" : !kernel.window<2x8xf32>
  %own = kernel.part %rows : !kernel.window<2x8xf32> -> memref<2x8xf32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  kernel.launch @give(%x, %rows, %came, %n) rows(%n) work(%n) : memref<2x8xf32>, !kernel.window<2x8xf32>, !kernel.window<2xi32>, index
  // expected-error@+1 {{'memref.load' op reads 'rows', which ranks put to, but 'came' is not awaited before}}
  %v = memref.load %own[%n, %n] : memref<2x8xf32>
  return
}

// -----

// An await behind the read, in the same kernel.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @give(%x: memref<2x8xf32>, %rows: !kernel.window<2x8xf32>, %came: !kernel.window<2xi32>, %me: index) {
  kernel.put %x[%me], %rows[%me][%me] : memref<2x8xf32>, !kernel.window<2x8xf32>
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.signal %came[%me][%me], %epoch : !kernel.window<2xi32>
  kernel.return
}
kernel.func @late(%rows: !kernel.window<2x8xf32>, %came: !kernel.window<2xi32>, %n: index) {
  %own = kernel.part %rows : !kernel.window<2x8xf32> -> memref<2x8xf32>
  %v = memref.load %own[%n, %n] : memref<2x8xf32>
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.await %came[%n] reach %epoch from %n : !kernel.window<2xi32>
  kernel.return
}
func.func @main(%x: memref<2x8xf32>, %n: index) {
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  %rows = kernel.window() on @ep as "rows" : !kernel.window<2x8xf32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  kernel.launch @give(%x, %rows, %came, %n) rows(%n) work(%n) : memref<2x8xf32>, !kernel.window<2x8xf32>, !kernel.window<2xi32>, index
  // expected-error@+1 {{'kernel.launch' op of @late reads 'rows', which ranks put to, but 'came' is not awaited before}}
  kernel.launch @late(%rows, %came, %n) rows(%n) work(%n) : !kernel.window<2x8xf32>, !kernel.window<2xi32>, index
  return
}

// -----

// An await of another iteration.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @give(%x: memref<2x8xf32>, %rows: !kernel.window<2x8xf32>, %came: !kernel.window<2xi32>, %me: index) {
  kernel.put %x[%me], %rows[%me][%me] : memref<2x8xf32>, !kernel.window<2x8xf32>
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.signal %came[%me][%me], %epoch : !kernel.window<2xi32>
  kernel.return
}
kernel.func @elsewhere(%rows: !kernel.window<2x8xf32>, %came: !kernel.window<2xi32>, %n: index) {
  %own = kernel.part %rows : !kernel.window<2x8xf32> -> memref<2x8xf32>
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  scf.forall (%i) in (2) {
    kernel.await %came[%i] reach %epoch from %i : !kernel.window<2xi32>
  }
  scf.forall (%i) in (2) {
    %v = memref.load %own[%i, %i] : memref<2x8xf32>
  }
  kernel.return
}
func.func @main(%x: memref<2x8xf32>, %n: index) {
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  %rows = kernel.window() on @ep as "rows" : !kernel.window<2x8xf32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  kernel.launch @give(%x, %rows, %came, %n) rows(%n) work(%n) : memref<2x8xf32>, !kernel.window<2x8xf32>, !kernel.window<2xi32>, index
  // expected-error@+1 {{'kernel.launch' op of @elsewhere reads 'rows', which ranks put to, but 'came' is not awaited before}}
  kernel.launch @elsewhere(%rows, %came, %n) rows(%n) work(%n) : !kernel.window<2x8xf32>, !kernel.window<2xi32>, index
  return
}

// -----

// A read in the launch that puts.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
kernel.func @mix(%rows: !kernel.window<2x8xf32>, %came: !kernel.window<2xi32>, %n: index) {
  %own = kernel.part %rows : !kernel.window<2x8xf32> -> memref<2x8xf32>
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  kernel.put %own[%n], %rows[%n][%n] : memref<2x8xf32>, !kernel.window<2x8xf32>
  kernel.signal %came[%n][%n], %epoch : !kernel.window<2xi32>
  kernel.return
}
func.func @main(%x: memref<2x8xf32>, %n: index) {
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  %rows = kernel.window() on @ep as "rows" : !kernel.window<2x8xf32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  // expected-error@+1 {{'kernel.launch' op of @mix reads 'rows' while it writes to that of other ranks; read it in a later launch, behind an await}}
  kernel.launch @mix(%rows, %came, %n) rows(%n) work(%n) : !kernel.window<2x8xf32>, !kernel.window<2xi32>, index
  return
}

// -----

// Exchanges are not conditional.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
func.func @main(%n: index, %p: i1) {
  %came = kernel.window() on @ep as "came" : !kernel.window<2xi32>
  scf.if %p {
  // expected-error@+1 {{'kernel.launch' op stands inside a region; a host function exchanges rows at its top level}}
    kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  }
  return
}

// -----

// Ranks do not meet where only some come.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
func.func @main(%n: index, %p: i1) {
  scf.if %p {
  // expected-error@+1 {{'kernel.agree' op stands inside a region; a host function exchanges rows at its top level}}
    %m = kernel.agree %n on @ep : index
  }
  return
}

// -----

// A window from elsewhere.
shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}
func.func @main(%n: index, %came: !kernel.window<2xi32>) {
  // expected-error@+1 {{'kernel.launch' op of @begin is given a window that no kernel.window makes}}
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<2xi32>
  return
}
