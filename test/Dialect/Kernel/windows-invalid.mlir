// Every rule of the verifiers of windows.
// RUN: moe-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{only the first dimension of a window may be dynamic}}
kernel.func @dynamic_row(%w: !kernel.window<2x?xf32>) {
  kernel.return
}

// -----

// expected-error@+1 {{a window has at least one dimension}}
kernel.func @scalar(%w: !kernel.window<f32>) {
  kernel.return
}

// -----

// expected-error@+1 {{a window holds numbers of whole bytes, got 'i1'}}
kernel.func @bits(%w: !kernel.window<?xi1>) {
  kernel.return
}

// -----

// expected-error@+1 {{a window holds numbers of whole bytes, got 'index'}}
kernel.func @indices(%w: !kernel.window<?xindex>) {
  kernel.return
}

// -----

// expected-error@+1 {{sizes of a window must be at least 1, and their bytes a number that an integer holds}}
kernel.func @empty(%w: !kernel.window<?x0xf32>) {
  kernel.return
}

// -----

// expected-error@+1 {{sizes of a window must be at least 1, and their bytes a number that an integer holds}}
kernel.func @large(%w: !kernel.window<4294967296x4294967296xf32>) {
  kernel.return
}

// -----

func.func @main() {
  // expected-error@+1 {{'kernel.rank' op names no shard.grid: @ep}}
  %me = kernel.rank on @ep : index
  return
}

// -----

shard.grid @ep(shape = ?)
func.func @main() {
  // expected-error@+1 {{'kernel.rank' op names a grid whose number of ranks is not known, or is none: @ep}}
  %me = kernel.rank on @ep : index
  return
}

// -----

func.func @main(%n: index) {
  // expected-error@+1 {{'kernel.agree' op names no shard.grid: @ep}}
  %room = kernel.agree %n on @ep : index
  return
}

// -----

func.func @main() {
  // expected-error@+1 {{'kernel.window' op names no shard.grid: @ep}}
  %w = kernel.window() on @ep as "w" : !kernel.window<2xi32>
  return
}

// -----

func.func @main(%n: index) {
  // expected-error@+1 {{'kernel.windows' op names no shard.grid: @ep}}
  %w = kernel.windows %n on @ep : !kernel.peers
  return
}

// -----

shard.grid @ep(shape = 2)
kernel.func @k() {
  // expected-error@+1 {{'kernel.rank' op is an op of the host program; a kernel takes what it needs as arguments}}
  %me = kernel.rank on @ep : index
  kernel.return
}

// -----

shard.grid @ep(shape = 2)
kernel.func @k(%n: index) {
  // expected-error@+1 {{'kernel.agree' op is an op of the host program; a kernel takes what it needs as arguments}}
  %room = kernel.agree %n on @ep : index
  kernel.return
}

// -----

shard.grid @ep(shape = 2)
kernel.func @k() {
  // expected-error@+1 {{'kernel.window' op is an op of the host program; a kernel takes what it needs as arguments}}
  %w = kernel.window() on @ep as "w" : !kernel.window<2xi32>
  kernel.return
}

// -----

shard.grid @ep(shape = 2)
kernel.func @k(%n: index) {
  // expected-error@+1 {{'kernel.windows' op is an op of the host program; a kernel takes what it needs as arguments}}
  %w = kernel.windows %n on @ep : !kernel.peers
  kernel.return
}

// -----

kernel.func @k(%peers: !kernel.peers, %n: index) {
  // expected-error@+1 {{'kernel.window_at' op is an op of the host program; a kernel takes what it needs as arguments}}
  %w = kernel.window_at %peers[%n]() : !kernel.window<2xi32>
  kernel.return
}

// -----

shard.grid @ep(shape = 2)
func.func @main() {
  // expected-error@+1 {{'kernel.window' op must have a name}}
  %w = kernel.window() on @ep as "" : !kernel.window<2xi32>
  return
}

// -----

shard.grid @ep(shape = 2)
func.func @main() {
  // expected-error@+1 {{'kernel.window' op has 0 sizes for 1 dynamic dimensions of '!kernel.window<?xi32>'}}
  %w = kernel.window() on @ep as "w" : !kernel.window<?xi32>
  return
}

// -----

func.func @main(%peers: !kernel.peers, %n: index) {
  // expected-error@+1 {{'kernel.window_at' op has 1 sizes for 0 dynamic dimensions of '!kernel.window<2xi32>'}}
  %w = kernel.window_at %peers[%n](%n) : !kernel.window<2xi32>
  return
}

// -----

kernel.func @k(%w: !kernel.window<?x8xf32>) {
  // expected-error@+1 {{'kernel.part' op failed to verify that the part is a buffer of the window's shape}}
  %p = kernel.part %w : !kernel.window<?x8xf32> -> memref<?x4xf32>
  kernel.return
}

// -----

