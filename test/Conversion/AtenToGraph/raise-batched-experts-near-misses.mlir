// One change each to a layer that is raised as it stands, and nothing is raised; the function says why.
// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s --check-prefix=RAISED --implicit-check-not=moe.plain
// DEFINE: %{step} =
// DEFINE: %{why} =
// DEFINE: %{kept} = moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT -DSTEP="%{step}" -DWHY="%{why}"
// The second product takes the matrices of other ids:
// REDEFINE: %{step} = first product
// REDEFINE: %{why} = the matrices are those of other ids than the second product's
// RUN: sed 's/\(down, .\)ids)/\1others)/' %s | %{kept}
// The biases of other ids:
// REDEFINE: %{why} = the biases are not those of the matrices' ids
// RUN: sed 's/\(up_bias, .\)ids)/\1others)/' %s | %{kept}
// Three copies of each token for two experts:
// REDEFINE: %{step} = tokens
// REDEFINE: %{why} = the rows are not repeat_interleave(tokens, 2, dim = 0)
// RUN: sed 's/repeats = 2/repeats = 3/' %s | %{kept}
// Repeated columns:
// RUN: sed 's/dim = 0 : i64, repeats/dim = 1 : i64, repeats/' %s | %{kept}
// A row where a column belongs:
// REDEFINE: %{step} = first product
// REDEFINE: %{why} = aten.bmm does not multiply one row with the matrix of one expert
// RUN: sed 's/\((.repeated) {dim = \)-1/\11/' %s | %{kept}
// One half twice:
// REDEFINE: %{step} = activation
// REDEFINE: %{why} = one part of the first product is used, and not the other
// RUN: sed 's/\(active, .\)parts#1/\1parts#0/' %s | %{kept}
// Even columns with the second half:
// REDEFINE: %{why} = it reads two products, or cuts one in two ways
// RUN: sed 's/parts#0) {self/even) {self/' %s | %{kept}
// Ids that may name no expert: here they count from the end, in moe.dispatch they drop the pair:
// REDEFINE: %{step} = ids
// REDEFINE: %{why} = an id may name no expert: nothing says that all are in [0, 7]
// RUN: sed 's/chosen#1) {self/given) {self/' %s | %{kept}
// Another number of tokens than the router saw:
// REDEFINE: %{step} = sizes
// REDEFINE: %{why} = nothing says that there are 2 pairs for each token
// RUN: sed 's/\(rows: tensor<?x4xf32> {moe.dims = \["\)T/\1U/' %s | %{kept}
// A sum over tokens:
// REDEFINE: %{step} = sum
// REDEFINE: %{why} = the rows are not summed over dimension 1 of [T, k, H]
// RUN: sed 's/dim = \[1\]/dim = [0]/' %s | %{kept}

// RAISED:      moe.expert
// RAISED-NOT:  aten.bmm

// KEPT:        func.func @near_miss{{.*}}moe.plain = [{{{[^}]*}}kind = "moe", {{[^}]*}}reason = "[[WHY]]", step = "[[STEP]]"}]
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
