// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s
// What stays plain has another place in another file.
// DEFINE: %{raise} = --raise-aten-to-graph | sed 's/place = "[^"]*", //'
// RUN: moe-opt %s %{raise} > %t && moe-opt %t %{raise} | diff %t -

// DEFINE: %{text} =
// DEFINE: %{why} =
// DEFINE: %{refused} = sed 's/expr:(max (square up) -1.5)/expr:%{text}/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=REFUSED -DWHY="%{why}"
// REDEFINE: %{text} = (mul gate up)
// REDEFINE: %{why} = character 5: 'gate' is neither up, a finite number nor (
// RUN: %{refused}
// REDEFINE: %{text} = (mish up)
// REDEFINE: %{why} = character 1: there is no operator 'mish'
// RUN: %{refused}
// REDEFINE: %{text} = (mul up)
// REDEFINE: %{why} = character 7: ')' is neither up, a finite number nor (
// RUN: %{refused}
// REDEFINE: %{text} = (square up up)
// REDEFINE: %{why} = character 11: expected ) behind 1 operand(s) of square, got 'up'
// RUN: %{refused}
// REDEFINE: %{text} = up up
// REDEFINE: %{why} = character 3: expected the end, got 'up'
// RUN: %{refused}
// REDEFINE: %{text} = (add up 1e999)
// REDEFINE: %{why} = character 8: '1e999' is neither up, a finite number nor (
// RUN: %{refused}
// REDEFINE: %{text} = (add up (exp
// REDEFINE: %{why} = character 12: the expression ends here
// RUN: %{refused}
// REFUSED-LABEL: func.func @one(
// REFUSED-SAME:    moe.plain = [{kind = "moe", {{.*}}reason = "its expression cannot be read: [[WHY]]", step = "activation"}]
// REFUSED:         aten.call "moe_mlir.experts.default"

// Limits of gate and up.
// CHECK-LABEL: func.func @limits(
// CHECK-DAG:     %[[TEN:.*]] = arith.constant 1.000000e+01 : f32
// CHECK-DAG:     %[[LOW:.*]] = arith.constant -1.000000e+01 : f32
// CHECK:         moe.expert
// CHECK-NEXT:    ^bb0(%[[G:.*]]: f32, %[[U:.*]]: f32):
// CHECK:           %[[A:.*]] = arith.minimumf %[[G]], %[[TEN]] : f32
// CHECK:           %[[S:.*]] = nn.silu %[[A]] : f32
// CHECK:           %[[B:.*]] = arith.minimumf %[[U]], %[[TEN]] : f32
// CHECK:           %[[C:.*]] = arith.maximumf %[[B]], %[[LOW]] : f32
// CHECK-NEXT:      %[[P:.*]] = arith.mulf %[[S]], %[[C]] : f32
// CHECK-NEXT:      moe.yield %[[P]] : f32
func.func @limits(%x: tensor<5x4xf32>, %ids: tensor<5x2xi64>, %w: tensor<5x2xf32>, %up: tensor<8x6x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<5x4xf32> {
  %o = aten.call "moe_mlir.experts.default"(%x, %ids, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "expr:(mul (silu (min gate 10.0)) (max (min up 10.0) -10.0))", gated = true} : (tensor<5x4xf32>, tensor<5x2xi64>, tensor<5x2xf32>, tensor<8x6x4xf32>, tensor<8x4x3xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// Every operator, each once.
// CHECK-LABEL: func.func @operators(
// CHECK-NOT:     moe.plain
// CHECK:         moe.expert
// CHECK:           arith.negf
// CHECK:           math.absf
// CHECK:           math.exp
// CHECK:           math.expm1
// CHECK:           math.log
// CHECK:           math.log1p
// CHECK:           math.sqrt
// CHECK:           math.sin
// CHECK:           math.cos
// CHECK:           math.tanh
// CHECK:           math.erf
// CHECK:           nn.silu
// CHECK:           math.powf
// CHECK:           arith.divf
// CHECK:           arith.subf
func.func @operators(%x: tensor<5x4xf32>, %ids: tensor<5x2xi64>, %w: tensor<5x2xf32>, %up: tensor<8x6x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<5x4xf32> {
  %o = aten.call "moe_mlir.experts.default"(%x, %ids, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "expr:(sub (div (pow (silu (erf (tanh (cos (sin (sqrt (log1p (log (expm1 (exp (abs (neg gate)))))))))))) 1.5) (add up 2.0)) (rsqrt (square (sigmoid (relu (gelu (gelu_tanh (softplus up))))))))", gated = true, interleaved = true} : (tensor<5x4xf32>, tensor<5x2xi64>, tensor<5x2xf32>, tensor<8x6x4xf32>, tensor<8x4x3xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// Without a gate.
// CHECK-LABEL: func.func @one(
// CHECK:         ^bb0(%[[X:.*]]: f32):
// CHECK:           %[[Q:.*]] = arith.mulf %[[X]], %[[X]] : f32
// CHECK:           arith.maximumf %[[Q]], %{{.*}} : f32
func.func @one(%x: tensor<5x4xf32>, %ids: tensor<5x2xi64>, %w: tensor<5x2xf32>, %up: tensor<8x3x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<5x4xf32> {
  %o = aten.call "moe_mlir.experts.default"(%x, %ids, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "expr:(max (square up) -1.5)", gated = false} : (tensor<5x4xf32>, tensor<5x2xi64>, tensor<5x2xf32>, tensor<8x3x4xf32>, tensor<8x4x3xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}
