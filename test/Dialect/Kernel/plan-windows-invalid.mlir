// RUN: moe-opt %s --kernel-plan-windows --split-input-file --verify-diagnostics

shard.grid @ep(shape = 2)
func.func @main(%p: i1) {
  scf.if %p {
    // expected-error@+1 {{'kernel.window' op is inside a region; the host function makes its windows at its top level}}
    %w = kernel.window() on @ep as "w" : !kernel.window<2xi32>
  }
  return
}

// -----

shard.grid @ep(shape = 2)
func.func @main(%bytes: index) {
  %peers = kernel.windows %bytes on @ep : !kernel.peers
  // expected-error@+1 {{'kernel.window' op came after the plan of windows, whose memory is as large as it was planned}}
  %w = kernel.window() on @ep as "w" : !kernel.window<2xi32>
  return
}

// -----

shard.grid @ep(shape = 2)
func.func @main(%x: memref<index>) {
  %first = kernel.window() on @ep as "first" : !kernel.window<2xi32>
  %n = memref.load %x[] : memref<index>
  // expected-error@+1 {{'kernel.window' op 'rows' has a size that depends on a buffer's content}}
  %w = kernel.window(%n) on @ep as "rows" : !kernel.window<?x8xf32>
  return
}

// -----

shard.grid @ep(shape = 2)
kernel.func @begin(%came: !kernel.window<?xi32>) {
  kernel.advance %came : !kernel.window<?xi32>
  kernel.return
}
func.func @main(%n: index) {
  // expected-error@+1 {{'kernel.window' op 'came' holds flags, whose number must be a constant: they keep their place from call to call}}
  %came = kernel.window(%n) on @ep as "came" : !kernel.window<?xi32>
  kernel.launch @begin(%came) single rows(%n) work(%n) : !kernel.window<?xi32>
  return
}

// -----

shard.grid @ep(shape = 2)
func.func @main() {
  %n = arith.constant 4611686018427387904 : index
  // expected-error@+1 {{'kernel.window' op 'rows' of 4611686018427387904 rows of 32 bytes is larger than the memory of any machine}}
  %w = kernel.window(%n) on @ep as "rows" : !kernel.window<?x8xf32>
  return
}

// -----

shard.grid @ep(shape = 2)
func.func @main(%n: index) {
  // expected-error@+1 {{'kernel.window' op 'rows' of 1 rows of 8796093022208000 bytes is larger than the memory of any machine}}
  %w = kernel.window(%n) on @ep as "rows" : !kernel.window<?x1000x8796093022208xi8>
  return
}
