// Rules of kernel-verify-windows for reads of what ranks put, and for host functions.
// RUN: moe-opt %s --kernel-verify-windows --split-input-file --verify-diagnostics

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
