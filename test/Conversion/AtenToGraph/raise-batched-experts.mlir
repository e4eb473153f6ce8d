// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s
// RUN: sed 's/bf16/f16/g' %s | moe-opt --raise-aten-to-graph | sed 's/f16/bf16/g' | FileCheck %s
// RUN: moe-opt %s --raise-aten-to-graph --raise-aten-to-graph | FileCheck %s

// What transformers' `batched_mm` leaves of a layer of Qwen3-MoE or OLMoE in f32: nothing of it is left.
// CHECK-LABEL: func.func @copied_weights(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x4xf32>{{[^%]*}}, %[[LOGITS:[a-z0-9]+]]: tensor<?x8xf32>{{[^%]*}}, %[[UP:[a-z0-9]+]]: tensor<8x6x4xf32>, %[[DOWN:[a-z0-9]+]]: tensor<8x4x3xf32>
// CHECK-NEXT:    %[[W:.*]], %[[E:.*]] = moe.gate %[[LOGITS]] top_k(2) score(softmax) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
// CHECK-NEXT:    %[[ROWS:.*]], %[[LAYOUT:.*]] = moe.dispatch %[[X]], %[[E]] num_experts(8) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<8>
// CHECK-NEXT:    %[[Y:.*]] = moe.expert %[[ROWS]], %[[LAYOUT]], %[[UP]], %[[DOWN]] gated {
// CHECK-NEXT:    ^bb0(%[[G:.*]]: f32, %[[U:.*]]: f32):
// CHECK-NEXT:      %[[S:.*]] = nn.silu %[[G]] : f32
// CHECK-NEXT:      %[[A:.*]] = arith.mulf %[[S]], %[[U]] : f32
// CHECK-NEXT:      moe.yield %[[A]] : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[O:.*]] = moe.combine %[[Y]], %[[LAYOUT]] weights(%[[W]] : tensor<?x2xf32>) : tensor<?x4xf32>, !moe.layout<8> -> tensor<?x4xf32>
// CHECK-NEXT:    return %[[O]]
func.func @copied_weights(%x: tensor<?x4xf32> {moe.dims = ["T", ""]}, %logits: tensor<?x8xf32> {moe.dims = ["T", ""]}, %up: tensor<8x6x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<?x4xf32> {
  %p = aten.call "aten.softmax.int"(%logits) {dim = -1 : i64, dtype = f32, self = #aten.arg<0>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %t:2 = aten.call "aten.topk.default"(%p) {k = 2 : i64, self = #aten.arg<0>} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %w = aten.call "aten.reshape.default"(%t#0) {self = #aten.arg<0>, shape = [-1]} : (tensor<?x2xf32>) -> tensor<?xf32>
  %ids = aten.call "aten.reshape.default"(%t#1) {self = #aten.arg<0>, shape = [-1]} : (tensor<?x2xi64>) -> tensor<?xi64>
  %xr = aten.call "aten.repeat_interleave.self_int"(%x) {dim = 0 : i64, repeats = 2 : i64, self = #aten.arg<0>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %ui = aten.call "aten.index.Tensor"(%up, %ids) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<8x6x4xf32>, tensor<?xi64>) -> tensor<?x6x4xf32>
  %xc = aten.call "aten.unsqueeze.default"(%xr) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?x4xf32>) -> tensor<?x4x1xf32>
  %g0 = aten.call "aten.bmm.default"(%ui, %xc) {self = #aten.arg<0>, mat2 = #aten.arg<1>} : (tensor<?x6x4xf32>, tensor<?x4x1xf32>) -> tensor<?x6x1xf32>
  %g = aten.call "aten.squeeze.dim"(%g0) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?x6x1xf32>) -> tensor<?x6xf32>
  %c:2 = aten.call "aten.chunk.default"(%g) {chunks = 2 : i64, dim = -1 : i64, self = #aten.arg<0>} : (tensor<?x6xf32>) -> (tensor<?x3xf32>, tensor<?x3xf32>)
  %a = aten.call "aten.silu.default"(%c#0) {self = #aten.arg<0>} : (tensor<?x3xf32>) -> tensor<?x3xf32>
  %h = aten.call "aten.mul.Tensor"(%a, %c#1) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %di = aten.call "aten.index.Tensor"(%down, %ids) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<8x4x3xf32>, tensor<?xi64>) -> tensor<?x4x3xf32>
  %hc = aten.call "aten.unsqueeze.default"(%h) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?x3xf32>) -> tensor<?x3x1xf32>
  %y0 = aten.call "aten.bmm.default"(%di, %hc) {self = #aten.arg<0>, mat2 = #aten.arg<1>} : (tensor<?x4x3xf32>, tensor<?x3x1xf32>) -> tensor<?x4x1xf32>
  %y = aten.call "aten.squeeze.dim"(%y0) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?x4x1xf32>) -> tensor<?x4xf32>
  %wc = aten.call "aten.unsqueeze.default"(%w) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?xf32>) -> tensor<?x1xf32>
  %z = aten.call "aten.mul.Tensor"(%y, %wc) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x4xf32>, tensor<?x1xf32>) -> tensor<?x4xf32>
  %T = aten.call "aten.sym_size.int"(%logits) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<?x8xf32>) -> i64
  %v = aten.call "aten.view.default"(%z, %T) {self = #aten.arg<0>, size = [#aten.arg<1>, 2, 4]} : (tensor<?x4xf32>, i64) -> tensor<?x2x4xf32>
  %o = aten.call "aten.sum.dim_IntList"(%v) {dim = [1], self = #aten.arg<0>} : (tensor<?x2x4xf32>) -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @rounded_sum(
// CHECK-NOT:     aten.call
// CHECK:         moe.combine {{.*}} weights({{.*}} : tensor<?x2xf32>) : tensor<?x4xbf16>, !moe.layout<8> -> tensor<?x4xbf16>
// CHECK-NEXT:    return
func.func @rounded_sum(%x: tensor<?x4xbf16> {moe.dims = ["T", ""]}, %logits: tensor<?x8xbf16> {moe.dims = ["T", ""]}, %up: tensor<8x6x4xbf16>, %down: tensor<8x4x3xbf16>) -> tensor<?x4xbf16> {
  %p = aten.call "aten.softmax.int"(%logits) {dim = -1 : i64, dtype = f32, self = #aten.arg<0>} : (tensor<?x8xbf16>) -> tensor<?x8xf32>
  %t:2 = aten.call "aten.topk.default"(%p) {k = 2 : i64, self = #aten.arg<0>} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %w = aten.call "aten.reshape.default"(%t#0) {self = #aten.arg<0>, shape = [-1]} : (tensor<?x2xf32>) -> tensor<?xf32>
  %ids = aten.call "aten.reshape.default"(%t#1) {self = #aten.arg<0>, shape = [-1]} : (tensor<?x2xi64>) -> tensor<?xi64>
  %xr = aten.call "aten.repeat_interleave.self_int"(%x) {dim = 0 : i64, repeats = 2 : i64, self = #aten.arg<0>} : (tensor<?x4xbf16>) -> tensor<?x4xbf16>
  %ui = aten.call "aten.index.Tensor"(%up, %ids) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<8x6x4xbf16>, tensor<?xi64>) -> tensor<?x6x4xbf16>
  %xc = aten.call "aten.unsqueeze.default"(%xr) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?x4xbf16>) -> tensor<?x4x1xbf16>
  %g0 = aten.call "aten.bmm.default"(%ui, %xc) {self = #aten.arg<0>, mat2 = #aten.arg<1>} : (tensor<?x6x4xbf16>, tensor<?x4x1xbf16>) -> tensor<?x6x1xbf16>
  %g = aten.call "aten.squeeze.dim"(%g0) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?x6x1xbf16>) -> tensor<?x6xbf16>
  %c:2 = aten.call "aten.chunk.default"(%g) {chunks = 2 : i64, dim = -1 : i64, self = #aten.arg<0>} : (tensor<?x6xbf16>) -> (tensor<?x3xbf16>, tensor<?x3xbf16>)
  %a = aten.call "aten.silu.default"(%c#0) {self = #aten.arg<0>} : (tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %h = aten.call "aten.mul.Tensor"(%a, %c#1) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x3xbf16>, tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %di = aten.call "aten.index.Tensor"(%down, %ids) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<8x4x3xbf16>, tensor<?xi64>) -> tensor<?x4x3xbf16>
  %hc = aten.call "aten.unsqueeze.default"(%h) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?x3xbf16>) -> tensor<?x3x1xbf16>
  %y0 = aten.call "aten.bmm.default"(%di, %hc) {self = #aten.arg<0>, mat2 = #aten.arg<1>} : (tensor<?x4x3xbf16>, tensor<?x3x1xbf16>) -> tensor<?x4x1xbf16>
  %y = aten.call "aten.squeeze.dim"(%y0) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?x4x1xbf16>) -> tensor<?x4xbf16>
  %wc = aten.call "aten.unsqueeze.default"(%w) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?xf32>) -> tensor<?x1xf32>
  %z = aten.call "aten.mul.Tensor"(%y, %wc) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x4xbf16>, tensor<?x1xf32>) -> tensor<?x4xf32>
  %T = aten.call "aten.sym_size.int"(%logits) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<?x8xbf16>) -> i64
  %v = aten.call "aten.view.default"(%z, %T) {self = #aten.arg<0>, size = [#aten.arg<1>, 2, 4]} : (tensor<?x4xf32>, i64) -> tensor<?x2x4xf32>
  %o = aten.call "aten.sum.dim_IntList"(%v) {dim = [1], self = #aten.arg<0>} : (tensor<?x2x4xf32>) -> tensor<?x4xf32>
  %o16 = aten.call "aten.to.dtype"(%o) {dtype = bf16, self = #aten.arg<0>} : (tensor<?x4xf32>) -> tensor<?x4xbf16>
  return %o16 : tensor<?x4xbf16>
}

// GPT-OSS: weights [E, in, out], so rows stand on the left; biases, gate and up in turns. The parameters' recipes turn
// the weights round.
// CHECK-LABEL: func.func @biases(
// CHECK-SAME:    %[[BUP:[a-z0-9]+]]: tensor<8x6xbf16>, %[[BDOWN:[a-z0-9]+]]: tensor<8x4xbf16>
// CHECK:         %[[UP:.*]] = moe.parameter ["up"] recipe [#moe.transpose<[0, 2, 1]>] : tensor<8x6x4xbf16>
// CHECK:         %[[DOWN:.*]] = moe.parameter ["down"] recipe [#moe.transpose<[0, 2, 1]>] : tensor<8x4x3xbf16>
// CHECK:         moe.expert %{{.*}}, %{{.*}}, %[[UP]], %[[DOWN]] bias_in(%[[BUP]] : tensor<8x6xbf16>) bias_out(%[[BDOWN]] : tensor<8x4xbf16>) gated interleaved {
// CHECK:           math.exp
// CHECK-NOT:     aten.call "aten.bmm
// CHECK:         return
func.func @biases(%x: tensor<?x4xbf16> {moe.dims = ["T", ""]}, %logits: tensor<?x8xbf16> {moe.dims = ["T", ""]}, %bup: tensor<8x6xbf16>, %bdown: tensor<8x4xbf16>) -> tensor<?x4xbf16> {
  %t:2 = aten.call "aten.topk.default"(%logits) {k = 2 : i64, self = #aten.arg<0>} : (tensor<?x8xbf16>) -> (tensor<?x2xbf16>, tensor<?x2xi64>)
  %q = aten.call "aten.softmax.int"(%t#0) {dim = 1 : i64, dtype = bf16, self = #aten.arg<0>} : (tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %w = aten.call "aten.reshape.default"(%q) {self = #aten.arg<0>, shape = [-1]} : (tensor<?x2xbf16>) -> tensor<?xbf16>
  %ids = aten.call "aten.reshape.default"(%t#1) {self = #aten.arg<0>, shape = [-1]} : (tensor<?x2xi64>) -> tensor<?xi64>
  %xr = aten.call "aten.repeat_interleave.self_int"(%x) {dim = 0 : i64, repeats = 2 : i64, self = #aten.arg<0>} : (tensor<?x4xbf16>) -> tensor<?x4xbf16>
  %up = moe.parameter ["up"] : tensor<8x4x6xbf16>
  %ui = aten.call "aten.index.Tensor"(%up, %ids) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<8x4x6xbf16>, tensor<?xi64>) -> tensor<?x4x6xbf16>
  %bu = aten.call "aten.index.Tensor"(%bup, %ids) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<8x6xbf16>, tensor<?xi64>) -> tensor<?x6xbf16>
  %xc = aten.call "aten.unsqueeze.default"(%xr) {dim = 1 : i64, self = #aten.arg<0>} : (tensor<?x4xbf16>) -> tensor<?x1x4xbf16>
  %g0 = aten.call "aten.bmm.default"(%xc, %ui) {self = #aten.arg<0>, mat2 = #aten.arg<1>} : (tensor<?x1x4xbf16>, tensor<?x4x6xbf16>) -> tensor<?x1x6xbf16>
  %g1 = aten.call "aten.squeeze.dim"(%g0) {dim = 1 : i64, self = #aten.arg<0>} : (tensor<?x1x6xbf16>) -> tensor<?x6xbf16>
  %g = aten.call "aten.add.Tensor"(%g1, %bu) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x6xbf16>, tensor<?x6xbf16>) -> tensor<?x6xbf16>
  %c0 = aten.call "aten.slice.Tensor"(%g) {dim = 1 : i64, end = 9223372036854775807 : i64, self = #aten.arg<0>, start = 0 : i64, step = 2 : i64} : (tensor<?x6xbf16>) -> tensor<?x3xbf16>
  %c1 = aten.call "aten.slice.Tensor"(%g) {dim = 1 : i64, end = 9223372036854775807 : i64, self = #aten.arg<0>, start = 1 : i64, step = 2 : i64} : (tensor<?x6xbf16>) -> tensor<?x3xbf16>
  %a0 = aten.call "aten.clamp.default"(%c0) {max = 7.0 : f64, self = #aten.arg<0>} : (tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %a1 = aten.call "aten.clamp.default"(%c1) {max = 7.0 : f64, min = -7.0 : f64, self = #aten.arg<0>} : (tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %a2 = aten.call "aten.mul.Tensor"(%a0) {other = 1.702 : f64, self = #aten.arg<0>} : (tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %a3 = aten.call "aten.sigmoid.default"(%a2) {self = #aten.arg<0>} : (tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %a4 = aten.call "aten.mul.Tensor"(%a0, %a3) {other = #aten.arg<1>, self = #aten.arg<0>} : (tensor<?x3xbf16>, tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %a5 = aten.call "aten.add.Tensor"(%a1) {other = 1 : i64, self = #aten.arg<0>} : (tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %h = aten.call "aten.mul.Tensor"(%a5, %a4) {other = #aten.arg<1>, self = #aten.arg<0>} : (tensor<?x3xbf16>, tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %down = moe.parameter ["down"] : tensor<8x3x4xbf16>
  %di = aten.call "aten.index.Tensor"(%down, %ids) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<8x3x4xbf16>, tensor<?xi64>) -> tensor<?x3x4xbf16>
  %bd = aten.call "aten.index.Tensor"(%bdown, %ids) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<8x4xbf16>, tensor<?xi64>) -> tensor<?x4xbf16>
  %hc = aten.call "aten.unsqueeze.default"(%h) {dim = 1 : i64, self = #aten.arg<0>} : (tensor<?x3xbf16>) -> tensor<?x1x3xbf16>
  %y0 = aten.call "aten.bmm.default"(%hc, %di) {self = #aten.arg<0>, mat2 = #aten.arg<1>} : (tensor<?x1x3xbf16>, tensor<?x3x4xbf16>) -> tensor<?x1x4xbf16>
  %y1 = aten.call "aten.squeeze.dim"(%y0) {dim = 1 : i64, self = #aten.arg<0>} : (tensor<?x1x4xbf16>) -> tensor<?x4xbf16>
  %y = aten.call "aten.add.Tensor"(%y1, %bd) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x4xbf16>, tensor<?x4xbf16>) -> tensor<?x4xbf16>
  %wc = aten.call "aten.unsqueeze.default"(%w) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?xbf16>) -> tensor<?x1xbf16>
  %z = aten.call "aten.mul.Tensor"(%y, %wc) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x4xbf16>, tensor<?x1xbf16>) -> tensor<?x4xbf16>
  %T = aten.call "aten.sym_size.int"(%logits) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<?x8xbf16>) -> i64
  %v = aten.call "aten.view.default"(%z, %T) {self = #aten.arg<0>, size = [#aten.arg<1>, 2, 4]} : (tensor<?x4xbf16>, i64) -> tensor<?x2x4xbf16>
  %o = aten.call "aten.sum.dim_IntList"(%v) {dim = [1], self = #aten.arg<0>} : (tensor<?x2x4xbf16>) -> tensor<?x4xbf16>
  return %o : tensor<?x4xbf16>
}
