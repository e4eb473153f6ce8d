// RUN: moe-opt %s --aten-decompose | FileCheck %s
// RUN: moe-opt %s --aten-decompose --aten-decompose | FileCheck %s
// RUN: moe-opt %s --aten-decompose --convert-aten-to-linalg --canonicalize | FileCheck %s --check-prefix=LINALG

// LINALG-NOT: aten.call

// Two products around a softmax in f32; the mask is added, and a row of minus infinities gives zeros.
// CHECK-LABEL: func.func @added(
// CHECK-SAME:    %[[Q:.*]]: tensor<?x4x?x8xbf16>, %[[K:.*]]: tensor<?x2x6x8xbf16>, %[[V:.*]]: tensor<?x2x6x5xbf16>, %[[M:.*]]: tensor<?x6xf32>)
// CHECK-DAG:     %[[Q32:.*]] = aten.call "aten.to.dtype"(%[[Q]]) {dtype = f32
// CHECK-DAG:     %[[K32:.*]] = aten.call "aten.to.dtype"(%[[K]]) {dtype = f32
// CHECK:         %[[KE:.*]] = aten.call "aten.expand.default"{{.*}}size = [-1, -1, 2, -1, -1]{{.*}} -> tensor<?x2x2x6x8xf32>
// CHECK:         %[[KN:.*]] = aten.call "aten.flatten.using_ints"(%[[KE]]) {{.*}} -> tensor<?x4x6x8xf32>
// CHECK:         %[[KT:.*]] = aten.call "aten.transpose.int"(%[[KN]])
// CHECK:         %[[P:.*]] = aten.call "aten.matmul.default"(%[[Q32]], %[[KT]]) {{.*}} -> tensor<?x4x?x6xf32>
// CHECK:         %[[S:.*]] = aten.call "aten.mul.Scalar"(%[[P]]) {other = 2.500000e-01 : f64
// CHECK:         %[[A:.*]] = aten.call "aten.add.Tensor"(%[[S]], %[[M]])
// CHECK:         %[[X:.*]] = aten.call "aten.amax.default"(%[[A]])
// CHECK:         %[[E:.*]] = aten.call "aten.eq.Scalar"(%[[X]]) {other = 0xFFF0000000000000 : f64
// CHECK:         %[[W:.*]] = aten.call "aten.softmax.int"(%[[A]])
// CHECK:         %[[Z:.*]] = aten.call "aten.masked_fill.Scalar"(%[[W]], %[[E]])
// CHECK:         %[[O:.*]] = aten.call "aten.matmul.default"(%[[Z]], %{{.*}}) {{.*}} -> tensor<?x4x?x5xf32>
// CHECK:         %[[R:.*]] = aten.call "aten.to.dtype"(%[[O]]) {dtype = bf16
// CHECK:         return %[[R]]
func.func @added(%query: tensor<?x4x?x8xbf16>, %key: tensor<?x2x6x8xbf16>, %value: tensor<?x2x6x5xbf16>, %mask: tensor<?x6xf32>) -> tensor<?x4x?x5xbf16> {
  %0 = aten.call "aten.scaled_dot_product_attention.default"(%query, %key, %value, %mask) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>, scale = 2.5e-01 : f64, enable_gqa = true} : (tensor<?x4x?x8xbf16>, tensor<?x2x6x8xbf16>, tensor<?x2x6x5xbf16>, tensor<?x6xf32>) -> tensor<?x4x?x5xbf16>
  return %0 : tensor<?x4x?x5xbf16>
}

// key <= query of sizes that are not known, and the default scale 1/sqrt(8).
// CHECK-LABEL: func.func @causal(
// CHECK:         aten.call "aten.mul.Scalar"{{.*}}0.3535533905932737
// CHECK:         %[[C:.*]] = aten.call "aten.where.ScalarOther"
// CHECK:         aten.call "aten.softmax.int"(%[[C]])
func.func @causal(%query: tensor<1x2x?x8xf32>, %key: tensor<1x2x?x8xf32>, %value: tensor<1x2x?x3xf32>) -> tensor<1x2x?x3xf32> {
  %0 = aten.call "aten.scaled_dot_product_attention.default"(%query, %key, %value) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, is_causal = true} : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x3xf32>) -> tensor<1x2x?x3xf32>
  return %0 : tensor<1x2x?x3xf32>
}

