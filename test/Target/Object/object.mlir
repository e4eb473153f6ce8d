// RUN: moe-opt %s --kernel-set-target=target=cpu:znver4 --kernel-to-runtime -o %t.mlir
// The runtime level parses back to itself.
// RUN: moe-opt %t.mlir -o %t.again.mlir
// RUN: diff %t.mlir %t.again.mlir
// RUN: moe-translate --moe-to-object %t.mlir -o %t.o
// RUN: llvm-nm %t.o | FileCheck %s --check-prefix=SYMBOLS
// The same bytes each time.
// RUN: moe-translate --moe-to-object %t.mlir -o %t.again.o
// RUN: cmp %t.o %t.again.o
// RUN: moe-translate --moe-to-llvmir %t.mlir | FileCheck %s --check-prefix=DESCRIPTOR
// RUN: moe-translate --moe-to-assembly %t.mlir -o %t.s
// RUN: FileCheck %s --check-prefix=LOOP --input-file %t.s
// RUN: grep -c vdpbf16ps %t.s | FileCheck %s --check-prefix=PRODUCTS

// One symbol is visible, the runtime's functions are all that is needed.
// SYMBOLS-NOT: U {{[^m]}}
// SYMBOLS: D moert_model_programs
// SYMBOLS-NOT: {{ [TDBR] }}

// DESCRIPTOR-DAG: c"linear\00"
// DESCRIPTOR-DAG: c"example\00"
// DESCRIPTOR-DAG: c"batch\00"
// DESCRIPTOR-DAG: avx512_bf16
// DESCRIPTOR-DAG: @moert.program = private {{.*}} { i32 9, i32 0, ptr {{.*}}, i32 1, i32 1, i32 0, i32 1, i32 1, i32 1, ptr {{.*}}, ptr null, i32 0, ptr null, ptr null, i32 0, ptr @moe_run }
// DESCRIPTOR-DAG: @moert.programs = private {{.*}} [1 x ptr] [ptr @moert.program]
// DESCRIPTOR-DAG: @moert_model_programs = {{.*}}constant {{.*}} { i32 9, i32 1, ptr @moert.programs }

// The inner loop of the full tile: 24 dot products, 4 loads of weights, 6 broadcasts, and no spill.
// LOOP: vdpbf16ps
// LOOP-NOT: Spill
// LOOP: vbroadcastss
// Tiles of 1 to 6 rows, of 4 vectors each: LLVM unrolls none of their loops over K.
// PRODUCTS: {{^}}84{{$}}
module attributes {moe.name = "example"} {
  kernel.func @linear(%x: memref<?x128xbf16>, %w: memref<2x64x64x2xbf16>, %y: memref<?x128xbf16>) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c6 = arith.constant 6 : index
    %c64 = arith.constant 64 : index
    %k = arith.constant 128 : index
    %m = memref.dim %x, %c0 : memref<?x128xbf16>
    scf.forall (%n) in (2) {
      %col = arith.muli %n, %c64 : index
      scf.for %r = %c0 to %m step %c6 {
        %left = arith.subi %m, %r : index
        kernel.row_tile %left max 6 {
          %rows = kernel.row_indices %r {
          ^bb0(%i: index):
            kernel.yield %i : index
          } : !kernel.rows<6>
          %zero = kernel.zero : !kernel.acc<6x64xf32>
          %acc = scf.for %kk = %c0 to %k step %c2 iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
            %next = kernel.mma %a, %x[%rows, %kk], %w[%n, %kk, %c0]
                : !kernel.acc<6x64xf32>, memref<?x128xbf16>, memref<2x64x64x2xbf16>
            scf.yield %next : !kernel.acc<6x64xf32>
          }
          kernel.store_tile %acc -> %y[%rows, %col] {
          ^bb0(%row: index, %c: index, %v: f32):
            %o = arith.truncf %v : f32 to bf16
            kernel.yield %o : bf16
          } : (!kernel.acc<6x64xf32>), memref<?x128xbf16>
        }
      }
    }
    kernel.return
  }
  func.func @main(%x: memref<?x128xbf16> {moe.name = "x", moe.dims = ["batch", ""]})
      -> (memref<?x128xbf16> {moe.name = "y", moe.dims = ["batch", ""]}) {
    %c0 = arith.constant 0 : index
    %m = memref.dim %x, %c0 : memref<?x128xbf16>
    %w = moe.parameter ["w"] recipe [#moe.pack<columns = 64, pairs = 2>] : memref<2x64x64x2xbf16>
    %y = memref.alloc(%m) : memref<?x128xbf16>
    kernel.launch @linear(%x, %w, %y) rows(%m) work(%m) : memref<?x128xbf16>, memref<2x64x64x2xbf16>, memref<?x128xbf16>
    return %y : memref<?x128xbf16>
  }
}
