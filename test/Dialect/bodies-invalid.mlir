// RUN: moe-opt --split-input-file --verify-diagnostics %s

// A name that nothing has defined yet is not one of a region further down, whose parser may free that region. What reads files says
// so earlier (value-names-invalid.mlir), unless it takes the name for that of a loop.

func.func @expert(%x: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x16x8xf32>, %w2: tensor<4x8x16xf32>, %n: index) {
  scf.for %a = %n to %n step %n {}
  // expected-error @below {{operand #0 is defined inside of an operation further down, and exists only there}}
  %0 = arith.negf %a : f32
  %y = moe.expert %x, %l, %w1, %w2 {
  ^bb0(%a: f32):
    moe.yield %a : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x16x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @row_tile(%n: index) {
  scf.for %i = %n to %n step %n {}
  // expected-error @below {{operand #1 is defined inside of an operation further down, and exists only there}}
  %0 = arith.addi %n, %i : index
  kernel.row_tile %n max 4 {
    %i = arith.muli %n, %n : index
  }
  return
}

// -----

// Inside of an operation of the region, and in a region before it.
func.func @row_indices(%n: index, %yes: i1) {
  scf.for %i = %n to %n step %n {}
  scf.if %yes {
    // expected-error @below {{operand #0 is defined inside of an operation further down, and exists only there}}
    %0 = arith.muli %i, %n : index
  }
  %rows = kernel.row_indices %n {
  ^bb0(%row: index):
    scf.if %yes {
      %i = arith.muli %row, %n : index
    }
    kernel.yield %row : index
  } : !kernel.rows<4>
  return
}

// -----

func.func @launch_group(%n: index) {
  scf.for %a = %n to %n step %n {}
  // expected-error @below {{operand #0 is defined inside of an operation further down, and exists only there}}
  %0 = arith.negf %a : f32
  kernel.launch_group {
    %a = arith.constant 1.0 : f32
  }
  return
}

// -----

func.func @launch_group_of_the_runtime(%context: !llvm.ptr, %n: index) {
  scf.for %a = %n to %n step %n {}
  // expected-error @below {{operand #0 is defined inside of an operation further down, and exists only there}}
  %0 = arith.negf %a : f32
  moert.launch_group %context {
    %a = arith.constant 1.0 : f32
  }
  return
}

// -----

func.func @warp_roles(%n: index) {
  scf.for %a = %n to %n step %n {}
  // expected-error @below {{operand #0 is defined inside of an operation further down, and exists only there}}
  %0 = arith.negf %a : f32
  cuda.warp_roles {
    %a = arith.constant 1.0 : f32
  }
  return
}

// -----

func.func @role(%n: index) {
  scf.for %a = %n to %n step %n {}
  cuda.warp_roles {
    // expected-error @below {{operand #0 is defined inside of an operation further down, and exists only there}}
    %0 = arith.negf %a : f32
    cuda.role @load warps(4) registers(40) {
      %a = arith.constant 1.0 : f32
    }
  }
  return
}

// -----

// A region with a fault of its own is what is said.
func.func @fault(%n: index) {
  scf.for %i = %n to %n step %n {}
  %0 = arith.addi %n, %i : index
  kernel.row_tile %n max 4 {
    %i = arith.muli %n, %n : index
    cf.br ^behind
  ^behind:
    // expected-error @below {{custom op 'arith.nothing' is unknown}}
    arith.nothing
  }
  return
}
