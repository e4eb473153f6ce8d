// RUN: split-file %s %t
// RUN: not moe-translate --moe-to-object %t/target.mlir 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not moe-translate --moe-to-object %t/program.mlir 2>&1 | FileCheck %s --check-prefix=PROGRAM
// RUN: not moe-translate --moe-to-object %t/generation.mlir 2>&1 | FileCheck %s --check-prefix=GENERATION
// RUN: not moe-translate --moe-to-object %t/dtype.mlir 2>&1 | FileCheck %s --check-prefix=DTYPE
// RUN: not moe-translate --moe-to-object %t/tokens.mlir 2>&1 | FileCheck %s --check-prefix=TOKENS
// RUN: not moe-translate --moe-to-object %t/logits.mlir 2>&1 | FileCheck %s --check-prefix=LOGITS
// RUN: not moe-translate --moe-to-object %t/length.mlir 2>&1 | FileCheck %s --check-prefix=LENGTH
// RUN: not moe-translate --moe-to-object %t/range.mlir 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not moe-translate --moe-to-object %t/sizes.mlir 2>&1 | FileCheck %s --check-prefix=SIZES
// RUN: sed 's/array<i64: 1, 4>/[1, 4]/' %t/sizes.mlir > %t/list.mlir
// RUN: not moe-translate --moe-to-object %t/list.mlir 2>&1 | FileCheck %s --check-prefix=SIZES
// RUN: sed 's/array<i64: 1, 4>/array<i64: 4, 1, 0, 9>/' %t/sizes.mlir > %t/empty.mlir
// RUN: not moe-translate --moe-to-object %t/empty.mlir 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not moe-translate --moe-to-object %t/keep.mlir 2>&1 | FileCheck %s --check-prefix=KEEP
// RUN: not moe-translate --moe-to-object %t/axis.mlir 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not moe-translate --moe-to-object %t/ranks.mlir 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not moe-translate --moe-to-object %t/part.mlir 2>&1 | FileCheck %s --check-prefix=PART
// RUN: not moe-translate --moe-to-object %t/dims.mlir 2>&1 | FileCheck %s --check-prefix=DIMS
// RUN: not moe-translate --moe-to-object %t/pieces.mlir 2>&1 | FileCheck %s --check-prefix=PIECES
// RUN: not moe-translate --moe-to-object %t/axes.mlir 2>&1 | FileCheck %s --check-prefix=AXES
// RUN: not moe-translate --moe-to-object %t/graph.mlir 2>&1 | FileCheck %s --check-prefix=GRAPH
// RUN: not moe-translate --moe-to-llvmir %t/kernel.mlir 2>&1 | FileCheck %s --check-prefix=KERNEL

//--- graph.mlir
// GRAPH: error: 'func.func' op is not an op of level runtime, of which machine code is made (moe-compile --to=runtime)
module attributes {moe.level = "graph"} {
  func.func @main(%x: tensor<4xf32> {moe.name = "x"}) -> (tensor<4xf32> {moe.name = "y"}) {
    %y = math.tanh %x : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}

//--- kernel.mlir
// KERNEL: error: 'kernel.func' op is not an op of level runtime, of which machine code is made (moe-compile --to=runtime)
kernel.func @f() {
  kernel.return
}

//--- target.mlir
// TARGET: error: module has no 'kernel.target' attribute; run kernel-set-target first
module {
}

//--- program.mlir
// PROGRAM: error: module has no 'moert.program' attribute; run convert-host-to-moert first
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>} {
}

//--- generation.mlir
// GENERATION: error: 'moe.generation' names 'ids' as tokens, but no entry of inputs has that name
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>,
                   moe.generation = {tokens = "ids", position = "p", logits = "l"},
                   moert.parameters = []} {
  llvm.func @moe_run(%c: !llvm.ptr) -> i32 attributes {moert.program = {inputs = [], outputs = [], states = [], symbols = []}} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}

//--- dtype.mlir
// DTYPE: error: 'x' has elements of type 'f8E4M3FN', which the runtime does not have
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>,
                   moert.parameters = []} {
  llvm.func @moe_run(%c: !llvm.ptr) -> i32
      attributes {moert.program = {inputs = [{name = "x", type = memref<4xf8E4M3FN>, dims = array<i64>}], outputs = [],
                                   states = [], symbols = []}} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}

