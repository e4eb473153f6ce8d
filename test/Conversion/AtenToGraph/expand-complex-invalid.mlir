// RUN: moe-opt %s --aten-expand-complex --split-input-file --verify-diagnostics

func.func @function(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %c = aten.call "aten.view_as_complex.default"(%x) {self = #aten.arg<0>} : (tensor<4x2xf32>) -> tensor<4xcomplex<f32>>
  // expected-error@+1 {{'aten.exp.default' of complex numbers is not supported; known are products, sums, view_as_complex, view_as_real, polar, complex, real, imag, abs, conj and calls that move elements}}
  %e = aten.call "aten.exp.default"(%c) {self = #aten.arg<0>} : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %y = aten.call "aten.view_as_real.default"(%e) {self = #aten.arg<0>} : (tensor<4xcomplex<f32>>) -> tensor<4x2xf32>
  return %y : tensor<4x2xf32>
}

// -----

func.func @quotient(%x: tensor<4x2xf32>) -> tensor<4xf32> {
  %c = aten.call "aten.view_as_complex.default"(%x) {self = #aten.arg<0>} : (tensor<4x2xf32>) -> tensor<4xcomplex<f32>>
  // expected-error@+1 {{'aten.div.Tensor' of complex numbers is not supported}}
  %e = aten.call "aten.div.Tensor"(%c, %c) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %y = aten.call "aten.real.default"(%e) {self = #aten.arg<0>} : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0 has complex numbers, which are not supported there; hand real and imaginary parts over as tensors of their own}}
func.func @argument(%c: tensor<4xcomplex<f32>>) -> tensor<4xf32> {
  %y = aten.call "aten.real.default"(%c) {self = #aten.arg<0>} : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
