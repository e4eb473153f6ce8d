// Every level prints, says its level, and parses back to the same text.
// RUN: rm -rf %t && mkdir %t
// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v3 -o %t/in.mlir
// RUN: moe-compile %t/in.mlir -o %t/program --dump-intermediates=%t/ir --target-cpu=x86-64-v3 --progress=plain 2>&1 | FileCheck %s --check-prefix=PROGRESS
// RUN: ls %t %t/ir | FileCheck %s --check-prefix=FILES
// RUN: moe-compile %t/ir/3_kernel.mlir --to=kernel -q | diff - %t/ir/3_kernel.mlir
// RUN: moe-compile %t/ir/4_runtime.mlir --to=runtime -q | diff - %t/ir/4_runtime.mlir
// RUN: moe-compile %t/ir/3_kernel.mlir --to=runtime -q --target-cpu=x86-64-v3 | diff - %t/ir/4_runtime.mlir

// From the runtime level on, the same program comes out.
// RUN: mkdir %t/again && moe-compile %t/ir/4_runtime.mlir -o %t/again/program --target-cpu=x86-64-v3 -q
// RUN: diff %t/program %t/again/program && diff %t/program.weights %t/again/program.weights

// RUN: moe-compile %t/ir/4_runtime.mlir -o %t/libprogram.so --emit=lib --target-cpu=x86-64-v3 -q
// RUN: nm -D --defined-only %t/libprogram.so | FileCheck %s --check-prefix=LIB

// PROGRESS: [1/5] {{ *[0-9.]+}} s read in.mlir
// PROGRESS-NEXT: [2/5] {{ *[0-9.]+}} s lower to runtime
// PROGRESS-NEXT: [3/5] {{ *[0-9.]+}} s generate machine code
// PROGRESS-NEXT: [4/5] {{ *[0-9.]+}} s pack weights
// PROGRESS-NEXT: [5/5] {{ *[0-9.]+}} s link
// PROGRESS-NEXT: in all: {{.*}}program and {{.*}}program.weights
// FILES: in.mlir
// FILES-NEXT: ir
// FILES-NEXT: program{{$}}
// FILES-NEXT: program.weights
// FILES: 3_kernel.mlir
// FILES-NEXT: 4_runtime.mlir
// LIB: moert_model_programs
// LIB: moert_session_open
module attributes {moe.level = "kernel", moe.name = "double"} {
  kernel.func @twice(%x: memref<?xf32>, %y: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %m = memref.dim %x, %c0 : memref<?xf32>
    scf.forall (%i) in (%m) {
      %a = memref.load %x[%i] : memref<?xf32>
      %s = arith.addf %a, %a : f32
      memref.store %s, %y[%i] : memref<?xf32>
    }
    kernel.return
  }
  func.func @main(%x: memref<?xf32> {moe.name = "x", moe.dims = ["n"]}) -> (memref<?xf32> {moe.name = "y", moe.dims = ["n"]}) {
    %c0 = arith.constant 0 : index
    %m = memref.dim %x, %c0 : memref<?xf32>
    %y = memref.alloc(%m) : memref<?xf32>
    kernel.launch @twice(%x, %y) rows(%m) work(%m) : memref<?xf32>, memref<?xf32>
    return %y : memref<?xf32>
  }
}
