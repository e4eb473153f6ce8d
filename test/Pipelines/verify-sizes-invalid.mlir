// Sizes that are negative whatever the inputs are. Canonicalization would write them into types, or crash.
// RUN: moe-opt %s --moe-verify-level=level=graph --split-input-file --verify-diagnostics

func.func @computed(%x: tensor<2x64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %d = tensor.dim %x, %c0 : tensor<2x64xf32>
  %n = arith.subi %d, %c3 : index
  // expected-error @+1 {{'tensor.empty' op dimension 0 of the result would be -1}}
  %e = tensor.empty(%n) : tensor<?x64xf32>
  return %e : tensor<?x64xf32>
}

// -----

func.func @slice(%x: tensor<2x64xf32>) -> tensor<?x64xf32> {
  %n = arith.constant -2 : index
  // expected-error @+1 {{'tensor.extract_slice' op dimension 0 of the result would be -2}}
  %z = tensor.extract_slice %x[0, 0] [%n, 64] [1, 1] : tensor<2x64xf32> to tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

// -----

func.func @expand(%x: tensor<128xf32>) -> tensor<?x?xf32> {
  %c = tensor.cast %x : tensor<128xf32> to tensor<?xf32>
  // expected-error @+1 {{'tensor.expand_shape' op dimension 0 of the result would be -128}}
  %z = tensor.expand_shape %c [[0, 1]] output_shape [-128, -1] : tensor<?xf32> into tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}

// -----

func.func @reshape(%x: tensor<2x64xf32>) -> tensor<?x?xf32> {
  %shape = arith.constant dense<[128, -1]> : tensor<2xindex>
  // expected-error @+1 {{'tensor.reshape' op dimension 1 of the result would be -1}}
  %z = tensor.reshape %x(%shape) : (tensor<2x64xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}

// -----

func.func @pad(%x: tensor<2x64xf32>) -> tensor<?x64xf32> {
  %n = arith.constant -5 : index
  %f = arith.constant 1.0 : f32
  // expected-error @+1 {{'tensor.pad' op dimension 0 of the result would be -3}}
  %z = tensor.pad %x low[%n, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %f : f32
  } : tensor<2x64xf32> to tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

// -----

// What only a run knows is checked there.
func.func @run(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %d = tensor.dim %x, %c0 : tensor<?x64xf32>
  %n = arith.subi %d, %c3 : index
  %e = tensor.empty(%n) : tensor<?x64xf32>
  return %e : tensor<?x64xf32>
}
