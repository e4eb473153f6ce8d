// RUN: moe-opt %s --aten-decompose | FileCheck %s
// RUN: moe-opt %s --aten-decompose --aten-decompose | FileCheck %s
// RUN: moe-opt %s --aten-decompose --convert-aten-to-linalg --canonicalize | FileCheck %s --check-prefix=LINALG
// RUN: moe-opt %s --aten-decompose --canonicalize --aten-check-indices | FileCheck %s --check-prefix=CHECKED

// LINALG-NOT: aten.call

// An index outside is no row of zeros: the write is checked, here by what the argument promises.
// CHECK-LABEL: func.func @one_hot(
// CHECK-SAME:    %[[I:.*]]: tensor<?x2xi64>
// CHECK-NEXT:    %[[N:.*]] = aten.call "aten.sym_size.int"(%[[I]]) {dim = 0 : i64
// CHECK-NEXT:    %[[Z:.*]] = aten.call "aten.zeros.default"(%[[N]]) {dtype = i64, size = [#aten.arg<0>, 2, 5]} {{.*}} -> tensor<?x2x5xi64>
// CHECK-NEXT:    %[[U:.*]] = aten.call "aten.unsqueeze.default"(%[[I]]) {dim = 2 : i64
// CHECK-NEXT:    %[[R:.*]] = aten.call "aten.scatter.value"(%[[Z]], %[[U]]) {dim = 2 : i64, index = #aten.arg<1>, self = #aten.arg<0>, value = 1 : i64}
// CHECK-NEXT:    return %[[R]]
// CHECKED-LABEL: func.func @one_hot(
// CHECKED-SAME:    moe.range = [0, 4]
func.func @one_hot(%i: tensor<?x2xi64> {moe.name = "i"}) -> tensor<?x2x5xi64> {
  %0 = aten.call "aten.one_hot.default"(%i) {self = #aten.arg<0>, num_classes = 5 : i64} : (tensor<?x2xi64>) -> tensor<?x2x5xi64>
  return %0 : tensor<?x2x5xi64>
}

// CHECK-LABEL: func.func @roll(
// CHECK-SAME:    %[[X:.*]]: tensor<?x5xf32>)
// CHECK-NEXT:    %[[E:.*]] = aten.call "aten.slice.Tensor"(%[[X]]) {dim = 1 : i64, end = 9223372036854775807 : i64, self = #aten.arg<0>, start = 3 : i64} {{.*}} -> tensor<?x2xf32>
// CHECK-NEXT:    %[[B:.*]] = aten.call "aten.slice.Tensor"(%[[X]]) {dim = 1 : i64, end = 3 : i64, self = #aten.arg<0>, start = 0 : i64} {{.*}} -> tensor<?x3xf32>
// CHECK-NEXT:    %[[C:.*]] = aten.call "aten.cat.default"(%[[E]], %[[B]])
// CHECK-NEXT:    %[[N:.*]] = aten.call "aten.sym_size.int"(%[[C]]) {dim = 0 : i64
// CHECK-NEXT:    %[[P:.*]] = aten.call "aten.arange.default"(%[[N]])
// CHECK-NEXT:    %[[S:.*]] = aten.call "aten.sub.Scalar"(%[[P]]) {other = -1 : i64
// CHECK-NEXT:    %[[M:.*]] = aten.call "aten.remainder.Scalar"(%[[S]], %[[N]])
// CHECK-NEXT:    %{{.*}} = aten.call "aten.index_select.default"(%[[C]], %[[M]]) {dim = 0 : i64
// LINALG-LABEL: func.func @roll(
func.func @roll(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = aten.call "aten.roll.default"(%x) {self = #aten.arg<0>, shifts = [12, -1], dims = [1, 0]} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}

// A constant matrix is the weight of a linear layer with one row, any other one a product. Factors come in f32.
// CHECK-LABEL: func.func @vectors(
// CHECK-SAME:    %[[V:.*]]: tensor<4xbf16>, %[[X:.*]]: tensor<?x4xbf16>, %[[A:.*]]: tensor<?xbf16>, %[[B:.*]]: tensor<3xbf16>)
// CHECK-NEXT:    %[[W:.*]] = moe.parameter
// CHECK-NEXT:    %[[R:.*]] = aten.call "aten.unsqueeze.default"(%[[V]]) {dim = 0 : i64
// CHECK-NEXT:    %[[L:.*]] = aten.call "aten.linear.default"(%[[R]], %[[W]], %[[B]]) {bias = #aten.arg<2>, input = #aten.arg<0>, weight = #aten.arg<1>}
// CHECK-NEXT:    %[[S:.*]] = aten.call "aten.squeeze.dim"(%[[L]]) {dim = 0 : i64
// CHECK-NEXT:    %[[P:.*]] = aten.call "aten.matmul.default"(%[[X]], %[[V]]) {{.*}} -> tensor<?xbf16>
// CHECK:         %[[Q:.*]] = aten.call "aten.matmul.default"({{.*}} -> tensor<?xf32>
// CHECK-NEXT:    %[[D:.*]] = aten.call "aten.mul.Scalar"(%[[Q]]) {other = 2 : i64
// CHECK-NEXT:    %[[C:.*]] = aten.call "aten.to.dtype"(%[[A]]) {dtype = f32
// CHECK-NEXT:    %[[E:.*]] = aten.call "aten.mul.Scalar"(%[[C]]) {other = 5.000000e-01 : f64
// CHECK-NEXT:    %[[F:.*]] = aten.call "aten.add.Tensor"(%[[D]], %[[E]])
// CHECK-NEXT:    %[[G:.*]] = aten.call "aten.to.dtype"(%[[F]]) {dtype = bf16
// CHECK-NEXT:    return %[[S]], %[[P]], %[[G]]
func.func @vectors(%v: tensor<4xbf16>, %x: tensor<?x4xbf16>, %a: tensor<?xbf16>, %b: tensor<3xbf16>) -> (tensor<3xbf16>, tensor<?xbf16>, tensor<?xbf16>) {
  %w = moe.parameter ["w"] : tensor<3x4xbf16>
  %0 = aten.call "aten.addmv.default"(%b, %w, %v) {self = #aten.arg<0>, mat = #aten.arg<1>, vec = #aten.arg<2>} : (tensor<3xbf16>, tensor<3x4xbf16>, tensor<4xbf16>) -> tensor<3xbf16>
  %1 = aten.call "aten.mv.default"(%x, %v) {self = #aten.arg<0>, vec = #aten.arg<1>} : (tensor<?x4xbf16>, tensor<4xbf16>) -> tensor<?xbf16>
  %2 = aten.call "aten.addmv.default"(%a, %x, %v) {self = #aten.arg<0>, mat = #aten.arg<1>, vec = #aten.arg<2>, alpha = 2 : i64, beta = 0.5 : f64} : (tensor<?xbf16>, tensor<?x4xbf16>, tensor<4xbf16>) -> tensor<?xbf16>
  return %0, %1, %2 : tensor<3xbf16>, tensor<?xbf16>, tensor<?xbf16>
}

// What is multiplied with 0 is not read.
// CHECK-LABEL: func.func @nothing_added(
// CHECK-NOT:     aten.add
// CHECK:         return
func.func @nothing_added(%a: tensor<?xf32>, %x: tensor<?x4xf32>, %v: tensor<4xf32>) -> tensor<?xf32> {
  %0 = aten.call "aten.addmv.default"(%a, %x, %v) {self = #aten.arg<0>, mat = #aten.arg<1>, vec = #aten.arg<2>, beta = 0 : i64} : (tensor<?xf32>, tensor<?x4xf32>, tensor<4xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// The product alone may be smaller than the result.
// CHECK-LABEL: func.func @addcmul(
// CHECK-SAME:    %[[X:.*]]: tensor<?x3xf32>, %[[A:.*]]: tensor<3xf32>, %[[B:.*]]: tensor<1xf32>)
// CHECK-NEXT:    %[[S:.*]] = aten.call "aten.mul.Scalar"(%[[A]]) {other = 5.000000e-01 : f64
// CHECK-NEXT:    %[[P:.*]] = aten.call "aten.mul.Tensor"(%[[S]], %[[B]]) {{.*}} -> tensor<3xf32>
// CHECK-NEXT:    %{{.*}} = aten.call "aten.add.Tensor"(%[[X]], %[[P]]) {{.*}} -> tensor<?x3xf32>
func.func @addcmul(%x: tensor<?x3xf32>, %a: tensor<3xf32>, %b: tensor<1xf32>) -> tensor<?x3xf32> {
  %0 = aten.call "aten.addcmul.default"(%x, %a, %b) {self = #aten.arg<0>, tensor1 = #aten.arg<1>, tensor2 = #aten.arg<2>, value = 0.5 : f64} : (tensor<?x3xf32>, tensor<3xf32>, tensor<1xf32>) -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// CHECK-LABEL: func.func @variance(
// CHECK-SAME:    %[[X:.*]]: tensor<?x4xf32>)
// CHECK-NEXT:    %[[M:.*]] = aten.call "aten.mean.dim"(%[[X]]) {dim = [1], keepdim = true
// CHECK-NEXT:    %[[D:.*]] = aten.call "aten.sub.Tensor"(%[[X]], %[[M]])
// CHECK-NEXT:    %[[Q:.*]] = aten.call "aten.square.default"(%[[D]])
// CHECK-NEXT:    %[[S:.*]] = aten.call "aten.sum.dim_IntList"(%[[Q]]) {dim = [1], keepdim = false
// CHECK-NEXT:    %{{.*}} = aten.call "aten.div.Scalar"(%[[S]]) {other = 3.000000e+00 : f64
// CHECK:         %[[B:.*]] = aten.call "aten.mean.dim"({{.*}}keepdim = false
// CHECK-NEXT:    %{{.*}} = aten.call "aten.sqrt.default"(%[[B]])
// CHECK:         %[[N:.*]] = aten.call "aten.sym_size.int"(%[[X]]) {dim = 0 : i64
// CHECK-NEXT:    %[[O:.*]] = aten.call "_operator.sub"(%[[N]]) {a = #aten.arg<0>, b = 1 : i64}
// CHECK-NEXT:    %[[P:.*]] = aten.call "torch.sym_max"(%[[O]]) {a = #aten.arg<0>, b = 0 : i64}
// CHECK-NEXT:    %{{.*}} = aten.call "aten.div.Tensor"(%{{.*}}, %[[P]])
func.func @variance(%x: tensor<?x4xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<1x4xf32>) {
  %0 = aten.call "aten.var.dim"(%x) {self = #aten.arg<0>, dim = [-1]} : (tensor<?x4xf32>) -> tensor<?xf32>
  %1 = aten.call "aten.std.dim"(%x) {self = #aten.arg<0>, dim = [1], unbiased = false} : (tensor<?x4xf32>) -> tensor<?xf32>
  %2 = aten.call "aten.var.correction"(%x) {self = #aten.arg<0>, dim = [0], correction = 1 : i64, keepdim = true} : (tensor<?x4xf32>) -> tensor<1x4xf32>
  return %0, %1, %2 : tensor<?xf32>, tensor<?xf32>, tensor<1x4xf32>
}
