// RUN: moe-opt %s --convert-aten-to-linalg --split-input-file | FileCheck %s

// Short rows are ranked by comparing each element with each.
// CHECK-LABEL: func.func @short
// CHECK-NOT: nn.top_k
func.func @short(%x: tensor<?x256xf32>) -> (tensor<?x8xf32>, tensor<?x8xi64>) {
  %v, %i = aten.call "aten.topk.default"(%x) {self = #aten.arg<0>, k = 8 : i64} : (tensor<?x256xf32>) -> (tensor<?x8xf32>, tensor<?x8xi64>)
  return %v, %i : tensor<?x8xf32>, tensor<?x8xi64>
}

// -----

// CHECK-LABEL: func.func @long
// CHECK: nn.top_k %{{.*}} : tensor<?x257xf32> -> tensor<?x8xf32>, tensor<?x8xi64>
func.func @long(%x: tensor<?x257xf32>) -> (tensor<?x8xf32>, tensor<?x8xi64>) {
  %v, %i = aten.call "aten.topk.default"(%x) {self = #aten.arg<0>, k = 8 : i64, dim = -1 : i64} : (tensor<?x257xf32>) -> (tensor<?x8xf32>, tensor<?x8xi64>)
  return %v, %i : tensor<?x8xf32>, tensor<?x8xi64>
}

// -----

// Of another dimension than the last one, and of what has no keys.
// CHECK-LABEL: func.func @other
// CHECK-NOT: nn.top_k
func.func @other(%x: tensor<512x3xf32>, %y: tensor<2x512xf64>) -> (tensor<8x3xi64>, tensor<2x8xi64>) {
  %v, %i = aten.call "aten.topk.default"(%x) {self = #aten.arg<0>, k = 8 : i64, dim = 0 : i64} : (tensor<512x3xf32>) -> (tensor<8x3xf32>, tensor<8x3xi64>)
  %w, %j = aten.call "aten.topk.default"(%y) {self = #aten.arg<0>, k = 8 : i64} : (tensor<2x512xf64>) -> (tensor<2x8xf64>, tensor<2x8xi64>)
  return %i, %j : tensor<8x3xi64>, tensor<2x8xi64>
}

// -----

// CHECK-LABEL: func.func @forms
// CHECK: nn.top_k %{{.*}} ascending : tensor<?x512xbf16>
// CHECK: nn.top_k %{{.*}} unordered : tensor<?x512xbf16>
func.func @forms(%x: tensor<?x512xbf16>) -> (tensor<?x8xbf16>, tensor<?x8xbf16>) {
  %v, %i = aten.call "aten.topk.default"(%x) {self = #aten.arg<0>, k = 8 : i64, dim = -1 : i64, largest = false}
      : (tensor<?x512xbf16>) -> (tensor<?x8xbf16>, tensor<?x8xi64>)
  %w, %j = aten.call "aten.topk.default"(%x) {self = #aten.arg<0>, k = 8 : i64, dim = -1 : i64, largest = true, sorted = false}
      : (tensor<?x512xbf16>) -> (tensor<?x8xbf16>, tensor<?x8xi64>)
  return %v, %w : tensor<?x8xbf16>, tensor<?x8xbf16>
}

// -----

// Where the indices only say which elements of a mask get one number, their order does not matter.
// CHECK-LABEL: func.func @mask
// CHECK: nn.top_k %{{.*}} unordered :
func.func @mask(%x: tensor<?x512xf32>, %m: tensor<?x512xi1>) -> tensor<?x512xi1> {
  %v, %i = aten.call "aten.topk.default"(%x) {self = #aten.arg<0>, k = 8 : i64} : (tensor<?x512xf32>) -> (tensor<?x8xf32>, tensor<?x8xi64>)
  %narrow = aten.call "aten.to.dtype"(%i) {self = #aten.arg<0>, dtype = i32} : (tensor<?x8xi64>) -> tensor<?x8xi32>
  %wide = aten.call "aten.to.dtype"(%narrow) {self = #aten.arg<0>, dtype = i64} : (tensor<?x8xi32>) -> tensor<?x8xi64>
  %0 = aten.call "aten.scatter.value"(%m, %wide) {self = #aten.arg<0>, dim = -1 : i64, index = #aten.arg<1>, value = false}
      : (tensor<?x512xi1>, tensor<?x8xi64>) -> tensor<?x512xi1>
  return %0 : tensor<?x512xi1>
}

// -----

// CHECK-LABEL: func.func @values_matter
// CHECK: nn.top_k %{{.*}} : tensor<?x512xf32>
func.func @values_matter(%x: tensor<?x512xf32>, %m: tensor<?x512xi1>) -> (tensor<?x512xi1>, tensor<?x8xf32>) {
  %v, %i = aten.call "aten.topk.default"(%x) {self = #aten.arg<0>, k = 8 : i64} : (tensor<?x512xf32>) -> (tensor<?x8xf32>, tensor<?x8xi64>)
  %0 = aten.call "aten.scatter.value"(%m, %i) {self = #aten.arg<0>, dim = -1 : i64, index = #aten.arg<1>, value = false}
      : (tensor<?x512xi1>, tensor<?x8xi64>) -> tensor<?x512xi1>
  return %0, %v : tensor<?x512xi1>, tensor<?x8xf32>
}

// -----

// CHECK-LABEL: func.func @sources_matter
// CHECK: nn.top_k %{{.*}} : tensor<?x512xf32>
func.func @sources_matter(%x: tensor<?x512xf32>, %s: tensor<?x8xf32>) -> tensor<?x512xf32> {
  %v, %i = aten.call "aten.topk.default"(%x) {self = #aten.arg<0>, k = 8 : i64} : (tensor<?x512xf32>) -> (tensor<?x8xf32>, tensor<?x8xi64>)
  %0 = aten.call "aten.scatter.src"(%x, %i, %s) {self = #aten.arg<0>, dim = -1 : i64, index = #aten.arg<1>, src = #aten.arg<2>}
      : (tensor<?x512xf32>, tensor<?x8xi64>, tensor<?x8xf32>) -> tensor<?x512xf32>
  return %0 : tensor<?x512xf32>
}

// -----

// k is the smaller one of a number and a size.
// CHECK-LABEL: func.func @symbolic
// CHECK: %[[SIZE:.*]] = tensor.dim
// CHECK: %[[NUMBER:.*]] = arith.index_cast %[[SIZE]]
// CHECK: %[[K:.*]] = arith.minsi %{{.*}}, %[[NUMBER]]
// CHECK: %[[COUNT:.*]] = arith.index_cast %[[K]]
// CHECK: nn.top_k %{{.*}} count(%[[COUNT]]) : tensor<?x?xf32> -> tensor<?x?xf32>, tensor<?x?xi64>
func.func @symbolic(%x: tensor<?x?xf32>) -> tensor<?x?xi64> {
  %n = aten.call "aten.sym_size.int"(%x) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<?x?xf32>) -> i64
  %k = aten.call "torch.sym_min"(%n) {a = 4 : i64, b = #aten.arg<0>} : (i64) -> i64
  %v, %i = aten.call "aten.topk.default"(%x, %k) {self = #aten.arg<0>, k = #aten.arg<1>} : (tensor<?x?xf32>, i64) -> (tensor<?x?xf32>, tensor<?x?xi64>)
  return %i : tensor<?x?xi64>
}

// -----

// CHECK-LABEL: func.func @largest_size
// CHECK: arith.maxsi
func.func @largest_size(%x: tensor<?x?xf32>) -> i64 {
  %n = aten.call "aten.sym_size.int"(%x) {self = #aten.arg<0>, dim = 1 : i64} : (tensor<?x?xf32>) -> i64
  %k = aten.call "torch.sym_max"(%n) {a = #aten.arg<0>, b = 4 : i64} : (i64) -> i64
  return %k : i64
}
