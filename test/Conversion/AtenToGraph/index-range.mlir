// RUN: moe-opt %s --aten-check-indices --split-input-file | FileCheck %s
//
// Between which numbers indices lie, by where they come from. An index that is known to be inside needs no assertion.

// Positions of largest elements, whole or in parts; several steps in between keep what is known.
// CHECK-LABEL: func.func @positions(
// CHECK-NOT:     cf.assert
// CHECK:         return
func.func @positions(%x: tensor<?x8xf32>, %y: tensor<?x8x2xf32>) -> (tensor<?x8xf32>, tensor<?x1xf32>, tensor<?x1x2xf32>, tensor<?x3xf32>) {
  %s:2 = aten.call "aten.sort.default"(%x) {self = #aten.arg<0>, dim = 1 : i64, descending = true} : (tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xi64>)
  %0 = aten.call "aten.gather.default"(%x, %s#1) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x8xi64>) -> tensor<?x8xf32>
  %m = aten.call "aten.argmax.default"(%x) {self = #aten.arg<0>, dim = 1 : i64, keepdim = true} : (tensor<?x8xf32>) -> tensor<?x1xi64>
  %1 = aten.call "aten.gather.default"(%x, %m) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x1xi64>) -> tensor<?x1xf32>
  %n:2 = aten.call "aten.max.dim"(%y) {self = #aten.arg<0>, dim = 1 : i64, keepdim = true} : (tensor<?x8x2xf32>) -> (tensor<?x1x2xf32>, tensor<?x1x2xi64>)
  %2 = aten.call "aten.gather.default"(%y, %n#1) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8x2xf32>, tensor<?x1x2xi64>) -> tensor<?x1x2xf32>
  %p = aten.call "aten.slice.Tensor"(%s#1) {self = #aten.arg<0>, dim = 1 : i64, start = 0 : i64, end = 3 : i64} : (tensor<?x8xi64>) -> tensor<?x3xi64>
  %c = aten.call "aten.contiguous.default"(%p) {self = #aten.arg<0>} : (tensor<?x3xi64>) -> tensor<?x3xi64>
  %w = aten.call "aten.to.dtype"(%c) {self = #aten.arg<0>, dtype = i64} : (tensor<?x3xi64>) -> tensor<?x3xi64>
  %3 = aten.call "aten.gather.default"(%x, %w) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x3xi64>) -> tensor<?x3xf32>
  return %0, %1, %2, %3 : tensor<?x8xf32>, tensor<?x1xf32>, tensor<?x1x2xf32>, tensor<?x3xf32>
}

// -----

// Positions in a longer or a dynamic dimension, and those in a tensor laid flat, may be outside.
// CHECK-LABEL: func.func @other_positions(
// CHECK-COUNT-3: cf.assert
// CHECK-NOT:     cf.assert
// CHECK:         return
func.func @other_positions(%x: tensor<?x8xf32>, %y: tensor<?x9xf32>, %z: tensor<8x8xf32>) -> (tensor<?x9xf32>, tensor<?x8xf32>, tensor<8xf32>) {
  %s:2 = aten.call "aten.sort.default"(%y) {self = #aten.arg<0>, dim = 1 : i64, descending = true} : (tensor<?x9xf32>) -> (tensor<?x9xf32>, tensor<?x9xi64>)
  %0 = aten.call "aten.gather.default"(%x, %s#1) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x9xi64>) -> tensor<?x9xf32>
  %t:2 = aten.call "aten.sort.default"(%x) {self = #aten.arg<0>, dim = 0 : i64, descending = true} : (tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xi64>)
  %1 = aten.call "aten.gather.default"(%x, %t#1) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x8xi64>) -> tensor<?x8xf32>
  %m = aten.call "aten.argmax.default"(%z) {self = #aten.arg<0>} : (tensor<8x8xf32>) -> tensor<i64>
  %2 = aten.call "aten.index.Tensor"(%z, %m) {self = #aten.arg<0>, indices = [#aten.arg<1>]} : (tensor<8x8xf32>, tensor<i64>) -> tensor<8xf32>
  return %0, %1, %2 : tensor<?x9xf32>, tensor<?x8xf32>, tensor<8xf32>
}

// -----

// Limits that the graph sets, constants, and truth values as numbers.
// CHECK-LABEL: func.func @limits(
// CHECK-NOT:     cf.assert
// CHECK:         return
func.func @limits(%x: tensor<?x8xf32>, %a: tensor<?x2xi64>, %b: tensor<?x2xi1>) -> (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>) {
  %c = aten.call "aten.clamp.default"(%a) {self = #aten.arg<0>, min = 0 : i64, max = 7 : i64} : (tensor<?x2xi64>) -> tensor<?x2xi64>
  %0 = aten.call "aten.gather.default"(%x, %c) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  %k = arith.constant dense<[0, 7]> : tensor<2xi64>
  %1 = aten.call "aten.index_select.default"(%x, %k) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<2xi64>) -> tensor<?x2xf32>
  %n = aten.call "aten.to.dtype"(%b) {self = #aten.arg<0>, dtype = i64} : (tensor<?x2xi1>) -> tensor<?x2xi64>
  %s = aten.call "aten.add.Scalar"(%n) {self = #aten.arg<0>, other = 6 : i64} : (tensor<?x2xi64>) -> tensor<?x2xi64>
  %2 = aten.call "aten.gather.default"(%x, %s) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  return %0, %1, %2 : tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>
}

// -----

// One limit is none, a constant too many is seen, 1 + 7 is outside, and nothing is known of what was a float, of a
// remainder by a negative number, or of a sum that overflows.
// CHECK-LABEL: func.func @no_limits(
// CHECK-COUNT-6: cf.assert
// CHECK-NOT:     cf.assert
// CHECK:         return
func.func @no_limits(%x: tensor<?x8xf32>, %a: tensor<?x2xi64>, %b: tensor<?x2xi1>, %f: tensor<?x2xf32>)
    -> (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>) {
  %c = aten.call "aten.clamp.default"(%a) {self = #aten.arg<0>, max = 7 : i64} : (tensor<?x2xi64>) -> tensor<?x2xi64>
  %0 = aten.call "aten.gather.default"(%x, %c) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  %k = arith.constant dense<[0, 8]> : tensor<2xi64>
  %1 = aten.call "aten.index_select.default"(%x, %k) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<2xi64>) -> tensor<?x2xf32>
  %n = aten.call "aten.to.dtype"(%b) {self = #aten.arg<0>, dtype = i64} : (tensor<?x2xi1>) -> tensor<?x2xi64>
  %s = aten.call "aten.add.Scalar"(%n) {self = #aten.arg<0>, other = 7 : i64} : (tensor<?x2xi64>) -> tensor<?x2xi64>
  %2 = aten.call "aten.gather.default"(%x, %s) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  %i = aten.call "aten.to.dtype"(%f) {self = #aten.arg<0>, dtype = i64} : (tensor<?x2xf32>) -> tensor<?x2xi64>
  %3 = aten.call "aten.gather.default"(%x, %i) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  %r = aten.call "aten.remainder.Scalar"(%a) {self = #aten.arg<0>, other = -8 : i64} : (tensor<?x2xi64>) -> tensor<?x2xi64>
  %4 = aten.call "aten.gather.default"(%x, %r) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  %o = aten.call "aten.add.Scalar"(%n) {self = #aten.arg<0>, other = 9223372036854775807 : i64} : (tensor<?x2xi64>) -> tensor<?x2xi64>
  %5 = aten.call "aten.gather.default"(%x, %o) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>
}

// -----

// The experts that a gate chooses are experts; those of a gate that is given its ids may be none.
// CHECK-LABEL: func.func @gate(
// CHECK:         moe.gate
// CHECK-NOT:     cf.assert
// CHECK:         aten.gather
// CHECK:         moe.gate
// CHECK:         cf.assert
// CHECK:         aten.gather
func.func @gate(%x: tensor<?x8xf32>, %logits: tensor<?x8xf32>, %ids: tensor<?x2xi64>) -> (tensor<?x2xf32>, tensor<?x2xf32>) {
  %w0, %e0 = moe.gate %logits top_k(2) score(softmax) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %i0 = aten.call "aten.to.dtype"(%e0) {self = #aten.arg<0>, dtype = i64} : (tensor<?x2xi32>) -> tensor<?x2xi64>
  %0 = aten.call "aten.gather.default"(%x, %i0) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  %w1, %e1 = moe.gate %logits ids(%ids : tensor<?x2xi64>) top_k(2) score(softmax) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %i1 = aten.call "aten.to.dtype"(%e1) {self = #aten.arg<0>, dtype = i64} : (tensor<?x2xi32>) -> tensor<?x2xi64>
  %1 = aten.call "aten.gather.default"(%x, %i1) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  return %0, %1 : tensor<?x2xf32>, tensor<?x2xf32>
}
