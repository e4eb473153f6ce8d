// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s
// What stays plain has another place in another file.
// DEFINE: %{raise} = --raise-aten-to-graph | sed 's/place = "[^"]*", //'
// RUN: moe-opt %s %{raise} > %t && moe-opt %t %{raise} | diff %t -

// Without a known router the ids and weights are used as they are; T and k are static, and so are the rows.
// CHECK-LABEL: func.func @silu(
// CHECK:         moe.dispatch {{.*}} num_experts(8) : tensor<5x4xf32>, tensor<5x2xi64> -> tensor<10x4xf32>, !moe.layout<8>
// CHECK:         ^bb0(%[[G:.*]]: f32, %[[U:.*]]: f32):
// CHECK-NEXT:      %[[S:.*]] = nn.silu %[[G]] : f32
// CHECK-NEXT:      %[[P:.*]] = arith.mulf %[[S]], %[[U]] : f32
// CHECK-NEXT:      moe.yield %[[P]] : f32
func.func @silu(%x: tensor<5x4xf32>, %ids: tensor<5x2xi64>, %w: tensor<5x2xf32>, %up: tensor<8x6x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<5x4xf32> {
  %o = aten.call "moe_mlir.experts.default"(%x, %ids, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "silu", gated = true} : (tensor<5x4xf32>, tensor<5x2xi64>, tensor<5x2xf32>, tensor<8x6x4xf32>, tensor<8x4x3xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// CHECK-LABEL: func.func @gelu(
// CHECK:         moe.expert {{.*}} {
// CHECK:         ^bb0(%{{[^,]*}}: f32):
// CHECK:         math.erf
func.func @gelu(%x: tensor<5x4xf32>, %ids: tensor<5x2xi64>, %w: tensor<5x2xf32>, %up: tensor<8x3x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<5x4xf32> {
  %o = aten.call "moe_mlir.experts.default"(%x, %ids, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "gelu", gated = false} : (tensor<5x4xf32>, tensor<5x2xi64>, tensor<5x2xf32>, tensor<8x3x4xf32>, tensor<8x4x3xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// CHECK-LABEL: func.func @gelu_tanh(
// CHECK:         moe.expert {{.*}} {
// CHECK:         ^bb0(%{{[^,]*}}: f32):
// CHECK:         math.tanh
func.func @gelu_tanh(%x: tensor<5x4xf32>, %ids: tensor<5x2xi64>, %w: tensor<5x2xf32>, %up: tensor<8x3x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<5x4xf32> {
  %o = aten.call "moe_mlir.experts.default"(%x, %ids, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "gelu_tanh", gated = false} : (tensor<5x4xf32>, tensor<5x2xi64>, tensor<5x2xf32>, tensor<8x3x4xf32>, tensor<8x4x3xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// CHECK-LABEL: func.func @relu(
// CHECK:         moe.expert {{.*}} {
// CHECK:         ^bb0(%{{[^,]*}}: f32):
// CHECK:         arith.maximumf
func.func @relu(%x: tensor<5x4xf32>, %ids: tensor<5x2xi64>, %w: tensor<5x2xf32>, %up: tensor<8x3x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<5x4xf32> {
  %o = aten.call "moe_mlir.experts.default"(%x, %ids, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "relu", gated = false} : (tensor<5x4xf32>, tensor<5x2xi64>, tensor<5x2xf32>, tensor<8x3x4xf32>, tensor<8x4x3xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// CHECK-LABEL: func.func @relu2(
// CHECK:         moe.expert {{.*}} {
// CHECK:         ^bb0(%{{[^,]*}}: f32):
// CHECK:         %[[R:.*]] = arith.maximumf
// CHECK:         arith.mulf %[[R]], %[[R]] : f32
func.func @relu2(%x: tensor<5x4xf32>, %ids: tensor<5x2xi64>, %w: tensor<5x2xf32>, %up: tensor<8x3x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<5x4xf32> {
  %o = aten.call "moe_mlir.experts.default"(%x, %ids, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "relu2", gated = false} : (tensor<5x4xf32>, tensor<5x2xi64>, tensor<5x2xf32>, tensor<8x3x4xf32>, tensor<8x4x3xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// Clamps of both parts, gate * sigmoid(1.702 gate) * (up + 1)
// CHECK-LABEL: func.func @swigluoai(
// CHECK:         moe.expert {{.*}} gated interleaved {
// CHECK:         arith.minimumf
// CHECK:         arith.maximumf
// CHECK:         math.exp
func.func @swigluoai(%x: tensor<5x4xf32>, %ids: tensor<5x2xi64>, %w: tensor<5x2xf32>, %up: tensor<8x6x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<5x4xf32> {
  %o = aten.call "moe_mlir.experts.default"(%x, %ids, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "swigluoai", gated = true, interleaved = true} : (tensor<5x4xf32>, tensor<5x2xi64>, tensor<5x2xf32>, tensor<8x6x4xf32>, tensor<8x4x3xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// Weights stored [E, in, out] are turned round.
// CHECK-LABEL: func.func @transposed(
// CHECK:         %[[UP:.*]] = aten.call "aten.transpose.int"(%{{.*}}) {dim0 = 1 : i64, dim1 = 2 : i64, self = #aten.arg<0>} : (tensor<8x4x6xf32>) -> tensor<8x6x4xf32>
// CHECK:         moe.expert %{{.*}}, %{{.*}}, %[[UP]],
func.func @transposed(%x: tensor<5x4xf32>, %ids: tensor<5x2xi64>, %w: tensor<5x2xf32>, %up: tensor<8x4x6xf32>, %down: tensor<8x3x4xf32>) -> tensor<5x4xf32> {
  %o = aten.call "moe_mlir.experts.default"(%x, %ids, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "silu", gated = true, transposed = true} : (tensor<5x4xf32>, tensor<5x2xi64>, tensor<5x2xf32>, tensor<8x4x6xf32>, tensor<8x3x4xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// An activation that nobody knows is left for the report.
// CHECK-LABEL: func.func @unknown(
// CHECK-SAME:    moe.plain = [{kind = "moe", place = "{{.*}}", reason = "'mish' is no activation that moe_mlir.experts has", step = "activation"}]
// CHECK:         aten.call "moe_mlir.experts.default"
func.func @unknown(%x: tensor<5x4xf32>, %ids: tensor<5x2xi64>, %w: tensor<5x2xf32>, %up: tensor<8x6x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<5x4xf32> {
  %o = aten.call "moe_mlir.experts.default"(%x, %ids, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "mish", gated = true} : (tensor<5x4xf32>, tensor<5x2xi64>, tensor<5x2xf32>, tensor<8x6x4xf32>, tensor<8x4x3xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}