func.func @main(%w: !kernel.window<?x8xf32>, %n: index) {
  // expected-error@+1 {{'kernel.part' op is an op of kernels; a host function launches them}}
  %p = kernel.part %w[%n] : !kernel.window<?x8xf32> -> memref<?x8xf32>
  return
}

// -----

func.func @main(%x: memref<?x8xf32>, %w: !kernel.window<?x8xf32>, %n: index) {
  // expected-error@+1 {{'kernel.put' op is an op of kernels; a host function launches them}}
  kernel.put %x[%n], %w[%n][%n] : memref<?x8xf32>, !kernel.window<?x8xf32>
  return
}

// -----

kernel.func @k(%x: memref<?x4xf32>, %w: !kernel.window<?x8xf32>, %n: index) {
  // expected-error@+1 {{'kernel.put' op a row of 'memref<?x4xf32>' is not one of '!kernel.window<?x8xf32>'; element type and all sizes but the first must be equal}}
  kernel.put %x[%n], %w[%n][%n] : memref<?x4xf32>, !kernel.window<?x8xf32>
  kernel.return
}

// -----

kernel.func @k(%x: memref<?x8xbf16>, %w: !kernel.window<?x8xf32>, %n: index) {
  // expected-error@+1 {{'kernel.put' op a row of 'memref<?x8xbf16>' is not one of '!kernel.window<?x8xf32>'; element type and all sizes but the first must be equal}}
  kernel.put %x[%n], %w[%n][%n] : memref<?x8xbf16>, !kernel.window<?x8xf32>
  kernel.return
}

// -----

kernel.func @k(%x: memref<?xf32>, %w: !kernel.window<?x8xf32>, %n: index) {
  // expected-error@+1 {{'kernel.put' op a row of 'memref<?xf32>' is not one of '!kernel.window<?x8xf32>'; element type and all sizes but the first must be equal}}
  kernel.put %x[%n], %w[%n][%n] : memref<?xf32>, !kernel.window<?x8xf32>
  kernel.return
}

// -----

kernel.func @k(%x: memref<4x16xf32>, %w: !kernel.window<?x8xf32>, %n: index) {
  %view = memref.subview %x[0, 0] [4, 8] [1, 1] : memref<4x16xf32> to memref<4x8xf32, strided<[16, 1]>>
  // expected-error@+1 {{'kernel.put' op source must be a contiguous row-major memref, got 'memref<4x8xf32, strided<[16, 1]>>'}}
  kernel.put %view[%n], %w[%n][%n] : memref<4x8xf32, strided<[16, 1]>>, !kernel.window<?x8xf32>
  kernel.return
}

// -----

kernel.func @k(%w: !kernel.window<?x8xi32>) {
  // expected-error@+1 {{'kernel.epoch' op operand #0 must be window of flags (one dimension of i32), but got '!kernel.window<?x8xi32>'}}
  %e = kernel.epoch %w : !kernel.window<?x8xi32> -> i32
  kernel.return
}

// -----

kernel.func @k(%w: !kernel.window<?xf32>, %n: index, %e: i32) {
  // expected-error@+1 {{'kernel.signal' op operand #0 must be window of flags (one dimension of i32), but got '!kernel.window<?xf32>'}}
  kernel.signal %w[%n][%n], %e : !kernel.window<?xf32>
  kernel.return
}

// -----

kernel.func @k(%w: !kernel.window<?xi64>, %n: index, %e: i32) {
  // expected-error@+1 {{'kernel.await' op operand #0 must be window of flags (one dimension of i32), but got '!kernel.window<?xi64>'}}
  kernel.await %w[%n] reach %e from %n : !kernel.window<?xi64>
  kernel.return
}

// -----

kernel.func @k(%w: !kernel.window<?xi64>) {
  // expected-error@+1 {{'kernel.advance' op operand #0 must be window of flags (one dimension of i32), but got '!kernel.window<?xi64>'}}
  kernel.advance %w : !kernel.window<?xi64>
  kernel.return
}

// -----

func.func @main(%w: !kernel.window<?xi32>) {
  // expected-error@+1 {{'kernel.epoch' op is an op of kernels; a host function launches them}}
  %e = kernel.epoch %w : !kernel.window<?xi32> -> i32
  return
}

// -----

func.func @main(%w: !kernel.window<?xi32>, %n: index, %e: i32) {
  // expected-error@+1 {{'kernel.signal' op is an op of kernels; a host function launches them}}
  kernel.signal %w[%n][%n], %e : !kernel.window<?xi32>
  return
}

// -----

func.func @main(%w: !kernel.window<?xi32>, %n: index, %e: i32) {
  // expected-error@+1 {{'kernel.await' op is an op of kernels; a host function launches them}}
  kernel.await %w[%n] reach %e from %n : !kernel.window<?xi32>
  return
}

// -----

func.func @main(%w: !kernel.window<?xi32>) {
  // expected-error@+1 {{'kernel.advance' op is an op of kernels; a host function launches them}}
  kernel.advance %w : !kernel.window<?xi32>
  return
}
