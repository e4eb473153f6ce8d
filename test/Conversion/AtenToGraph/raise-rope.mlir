// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s
// RUN: moe-opt %s --raise-aten-to-graph --raise-aten-to-graph | FileCheck %s

// Heads before tokens in the model, behind them in nn.rope.
// CHECK-LABEL: func.func @halves(
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: tensor<?x2x?x8xf32>, %[[COS:[a-z0-9_]+]]: tensor<?x?x8xf32>, %[[SIN:[a-z0-9_]+]]: tensor<?x?x8xf32>
// CHECK-NEXT:    %[[T:[a-z0-9_]+]] = aten.call "aten.transpose.int"(%[[X]]) {dim0 = 1 : i64, dim1 = 2 : i64
// CHECK-NEXT:    %[[R:[a-z0-9_]+]] = nn.rope %[[T]], %[[COS]], %[[SIN]] : tensor<?x?x2x8xf32>
// CHECK-NEXT:    %[[Y:[a-z0-9_]+]] = aten.call "aten.transpose.int"(%[[R]])
// CHECK-NEXT:    return %[[Y]]
func.func @halves(%x: tensor<?x2x?x8xf32>, %cos: tensor<?x?x8xf32>, %sin: tensor<?x?x8xf32>) -> tensor<?x2x?x8xf32> {
  %c = aten.call "aten.unsqueeze.default"(%cos) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<?x?x8xf32>) -> tensor<?x1x?x8xf32>
  %s = aten.call "aten.unsqueeze.default"(%sin) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<?x?x8xf32>) -> tensor<?x1x?x8xf32>
  %a = aten.call "aten.mul.Tensor"(%x, %c) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x2x?x8xf32>, tensor<?x1x?x8xf32>) -> tensor<?x2x?x8xf32>
  %lo = aten.call "aten.slice.Tensor"(%x) {self = #aten.arg<0>, dim = 3 : i64, start = 0 : i64, end = 4 : i64} : (tensor<?x2x?x8xf32>) -> tensor<?x2x?x4xf32>
  %hi = aten.call "aten.slice.Tensor"(%x) {self = #aten.arg<0>, dim = 3 : i64, start = 4 : i64, end = 9223372036854775807 : i64} : (tensor<?x2x?x8xf32>) -> tensor<?x2x?x4xf32>
  %neg = aten.call "aten.neg.default"(%hi) {self = #aten.arg<0>} : (tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32>
  %r = aten.call "aten.cat.default"(%neg, %lo) {tensors = [#aten.arg<0>, #aten.arg<1>], dim = -1 : i64} : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x2x?x8xf32>
  %b = aten.call "aten.mul.Tensor"(%r, %s) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x2x?x8xf32>, tensor<?x1x?x8xf32>) -> tensor<?x2x?x8xf32>
  %y = aten.call "aten.add.Tensor"(%a, %b) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
  return %y : tensor<?x2x?x8xf32>
}

// The halves the other way round are not a rotation by this table.
// CHECK-LABEL: func.func @swapped(
// CHECK-NOT:     nn.rope
func.func @swapped(%x: tensor<?x2x?x8xf32>, %cos: tensor<?x?x8xf32>, %sin: tensor<?x?x8xf32>) -> tensor<?x2x?x8xf32> {
  %c = aten.call "aten.unsqueeze.default"(%cos) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<?x?x8xf32>) -> tensor<?x1x?x8xf32>
  %s = aten.call "aten.unsqueeze.default"(%sin) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<?x?x8xf32>) -> tensor<?x1x?x8xf32>
  %a = aten.call "aten.mul.Tensor"(%x, %c) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x2x?x8xf32>, tensor<?x1x?x8xf32>) -> tensor<?x2x?x8xf32>
  %lo = aten.call "aten.slice.Tensor"(%x) {self = #aten.arg<0>, dim = 3 : i64, start = 0 : i64, end = 4 : i64} : (tensor<?x2x?x8xf32>) -> tensor<?x2x?x4xf32>
  %hi = aten.call "aten.slice.Tensor"(%x) {self = #aten.arg<0>, dim = 3 : i64, start = 4 : i64, end = 9223372036854775807 : i64} : (tensor<?x2x?x8xf32>) -> tensor<?x2x?x4xf32>
  %neg = aten.call "aten.neg.default"(%hi) {self = #aten.arg<0>} : (tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32>
  %r = aten.call "aten.cat.default"(%lo, %neg) {tensors = [#aten.arg<0>, #aten.arg<1>], dim = -1 : i64} : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x2x?x8xf32>
  %b = aten.call "aten.mul.Tensor"(%r, %s) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x2x?x8xf32>, tensor<?x1x?x8xf32>) -> tensor<?x2x?x8xf32>
  %y = aten.call "aten.add.Tensor"(%a, %b) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
  return %y : tensor<?x2x?x8xf32>
}