//--- tokens.mlir
// TOKENS: error: 'moe.generation' names 'ids' as tokens, which is memref<?x?xi32> instead of [batch, tokens] of i64
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>,
                   moe.generation = {tokens = "ids", position = "at", logits = "l", vocab_size = 32, cache_length = 8},
                   moert.parameters = []} {
  llvm.func @moe_run(%c: !llvm.ptr) -> i32
      attributes {moert.program = {inputs = [{name = "ids", type = memref<?x?xi32>, dims = array<i64: 0, 1>},
                                             {name = "at", type = memref<?xi64>, dims = array<i64: 0>}],
                                   outputs = [{name = "l", type = memref<?x?x32xf32>, dims = array<i64: 0, 1>}],
                                   states = [], symbols = ["b", "s", "v"]}} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}

//--- logits.mlir
// LOGITS: error: 'moe.generation' names 'l' as logits, which is memref<?x?x?xf32> instead of [batch, tokens, 32] of floating-point numbers
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>,
                   moe.generation = {tokens = "ids", position = "at", logits = "l", vocab_size = 32, cache_length = 8},
                   moert.parameters = []} {
  llvm.func @moe_run(%c: !llvm.ptr) -> i32
      attributes {moert.program = {inputs = [{name = "ids", type = memref<?x?xi64>, dims = array<i64: 0, 1>},
                                             {name = "at", type = memref<?xi64>, dims = array<i64: 0>}],
                                   outputs = [{name = "l", type = memref<?x?x?xf32>, dims = array<i64: 0, 1, 2>}],
                                   states = [], symbols = ["b", "s", "v"]}} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}

//--- length.mlir
// LENGTH: error: 'moe.generation' has no cache_length, without which the program cannot generate text
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>,
                   moe.generation = {tokens = "ids", position = "at", logits = "l", vocab_size = 32},
                   moert.parameters = []} {
  llvm.func @moe_run(%c: !llvm.ptr) -> i32
      attributes {moert.program = {inputs = [{name = "ids", type = memref<?x?xi64>, dims = array<i64: 0, 1>},
                                             {name = "at", type = memref<?xi64>, dims = array<i64: 0>}],
                                   outputs = [{name = "l", type = memref<?x?x32xf32>, dims = array<i64: 0, 1>}],
                                   states = [], symbols = ["b", "s", "v"]}} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}

//--- range.mlir
// RANGE: error: 'moe.generation' says cache_length = 80, but the range of 'at' ends at 7, with room for 8 tokens
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>,
                   moe.generation = {tokens = "ids", position = "at", logits = "l", vocab_size = 32, cache_length = 80},
                   moert.parameters = []} {
  llvm.func @moe_run(%c: !llvm.ptr) -> i32
      attributes {moert.program = {inputs = [{name = "ids", type = memref<?x?xi64>, dims = array<i64: 0, 1>},
                                             {name = "at", type = memref<?xi64>, dims = array<i64: 0>, lo = 0, hi = 7}],
                                   outputs = [{name = "l", type = memref<?x?x32xf32>, dims = array<i64: 0, 1>}],
                                   states = [], symbols = ["b", "s", "v"]}} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}

//--- sizes.mlir
// EMPTY: error: 'dim_ranges' of 'x' holds no size for dimension 0
// SIZES: error: 'dim_ranges' of 'x' of rank 2 must hold two numbers for each dimension
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>,
                   moert.parameters = []} {
  llvm.func @moe_run(%c: !llvm.ptr) -> i32
      attributes {moert.program = {inputs = [{name = "x", type = memref<?x4xf32>, dims = array<i64: 0>,
                                              dim_ranges = array<i64: 1, 4>}],
                                   outputs = [], states = [], symbols = ["t"]}} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}

