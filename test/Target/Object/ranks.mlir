// A program of two ranks, from level kernel to an object: each rank gives its rows to the other one, and gets them back
// added to their own. Nothing but functions of the runtime is needed, and kernels call one of them.
// RUN: moe-opt %s --kernel-to-runtime -o %t.mlir
// RUN: FileCheck %s --check-prefix=RUNTIME --input-file=%t.mlir
// RUN: moe-opt %t.mlir -o %t.again.mlir
// RUN: diff %t.mlir %t.again.mlir
// RUN: moe-translate --moe-to-llvmir %t.mlir | FileCheck %s --check-prefix=DESCRIPTOR
// RUN: moe-translate --moe-to-object %t.mlir -o %t.o
// RUN: llvm-nm %t.o | FileCheck %s --check-prefix=SYMBOLS
// The driver goes the same way, and says what the launches cost.
// RUN: moe-compile %s --weights=none --emit=obj -o %t.driver.o --report=%t.txt -q
// RUN: llvm-nm %t.driver.o | FileCheck %s --check-prefix=SYMBOLS
// RUN: FileCheck %s --check-prefix=REPORT --input-file=%t.txt
// A program for a GPU asks the runtime for the same.
// RUN: sed 's/kernel.target = [^>]*>, //' %s | moe-opt --kernel-set-target=target=cuda:h200 --kernel-to-runtime | FileCheck %s --check-prefixes=RUNTIME,GPU

// SYMBOLS-NOT: U {{[^m]}}
// SYMBOLS-DAG: D moert_model_programs
// SYMBOLS-DAG: U moert_agree
// SYMBOLS-DAG: U moert_await
// SYMBOLS-DAG: U moert_phase
// SYMBOLS-DAG: U moert_rank
// SYMBOLS-DAG: U moert_traffic
// SYMBOLS-DAG: U moert_windows
// SYMBOLS-NOT: U {{[^m]}}

// RUNTIME: moert.axes = [{name = "ep", ranks = 2 : i64, stride = 1 : i64}]
// RUNTIME-LABEL: llvm.func @moe_run
// RUNTIME: moert.agree
// RUNTIME: moert.windows
// RUNTIME: moert.launch %{{.*}}, @begin
// RUNTIME: moert.phase %{{.*}}, "rows to the other rank"
// RUNTIME: moert.launch %{{.*}}, @give
// RUNTIME: moert.traffic
// RUNTIME: moert.launch %{{.*}}, @collect
// GPU: llvm.return
// The flags are at the beginning of the windows, where they stay; rows follow.
// RUNTIME-NOT: kernel.
// RUNTIME-NOT: shard.

// DESCRIPTOR-DAG: @[[NAME:moert.string[.0-9]*]] = private constant [3 x i8] c"ep\00"
// DESCRIPTOR-DAG: @moert.axes = private {{.*}} [{ ptr, i32, i32 } { ptr @[[NAME]], i32 2, i32 1 }]
// DESCRIPTOR-DAG: @moert.inputs = private {{.*}} { ptr {{.*}}, i32 0, i32 2, [8 x i64] [i64 -1, i64 8, {{.*}}], i64 0, i64 -1, i32 -1, i32 0, i32 1, ptr null, i32 0 }
// DESCRIPTOR-DAG: @moert.outputs = private {{.*}}, i32 -1, i32 0, i32 1, ptr null, i32 0 }
// DESCRIPTOR-DAG: @moert.parameters = private {{.*}} { ptr {{.*}}, i32 0, i32 2, [8 x i64] [i64 4, i64 8, {{.*}}], [2 x i32] [i32 0, i32 -1], i32 -1, i64 0 }
// DESCRIPTOR-DAG: @moert.program = private {{.*}} { i32 9, i32 0, ptr {{.*}}, ptr null, i32 1, ptr @moert.axes, ptr null, i32 1, ptr @moe_run }