// Sinks take part in the largest score and in the sum.
// CHECK-LABEL: func.func @sinks(
// CHECK:         %[[C:.*]] = aten.call "aten.view.default"{{.*}} -> tensor<1x2x1x1xf64>
// CHECK:         %[[L:.*]] = aten.call "aten.maximum.default"(%{{.*}}, %[[C]])
// CHECK:         %[[D:.*]] = aten.call "aten.sub.Tensor"(%[[C]], %[[L]])
// CHECK:         %[[E:.*]] = aten.call "aten.exp.default"(%[[D]])
// CHECK:         %[[T:.*]] = aten.call "aten.add.Tensor"(%{{.*}}, %[[E]])
// CHECK:         aten.call "aten.div.Tensor"(%{{.*}}, %[[T]])
func.func @sinks(%query: tensor<1x2x?x8xf64>, %key: tensor<1x2x?x8xf64>, %value: tensor<1x2x?x3xf64>, %mask: tensor<1x1x?x?xi1>, %s: tensor<2xf32>) -> tensor<1x2x?x3xf64> {
  %0 = aten.call "moe_mlir.attention.default"(%query, %key, %value, %mask, %s) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, mask = #aten.arg<3>, sinks = #aten.arg<4>, scale = 0.5 : f64} : (tensor<1x2x?x8xf64>, tensor<1x2x?x8xf64>, tensor<1x2x?x3xf64>, tensor<1x1x?x?xi1>, tensor<2xf32>) -> tensor<1x2x?x3xf64>
  return %0 : tensor<1x2x?x3xf64>
}

// CHECK-LABEL: func.func @norm(
// CHECK:         aten.call "aten.mean.dim"{{.*}}dim = [1, 2]{{.*}} -> tensor<?x1x1xf32>
// CHECK:         aten.call "aten.add.Scalar"{{.*}}1.1920928955078125E-7
// CHECK-NOT:     aten.rms_norm
func.func @norm(%x: tensor<?x3x4xf32>) -> tensor<?x3x4xf32> {
  %0 = aten.call "aten.rms_norm.default"(%x) {input = #aten.arg<0>, normalized_shape = [3, 4]} : (tensor<?x3x4xf32>) -> tensor<?x3x4xf32>
  return %0 : tensor<?x3x4xf32>
}

// The mean goes first; weight and bias are applied before the one rounding.
// CHECK-LABEL: func.func @layer_norm(
// CHECK:         %[[X:.*]] = aten.call "aten.to.dtype"{{.*}} -> tensor<?x4xf32>
// CHECK:         %[[M:.*]] = aten.call "aten.mean.dim"(%[[X]])
// CHECK:         %[[C:.*]] = aten.call "aten.sub.Tensor"(%[[X]], %[[M]])
// CHECK:         %[[S:.*]] = aten.call "aten.square.default"(%[[C]])
// CHECK:         aten.call "aten.mean.dim"(%[[S]])
// CHECK:         aten.call "aten.add.Scalar"{{.*}}1.000000e-03
// CHECK:         %[[R:.*]] = aten.call "aten.rsqrt.default"
// CHECK:         aten.call "aten.mul.Tensor"(%[[C]], %[[R]])
// CHECK:         aten.call "aten.mul.Tensor"
// CHECK:         %[[A:.*]] = aten.call "aten.add.Tensor"
// CHECK:         aten.call "aten.to.dtype"(%[[A]]) {{.*}} -> tensor<?x4xbf16>
// CHECK-NOT:     aten.layer_norm
func.func @layer_norm(%x: tensor<?x4xbf16>, %w: tensor<4xbf16>, %b: tensor<4xbf16>) -> tensor<?x4xbf16> {
  %0 = aten.call "aten.layer_norm.default"(%x, %w, %b) {input = #aten.arg<0>, normalized_shape = [4], weight = #aten.arg<1>, bias = #aten.arg<2>, eps = 1.0e-3 : f64} : (tensor<?x4xbf16>, tensor<4xbf16>, tensor<4xbf16>) -> tensor<?x4xbf16>
  return %0 : tensor<?x4xbf16>
}

// CHECK-LABEL: func.func @diff(
// CHECK-SAME:    %[[X:.*]]: tensor<2x?xi64>, %[[F:.*]]: tensor<2x1xi64>)
// CHECK:         %[[J:.*]] = aten.call "aten.cat.default"(%[[F]], %[[X]])
// CHECK:         %[[A:.*]] = aten.call "aten.slice.Tensor"(%[[J]]) {{.*}}start = 1
// CHECK:         %[[B:.*]] = aten.call "aten.slice.Tensor"(%[[J]]) {dim = 1 : i64, end = -1 : i64
// CHECK:         %[[D:.*]] = aten.call "aten.sub.Tensor"(%[[A]], %[[B]])
// CHECK:         return %[[D]]
func.func @diff(%x: tensor<2x?xi64>, %first: tensor<2x1xi64>) -> tensor<2x?xi64> {
  %0 = aten.call "aten.diff.default"(%x, %first) {self = #aten.arg<0>, n = 1 : i64, dim = -1 : i64, prepend = #aten.arg<1>} : (tensor<2x?xi64>, tensor<2x1xi64>) -> tensor<2x?xi64>
  return %0 : tensor<2x?xi64>
}
