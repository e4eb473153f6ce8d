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

// expected-error@+1 {{'func.func' op 'x' of 'memref<?x4xf32>' needs a name in 'moe.dims' for each dimension, or "": 2 in all, got 1}}
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

// -----

kernel.func @layout(%offsets: memref<5xi64>) {
  kernel.return
}
func.func @main(%offsets: memref<5xi64> {moe.name = "offsets"}) {
  %n = arith.constant 4 : index
  // expected-error@+2 {{failed to legalize operation 'kernel.launch'}}
  // expected-error@+1 {{'kernel.launch' op 'moe.expert_load' must be {layer = "name", offsets = <number of an operand of type memref<experts + 1 x i32>>}, got {layer = "0", offsets = 0 : i64}}}
  kernel.launch @layout(%offsets) rows(%n) work(%n) {moe.expert_load = {layer = "0", offsets = 0}} : memref<5xi64>
  return
}

// -----

// expected-error@+1 {{'func.func' op must have a body of one block}}
func.func @main(%n: memref<4xf32> {moe.name = "x"}) {
  cf.br ^end
^end:
  return
}

// -----

// expected-error@+1 {{module has no host function @main}}
module {
  func.func private @main(memref<4xf32>)
}

// -----

kernel.func @use(%w: tensor<4xf32>) {
  kernel.return
}
func.func @main() {
  %c1 = arith.constant 1 : index
  // expected-error@+2 {{'moe.parameter' op must be a static memref at this level, got 'tensor<4xf32>'}}
  // expected-error@+1 {{failed to legalize operation 'moe.parameter'}}
  %w = moe.parameter ["w"] : tensor<4xf32>
  kernel.launch @use(%w) rows(%c1) work(%c1) : tensor<4xf32>
  return
}

// -----

// The size of an output must be known before the kernels run.
kernel.func @count(%n: memref<1xindex>) {
  kernel.return
}
// expected-error@+1 {{'func.func' op result 0 has a size that depends on another buffer's content}}
func.func @main(%counts: memref<1xindex>, %m: memref<?xf32>) -> memref<?x2xf32> {
  %c0 = arith.constant 0 : index
  %size = memref.dim %m, %c0 : memref<?xf32>
  %y = memref.alloc(%size) : memref<?xf32>
  kernel.launch @count(%counts) rows(%c0) work(%c0) : memref<1xindex>
  %n = memref.load %counts[%c0] : memref<1xindex>
  %z = memref.expand_shape %y [[0, 1]] output_shape [%n, 2] : memref<?xf32> into memref<?x2xf32>
  return %z : memref<?x2xf32>
}

// -----

// Names that are not given count as well.
// expected-error@+1 {{'func.func' op outputs 0 and 1 have one name, 'output1'; give each its own in 'moe.name'}}
func.func @main(%a: memref<4xf32> {moe.name = "x"}) -> (memref<4xf32> {moe.name = "output1"}, memref<4xf32>) {
  return %a, %a : memref<4xf32>, memref<4xf32>
}

// -----

// expected-error@+1 {{'func.func' op holds a zero byte in its name, by which callers choose an entry}}
func.func @"a\00b"() {
  return
}

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  memref.global "private" constant @table : memref<2xi128> = dense<[1, 2]>
  kernel.func @k(%t: memref<2xi128>) {
    kernel.return
  }
  func.func @main(%x: memref<4xf32> {moe.name = "x"}) {
    %n = arith.constant 2 : index
    // expected-error@+1 {{'memref.get_global' op of 'memref<2xi128>' cannot be copied to a GPU}}
    %t = memref.get_global @table : memref<2xi128>
    kernel.launch @k(%t) rows(%n) work(%n) : memref<2xi128>
    return
  }
}

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  memref.global "private" constant @table : memref<2xi33> = dense<[1, 2]>
  kernel.func @k(%t: memref<2xi33>) {
    kernel.return
  }
  func.func @main(%x: memref<4xf32> {moe.name = "x"}) {
    %n = arith.constant 2 : index
    // expected-error@+1 {{'memref.get_global' op of 'memref<2xi33>' cannot be copied to a GPU}}
    %t = memref.get_global @table : memref<2xi33>
    kernel.launch @k(%t) rows(%n) work(%n) : memref<2xi33>
    return
  }
}

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  memref.global "private" constant @table : memref<2xtf32> = dense<[1.0, 2.0]>
  kernel.func @k(%t: memref<2xtf32>) {
    kernel.return
  }
  func.func @main(%x: memref<4xf32> {moe.name = "x"}) {
    %n = arith.constant 2 : index
    // expected-error@+1 {{'memref.get_global' op of 'memref<2xtf32>' cannot be copied to a GPU}}
    %t = memref.get_global @table : memref<2xtf32>
    kernel.launch @k(%t) rows(%n) work(%n) : memref<2xtf32>
    return
  }
}

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  memref.global "private" constant @table : memref<2xf32, 1> = dense<[1.0, 2.0]>
  kernel.func @k(%t: memref<2xf32, 1>) {
    kernel.return
  }
  func.func @main(%x: memref<4xf32> {moe.name = "x"}) {
    %n = arith.constant 2 : index
    // expected-error@+1 {{'memref.get_global' op of 'memref<2xf32, 1>' cannot be copied to a GPU}}
    %t = memref.get_global @table : memref<2xf32, 1>
    kernel.launch @k(%t) rows(%n) work(%n) : memref<2xf32, 1>
    return
  }
}

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  memref.global "private" @table : memref<2xf32> = dense<[1.0, 2.0]>
  kernel.func @k(%t: memref<2xf32>) {
    kernel.return
  }
  func.func @main(%x: memref<4xf32> {moe.name = "x"}) {
    %n = arith.constant 2 : index
    // expected-error@+1 {{'memref.get_global' op names @table, which is no constant: programs for a GPU have no others}}
    %t = memref.get_global @table : memref<2xf32>
    kernel.launch @k(%t) rows(%n) work(%n) : memref<2xf32>
    return
  }
}

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  memref.global "private" constant @table : memref<2xf32> = uninitialized
  kernel.func @k(%t: memref<2xf32>) {
    kernel.return
  }
  func.func @main(%x: memref<4xf32> {moe.name = "x"}) {
    %n = arith.constant 2 : index
    // expected-error@+1 {{'memref.get_global' op names @table, which is no constant: programs for a GPU have no others}}
    %t = memref.get_global @table : memref<2xf32>
    kernel.launch @k(%t) rows(%n) work(%n) : memref<2xf32>
    return
  }
}

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  func.func @main(%x: memref<4xf32> {moe.name = "x"}) -> (memref<4xf32> {moe.name = "y"}) {
    %c0 = arith.constant 0 : index
    %y = memref.alloc() : memref<4xf32>
    %size = arith.constant 64 : index
    %bytes = memref.alloc(%size) {kernel.arena} : memref<?xi8>
    %wide = memref.view %bytes[%c0][] : memref<?xi8> to memref<4xi33>
    // expected-error@+1 {{'memref.load' op of a value of type 'i33' cannot be read from a GPU}}
    %value = memref.load %wide[%c0] : memref<4xi33>
    %zero = arith.constant 0 : i33
    %holds = arith.cmpi eq, %value, %zero : i33
    kernel.check %holds, "it is not zero"
    return %y : memref<4xf32>
  }
}
