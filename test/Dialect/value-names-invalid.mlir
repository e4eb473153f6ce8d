// A name that is used before anything defines it, and that a region defines further down, where the use is not: refused before
// MLIR's parser sees it, which may free the region and leave the use.

// RUN: split-file %s %t
// RUN: not moe-opt %t/result.mlir 2>&1 | FileCheck %s --check-prefix=RESULT
// RUN: not moe-opt %t/argument.mlir 2>&1 | FileCheck %s --check-prefix=ARGUMENT
// RUN: not moe-opt %t/sibling.mlir 2>&1 | FileCheck %s --check-prefix=SIBLING
// RUN: not moe-opt %t/branch.mlir 2>&1 | FileCheck %s --check-prefix=BRANCH
// RUN: not moe-opt %t/generic.mlir 2>&1 | FileCheck %s --check-prefix=GENERIC
// RUN: not moe-opt %t/behind-a-loop.mlir 2>&1 | FileCheck %s --check-prefix=LOOP

//--- result.mlir
// RESULT: result.mlir:5: error: '%i' is used further up, outside of the region that defines it
func.func @f(%n: index) {
  %0 = arith.addi %i, %n : index
  scf.index_switch %n case 1 {
    %i = arith.addi %n, %n : index
    scf.yield
  } default {
    nothing
  }
}

//--- argument.mlir
// ARGUMENT: argument.mlir:5: error: '%i' is used further up, outside of the region that defines it
func.func @f(%n: index) {
  %0 = arith.addi %n, %i : index
  %t = tensor.generate %n {
  ^bb0(%i: index):
    tensor.yield %i : index
  } : tensor<??>
}

//--- sibling.mlir
// SIBLING: sibling.mlir:7: error: '%b' is used further up, outside of the region that defines it
func.func @f(%n: index, %yes: i1) {
  scf.if %yes {
    linalg.fill ins(%b : f32) outs(%m : memref<4xf32>)
  }
  scf.if %yes {
    %a, %b = "test.two"() : () -> (f32, f32)
  }
}

//--- branch.mlir
// BRANCH: branch.mlir:6: error: '%x' is used further up, outside of the region that defines it
func.func @f() {
  cf.br ^bb1(%x : i32)
^bb1(%a: i32):
  scf.execute_region {
    %x:2 = "test.two"() : () -> (i32, i32)
  }
}

//--- generic.mlir
// GENERIC: generic.mlir:3: error: '%x' is used further up, outside of the region that defines it
"test.use"(%x) : (i32) -> ()
"test.region"() ({ ^bb0(%y: i32, %x: i32): }) : () -> ()

//--- behind-a-loop.mlir
// LOOP: behind-a-loop.mlir:8: error: '%i' is used further up, outside of the region that defines it
func.func @f(%n: index) {
  scf.for %i = %n to %n step %n {
    %0 = arith.addi %i, %n : index
  }
  %1 = arith.addi %i, %n : index
  scf.execute_region {
    %i = arith.addi %n, %n : index
  }
}
