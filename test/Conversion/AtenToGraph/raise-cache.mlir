// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s
// RUN: sed 's/f32/f16/g' %s | moe-opt --raise-aten-to-graph | sed 's/f16/f32/g' | FileCheck %s
// RUN: moe-opt %s --raise-aten-to-graph -o %t && moe-opt %t --raise-aten-to-graph | diff %t -

// Slots are position[0] + arange(S): all rows start at the same place, which the argument then promises.
// CHECK-LABEL: func.func @uniform(
// CHECK-SAME:    %[[C:[a-z0-9_]+]]: tensor<?x2x16x8xf32> {moe.dims = ["batch", "", "", ""]},
// CHECK-SAME:    %[[R:[a-z0-9_]+]]: tensor<?x2x?x8xf32> {moe.dims = ["batch", "", "seq", ""]},
// CHECK-SAME:    %[[P:[a-z0-9_]+]]: tensor<?xi64> {moe.dims = ["batch"], moe.range = [0, 15], moe.range_plus = "seq", moe.uniform}
// CHECK:         %[[T:[a-z0-9_]+]] = aten.call "aten.transpose.int"(%[[R]])
// CHECK:         nn.cache_update %[[C]], %[[T]] positions(%[[P]])
func.func @uniform(%c: tensor<?x2x16x8xf32> {moe.dims = ["batch", "", "", ""]}, %r: tensor<?x2x?x8xf32> {moe.dims = ["batch", "", "seq", ""]},
                   %p: tensor<?xi64> {moe.dims = ["batch"]}) -> tensor<?x2x16x8xf32> {
  %s = aten.call "aten.sym_size.int"(%r) {self = #aten.arg<0>, dim = 2 : i64} : (tensor<?x2x?x8xf32>) -> i64
  %i = aten.call "aten.arange.default"(%s) {end = #aten.arg<0>} : (i64) -> tensor<?xi64>
  %p0 = aten.call "aten.select.int"(%p) {self = #aten.arg<0>, dim = 0 : i64, index = 0 : i64} : (tensor<?xi64>) -> tensor<i64>
  %slots = aten.call "aten.add.Tensor"(%p0, %i) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<i64>, tensor<?xi64>) -> tensor<?xi64>
  %0 = aten.call "aten.index_copy.default"(%c, %slots, %r) {self = #aten.arg<0>, dim = 2 : i64, index = #aten.arg<1>, source = #aten.arg<2>} : (tensor<?x2x16x8xf32>, tensor<?xi64>, tensor<?x2x?x8xf32>) -> tensor<?x2x16x8xf32>
  return %0 : tensor<?x2x16x8xf32>
}

// A constant start is a row of constants.
// CHECK-LABEL: func.func @constant(
// CHECK:         %[[C3:[a-z0-9_]+]] = arith.constant 3 : i64
// CHECK:         %[[P:[a-z0-9_]+]] = linalg.fill ins(%[[C3]] : i64) {{.*}} -> tensor<1xi64>
// CHECK:         nn.cache_update %{{.*}}, %{{.*}} positions(%[[P]])
func.func @constant(%c: tensor<1x2x16x8xf32>, %r: tensor<1x2x4x8xf32>) -> tensor<1x2x16x8xf32> {
  %i = aten.call "aten.arange.start"() {start = 3 : i64, end = 7 : i64} : () -> tensor<4xi64>
  %0 = aten.call "aten.index_copy.default"(%c, %i, %r) {self = #aten.arg<0>, dim = 2 : i64, index = #aten.arg<1>, source = #aten.arg<2>} : (tensor<1x2x16x8xf32>, tensor<4xi64>, tensor<1x2x4x8xf32>) -> tensor<1x2x16x8xf32>
  return %0 : tensor<1x2x16x8xf32>
}

// Every second slot is no cache update, nor are slots that nobody knows.
// CHECK-LABEL: func.func @not_consecutive(
// CHECK-NOT:     nn.cache_update
func.func @not_consecutive(%c: tensor<1x2x16x8xf32>, %r: tensor<1x2x4x8xf32>, %any: tensor<4xi64>) -> (tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>) {
  %i = aten.call "aten.arange.start_step"() {start = 0 : i64, end = 8 : i64, step = 2 : i64} : () -> tensor<4xi64>
  %0 = aten.call "aten.index_copy.default"(%c, %i, %r) {self = #aten.arg<0>, dim = 2 : i64, index = #aten.arg<1>, source = #aten.arg<2>} : (tensor<1x2x16x8xf32>, tensor<4xi64>, tensor<1x2x4x8xf32>) -> tensor<1x2x16x8xf32>
  %1 = aten.call "aten.index_copy.default"(%c, %any, %r) {self = #aten.arg<0>, dim = 2 : i64, index = #aten.arg<1>, source = #aten.arg<2>} : (tensor<1x2x16x8xf32>, tensor<4xi64>, tensor<1x2x4x8xf32>) -> tensor<1x2x16x8xf32>
  return %0, %1 : tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>
}
