// RUN: moe-opt %s --convert-host-to-moert --split-input-file --verify-diagnostics

// expected-error@+1 {{module has no host function @main}}
module {
}

// -----

func.func @main() {
  // expected-error@+1 {{'memref.alloc' op is neither returned nor planned; run kernel-plan-memory first}}
  %a = memref.alloc() : memref<4xf32>
  return
}

// -----

// expected-error@+1 {{'func.func' op 'x' must be a contiguous memref, got 'index'}}
func.func @main(%x: index {moe.name = "x"}) {
  return
}

// -----

// expected-error@+1 {{'func.func' op 'x' of 'memref<?x4xf32>' has 1 names of dimensions in 'moe.dims'}}
func.func @main(%x: memref<?x4xf32> {moe.name = "x", moe.dims = ["batch"]}) {
  return
}

// -----

// expected-error@+1 {{'func.func' op no input gives the size 'length' of state 'cache'}}
func.func @main(%x: memref<?xf32> {moe.dims = ["batch"]},
                %cache: memref<?xf32> {moe.name = "cache", moe.state, moe.dims = ["length"]}) {
  return
}

// -----

// expected-error@+1 {{'func.func' op 'moe.range' of 'x' must be [lo, hi], got [0]}}
func.func @main(%x: memref<4xi64> {moe.name = "x", moe.range = [0]}) {
  return
}
