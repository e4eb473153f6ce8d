// One change each to a layer that is raised as it stands, and nothing is raised.
// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s --check-prefix=RAISED
// The second product takes the matrices of other ids:
// RUN: sed 's/\(down, .\)ids)/\1others)/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// The biases of other ids:
// RUN: sed 's/\(up_bias, .\)ids)/\1others)/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// Three copies of each token for two experts:
// RUN: sed 's/repeats = 2/repeats = 3/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// Repeated columns:
// RUN: sed 's/dim = 0 : i64, repeats/dim = 1 : i64, repeats/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// A row where a column belongs:
// RUN: sed 's/\((.repeated) {dim = \)-1/\11/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// One half twice:
// RUN: sed 's/\(active, .\)parts#1/\1parts#0/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// Even columns with the second half:
// RUN: sed 's/parts#0) {self/even) {self/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// Ids that may name no expert: here they count from the end, in moe.dispatch they drop the pair:
// RUN: sed 's/chosen#1) {self/given) {self/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// Another number of tokens than the router saw:
// RUN: sed 's/\(rows: tensor<?x4xf32> {moe.dims = \["\)T/\1U/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// A sum over tokens:
// RUN: sed 's/dim = \[1\]/dim = [0]/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT

// RAISED:      moe.expert
// RAISED-NOT:  aten.bmm

// KEPT-NOT:    moe.dispatch
// KEPT:        aten.call "aten.bmm
// KEPT-NOT:    moe.dispatch
func.func @near_miss(%rows: tensor<?x4xf32> {moe.dims = ["T", ""]}, %logits: tensor<?x8xf32> {moe.dims = ["T", ""]}, %up: tensor<8x6x4xf32>, %down: tensor<8x4x3xf32>, %given: tensor<?x2xi64> {moe.dims = ["T", ""]}, %up_bias: tensor<8x6xf32>) -> tensor<?x4xf32> {
  %scores = aten.call "aten.softmax.int"(%logits) {dim = -1 : i64, dtype = f32, self = #aten.arg<0>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %chosen:2 = aten.call "aten.topk.default"(%scores) {k = 2 : i64, self = #aten.arg<0>} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %weights = aten.call "aten.reshape.default"(%chosen#0) {self = #aten.arg<0>, shape = [-1]} : (tensor<?x2xf32>) -> tensor<?xf32>
  %ids = aten.call "aten.reshape.default"(%chosen#1) {self = #aten.arg<0>, shape = [-1]} : (tensor<?x2xi64>) -> tensor<?xi64>
  %least:2 = aten.call "aten.topk.default"(%logits) {k = 2 : i64, largest = false, self = #aten.arg<0>} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %others = aten.call "aten.reshape.default"(%least#1) {self = #aten.arg<0>, shape = [-1]} : (tensor<?x2xi64>) -> tensor<?xi64>
  %repeated = aten.call "aten.repeat_interleave.self_int"(%rows) {dim = 0 : i64, repeats = 2 : i64, self = #aten.arg<0>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %up_biases = aten.call "aten.index.Tensor"(%up_bias, %ids) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<8x6xf32>, tensor<?xi64>) -> tensor<?x6xf32>
  %up_copies = aten.call "aten.index.Tensor"(%up, %ids) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<8x6x4xf32>, tensor<?xi64>) -> tensor<?x6x4xf32>
  %up_column = aten.call "aten.unsqueeze.default"(%repeated) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?x4xf32>) -> tensor<?x4x1xf32>
  %up_product = aten.call "aten.bmm.default"(%up_copies, %up_column) {self = #aten.arg<0>, mat2 = #aten.arg<1>} : (tensor<?x6x4xf32>, tensor<?x4x1xf32>) -> tensor<?x6x1xf32>
  %up_rows = aten.call "aten.squeeze.dim"(%up_product) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?x6x1xf32>) -> tensor<?x6xf32>
  %product = aten.call "aten.add.Tensor"(%up_rows, %up_biases) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x6xf32>, tensor<?x6xf32>) -> tensor<?x6xf32>
  %even = aten.call "aten.slice.Tensor"(%product) {dim = 1 : i64, end = 9223372036854775807 : i64, self = #aten.arg<0>, start = 0 : i64, step = 2 : i64} : (tensor<?x6xf32>) -> tensor<?x3xf32>
  %parts:2 = aten.call "aten.chunk.default"(%product) {chunks = 2 : i64, dim = -1 : i64, self = #aten.arg<0>} : (tensor<?x6xf32>) -> (tensor<?x3xf32>, tensor<?x3xf32>)
  %active = aten.call "aten.silu.default"(%parts#0) {self = #aten.arg<0>} : (tensor<?x3xf32>) -> tensor<?x3xf32>
  %inner = aten.call "aten.mul.Tensor"(%active, %parts#1) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %down_copies = aten.call "aten.index.Tensor"(%down, %ids) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<8x4x3xf32>, tensor<?xi64>) -> tensor<?x4x3xf32>
  %down_column = aten.call "aten.unsqueeze.default"(%inner) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?x3xf32>) -> tensor<?x3x1xf32>
  %down_product = aten.call "aten.bmm.default"(%down_copies, %down_column) {self = #aten.arg<0>, mat2 = #aten.arg<1>} : (tensor<?x4x3xf32>, tensor<?x3x1xf32>) -> tensor<?x4x1xf32>
  %results = aten.call "aten.squeeze.dim"(%down_product) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?x4x1xf32>) -> tensor<?x4xf32>
  %column = aten.call "aten.unsqueeze.default"(%weights) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?xf32>) -> tensor<?x1xf32>
  %weighted = aten.call "aten.mul.Tensor"(%results, %column) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x4xf32>, tensor<?x1xf32>) -> tensor<?x4xf32>
  %size = aten.call "aten.sym_size.int"(%logits) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<?x8xf32>) -> i64
  %slots = aten.call "aten.view.default"(%weighted, %size) {self = #aten.arg<0>, size = [#aten.arg<1>, 2, 4]} : (tensor<?x4xf32>, i64) -> tensor<?x2x4xf32>
  %sums = aten.call "aten.sum.dim_IntList"(%slots) {dim = [1], self = #aten.arg<0>} : (tensor<?x2x4xf32>) -> tensor<?x4xf32>
  return %sums : tensor<?x4xf32>
}
