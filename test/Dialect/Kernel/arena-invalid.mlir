// RUN: moe-opt %s --split-input-file --verify-diagnostics

func.func @value(%bytes: index) {
  // expected-error@+1 {{'memref.alloc' op 'kernel.arena' is a unit attribute of memref.alloc}}
  %arena = memref.alloc(%bytes) {kernel.arena = 1} : memref<?xi8>
  return
}

// -----

// expected-error@+1 {{'func.func' op 'kernel.arena' is a unit attribute of memref.alloc}}
func.func @function() attributes {kernel.arena} {
  return
}

// -----

func.func @size() {
  // expected-error@+1 {{'memref.alloc' op is an arena, which is 'memref<?xi8>', got 'memref<64xi8>'}}
  %arena = memref.alloc() {kernel.arena} : memref<64xi8>
  return
}

// -----

func.func @element(%bytes: index) {
  // expected-error@+1 {{'memref.alloc' op is an arena, which is 'memref<?xi8>', got 'memref<?xf32>'}}
  %arena = memref.alloc(%bytes) {kernel.arena} : memref<?xf32>
  return
}

// -----

func.func @loop(%bytes: index, %p: i1) {
  scf.if %p {
    // expected-error@+1 {{'memref.alloc' op is an arena inside a region; a host function allocates at its top level}}
    %arena = memref.alloc(%bytes) {kernel.arena} : memref<?xi8>
  }
  return
}

// -----

func.func @two(%bytes: index) {
  %first = memref.alloc(%bytes) {kernel.arena} : memref<?xi8>
  // expected-error@+1 {{'memref.alloc' op is a second arena of its function; both would be the same memory}}
  %second = memref.alloc(%bytes) {kernel.arena} : memref<?xi8>
  return
}

// -----

// Each function has its own.
func.func @one(%bytes: index) {
  %arena = memref.alloc(%bytes) {kernel.arena} : memref<?xi8>
  return
}

func.func @other(%bytes: index) {
  %arena = memref.alloc(%bytes) {kernel.arena} : memref<?xi8>
  return
}
