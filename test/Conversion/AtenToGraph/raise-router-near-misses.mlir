// One change each to a router that is raised as it stands.
// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s --check-prefix=RAISED --implicit-check-not=moe.plain
// Where the choice is no longer known, the router stays plain, and the function says why.
// DEFINE: %{step} =
// DEFINE: %{why} =
// DEFINE: %{kept} = moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT -DSTEP="%{step}" -DWHY="%{why}"
// Scores that are of no known function:
// REDEFINE: %{step} = scores
// REDEFINE: %{why} = they come from aten.tanh, not from softmax, sigmoid or sqrt(softplus) of the logits
// RUN: sed 's/aten.sigmoid.default/aten.tanh.default/' %s | %{kept}
// The root of something else, and of a softplus that bends early:
// REDEFINE: %{why} = they come from aten.sqrt, not from softmax, sigmoid or sqrt(softplus) of the logits
// RUN: sed 's/aten.sigmoid.default/aten.sqrt.default/' %s | %{kept}
// RUN: sed 's/^  %%scores = .*/%%soft = aten.call "aten.softplus.default"(%%logits) {self = #aten.arg<0>, threshold = 2 : i64} : (tensor<?x8xf32>) -> tensor<?x8xf32>\n%%scores = aten.call "aten.sqrt.default"(%%soft) {self = #aten.arg<0>} : (tensor<?x8xf32>) -> tensor<?x8xf32>/' %s | %{kept}
// A softmax over the tokens:
// REDEFINE: %{why} = the softmax is not over the experts
// RUN: sed 's/aten.sigmoid.default"(%%logits) {/aten.softmax.int"(%%logits) {dim = 0 : i64, /' %s | %{kept}
// A choice by other numbers than scores and bias:
// REDEFINE: %{step} = choice
// REDEFINE: %{why} = topk chooses by aten.mul, which is neither the scores nor scores + bias
// RUN: sed 's/aten.add.Tensor/aten.mul.Tensor/' %s | %{kept}
// The lowest scores:
// REDEFINE: %{why} = topk does not take a known number of the largest scores of each token
// RUN: sed 's/(%%biased) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64}/(%%biased) {self = #aten.arg<0>, k = 2 : i64, dim = -1 : i64, largest = false}/' %s | %{kept}

// Where the choice is known, and not what becomes of the weights, moe.gate chooses, and the rest stays plain.
// DEFINE: %{rest} =
// DEFINE: %{chosen} = moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=CHOSEN -DREST="%{rest}" --implicit-check-not=moe.plain --implicit-check-not=aten.gather
// Weights that something else changes:
// REDEFINE: %{rest} = aten.exp
// RUN: sed 's/aten.mul.Tensor"(%%shares) {self = #aten.arg<0>, other = 2.5 : f64}/aten.exp.default"(%%shares) {self = #aten.arg<0>}/' %s | %{chosen}
// A scale for each token:
// REDEFINE: %{rest} = aten.mul
// RUN: sed 's/(%%shares) {self = #aten.arg<0>, other = 2.5 : f64} : (tensor<?x2xf32>)/(%%shares, %%chosen) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x2xf32>, tensor<?x2xf32>)/' %s | %{chosen}
// A sum over tokens, one that is not kept as a dimension, and one that is bounded above:
// REDEFINE: %{rest} = aten.div
// RUN: sed 's/dim = \[-1\], keepdim/dim = [0], keepdim/' %s | %{chosen}
// RUN: sed 's/%%shares = aten.call "aten.div.Tensor"(%%chosen, %%sum)/%%small = aten.call "aten.clamp.default"(%%sum) {self = #aten.arg<0>, min = 0.5 : f64, max = 2.0 : f64} : (tensor<?x1xf32>) -> tensor<?x1xf32>\n%%shares = aten.call "aten.div.Tensor"(%%chosen, %%small)/' %s | %{chosen}
// RUN: sed 's/%%shares = aten.call "aten.div.Tensor"(%%chosen, %%sum)/%%small = aten.call "aten.clamp.default"(%%sum) {self = #aten.arg<0>, min = 0.0 : f64} : (tensor<?x1xf32>) -> tensor<?x1xf32>\n%%shares = aten.call "aten.div.Tensor"(%%chosen, %%small)/' %s | %{chosen}
// Another norm than the sum:
// RUN: sed 's/"aten.sum.dim_IntList"(%%chosen) {self = #aten.arg<0>/"aten.linalg_vector_norm.default"(%%chosen) {self = #aten.arg<0>, ord = 0.5 : f64/' %s | %{chosen}
// Other experts than the layer has:
// REDEFINE: %{rest} = aten.mul
// RUN: sed 's/<8x3x4xf32>/<9x3x4xf32>/g; s/<8x4x3xf32>/<9x4x3xf32>/g' %s | %{chosen}
// Weights of other experts than those that are chosen:
// RUN: sed 's/gather.default"(%%scores, %%best#1)/gather.default"(%%scores, %%other#1)/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=OTHERS

// RAISED:      moe.gate {{.*}} top_k(2) score(sigmoid) renormalize(sum) scale(2.500000e+00)

// KEPT:        func.func @near_miss{{.*}}moe.plain = [{{{[^}]*}}kind = "router", {{[^}]*}}reason = "[[WHY]]", step = "[[STEP]]"}]
// KEPT-NOT:    moe.gate
// KEPT:        moe.dispatch

// CHOSEN:      %[[W:.*]], %[[E:.*]] = moe.gate %{{.*}} bias(%{{.*}} : tensor<8xf32>) top_k(2) score(sigmoid) : tensor<?x8xf32>
// CHOSEN:      "[[REST]]
// CHOSEN:      moe.dispatch %{{.*}}, %[[E]]

// OTHERS:      %{{.*}}, %[[E:.*]] = moe.gate %{{.*}} bias(%{{.*}} : tensor<8xf32>) top_k(2) score(sigmoid) : tensor<?x8xf32>
// OTHERS:      aten.gather
// OTHERS:      moe.dispatch %{{.*}}, %[[E]]

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
