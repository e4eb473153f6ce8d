// RUN: moe-opt %s --aten-expand-complex | FileCheck %s --implicit-check-not=complex
// RUN: moe-opt %s --aten-expand-complex > %t && moe-opt %t --aten-expand-complex | diff %t -

// A rotation by angles, as rotary embeddings write it.
// CHECK-LABEL: func.func @rotate(
// CHECK-SAME:    %[[X:.*]]: tensor<2x3x4x2xf32>, %[[ANGLE:.*]]: tensor<2x4xf32>
// CHECK:         %[[ONE:.*]] = aten.call "aten.ones_like.default"(%[[ANGLE]])
// CHECK:         %[[COS:.*]] = aten.call "aten.cos.default"(%[[ANGLE]])
// CHECK:         %[[CR:.*]] = aten.call "aten.mul.Tensor"(%[[ONE]], %[[COS]])
// CHECK:         %[[SIN:.*]] = aten.call "aten.sin.default"(%[[ANGLE]])
// CHECK:         %[[CI:.*]] = aten.call "aten.mul.Tensor"(%[[ONE]], %[[SIN]])
// CHECK:         %[[SR:.*]] = aten.call "aten.mul.Tensor"(%[[CR]]) {other = 5.000000e-01 : f64
// CHECK:         %[[SI:.*]] = aten.call "aten.mul.Tensor"(%[[CI]]) {other = 5.000000e-01 : f64
// CHECK:         %[[UR:.*]] = aten.call "aten.unsqueeze.default"(%[[SR]]) {dim = 1 : i64
// CHECK:         %[[UI:.*]] = aten.call "aten.unsqueeze.default"(%[[SI]]) {dim = 1 : i64
// CHECK:         %[[XR:.*]] = aten.call "aten.select.int"(%[[X]]) {dim = 3 : i64, index = 0 : i64
// CHECK:         %[[XI:.*]] = aten.call "aten.select.int"(%[[X]]) {dim = 3 : i64, index = 1 : i64
// CHECK:         %[[RR:.*]] = aten.call "aten.mul.Tensor"(%[[XR]], %[[UR]])
// CHECK:         %[[II:.*]] = aten.call "aten.mul.Tensor"(%[[XI]], %[[UI]])
// CHECK:         %[[YR:.*]] = aten.call "aten.sub.Tensor"(%[[RR]], %[[II]])
// CHECK:         %[[RI:.*]] = aten.call "aten.mul.Tensor"(%[[XR]], %[[UI]])
// CHECK:         %[[IR:.*]] = aten.call "aten.mul.Tensor"(%[[XI]], %[[UR]])
// CHECK:         %[[YI:.*]] = aten.call "aten.add.Tensor"(%[[RI]], %[[IR]])
// CHECK:         %[[YRU:.*]] = aten.call "aten.unsqueeze.default"(%[[YR]]) {dim = 3 : i64
// CHECK:         %[[YIU:.*]] = aten.call "aten.unsqueeze.default"(%[[YI]]) {dim = 3 : i64
// CHECK:         %[[Y:.*]] = aten.call "aten.cat.default"(%[[YRU]], %[[YIU]]) {dim = 3 : i64
// CHECK:         return %[[Y]]
func.func @rotate(%x: tensor<2x3x4x2xf32>, %angle: tensor<2x4xf32>) -> tensor<2x3x4x2xf32> {
  %one = aten.call "aten.ones_like.default"(%angle) {self = #aten.arg<0>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %p = aten.call "aten.polar.default"(%one, %angle) {abs = #aten.arg<0>, angle = #aten.arg<1>} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xcomplex<f32>>
  %s = aten.call "aten.mul.Tensor"(%p) {self = #aten.arg<0>, other = 0.5 : f64} : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
  aten.call "aten._assert_tensor_metadata.default"(%s) {a = #aten.arg<0>} : (tensor<2x4xcomplex<f32>>) -> ()
  %u = aten.call "aten.unsqueeze.default"(%s) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<2x4xcomplex<f32>>) -> tensor<2x1x4xcomplex<f32>>
  %c = aten.call "aten.view_as_complex.default"(%x) {self = #aten.arg<0>} : (tensor<2x3x4x2xf32>) -> tensor<2x3x4xcomplex<f32>>
  %m = aten.call "aten.mul.Tensor"(%c, %u) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<2x3x4xcomplex<f32>>, tensor<2x1x4xcomplex<f32>>) -> tensor<2x3x4xcomplex<f32>>
  %y = aten.call "aten.view_as_real.default"(%m) {self = #aten.arg<0>} : (tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4x2xf32>
  return %y : tensor<2x3x4x2xf32>
}

// Sums, conjugates, real factors, parts, sizes and lists.
// CHECK-LABEL: func.func @others(
// CHECK:         %[[ADD:.*]] = aten.call "aten.add.Tensor"(%[[R:.*]], %[[R]])
// CHECK:         aten.call "aten.sqrt.default"
// CHECK:         aten.call "aten.sym_size.int"(%[[S:.*]]) {{.*}} : (tensor<?xf32>) -> i64
func.func @others(%r: tensor<?xf32>, %i: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, i64, tensor<?xf32>) {
  %c = aten.call "aten.complex.default"(%r, %i) {real = #aten.arg<0>, imag = #aten.arg<1>} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xcomplex<f32>>
  %a = aten.call "aten.add.Tensor"(%c, %c) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?xcomplex<f32>>, tensor<?xcomplex<f32>>) -> tensor<?xcomplex<f32>>
  %j = aten.call "aten._conj.default"(%a) {self = #aten.arg<0>} : (tensor<?xcomplex<f32>>) -> tensor<?xcomplex<f32>>
  %m = aten.call "aten.mul.Tensor"(%r, %j) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?xf32>, tensor<?xcomplex<f32>>) -> tensor<?xcomplex<f32>>
  %k = aten.call "aten.cat.default"(%m, %c) {tensors = [#aten.arg<0>, #aten.arg<1>]} : (tensor<?xcomplex<f32>>, tensor<?xcomplex<f32>>) -> tensor<?xcomplex<f32>>
  %abs = aten.call "aten.abs.default"(%k) {self = #aten.arg<0>} : (tensor<?xcomplex<f32>>) -> tensor<?xf32>
  %n = aten.call "aten.sym_size.int"(%k) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<?xcomplex<f32>>) -> i64
  %re = aten.call "aten.real.default"(%m) {self = #aten.arg<0>} : (tensor<?xcomplex<f32>>) -> tensor<?xf32>
  %im = aten.call "aten.imag.default"(%m) {self = #aten.arg<0>} : (tensor<?xcomplex<f32>>) -> tensor<?xf32>
  return %re, %im, %n, %abs : tensor<?xf32>, tensor<?xf32>, i64, tensor<?xf32>
}
