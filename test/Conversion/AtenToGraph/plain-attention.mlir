// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s
// RUN: moe-opt %s --raise-aten-to-graph --remarks-filter=moe-import --remark-format=emitRemark -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// What nn.attention does not take, and why.
// CHECK-LABEL: func.func @mask(
// CHECK-SAME:    moe.plain = [{kind = "attention", place = "{{.*}}", reason = "it is neither of truth values nor of f32, bf16 or f16", step = "mask"}]
func.func @mask(%query: tensor<1x2x3x8xf32>, %key: tensor<1x2x6x8xf32>, %value: tensor<1x2x6x8xf32>, %m: tensor<3x6xf64>) -> tensor<1x2x3x8xf32> {
  %o = aten.call "aten.scaled_dot_product_attention.default"(%query, %key, %value, %m) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, attn_mask = #aten.arg<3>} : (tensor<1x2x3x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<3x6xf64>) -> tensor<1x2x3x8xf32>
  return %o : tensor<1x2x3x8xf32>
}

// CHECK-LABEL: func.func @sinks(
// CHECK-SAME:    reason = "there is not one of f32, bf16 or f16 per head", step = "sinks"
func.func @sinks(%query: tensor<1x2x3x8xf32>, %key: tensor<1x2x6x8xf32>, %s: tensor<2xf64>) -> tensor<1x2x3x8xf32> {
  %o = aten.call "moe_mlir.attention.default"(%query, %key, %key, %s) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>, sinks = #aten.arg<3>, scale = 1.0 : f64} : (tensor<1x2x3x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<2xf64>) -> tensor<1x2x3x8xf32>
  return %o : tensor<1x2x3x8xf32>
}

// CHECK-LABEL: func.func @heads(
// CHECK-SAME:    reason = "queries have 3 heads, keys 2, values 2", step = "heads"
func.func @heads(%query: tensor<1x3x3x8xf32>, %key: tensor<1x2x6x8xf32>) -> tensor<1x3x3x8xf32> {
  %o = aten.call "aten.scaled_dot_product_attention.default"(%query, %key, %key) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>} : (tensor<1x3x3x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>) -> tensor<1x3x3x8xf32>
  return %o : tensor<1x3x3x8xf32>
}

// CHECK-LABEL: func.func @double(
// CHECK-SAME:    reason = "queries, keys and values are not all of f32, of bf16 or of f16", step = "types"
func.func @double(%query: tensor<1x2x3x8xf64>) -> tensor<1x2x3x8xf64> {
  %o = aten.call "aten.scaled_dot_product_attention.default"(%query, %query, %query) {query = #aten.arg<0>, key = #aten.arg<1>, value = #aten.arg<2>} : (tensor<1x2x3x8xf64>, tensor<1x2x3x8xf64>, tensor<1x2x3x8xf64>) -> tensor<1x2x3x8xf64>
  return %o : tensor<1x2x3x8xf64>
}

// Written out: softmax(q k^T / sqrt(d)) v
// CHECK-LABEL: func.func @eager(
// CHECK-SAME:    moe.plain = [{kind = "attention", place = "{{.*}}", reason = "it is written out as product, softmax and product; only scaled_dot_product_attention is known (attn_implementation=\22sdpa\22 in transformers)", step = "call"}]
// REMARK: plain-attention.mlir:[[#@LINE+4]]:{{.*}}remark: [Missed] attention | Category:moe-import | Function=eager | Reason="call: it is written out as product, softmax and product; {{.*}}", Remark="attention layer stays plain operations"
func.func @eager(%query: tensor<1x2x3x8xf32>, %key: tensor<1x2x8x6xf32>, %value: tensor<1x2x6x8xf32>, %m: tensor<3x6xf32>) -> tensor<1x2x3x8xf32> {
  %s = aten.call "aten.matmul.default"(%query, %key) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<1x2x3x8xf32>, tensor<1x2x8x6xf32>) -> tensor<1x2x3x6xf32>
  %a = aten.call "aten.add.Tensor"(%s, %m) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<1x2x3x6xf32>, tensor<3x6xf32>) -> tensor<1x2x3x6xf32>
  %p = aten.call "aten.softmax.int"(%a) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6xf32>
  %o = aten.call "aten.matmul.default"(%p, %value) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<1x2x3x6xf32>, tensor<1x2x6x8xf32>) -> tensor<1x2x3x8xf32>
  return %o : tensor<1x2x3x8xf32>
}

// A column that takes its share and has no value.
// CHECK-LABEL: func.func @sink(
// CHECK-SAME:    reason = "they are joined with columns that no key has (an attention sink)", step = "scores"
func.func @sink(%query: tensor<1x2x3x8xf32>, %key: tensor<1x2x8x6xf32>, %value: tensor<1x2x6x8xf32>, %sink: tensor<1x2x3x1xf32>) -> tensor<1x2x3x8xf32> {
  %s = aten.call "aten.matmul.default"(%query, %key) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<1x2x3x8xf32>, tensor<1x2x8x6xf32>) -> tensor<1x2x3x6xf32>
  %c = aten.call "aten.cat.default"(%s, %sink) {tensors = [#aten.arg<0>, #aten.arg<1>], dim = -1 : i64} : (tensor<1x2x3x6xf32>, tensor<1x2x3x1xf32>) -> tensor<1x2x3x7xf32>
  %p = aten.call "aten.softmax.int"(%c) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<1x2x3x7xf32>) -> tensor<1x2x3x7xf32>
  %k = aten.call "aten.slice.Tensor"(%p) {self = #aten.arg<0>, dim = -1 : i64, start = 0 : i64, end = 6 : i64} : (tensor<1x2x3x7xf32>) -> tensor<1x2x3x6xf32>
  %o = aten.call "aten.matmul.default"(%k, %value) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<1x2x3x6xf32>, tensor<1x2x6x8xf32>) -> tensor<1x2x3x8xf32>
  return %o : tensor<1x2x3x8xf32>
}

// CHECK-LABEL: func.func @capped(
// CHECK-SAME:    reason = "they pass tanh (a soft cap)", step = "scores"
func.func @capped(%query: tensor<1x2x3x8xf32>, %key: tensor<1x2x8x6xf32>, %value: tensor<1x2x6x8xf32>) -> tensor<1x2x3x8xf32> {
  %s = aten.call "aten.matmul.default"(%query, %key) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<1x2x3x8xf32>, tensor<1x2x8x6xf32>) -> tensor<1x2x3x6xf32>
  %t = aten.call "aten.tanh.default"(%s) {self = #aten.arg<0>} : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6xf32>
  %c = aten.call "aten.mul.Tensor"(%t) {self = #aten.arg<0>, other = 50.0 : f64} : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6xf32>
  %p = aten.call "aten.softmax.int"(%c) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6xf32>
  %o = aten.call "aten.matmul.default"(%p, %value) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<1x2x3x6xf32>, tensor<1x2x6x8xf32>) -> tensor<1x2x3x8xf32>
  return %o : tensor<1x2x3x8xf32>
}

// A softmax of something else is no attention.
// CHECK-LABEL: func.func @mixture(
// CHECK-NOT:     moe.plain
// REMARK-NOT:  mixture
func.func @mixture(%s: tensor<1x2x3x6xf32>, %value: tensor<1x2x6x8xf32>) -> tensor<1x2x3x8xf32> {
  %p = aten.call "aten.softmax.int"(%s) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6xf32>
  %o = aten.call "aten.matmul.default"(%p, %value) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<1x2x3x6xf32>, tensor<1x2x6x8xf32>) -> tensor<1x2x3x8xf32>
  return %o : tensor<1x2x3x8xf32>
}
