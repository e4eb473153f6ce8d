// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s
// RUN: sed 's/bf16/f16/g' %s | moe-opt --raise-aten-to-graph | sed 's/f16/bf16/g' | FileCheck %s
// RUN: moe-opt %s --raise-aten-to-graph --raise-aten-to-graph | FileCheck %s
// RUN: moe-opt %s --raise-aten-to-graph --remarks-filter=moe-import 2>&1 | FileCheck %s --check-prefix=REMARK

// What transformers' `grouped_mm` leaves of a layer of Qwen3-MoE or OLMoE in f32: nothing of it is left.
// CHECK-LABEL: func.func @sorted_pairs(
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
// REMARK: remark: [Passed] Experts | Category:moe-import {{.*}}became a MoE layer
func.func @sorted_pairs(%x: tensor<?x4xf32> {moe.dims = ["T", ""]}, %logits: tensor<?x8xf32> {moe.dims = ["T", ""]}, %up: tensor<8x6x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<?x4xf32> {
  %p = aten.call "aten.softmax.int"(%logits) {dim = -1 : i64, dtype = f32, self = #aten.arg<0>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %t:2 = aten.call "aten.topk.default"(%p) {k = 2 : i64, self = #aten.arg<0>} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %w = aten.call "aten.reshape.default"(%t#0) {self = #aten.arg<0>, shape = [-1]} : (tensor<?x2xf32>) -> tensor<?xf32>
  %ids = aten.call "aten.reshape.default"(%t#1) {self = #aten.arg<0>, shape = [-1]} : (tensor<?x2xi64>) -> tensor<?xi64>
  %s:2 = aten.call "aten.sort.default"(%ids) {self = #aten.arg<0>} : (tensor<?xi64>) -> (tensor<?xi64>, tensor<?xi64>)
  %f = aten.call "aten.to.dtype"(%s#0) {dtype = f32, self = #aten.arg<0>} : (tensor<?xi64>) -> tensor<?xf32>
  %n = aten.call "aten.histc.default"(%f) {bins = 8 : i64, max = 7 : i64, min = 0 : i64, self = #aten.arg<0>} : (tensor<?xf32>) -> tensor<8xf32>
  %offs = aten.call "aten.cumsum.default"(%n) {dim = 0 : i64, dtype = i32, self = #aten.arg<0>} : (tensor<8xf32>) -> tensor<8xi32>
  %d = aten.call "aten.floor_divide.default"(%s#1) {other = 2 : i64, self = #aten.arg<0>} : (tensor<?xi64>) -> tensor<?xi64>
  %xg = aten.call "aten.index.Tensor"(%x, %d) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %wg = aten.call "aten.index.Tensor"(%w, %s#1) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  %upt = aten.call "aten.transpose.int"(%up) {dim0 = -2 : i64, dim1 = -1 : i64, self = #aten.arg<0>} : (tensor<8x6x4xf32>) -> tensor<8x4x6xf32>
  %g = aten.call "transformers.grouped_mm_fallback.default"(%xg, %upt, %offs) {input = #aten.arg<0>, weight = #aten.arg<1>, offs = #aten.arg<2>} : (tensor<?x4xf32>, tensor<8x4x6xf32>, tensor<8xi32>) -> tensor<?x6xf32>
  %c:2 = aten.call "aten.chunk.default"(%g) {chunks = 2 : i64, dim = -1 : i64, self = #aten.arg<0>} : (tensor<?x6xf32>) -> (tensor<?x3xf32>, tensor<?x3xf32>)
  %a = aten.call "aten.silu.default"(%c#0) {self = #aten.arg<0>} : (tensor<?x3xf32>) -> tensor<?x3xf32>
  %h = aten.call "aten.mul.Tensor"(%a, %c#1) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %downt = aten.call "aten.transpose.int"(%down) {dim0 = -2 : i64, dim1 = -1 : i64, self = #aten.arg<0>} : (tensor<8x4x3xf32>) -> tensor<8x3x4xf32>
  %y = aten.call "transformers.grouped_mm_fallback.default"(%h, %downt, %offs) {input = #aten.arg<0>, weight = #aten.arg<1>, offs = #aten.arg<2>} : (tensor<?x3xf32>, tensor<8x3x4xf32>, tensor<8xi32>) -> tensor<?x4xf32>
  %wc = aten.call "aten.unsqueeze.default"(%wg) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?xf32>) -> tensor<?x1xf32>
  %z = aten.call "aten.mul.Tensor"(%y, %wc) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x4xf32>, tensor<?x1xf32>) -> tensor<?x4xf32>
  %e = aten.call "aten.empty_like.default"(%s#1) {self = #aten.arg<0>} : (tensor<?xi64>) -> tensor<?xi64>
  %T = aten.call "aten.sym_size.int"(%logits) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<?x8xf32>) -> i64
  %P = aten.call "_operator.mul"(%T) {a = 2 : i64, b = #aten.arg<0>} : (i64) -> i64
  %r = aten.call "aten.arange.default"(%P) {end = #aten.arg<0>} : (i64) -> tensor<?xi64>
  %i = aten.call "aten.index_put.default"(%e, %s#1, %r) {indices = [#aten.arg<1>], self = #aten.arg<0>, values = #aten.arg<2>} : (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %b = aten.call "aten.index.Tensor"(%z, %i) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %v = aten.call "aten.view.default"(%b, %T) {self = #aten.arg<0>, size = [#aten.arg<1>, 2, 4]} : (tensor<?x4xf32>, i64) -> tensor<?x2x4xf32>
  %o = aten.call "aten.sum.dim_IntList"(%v) {dim = [1], self = #aten.arg<0>} : (tensor<?x2x4xf32>) -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}

// bf16 with weights of the pairs in f32: the sum is rounded by the cast behind it, which moe.combine does as well.
// CHECK-LABEL: func.func @rounded_sum(
// CHECK:         moe.gate {{.*}} : tensor<?x8xbf16> -> tensor<?x2xf32>, tensor<?x2xi32>
// CHECK:         %[[O:.*]] = moe.combine {{.*}} weights({{.*}} : tensor<?x2xf32>) : tensor<?x4xbf16>, !moe.layout<8> -> tensor<?x4xbf16>
// CHECK-NEXT:    return %[[O]]
func.func @rounded_sum(%x: tensor<?x4xbf16> {moe.dims = ["T", ""]}, %logits: tensor<?x8xbf16> {moe.dims = ["T", ""]}, %up: tensor<8x6x4xbf16>, %down: tensor<8x4x3xbf16>) -> tensor<?x4xbf16> {
  %p = aten.call "aten.softmax.int"(%logits) {dim = -1 : i64, dtype = f32, self = #aten.arg<0>} : (tensor<?x8xbf16>) -> tensor<?x8xf32>
  %t:2 = aten.call "aten.topk.default"(%p) {k = 2 : i64, self = #aten.arg<0>} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %w = aten.call "aten.reshape.default"(%t#0) {self = #aten.arg<0>, shape = [-1]} : (tensor<?x2xf32>) -> tensor<?xf32>
  %ids = aten.call "aten.reshape.default"(%t#1) {self = #aten.arg<0>, shape = [-1]} : (tensor<?x2xi64>) -> tensor<?xi64>
  %s:2 = aten.call "aten.sort.default"(%ids) {self = #aten.arg<0>} : (tensor<?xi64>) -> (tensor<?xi64>, tensor<?xi64>)
  %f = aten.call "aten.to.dtype"(%s#0) {dtype = f32, self = #aten.arg<0>} : (tensor<?xi64>) -> tensor<?xf32>
  %n = aten.call "aten.histc.default"(%f) {bins = 8 : i64, max = 7 : i64, min = 0 : i64, self = #aten.arg<0>} : (tensor<?xf32>) -> tensor<8xf32>
  %offs = aten.call "aten.cumsum.default"(%n) {dim = 0 : i64, dtype = i32, self = #aten.arg<0>} : (tensor<8xf32>) -> tensor<8xi32>
  %d = aten.call "aten.floor_divide.default"(%s#1) {other = 2 : i64, self = #aten.arg<0>} : (tensor<?xi64>) -> tensor<?xi64>
  %xg = aten.call "aten.index.Tensor"(%x, %d) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<?x4xbf16>, tensor<?xi64>) -> tensor<?x4xbf16>
  %wg = aten.call "aten.index.Tensor"(%w, %s#1) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  %upt = aten.call "aten.transpose.int"(%up) {dim0 = -2 : i64, dim1 = -1 : i64, self = #aten.arg<0>} : (tensor<8x6x4xbf16>) -> tensor<8x4x6xbf16>
  %g = aten.call "aten._grouped_mm.default"(%xg, %upt, %offs) {self = #aten.arg<0>, mat2 = #aten.arg<1>, offs = #aten.arg<2>} : (tensor<?x4xbf16>, tensor<8x4x6xbf16>, tensor<8xi32>) -> tensor<?x6xbf16>
  %c:2 = aten.call "aten.chunk.default"(%g) {chunks = 2 : i64, dim = -1 : i64, self = #aten.arg<0>} : (tensor<?x6xbf16>) -> (tensor<?x3xbf16>, tensor<?x3xbf16>)
  %a = aten.call "aten.silu.default"(%c#0) {self = #aten.arg<0>} : (tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %h = aten.call "aten.mul.Tensor"(%a, %c#1) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x3xbf16>, tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %downt = aten.call "aten.transpose.int"(%down) {dim0 = -2 : i64, dim1 = -1 : i64, self = #aten.arg<0>} : (tensor<8x4x3xbf16>) -> tensor<8x3x4xbf16>
  %y = aten.call "aten._grouped_mm.default"(%h, %downt, %offs) {self = #aten.arg<0>, mat2 = #aten.arg<1>, offs = #aten.arg<2>} : (tensor<?x3xbf16>, tensor<8x3x4xbf16>, tensor<8xi32>) -> tensor<?x4xbf16>
  %wc = aten.call "aten.unsqueeze.default"(%wg) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?xf32>) -> tensor<?x1xf32>
  %z = aten.call "aten.mul.Tensor"(%y, %wc) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x4xbf16>, tensor<?x1xf32>) -> tensor<?x4xf32>
  %e = aten.call "aten.empty_like.default"(%s#1) {self = #aten.arg<0>} : (tensor<?xi64>) -> tensor<?xi64>
  %T = aten.call "aten.sym_size.int"(%logits) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<?x8xbf16>) -> i64
  %P = aten.call "_operator.mul"(%T) {a = 2 : i64, b = #aten.arg<0>} : (i64) -> i64
  %r = aten.call "aten.arange.default"(%P) {end = #aten.arg<0>} : (i64) -> tensor<?xi64>
  %i = aten.call "aten.index_put.default"(%e, %s#1, %r) {indices = [#aten.arg<1>], self = #aten.arg<0>, values = #aten.arg<2>} : (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %b = aten.call "aten.index.Tensor"(%z, %i) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %v = aten.call "aten.view.default"(%b, %T) {self = #aten.arg<0>, size = [#aten.arg<1>, 2, 4]} : (tensor<?x4xf32>, i64) -> tensor<?x2x4xf32>
  %o = aten.call "aten.sum.dim_IntList"(%v) {dim = [1], self = #aten.arg<0>} : (tensor<?x2x4xf32>) -> tensor<?x4xf32>
  %o16 = aten.call "aten.to.dtype"(%o) {dtype = bf16, self = #aten.arg<0>} : (tensor<?x4xf32>) -> tensor<?x4xbf16>
  return %o16 : tensor<?x4xbf16>
}

// GPT-OSS: weights [E, in, out], biases, gate and up in turns, clamps; its router rounds once.
// CHECK-LABEL: func.func @biases(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x4xbf16>{{[^%]*}}, %[[LOGITS:[a-z0-9]+]]: tensor<?x8xbf16>{{[^%]*}}, %[[UP:[a-z0-9]+]]: tensor<8x4x6xbf16>, %[[BUP:[a-z0-9]+]]: tensor<8x6xbf16>, %[[DOWN:[a-z0-9]+]]: tensor<8x3x4xbf16>, %[[BDOWN:[a-z0-9]+]]: tensor<8x4xbf16>
// CHECK:         %[[UPT:.*]] = aten.call "aten.transpose.int"(%[[UP]]) {dim0 = 1 : i64, dim1 = 2 : i64, {{.*}} -> tensor<8x6x4xbf16>
// CHECK:         %[[DOWNT:.*]] = aten.call "aten.transpose.int"(%[[DOWN]]) {dim0 = 1 : i64, dim1 = 2 : i64, {{.*}} -> tensor<8x4x3xbf16>
// CHECK:         %[[W:.*]], %[[E:.*]] = moe.gate %[[LOGITS]] top_k(2) score(softmax_after)
// CHECK:         moe.dispatch %[[X]], %[[E]] num_experts(8)
// CHECK:         moe.expert %{{.*}}, %{{.*}}, %[[UPT]], %[[DOWNT]] bias_in(%[[BUP]] : tensor<8x6xbf16>) bias_out(%[[BDOWN]] : tensor<8x4xbf16>) gated interleaved {
// CHECK-NEXT:    ^bb0(%[[G:.*]]: f32, %[[U:.*]]: f32):
// CHECK-NEXT:      %[[U1:.*]] = arith.maximumf %[[U]], %{{.*}} : f32
// CHECK-NEXT:      %[[U2:.*]] = arith.minimumf %[[U1]], %[[SEVEN:.*]] : f32
// CHECK-NEXT:      %[[U3:.*]] = arith.addf %[[U2]], %[[ONE:.*]] : f32
// CHECK-NEXT:      %[[G1:.*]] = arith.minimumf %[[G]], %[[SEVEN]] : f32
// CHECK-NEXT:      %[[G2:.*]] = arith.mulf %[[G1]], %{{.*}} : f32
// CHECK-NEXT:      %[[N:.*]] = arith.negf %[[G2]] : f32
// CHECK-NEXT:      %[[X:.*]] = math.exp %[[N]] : f32
// CHECK-NEXT:      %[[D:.*]] = arith.addf %[[X]], %[[ONE]] : f32
// CHECK-NEXT:      %[[S:.*]] = arith.divf %[[ONE]], %[[D]] : f32
// CHECK-NEXT:      %[[GLU:.*]] = arith.mulf %[[G1]], %[[S]] : f32
// CHECK-NEXT:      %[[A:.*]] = arith.mulf %[[U3]], %[[GLU]] : f32
// CHECK-NEXT:      moe.yield %[[A]]
// CHECK:         moe.combine {{.*}} weights(%[[W]] : tensor<?x2xbf16>)
func.func @biases(%x: tensor<?x4xbf16> {moe.dims = ["T", ""]}, %logits: tensor<?x8xbf16> {moe.dims = ["T", ""]}, %up: tensor<8x4x6xbf16>, %bup: tensor<8x6xbf16>, %down: tensor<8x3x4xbf16>, %bdown: tensor<8x4xbf16>) -> tensor<?x4xbf16> {
  %t:2 = aten.call "aten.topk.default"(%logits) {k = 2 : i64, self = #aten.arg<0>} : (tensor<?x8xbf16>) -> (tensor<?x2xbf16>, tensor<?x2xi64>)
  %q = aten.call "aten.softmax.int"(%t#0) {dim = 1 : i64, dtype = bf16, self = #aten.arg<0>} : (tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %w = aten.call "aten.reshape.default"(%q) {self = #aten.arg<0>, shape = [-1]} : (tensor<?x2xbf16>) -> tensor<?xbf16>
  %ids = aten.call "aten.reshape.default"(%t#1) {self = #aten.arg<0>, shape = [-1]} : (tensor<?x2xi64>) -> tensor<?xi64>
  %s:2 = aten.call "aten.sort.default"(%ids) {self = #aten.arg<0>} : (tensor<?xi64>) -> (tensor<?xi64>, tensor<?xi64>)
  %f = aten.call "aten.to.dtype"(%s#0) {dtype = f32, self = #aten.arg<0>} : (tensor<?xi64>) -> tensor<?xf32>
  %n = aten.call "aten.histc.default"(%f) {bins = 8 : i64, max = 7 : i64, min = 0 : i64, self = #aten.arg<0>} : (tensor<?xf32>) -> tensor<8xf32>
  %offs = aten.call "aten.cumsum.default"(%n) {dim = 0 : i64, dtype = i32, self = #aten.arg<0>} : (tensor<8xf32>) -> tensor<8xi32>
  %d = aten.call "aten.floor_divide.default"(%s#1) {other = 2 : i64, self = #aten.arg<0>} : (tensor<?xi64>) -> tensor<?xi64>
  %xg = aten.call "aten.index.Tensor"(%x, %d) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<?x4xbf16>, tensor<?xi64>) -> tensor<?x4xbf16>
  %wg = aten.call "aten.index.Tensor"(%w, %s#1) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<?xbf16>, tensor<?xi64>) -> tensor<?xbf16>
  %bu = aten.call "aten.index.Tensor"(%bup, %s#0) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<8x6xbf16>, tensor<?xi64>) -> tensor<?x6xbf16>
  %g0 = aten.call "aten._grouped_mm.default"(%xg, %up, %offs) {self = #aten.arg<0>, mat2 = #aten.arg<1>, offs = #aten.arg<2>} : (tensor<?x4xbf16>, tensor<8x4x6xbf16>, tensor<8xi32>) -> tensor<?x6xbf16>
  %g = aten.call "aten.add.Tensor"(%g0, %bu) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x6xbf16>, tensor<?x6xbf16>) -> tensor<?x6xbf16>
  %c0 = aten.call "aten.slice.Tensor"(%g) {dim = 1 : i64, end = 9223372036854775807 : i64, self = #aten.arg<0>, start = 0 : i64, step = 2 : i64} : (tensor<?x6xbf16>) -> tensor<?x3xbf16>
  %c1 = aten.call "aten.slice.Tensor"(%g) {dim = 1 : i64, end = 9223372036854775807 : i64, self = #aten.arg<0>, start = 1 : i64, step = 2 : i64} : (tensor<?x6xbf16>) -> tensor<?x3xbf16>
  %a0 = aten.call "aten.clamp.default"(%c0) {max = 7.0 : f64, self = #aten.arg<0>} : (tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %a1 = aten.call "aten.clamp.default"(%c1) {max = 7.0 : f64, min = -7.0 : f64, self = #aten.arg<0>} : (tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %a2 = aten.call "aten.mul.Tensor"(%a0) {other = 1.702 : f64, self = #aten.arg<0>} : (tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %a3 = aten.call "aten.sigmoid.default"(%a2) {self = #aten.arg<0>} : (tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %a4 = aten.call "aten.mul.Tensor"(%a0, %a3) {other = #aten.arg<1>, self = #aten.arg<0>} : (tensor<?x3xbf16>, tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %a5 = aten.call "aten.add.Tensor"(%a1) {other = 1 : i64, self = #aten.arg<0>} : (tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %h = aten.call "aten.mul.Tensor"(%a5, %a4) {other = #aten.arg<1>, self = #aten.arg<0>} : (tensor<?x3xbf16>, tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %bd = aten.call "aten.index.Tensor"(%bdown, %s#0) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<8x4xbf16>, tensor<?xi64>) -> tensor<?x4xbf16>
  %y0 = aten.call "aten._grouped_mm.default"(%h, %down, %offs) {self = #aten.arg<0>, mat2 = #aten.arg<1>, offs = #aten.arg<2>} : (tensor<?x3xbf16>, tensor<8x3x4xbf16>, tensor<8xi32>) -> tensor<?x4xbf16>
  %y = aten.call "aten.add.Tensor"(%y0, %bd) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x4xbf16>, tensor<?x4xbf16>) -> tensor<?x4xbf16>
  %wc = aten.call "aten.unsqueeze.default"(%wg) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?xbf16>) -> tensor<?x1xbf16>
  %z = aten.call "aten.mul.Tensor"(%y, %wc) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x4xbf16>, tensor<?x1xbf16>) -> tensor<?x4xbf16>
  %e = aten.call "aten.empty_like.default"(%s#1) {self = #aten.arg<0>} : (tensor<?xi64>) -> tensor<?xi64>
  %T = aten.call "aten.sym_size.int"(%logits) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<?x8xbf16>) -> i64
  %P = aten.call "_operator.mul"(%T) {a = 2 : i64, b = #aten.arg<0>} : (i64) -> i64
  %r = aten.call "aten.arange.default"(%P) {end = #aten.arg<0>} : (i64) -> tensor<?xi64>
  %i = aten.call "aten.index_put.default"(%e, %s#1, %r) {indices = [#aten.arg<1>], self = #aten.arg<0>, values = #aten.arg<2>} : (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %b = aten.call "aten.index.Tensor"(%z, %i) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<?x4xbf16>, tensor<?xi64>) -> tensor<?x4xbf16>
  %v = aten.call "aten.view.default"(%b, %T) {self = #aten.arg<0>, size = [#aten.arg<1>, 2, 4]} : (tensor<?x4xbf16>, i64) -> tensor<?x2x4xbf16>
  %o = aten.call "aten.sum.dim_IntList"(%v) {dim = [1], self = #aten.arg<0>} : (tensor<?x2x4xbf16>) -> tensor<?x4xbf16>
  return %o : tensor<?x4xbf16>
}

// The order and its inverse by argsort; integers are counted; a static number of tokens; no gate.
// CHECK-LABEL: func.func @argsort(
// CHECK-NOT:     aten.call
// CHECK:         moe.dispatch {{.*}} : tensor<5x4xf32>, tensor<5x2xi32> -> tensor<10x4xf32>, !moe.layout<8>
// CHECK-NEXT:    moe.expert %{{.*}}, %{{.*}}, %{{.*}}, %{{[a-z0-9]*}} {
// CHECK-NEXT:    ^bb0(%[[G:[^,]*]]: f32):
// CHECK-NEXT:      %[[R:.*]] = arith.maximumf %[[G]], %{{.*}}
// CHECK-NEXT:      %[[S:.*]] = arith.mulf %[[R]], %[[R]]
// CHECK-NEXT:      moe.yield %[[S]]
// CHECK-NOT:     aten.call
// CHECK:         return
func.func @argsort(%x: tensor<5x4xf32>, %logits: tensor<5x8xf32>, %up: tensor<8x3x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<5x4xf32> {
  %p = aten.call "aten.softmax.int"(%logits) {dim = -1 : i64, dtype = f32, self = #aten.arg<0>} : (tensor<5x8xf32>) -> tensor<5x8xf32>
  %t:2 = aten.call "aten.topk.default"(%p) {k = 2 : i64, self = #aten.arg<0>} : (tensor<5x8xf32>) -> (tensor<5x2xf32>, tensor<5x2xi64>)
  %w = aten.call "aten.reshape.default"(%t#0) {self = #aten.arg<0>, shape = [-1]} : (tensor<5x2xf32>) -> tensor<10xf32>
  %ids = aten.call "aten.reshape.default"(%t#1) {self = #aten.arg<0>, shape = [-1]} : (tensor<5x2xi64>) -> tensor<10xi64>
  %perm = aten.call "aten.argsort.default"(%ids) {self = #aten.arg<0>} : (tensor<10xi64>) -> tensor<10xi64>
  %sorted = aten.call "aten.index.Tensor"(%ids, %perm) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<10xi64>, tensor<10xi64>) -> tensor<10xi64>
  %f = aten.call "aten.to.dtype"(%sorted) {dtype = i32, self = #aten.arg<0>} : (tensor<10xi64>) -> tensor<10xi32>
  %n = aten.call "aten.histc.default"(%f) {bins = 8 : i64, max = 7 : i64, min = 0 : i64, self = #aten.arg<0>} : (tensor<10xi32>) -> tensor<8xi32>
  %offs = aten.call "aten.cumsum.default"(%n) {dim = 0 : i64, dtype = i32, self = #aten.arg<0>} : (tensor<8xi32>) -> tensor<8xi32>
  %d = aten.call "aten.floor_divide.default"(%perm) {other = 2 : i64, self = #aten.arg<0>} : (tensor<10xi64>) -> tensor<10xi64>
  %xg = aten.call "aten.index.Tensor"(%x, %d) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<5x4xf32>, tensor<10xi64>) -> tensor<10x4xf32>
  %wg = aten.call "aten.index.Tensor"(%w, %perm) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<10xf32>, tensor<10xi64>) -> tensor<10xf32>
  %upt = aten.call "aten.transpose.int"(%up) {dim0 = -2 : i64, dim1 = -1 : i64, self = #aten.arg<0>} : (tensor<8x3x4xf32>) -> tensor<8x4x3xf32>
  %g = aten.call "transformers.grouped_mm_fallback.default"(%xg, %upt, %offs) {input = #aten.arg<0>, weight = #aten.arg<1>, offs = #aten.arg<2>} : (tensor<10x4xf32>, tensor<8x4x3xf32>, tensor<8xi32>) -> tensor<10x3xf32>
  %a = aten.call "aten.relu.default"(%g) {self = #aten.arg<0>} : (tensor<10x3xf32>) -> tensor<10x3xf32>
  %h = aten.call "aten.pow.Tensor_Scalar"(%a) {self = #aten.arg<0>, exponent = 2 : i64} : (tensor<10x3xf32>) -> tensor<10x3xf32>
  %downt = aten.call "aten.transpose.int"(%down) {dim0 = -2 : i64, dim1 = -1 : i64, self = #aten.arg<0>} : (tensor<8x4x3xf32>) -> tensor<8x3x4xf32>
  %y = aten.call "transformers.grouped_mm_fallback.default"(%h, %downt, %offs) {input = #aten.arg<0>, weight = #aten.arg<1>, offs = #aten.arg<2>} : (tensor<10x3xf32>, tensor<8x3x4xf32>, tensor<8xi32>) -> tensor<10x4xf32>
  %wc = aten.call "aten.unsqueeze.default"(%wg) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<10xf32>) -> tensor<10x1xf32>
  %z = aten.call "aten.mul.Tensor"(%y, %wc) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<10x4xf32>, tensor<10x1xf32>) -> tensor<10x4xf32>
  %i = aten.call "aten.argsort.stable"(%perm) {self = #aten.arg<0>, stable = true} : (tensor<10xi64>) -> tensor<10xi64>
  %b = aten.call "aten.index.Tensor"(%z, %i) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<10x4xf32>, tensor<10xi64>) -> tensor<10x4xf32>
  %v = aten.call "aten.view.default"(%b) {self = #aten.arg<0>, size = [5, 2, 4]} : (tensor<10x4xf32>) -> tensor<5x2x4xf32>
  %o = aten.call "aten.sum.dim_IntList"(%v) {dim = [1], self = #aten.arg<0>} : (tensor<5x2x4xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// The sum of such rows is needed in f32, which moe.combine does not give for rows in bf16.
// CHECK-LABEL: func.func @needs_f32(
// CHECK-SAME:    moe.plain = [{at = "{{.*}}", kind = "moe", place = "{{.*}}", reason = "the sum has another type than the tokens", step = "types"}]
// CHECK-NOT:     moe.dispatch
// CHECK:         aten.call "aten._grouped_mm.default"
// CHECK-NOT:     moe.dispatch
// CHECK:         return
func.func @needs_f32(%x: tensor<?x4xbf16> {moe.dims = ["T", ""]}, %logits: tensor<?x8xbf16> {moe.dims = ["T", ""]}, %up: tensor<8x6x4xbf16>, %down: tensor<8x4x3xbf16>) -> tensor<?x4xbf16> {
  %p = aten.call "aten.softmax.int"(%logits) {dim = -1 : i64, dtype = f32, self = #aten.arg<0>} : (tensor<?x8xbf16>) -> tensor<?x8xf32>
  %t:2 = aten.call "aten.topk.default"(%p) {k = 2 : i64, self = #aten.arg<0>} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %w = aten.call "aten.reshape.default"(%t#0) {self = #aten.arg<0>, shape = [-1]} : (tensor<?x2xf32>) -> tensor<?xf32>
  %ids = aten.call "aten.reshape.default"(%t#1) {self = #aten.arg<0>, shape = [-1]} : (tensor<?x2xi64>) -> tensor<?xi64>
  %s:2 = aten.call "aten.sort.default"(%ids) {self = #aten.arg<0>} : (tensor<?xi64>) -> (tensor<?xi64>, tensor<?xi64>)
  %f = aten.call "aten.to.dtype"(%s#0) {dtype = f32, self = #aten.arg<0>} : (tensor<?xi64>) -> tensor<?xf32>
  %n = aten.call "aten.histc.default"(%f) {bins = 8 : i64, max = 7 : i64, min = 0 : i64, self = #aten.arg<0>} : (tensor<?xf32>) -> tensor<8xf32>
  %offs = aten.call "aten.cumsum.default"(%n) {dim = 0 : i64, dtype = i32, self = #aten.arg<0>} : (tensor<8xf32>) -> tensor<8xi32>
  %d = aten.call "aten.floor_divide.default"(%s#1) {other = 2 : i64, self = #aten.arg<0>} : (tensor<?xi64>) -> tensor<?xi64>
  %xg = aten.call "aten.index.Tensor"(%x, %d) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<?x4xbf16>, tensor<?xi64>) -> tensor<?x4xbf16>
  %wg = aten.call "aten.index.Tensor"(%w, %s#1) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  %upt = aten.call "aten.transpose.int"(%up) {dim0 = -2 : i64, dim1 = -1 : i64, self = #aten.arg<0>} : (tensor<8x6x4xbf16>) -> tensor<8x4x6xbf16>
  %g = aten.call "aten._grouped_mm.default"(%xg, %upt, %offs) {self = #aten.arg<0>, mat2 = #aten.arg<1>, offs = #aten.arg<2>} : (tensor<?x4xbf16>, tensor<8x4x6xbf16>, tensor<8xi32>) -> tensor<?x6xbf16>
  %c:2 = aten.call "aten.chunk.default"(%g) {chunks = 2 : i64, dim = -1 : i64, self = #aten.arg<0>} : (tensor<?x6xbf16>) -> (tensor<?x3xbf16>, tensor<?x3xbf16>)
  %a = aten.call "aten.silu.default"(%c#0) {self = #aten.arg<0>} : (tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %h = aten.call "aten.mul.Tensor"(%a, %c#1) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x3xbf16>, tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %downt = aten.call "aten.transpose.int"(%down) {dim0 = -2 : i64, dim1 = -1 : i64, self = #aten.arg<0>} : (tensor<8x4x3xbf16>) -> tensor<8x3x4xbf16>
  %y = aten.call "aten._grouped_mm.default"(%h, %downt, %offs) {self = #aten.arg<0>, mat2 = #aten.arg<1>, offs = #aten.arg<2>} : (tensor<?x3xbf16>, tensor<8x3x4xbf16>, tensor<8xi32>) -> tensor<?x4xbf16>
  %wc = aten.call "aten.unsqueeze.default"(%wg) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?xf32>) -> tensor<?x1xf32>
  %z = aten.call "aten.mul.Tensor"(%y, %wc) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x4xbf16>, tensor<?x1xf32>) -> tensor<?x4xf32>
  %e = aten.call "aten.empty_like.default"(%s#1) {self = #aten.arg<0>} : (tensor<?xi64>) -> tensor<?xi64>
  %T = aten.call "aten.sym_size.int"(%logits) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<?x8xbf16>) -> i64
  %P = aten.call "_operator.mul"(%T) {a = 2 : i64, b = #aten.arg<0>} : (i64) -> i64
  %r = aten.call "aten.arange.default"(%P) {end = #aten.arg<0>} : (i64) -> tensor<?xi64>
  %i = aten.call "aten.index_put.default"(%e, %s#1, %r) {indices = [#aten.arg<1>], self = #aten.arg<0>, values = #aten.arg<2>} : (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %b = aten.call "aten.index.Tensor"(%z, %i) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %v = aten.call "aten.view.default"(%b, %T) {self = #aten.arg<0>, size = [#aten.arg<1>, 2, 4]} : (tensor<?x4xf32>, i64) -> tensor<?x2x4xf32>
  %o = aten.call "aten.sum.dim_IntList"(%v) {dim = [1], self = #aten.arg<0>} : (tensor<?x2x4xf32>) -> tensor<?x4xf32>
  %n32 = aten.call "aten.neg.default"(%o) {self = #aten.arg<0>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %s32 = aten.call "aten.add.Tensor"(%n32, %o) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %o16 = aten.call "aten.to.dtype"(%s32) {dtype = bf16, self = #aten.arg<0>} : (tensor<?x4xf32>) -> tensor<?x4xbf16>
  return %o16 : tensor<?x4xbf16>
}
