// SparseMixer, two slots: raised as it stands, and plain after one change.
// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s --implicit-check-not=moe.plain --implicit-check-not=aten.max
// RUN: moe-opt %s --raise-aten-to-graph --raise-aten-to-graph | FileCheck %s --implicit-check-not=moe.plain
// DEFINE: %{why} =
// DEFINE: %{kept} = moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT -DWHY="%{why}"
// REDEFINE: %{why} = a slot does not choose from what the slots before have left
// The second slot has another threshold, chooses from all, or hides at 0 what the first one has:
// RUN: sed 's/^  %%far1 = \(.*\)0.02/  %%far1 = \10.04/' %s | %{kept}
// RUN: sed 's/^  %%left = \(.*\)0xFFF0000000000000/  %%left = \10x0000000000000000/' %s | %{kept}
// REDEFINE: %{why} = a slot is not the softmax at the largest logit over those that are near it
// What is far is 0, by another size than the logit's, or the weights are those of the smallest:
// RUN: sed 's/^  %%f1 = \(.*\)0xFFF0000000000000/  %%f1 = \10x0000000000000000/' %s | %{kept}
// RUN: sed 's/^  %%a1 = \(.*\)aten.abs/  %%a1 = \1aten.exp/' %s | %{kept}
// RUN: sed 's/^  %%q0 = \(.*\)(%%d0, %%c0)/  %%q0 = \1(%%d0, %%a0)/' %s | %{kept}
// RUN: sed 's/^  %%w0 = \(.*\)%%m0#1/  %%w0 = \1%%m1#1/; /^  %%w0/{h;d}; /^  %%w1/{G}' %s | %{kept}
// REDEFINE: %{why} = ids and weights are not joined slot by slot
// RUN: sed 's/^  %%ids = \(.*\)tensors = \[#aten.arg<0>, #aten.arg<1>\]/  %%ids = \1tensors = [#aten.arg<0>, #aten.arg<1>, #aten.arg<0>]/; s/2xi64/3xi64/g' %s | %{kept}

// CHECK:       moe.gate %{{.*}} top_k(2) score(sparsemixer) jitter(1.000000e-02) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>

// KEPT:        func.func @mixer{{.*}}moe.plain = [{{{[^}]*}}kind = "router", {{[^}]*}}reason = "[[WHY]]", step = "weights"}]
// KEPT-NOT:    moe.gate
func.func @mixer(%x: tensor<?x4xf32>, %logits: tensor<?x8xf32>, %up: tensor<8x3x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<?x4xf32> {
  %m0:2 = aten.call "aten.max.dim"(%logits) {self = #aten.arg<0>, dim = -1 : i64, keepdim = true} : (tensor<?x8xf32>) -> (tensor<?x1xf32>, tensor<?x1xi64>)
  %a0 = aten.call "aten.abs.default"(%logits) {self = #aten.arg<0>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %c0 = aten.call "aten.clamp.Tensor"(%a0, %m0#0) {self = #aten.arg<0>, min = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x8xf32>
  %d0 = aten.call "aten.sub.Tensor"(%m0#0, %logits) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x1xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %q0 = aten.call "aten.div.Tensor"(%d0, %c0) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %far0 = aten.call "aten.gt.Scalar"(%q0) {self = #aten.arg<0>, other = 0.02 : f64} : (tensor<?x8xf32>) -> tensor<?x8xi1>
  %f0 = aten.call "aten.masked_fill.Scalar"(%logits, %far0) {self = #aten.arg<0>, mask = #aten.arg<1>, value = 0xFFF0000000000000 : f64} : (tensor<?x8xf32>, tensor<?x8xi1>) -> tensor<?x8xf32>
  %s0 = aten.call "aten.softmax.int"(%f0) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %w0 = aten.call "aten.gather.default"(%s0, %m0#1) {self = #aten.arg<0>, dim = -1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x1xi64>) -> tensor<?x1xf32>
  %left = aten.call "aten.scatter.value"(%logits, %m0#1) {self = #aten.arg<0>, dim = -1 : i64, index = #aten.arg<1>, value = 0xFFF0000000000000 : f64} : (tensor<?x8xf32>, tensor<?x1xi64>) -> tensor<?x8xf32>
  %m1:2 = aten.call "aten.max.dim"(%left) {self = #aten.arg<0>, dim = -1 : i64, keepdim = true} : (tensor<?x8xf32>) -> (tensor<?x1xf32>, tensor<?x1xi64>)
  %a1 = aten.call "aten.abs.default"(%logits) {self = #aten.arg<0>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %c1 = aten.call "aten.clamp.Tensor"(%a1, %m1#0) {self = #aten.arg<0>, min = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x8xf32>
  %d1 = aten.call "aten.sub.Tensor"(%m1#0, %logits) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x1xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %q1 = aten.call "aten.div.Tensor"(%d1, %c1) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %far1 = aten.call "aten.gt.Scalar"(%q1) {self = #aten.arg<0>, other = 0.02 : f64} : (tensor<?x8xf32>) -> tensor<?x8xi1>
  %f1 = aten.call "aten.masked_fill.Scalar"(%left, %far1) {self = #aten.arg<0>, mask = #aten.arg<1>, value = 0xFFF0000000000000 : f64} : (tensor<?x8xf32>, tensor<?x8xi1>) -> tensor<?x8xf32>
  %s1 = aten.call "aten.softmax.int"(%f1) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %w1 = aten.call "aten.gather.default"(%s1, %m1#1) {self = #aten.arg<0>, dim = -1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x1xi64>) -> tensor<?x1xf32>
  %w = aten.call "aten.concat.default"(%w0, %w1) {tensors = [#aten.arg<0>, #aten.arg<1>], dim = -1 : i64} : (tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<?x2xf32>
  %ids = aten.call "aten.cat.default"(%m0#1, %m1#1) {tensors = [#aten.arg<0>, #aten.arg<1>], dim = -1 : i64} : (tensor<?x1xi64>, tensor<?x1xi64>) -> tensor<?x2xi64>
  %o = aten.call "moe_mlir.experts.default"(%x, %ids, %w, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "relu", gated = false} : (tensor<?x4xf32>, tensor<?x2xi64>, tensor<?x2xf32>, tensor<8x3x4xf32>, tensor<8x4x3xf32>) -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}
