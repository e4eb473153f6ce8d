// RUN: moe-opt %s --split-input-file --verify-diagnostics

func.func @main() {
  // expected-error@+1 {{'kernel.launch_group' op has no launch}}
  kernel.launch_group {
  }
  return
}

// -----

kernel.func @k(%n: index) {
  kernel.return
}
func.func @main(%n: index) {
  kernel.launch_group {
    // expected-error@+1 {{'arith.addi' op stands in a kernel.launch_group, which has launches only; move it in front of the group}}
    %m = arith.addi %n, %n : index
    kernel.launch @k(%m) rows(%n) work(%n) : index
  }
  return
}

// -----

kernel.func @k(%n: index) {
  kernel.return
}
func.func @main(%n: index) {
  // expected-error@+1 {{'kernel.launch' op says by 'lag' how it stands to the other launches of a kernel.launch_group, but is in none}}
  kernel.launch @k(%n) lag(1) rows(%n) work(%n) : index
  return
}

// -----

kernel.func @k(%n: index) {
  kernel.return
}
func.func @main(%n: index) {
  // expected-error@+1 {{'kernel.launch' op has both 'single' and 'blocks'; leave one out}}
  kernel.launch @k(%n) single blocks(2) rows(%n) work(%n) : index
  return
}

// -----

kernel.func @k(%n: index) {
  kernel.return
}
func.func @main(%n: index) {
  // expected-error@+1 {{'kernel.launch' op blocks must be from 1 to 1048576, got 0}}
  kernel.launch @k(%n) blocks(0) rows(%n) work(%n) : index
  return
}

// -----

kernel.func @k(%n: index) {
  %s = kernel.phase : index
  kernel.return
}
func.func @main(%n: index) {
  // expected-error@+1 {{'kernel.launch' op phases must be from 1 to 1048576, got -3}}
  kernel.launch @k(%n) phases(-3) rows(%n) work(%n) : index
  return
}

// -----

kernel.func @k(%n: index) {
  kernel.return
}
func.func @main(%n: index) {
  kernel.launch_group {
    // expected-error@+1 {{'kernel.launch' op lag must be from 0 to 1048576, got 1048577}}
    kernel.launch @k(%n) lag(1048577) rows(%n) work(%n) : index
  }
  return
}

// -----

kernel.func @k(%n: index) {
  kernel.return
}
func.func @main(%n: index) {
  // expected-error@+1 {{'kernel.launch' op has 2 phases, but @k does not ask for its phase (kernel.phase): it would do its work 2 times}}
  kernel.launch @k(%n) phases(2) rows(%n) work(%n) : index
  return
}

// -----

func.func @main() {
  // expected-error@+1 {{'kernel.phase' op is an op of kernels; a host function launches them}}
  %s = kernel.phase : index
  return
}

// -----

kernel.func @k() {
  scf.forall (%i) in (2) {
    // expected-error@+1 {{'kernel.phase' op stands in a loop or a branch; a kernel asks for its phase at its top level}}
    %s = kernel.phase : index
  }
  kernel.return
}

// -----

kernel.func @k() {
  // expected-error@+1 {{'kernel.phase' op stands a second time in its kernel}}
  %s = kernel.phase : index
  %t = kernel.phase : index
  kernel.return
}

// -----

func.func @main(%done: memref<2xi32>, %n: index) {
  // expected-error@+1 {{'kernel.arrive' op is an op of kernels; a host function launches them}}
  kernel.arrive %done[%n] : memref<2xi32>
  return
}

// -----

kernel.func @k(%done: memref<8xi32>, %n: index) {
  %every = memref.subview %done[0] [4] [2] : memref<8xi32> to memref<4xi32, strided<[2]>>
  // expected-error@+1 {{'kernel.await_arrivals' op counters must be a contiguous memref, got 'memref<4xi32, strided<[2]>>'}}
  kernel.await_arrivals %every[%n] reach %n : memref<4xi32, strided<[2]>>
  kernel.return
}

// -----

kernel.func @k(%done: memref<8xi64>, %n: index) {
  // expected-error@+1 {{'kernel.arrive' op operand #0 must be 1D memref of 32-bit signless integer values, but got 'memref<8xi64>'}}
  kernel.arrive %done[%n] : memref<8xi64>
  kernel.return
}
