// Rules of kernel-verify-windows for signals, waits and the epoch.
// RUN: moe-opt %s --kernel-verify-windows --split-input-file --verify-diagnostics

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
