// What no caller of a program could give or take. One message each, about the argument or the op that the user wrote.
// RUN: moe-opt %s --split-input-file --verify-diagnostics --moe-verify-level=level=graph

// expected-error@+1 {{level graph: argument 1 ('l') of 'layout' is of type '!moe.layout<8>'; a layout exists inside of a function only; make it of expert ids by moe.dispatch}}
func.func @layout(%x: tensor<4xf32>, %l: !moe.layout<8> {moe.name = "l"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{level graph: result 0 of 'routing' is of type '!moe.layout<2>'; a layout exists inside of a function only; return what is made of it}}
func.func @routing(%x: tensor<?x4xf32>, %i: tensor<?x1xi32>) -> !moe.layout<2> {
  %r, %l = moe.dispatch %x, %i num_experts(2) : tensor<?x4xf32>, tensor<?x1xi32> -> tensor<?x4xf32>, !moe.layout<2>
  return %l : !moe.layout<2>
}

// -----

// expected-error@+1 {{level graph: argument 0 of 'scalar' is of type 'f32'; a program takes and returns tensors; a single value is a tensor without dimensions}}
func.func @scalar(%x: f32) -> f32 {
  return %x : f32
}

// -----

// expected-error@+1 {{level graph: argument 0 of 'complex' is of type 'tensor<?xcomplex<f32>>'; a program takes and returns integers and floats; give the real and the imaginary part, each a tensor of its own}}
func.func @complex(%x: tensor<?xcomplex<f32>>) -> tensor<?xcomplex<f32>> {
  return %x : tensor<?xcomplex<f32>>
}

// -----

func.func @complex_inside(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{level graph: 'tensor.empty' computes complex numbers; compute their real and imaginary parts, each a tensor of its own}}
  %c = tensor.empty() : tensor<4xcomplex<f32>>
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{level graph: argument 0 of 'encoded' is of type 'tensor<4xf32, "key">'; the compiler chooses encodings}}
func.func @encoded(%x: tensor<4xf32, "key">) -> tensor<4xf32, "key"> {
  return %x : tensor<4xf32, "key">
}

// -----

func.func @encoded_inside(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{level graph: 'tensor.empty' has a result with an encoding; the compiler chooses those}}
  %c = tensor.empty() : tensor<4xf32, "key">
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{level graph: 'elsewhere' has no body; nothing is linked to a program, so define it or remove it}}
func.func private @elsewhere(tensor<4x4xf32>) -> tensor<4x4xf32>

// -----

func.func @resource(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{level graph: 'arith.constant' is a 'dense_resource' that the file does not hold}}
  %c = arith.constant dense_resource<missing> : tensor<4xf32>
  return %c : tensor<4xf32>
}

// -----

// expected-error@+1 {{level graph: result 1 ('y') of 'no_state' is the next value of argument 0 ('x') of 'no_state', which is an input of the caller and no state: inputs are not written. Mark the argument 'moe.state' (it starts as zeros), or return the value without 'moe.state_of'}}
func.func @no_state(%x: tensor<4xf32> {moe.name = "x"}) -> (tensor<4xf32>, tensor<4xf32> {moe.name = "y", moe.state_of = 0}) {
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// expected-error@+1 {{level graph: 'builtin.module' stands inside of a module; a program is one module, so move its functions into the outer one}}
module @inner {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