// REPORT-DAG: give
// REPORT-DAG: collect
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>, moe.name = "neighbours", moe.level = "kernel"} {
  shard.grid @ep(shape = 2)

  kernel.func @begin(%came: !kernel.window<2xi32>) {
    kernel.advance %came : !kernel.window<2xi32>
    kernel.return
  }

  // Rows for a peer stand from row me * room on, so that two ranks never write to one place.
  kernel.func @give(%x: memref<?x8xf32>, %rows: !kernel.window<?x8xf32>, %counts: !kernel.window<2xi64>, %came: !kernel.window<2xi32>, %me: index, %room: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = memref.dim %x, %c0 : memref<?x8xf32>
    %first = arith.muli %me, %room : index
    %count = arith.index_cast %t : index to i64
    scf.forall (%peer) in (2) {
      scf.parallel (%i) = (%c0) to (%t) step (%c1) {
        %to = arith.addi %first, %i : index
        kernel.put %x[%i], %rows[%peer][%to] : memref<?x8xf32>, !kernel.window<?x8xf32>
        scf.reduce
      }
      %there = kernel.part %counts[%peer] : !kernel.window<2xi64> -> memref<2xi64>
      memref.store %count, %there[%me] : memref<2xi64>
      %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
      kernel.signal %came[%peer][%me], %epoch : !kernel.window<2xi32>
    }
    kernel.return
  }

  // y[i] = x[i] * w + what the next rank has as its row i, as far as it has one.
  kernel.func @collect(%x: memref<?x8xf32>, %rows: !kernel.window<?x8xf32>, %counts: !kernel.window<2xi64>, %came: !kernel.window<2xi32>, %me: index, %room: index, %w: memref<2x8xf32>, %y: memref<?x8xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %t = memref.dim %x, %c0 : memref<?x8xf32>
    %after = arith.addi %me, %c1 : index
    %next = arith.remui %after, %c2 : index
    %first = arith.muli %next, %room : index
    %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
    kernel.await %came[%next] reach %epoch from %next : !kernel.window<2xi32>
    %ownRows = kernel.part %rows : !kernel.window<?x8xf32> -> memref<?x8xf32>
    %ownCounts = kernel.part %counts : !kernel.window<2xi64> -> memref<2xi64>
    %count = memref.load %ownCounts[%next] : memref<2xi64>
    %n = arith.index_cast %count : i64 to index
    scf.forall (%i) in (%t) {
      scf.for %c = %c0 to %c8 step %c1 {
        %a = memref.load %x[%i, %c] : memref<?x8xf32>
        %s = memref.load %w[%c0, %c] : memref<2x8xf32>
        %own = arith.mulf %a, %s : f32
        %exists = arith.cmpi ult, %i, %n : index
        %sum = scf.if %exists -> (f32) {
          %from = arith.addi %first, %i : index
          %b = memref.load %ownRows[%from, %c] : memref<?x8xf32>
          %both = arith.addf %own, %b : f32
          scf.yield %both : f32
        } else {
          scf.yield %own : f32
        }
        memref.store %sum, %y[%i, %c] : memref<?x8xf32>
      }
    }
    kernel.return
  }

  func.func @main(%x: memref<?x8xf32> {moe.name = "x", moe.dims = ["tokens", ""], moe.split = @ep})
      -> (memref<?x8xf32> {moe.name = "y", moe.dims = ["tokens", ""], moe.split = @ep}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %w = moe.parameter ["w"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 2>] : memref<2x8xf32>
    %t = memref.dim %x, %c0 : memref<?x8xf32>
    %me = kernel.rank on @ep : index
    %room = kernel.agree %t on @ep : index
    %all = arith.muli %room, %c2 : index
    %rows = kernel.window(%all) on @ep as "rows" : !kernel.window<?x8xf32>
    %counts = kernel.window() on @ep as "counts" : !kernel.window<2xi64>
    %came = kernel.window() on @ep as "rows came" : !kernel.window<2xi32>
    kernel.launch @begin(%came) single rows(%c1) work(%c1) : !kernel.window<2xi32>
    kernel.launch @give(%x, %rows, %counts, %came, %me, %room) rows(%t) work(%t)
        {moe.phase = "rows to the other rank", moe.traffic = {grid = @ep, rows = 5, row_bytes = 32, fixed_bytes = 12}}
        : memref<?x8xf32>, !kernel.window<?x8xf32>, !kernel.window<2xi64>, !kernel.window<2xi32>, index, index
    %y = memref.alloc(%t) : memref<?x8xf32>
    kernel.launch @collect(%x, %rows, %counts, %came, %me, %room, %w, %y) rows(%t) work(%t) {moe.phase = "rows to the other rank"}
        : memref<?x8xf32>, !kernel.window<?x8xf32>, !kernel.window<2xi64>, !kernel.window<2xi32>, index, index, memref<2x8xf32>, memref<?x8xf32>
    return %y : memref<?x8xf32>
  }
}