//--- keep.mlir
// KEEP: error: 'moe.generation' names one input as position and as keep
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>,
                   moe.generation = {tokens = "ids", position = "at", logits = "l", vocab_size = 32, cache_length = 8, keep = "at"},
                   moert.parameters = []} {
  llvm.func @moe_run(%c: !llvm.ptr) -> i32
      attributes {moert.program = {inputs = [{name = "ids", type = memref<?x?xi64>, dims = array<i64: 0, 1>},
                                             {name = "at", type = memref<?xi64>, dims = array<i64: 0>}],
                                   outputs = [{name = "l", type = memref<?x?x32xf32>, dims = array<i64: 0, 1>}],
                                   states = [], symbols = ["b", "s", "v"]}} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}

//--- axis.mlir
// AXIS: error: 'x' is divided along an axis that 'moert.axes' does not have
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>,
                   moert.axes = [{name = "ep", ranks = 2, stride = 1}], moert.parameters = []} {
  llvm.func @moe_run(%c: !llvm.ptr) -> i32
      attributes {moert.program = {inputs = [{name = "x", type = memref<?xf32>, dims = array<i64: 0>, axes = array<i64: 1>}], outputs = [],
                                   states = [], symbols = ["n"]}} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}

//--- ranks.mlir
// RANKS: error: 'moert.axes' has an entry without name, ranks or stride
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>,
                   moert.axes = [{name = "ep", ranks = 0, stride = 1}], moert.parameters = []} {
  llvm.func @moe_run(%c: !llvm.ptr) -> i32
      attributes {moert.program = {inputs = [], outputs = [], states = [], symbols = []}} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}

//--- part.mlir
// PART: error: parameter 'w' has 3 elements in dimension 0, which 2 ranks cannot share equally
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>,
                   moert.axes = [{name = "ep", ranks = 2, stride = 1}],
                   moert.parameters = [{key = "w", sources = ["w"], recipe = [], type = memref<3xf32>, axes = array<i64: 0>}]} {
  llvm.func @moe_run(%c: !llvm.ptr) -> i32
      attributes {moert.program = {inputs = [], outputs = [], states = [], symbols = []}} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}

//--- dims.mlir
// DIMS: error: parameter 'w' of rank 1 names axes for 2 dimensions; ranks can share the first 2
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>,
                   moert.axes = [{name = "ep", ranks = 2, stride = 1}, {name = "etp", ranks = 2, stride = 1}],
                   moert.parameters = [{key = "w", sources = ["w"], recipe = [], type = memref<4xf32>, axes = array<i64: 1, 0>}]} {
  llvm.func @moe_run(%c: !llvm.ptr) -> i32
      attributes {moert.program = {inputs = [], outputs = [], states = [], symbols = []}} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}

//--- pieces.mlir
// PIECES: error: parameter 'w' is divided along dimension 1, so each rank needs one element of dimension 0
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>,
                   moert.axes = [{name = "ep", ranks = 2, stride = 1}, {name = "etp", ranks = 2, stride = 1}],
                   moert.parameters = [{key = "w", sources = ["w"], recipe = [], type = memref<4x4xf32>, axes = array<i64: 1, 0>}]} {
  llvm.func @moe_run(%c: !llvm.ptr) -> i32
      attributes {moert.program = {inputs = [], outputs = [], states = [], symbols = []}} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}

//--- axes.mlir
// AXES: error: 'moert.axes' has more than 16 entries
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>,
                   moert.axes = [{name = "a0", ranks = 1, stride = 1}, {name = "a1", ranks = 1, stride = 1}, {name = "a2", ranks = 1, stride = 1}, {name = "a3", ranks = 1, stride = 1}, {name = "a4", ranks = 1, stride = 1}, {name = "a5", ranks = 1, stride = 1}, {name = "a6", ranks = 1, stride = 1}, {name = "a7", ranks = 1, stride = 1}, {name = "a8", ranks = 1, stride = 1}, {name = "a9", ranks = 1, stride = 1}, {name = "a10", ranks = 1, stride = 1}, {name = "a11", ranks = 1, stride = 1}, {name = "a12", ranks = 1, stride = 1}, {name = "a13", ranks = 1, stride = 1}, {name = "a14", ranks = 1, stride = 1}, {name = "a15", ranks = 1, stride = 1}, {name = "a16", ranks = 1, stride = 1}],
                   moert.parameters = []} {
  llvm.func @moe_run(%c: !llvm.ptr) -> i32
      attributes {moert.program = {inputs = [], outputs = [], states = [], symbols = []}} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}
