// RUN: moe-opt %s --kernel-plan-memory --split-input-file --verify-diagnostics

func.func @nested(%p: i1) {
  scf.if %p {
    // expected-error@+1 {{'memref.alloc' op is inside a region; the host function allocates at its top level}}
    %a = memref.alloc() : memref<4xf32>
  }
  return
}

// -----

func.func @selected(%p: i1, %x: memref<4xf32>) {
  %a = memref.alloc() : memref<4xf32>
  // expected-error@+1 {{'arith.select' op makes a buffer from another in a way that the memory plan does not follow}}
  %b = arith.select %p, %a, %x : memref<4xf32>
  return
}

// -----

func.func @content(%x: memref<index>) {
  %a = memref.alloc() : memref<4xf32>
  %n = memref.load %x[] : memref<index>
  // expected-error@+1 {{needs memory whose size the program computes in a kernel}}
  %b = memref.alloc(%n) : memref<?xf32>
  return
}

// -----

func.func @layout() {
  // expected-error@+1 {{'memref.alloc' op must be a contiguous buffer of numbers, got 'memref<4x4xf32, strided<[1, 4]>>'}}
  %a = memref.alloc() : memref<4x4xf32, strided<[1, 4]>>
  return
}

// -----

kernel.func @use(%x: memref<4xf32>) {
  kernel.return
}

func.func @planned(%bytes: index, %m: index) {
  %arena = memref.alloc(%bytes) {kernel.arena} : memref<?xi8>
  // expected-error@+1 {{'memref.alloc' op came after the memory plan, whose arena is as large as it was planned}}
  %a = memref.alloc() : memref<4xf32>
  kernel.launch @use(%a) rows(%m) work(%m) : memref<4xf32>
  return
}
