// One change each to a router that is raised as it stands, and it stays plain; the function says why.
// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s --check-prefix=RAISED --implicit-check-not=moe.plain
// DEFINE: %{step} =
// DEFINE: %{why} =
// DEFINE: %{kept} = moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT -DSTEP="%{step}" -DWHY="%{why}"
// Weights that something else changes:
// REDEFINE: %{step} = weights
// REDEFINE: %{why} = they come from aten.exp, not from topk, from gather(scores, ids), or from softmax of the logits that topk chose
// RUN: sed 's/aten.mul.Tensor"(%%shares) {self = #aten.arg<0>, other = 2.5 : f64}/aten.exp.default"(%%shares) {self = #aten.arg<0>}/' %s | %{kept}
// A scale for each expert:
// REDEFINE: %{step} = scale
// REDEFINE: %{why} = the weights are multiplied by something else than a number
// RUN: sed 's/(%%shares) {self = #aten.arg<0>, other = 2.5 : f64} : (tensor<?x2xf32>)/(%%shares, %%chosen) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x2xf32>, tensor<?x2xf32>)/' %s | %{kept}
// A sum over tokens:
// REDEFINE: %{step} = renormalisation
// REDEFINE: %{why} = the weights are not divided by their own sum
// RUN: sed 's/dim = \[-1\], keepdim/dim = [0], keepdim/' %s | %{kept}
// Weights of the lowest experts:
// REDEFINE: %{step} = weights
// REDEFINE: %{why} = they are not gather(scores, ids) over the experts
// RUN: sed 's/gather.default"(%%scores, %%best#1)/gather.default"(%%scores, %%other#1)/' %s | %{kept}
// Scores that are neither softmax nor sigmoid:
// REDEFINE: %{step} = scores
// REDEFINE: %{why} = they come from aten.tanh, not from softmax or sigmoid of the logits
// RUN: sed 's/aten.sigmoid.default/aten.tanh.default/' %s | %{kept}
// A softmax over the tokens:
// REDEFINE: %{why} = the softmax is not over the experts
// RUN: sed 's/aten.sigmoid.default"(%%logits) {/aten.softmax.int"(%%logits) {dim = 0 : i64, /' %s | %{kept}
// A choice by other numbers than scores and bias:
// REDEFINE: %{step} = choice
// REDEFINE: %{why} = topk chooses by aten.mul, which is neither the scores nor scores + bias
// RUN: sed 's/aten.add.Tensor/aten.mul.Tensor/' %s | %{kept}
// Other experts than the layer has:
// REDEFINE: %{step} = logits
// REDEFINE: %{why} = there are 8 for 9 experts
// RUN: sed 's/<8x3x4xf32>/<9x3x4xf32>/g; s/<8x4x3xf32>/<9x4x3xf32>/g' %s | %{kept}

// RAISED:      moe.gate {{.*}} top_k(2) score(sigmoid) renormalize(sum) scale(2.500000e+00)

// KEPT:        func.func @near_miss{{.*}}moe.plain = [{{{[^}]*}}kind = "router", {{[^}]*}}reason = "[[WHY]]", step = "[[STEP]]"}]
// KEPT-NOT:    moe.gate
// KEPT:        moe.dispatch
func.func @near_miss(%x: tensor<?x4xf32>, %logits: tensor<?x8xf32>, %bias: tensor<8xf32>, %up: tensor<8x3x4xf32>, %down: tensor<8x4x3xf32>) -> tensor<?x4xf32> {
  %scores = aten.call "aten.sigmoid.default"(%logits) {self = #aten.arg<0>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %biased = aten.call "aten.add.Tensor"(%scores, %bias) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %best:2 = aten.call "aten.topk.default"(%biased) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %other:2 = aten.call "aten.topk.default"(%scores) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64, largest = false} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %chosen = aten.call "aten.gather.default"(%scores, %best#1) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  %sum = aten.call "aten.sum.dim_IntList"(%chosen) {self = #aten.arg<0>, dim = [-1], keepdim = true} : (tensor<?x2xf32>) -> tensor<?x1xf32>
  %shares = aten.call "aten.div.Tensor"(%chosen, %sum) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x2xf32>, tensor<?x1xf32>) -> tensor<?x2xf32>
  %weights = aten.call "aten.mul.Tensor"(%shares) {self = #aten.arg<0>, other = 2.5 : f64} : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %o = aten.call "moe_mlir.experts.default"(%x, %best#1, %weights, %up, %down) {hidden = #aten.arg<0>, ids = #aten.arg<1>, weights = #aten.arg<2>, gate_up_proj = #aten.arg<3>, down_proj = #aten.arg<4>, activation = "relu", gated = false} : (tensor<?x4xf32>, tensor<?x2xi64>, tensor<?x2xf32>, tensor<8x3x4xf32>, tensor<8x4x3xf32>) -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}
