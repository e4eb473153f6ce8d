// RUN: split-file %s %t
// RUN: not moe-translate --moe-to-object %t/target.mlir 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not moe-translate --moe-to-object %t/program.mlir 2>&1 | FileCheck %s --check-prefix=PROGRAM
// RUN: not moe-translate --moe-to-object %t/generation.mlir 2>&1 | FileCheck %s --check-prefix=GENERATION
// RUN: not moe-translate --moe-to-object %t/dtype.mlir 2>&1 | FileCheck %s --check-prefix=DTYPE

//--- target.mlir
// TARGET: error: module has no 'kernel.target' attribute; run kernel-set-target first
module {
}

//--- program.mlir
// PROGRAM: error: module has no 'moert.program' attribute; run convert-host-to-moert first
module attributes {kernel.target = {columns = 16, cpu = "x86-64-v3", rows = 6, vector = 8}} {
}

//--- generation.mlir
// GENERATION: error: 'moe.generation' names 'ids' as tokens, but no entry of inputs has that name
module attributes {kernel.target = {columns = 16, cpu = "x86-64-v3", rows = 6, vector = 8},
                   moe.generation = {tokens = "ids", position = "p", logits = "l"},
                   moert.parameters = []} {
  llvm.func @moe_run(%c: !llvm.ptr) -> i32 attributes {moert.program = {inputs = [], outputs = [], states = [], symbols = []}} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}

//--- dtype.mlir
// DTYPE: error: 'x' has elements of type 'f8E4M3FN', which the runtime does not have
module attributes {kernel.target = {columns = 16, cpu = "x86-64-v3", rows = 6, vector = 8},
                   moert.parameters = []} {
  llvm.func @moe_run(%c: !llvm.ptr) -> i32
      attributes {moert.program = {inputs = [{name = "x", type = memref<4xf8E4M3FN>, dims = array<i64>}], outputs = [],
                                   states = [], symbols = []}} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %0 : i32
  }
}
