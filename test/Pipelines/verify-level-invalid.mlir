// RUN: moe-opt %s --split-input-file --moe-verify-level=level=kernel --verify-diagnostics

func.func @tensors(%x: tensor<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  // expected-error @below {{level kernel: 'tensor.extract' is not an op of this level (and 1 more ops break the contract)}}
  %v = tensor.extract %x[%c0] : tensor<4xf32>
  %w = tensor.extract %x[%c0] : tensor<4xf32>
  return %v : f32
}

// -----

func.func private @f(tensor<4xf32>)
func.func @call(%x: tensor<4xf32>) {
  // expected-error @below {{level kernel: 'func.call' works on tensors; this level has buffers only (and 1 more ops break the contract)}}
  func.call @f(%x) : (tensor<4xf32>) -> ()
  func.call @f(%x) : (tensor<4xf32>) -> ()
  return
}
