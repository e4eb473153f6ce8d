// One change each to a layer that is raised as it stands, and nothing is raised; the function says why.
// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s --check-prefix=RAISED --implicit-check-not=moe.plain
// DEFINE: %{step} =
// DEFINE: %{why} =
// DEFINE: %{kept} = moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT -DSTEP="%{step}" -DWHY="%{why}"
// The rows of other ids are counted:
// REDEFINE: %{step} = second product
// REDEFINE: %{why} = the ends of the groups are not cumsum(histc(ids, bins = E, min = 0, max = E - 1)) of the ids that the rows are sorted by
// RUN: sed 's/order#0) {dtype/others) {dtype/' %s | %{kept}
// The weights are in the order of other ids:
// REDEFINE: %{step} = weights
// REDEFINE: %{why} = the weights of the pairs are not in the order of the rows
// RUN: sed 's/\(weights, .\)order#1/\1detour#1/' %s | %{kept}
// The weights are not put in order:
// RUN: sed 's/sorted_weights) {dim/weights) {dim/' %s | %{kept}
// The rows stay in the order of their experts:
// REDEFINE: %{step} = order
// REDEFINE: %{why} = the rows do not return to the order of their pairs, rows[inverse]
// RUN: sed 's/restored\(, .size) {self\)/weighted\1/' %s | %{kept}
// The permutation instead of its inverse:
// REDEFINE: %{why} = the rows are put in the order of their experts a second time
// RUN: sed 's/\(weighted, .\)inverse)/\1order#1)/' %s | %{kept}
// The inverse of another permutation:
// REDEFINE: %{step} = weights
// REDEFINE: %{why} = the weights of the pairs are not in the order of the rows
// RUN: sed 's/\(base, .\)order#1/\1detour#1/' %s | %{kept}
// Places that count from one:
// REDEFINE: %{step} = order
// REDEFINE: %{why} = the places of the pairs are not 0, 1, 2, ...
// RUN: sed 's/{end = /{start = 1 : i64, end = /' %s | %{kept}
// Places that are added up:
// REDEFINE: %{why} = the places of the pairs are added instead of written
// RUN: sed 's/values = /accumulate = true, values = /' %s | %{kept}
// The last expert first:
// REDEFINE: %{why} = the permutation of the pairs is not that of ids in ascending order
// RUN: sed 's/\(sort.default"(.ids) {\)self/\1descending = true, self/' %s | %{kept}
// Token p % k instead of p / k:
// REDEFINE: %{step} = tokens
// REDEFINE: %{why} = the rows are not tokens[permutation // 2]
// RUN: sed 's/floor_divide.default/remainder.Scalar/' %s | %{kept}
// Token p / 4, with two pairs for each token:
// RUN: sed 's/other = 2 /other = 4 /' %s | %{kept}
// Seven bins for eight experts:
// REDEFINE: %{step} = second product
// REDEFINE: %{why} = the ends of the groups are not cumsum(histc(ids, bins = E, min = 0, max = E - 1)) of the ids that the rows are sorted by
// RUN: sed 's/bins = 8/bins = 7/' %s | %{kept}
// A last bin that holds two experts:
// RUN: sed 's/max = 7/max = 8/' %s | %{kept}
// Ids that may name no expert: these calls would shift every row, moe.dispatch would drop the pair:
// REDEFINE: %{step} = ids
// REDEFINE: %{why} = an id may name no expert: nothing says that all are in [0, 7]
// RUN: sed 's/chosen#1) {self/given) {self/' %s | %{kept}
// A step of the activation that needs other elements:
// REDEFINE: %{step} = activation
// REDEFINE: %{why} = aten.softmax is no step that is computed element by element from the first product
// RUN: sed 's/silu.default"\(.*\) {self/softmax.int"\1 {dim = -1 : i64, self/' %s | %{kept}
// A half of another product:
// REDEFINE: %{why} = it reads two products, or cuts one in two ways
// RUN: sed 's/\(active, .\)parts#1/\1strange#1/' %s | %{kept}
// A sum over tokens:
// REDEFINE: %{step} = sum
// REDEFINE: %{why} = the rows are not summed over dimension 1 of [T, k, H]
// RUN: sed 's/dim = \[1\]/dim = [0]/' %s | %{kept}

// RAISED:      moe.expert
// RAISED-NOT:  transformers.grouped_mm_fallback

// KEPT:        func.func @near_miss{{.*}}moe.plain = [{{{[^}]*}}kind = "moe", {{[^}]*}}reason = "[[WHY]]", step = "[[STEP]]"}]
// KEPT-NOT:    moe.dispatch
// KEPT:        aten.call "transformers.grouped_mm_fallback
// KEPT-NOT:    moe.dispatch
func.func @near_miss(%rows: tensor<?x4xf32> {moe.dims = ["T", ""]}, %logits: tensor<?x8xf32> {moe.dims = ["T", ""]}, %up: tensor<8x6x4xf32>, %down: tensor<8x4x3xf32>, %given: tensor<?x2xi64> {moe.dims = ["T", ""]}) -> tensor<?x4xf32> {
  %scores = aten.call "aten.softmax.int"(%logits) {dim = -1 : i64, dtype = f32, self = #aten.arg<0>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %chosen:2 = aten.call "aten.topk.default"(%scores) {k = 2 : i64, self = #aten.arg<0>} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %weights = aten.call "aten.reshape.default"(%chosen#0) {self = #aten.arg<0>, shape = [-1]} : (tensor<?x2xf32>) -> tensor<?xf32>
  %ids = aten.call "aten.reshape.default"(%chosen#1) {self = #aten.arg<0>, shape = [-1]} : (tensor<?x2xi64>) -> tensor<?xi64>
  %least:2 = aten.call "aten.topk.default"(%logits) {k = 2 : i64, largest = false, self = #aten.arg<0>} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %others = aten.call "aten.reshape.default"(%least#1) {self = #aten.arg<0>, shape = [-1]} : (tensor<?x2xi64>) -> tensor<?xi64>
  %detour:2 = aten.call "aten.sort.default"(%others) {self = #aten.arg<0>} : (tensor<?xi64>) -> (tensor<?xi64>, tensor<?xi64>)
  %order:2 = aten.call "aten.sort.default"(%ids) {self = #aten.arg<0>} : (tensor<?xi64>) -> (tensor<?xi64>, tensor<?xi64>)
  %counted = aten.call "aten.to.dtype"(%order#0) {dtype = f32, self = #aten.arg<0>} : (tensor<?xi64>) -> tensor<?xf32>
  %counts = aten.call "aten.histc.default"(%counted) {bins = 8 : i64, max = 7 : i64, min = 0 : i64, self = #aten.arg<0>} : (tensor<?xf32>) -> tensor<8xf32>
  %offs = aten.call "aten.cumsum.default"(%counts) {dim = 0 : i64, dtype = i32, self = #aten.arg<0>} : (tensor<8xf32>) -> tensor<8xi32>
  %tokens = aten.call "aten.floor_divide.default"(%order#1) {other = 2 : i64, self = #aten.arg<0>} : (tensor<?xi64>) -> tensor<?xi64>
  %sorted_rows = aten.call "aten.index.Tensor"(%rows, %tokens) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %sorted_weights = aten.call "aten.index.Tensor"(%weights, %order#1) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  %up_matrix = aten.call "aten.transpose.int"(%up) {dim0 = -2 : i64, dim1 = -1 : i64, self = #aten.arg<0>} : (tensor<8x6x4xf32>) -> tensor<8x4x6xf32>
  %product = aten.call "transformers.grouped_mm_fallback.default"(%sorted_rows, %up_matrix, %offs) {input = #aten.arg<0>, weight = #aten.arg<1>, offs = #aten.arg<2>} : (tensor<?x4xf32>, tensor<8x4x6xf32>, tensor<8xi32>) -> tensor<?x6xf32>
  %negated = aten.call "aten.neg.default"(%sorted_rows) {self = #aten.arg<0>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %stranger = aten.call "transformers.grouped_mm_fallback.default"(%negated, %up_matrix, %offs) {input = #aten.arg<0>, weight = #aten.arg<1>, offs = #aten.arg<2>} : (tensor<?x4xf32>, tensor<8x4x6xf32>, tensor<8xi32>) -> tensor<?x6xf32>
  %strange:2 = aten.call "aten.chunk.default"(%stranger) {chunks = 2 : i64, dim = -1 : i64, self = #aten.arg<0>} : (tensor<?x6xf32>) -> (tensor<?x3xf32>, tensor<?x3xf32>)
  %parts:2 = aten.call "aten.chunk.default"(%product) {chunks = 2 : i64, dim = -1 : i64, self = #aten.arg<0>} : (tensor<?x6xf32>) -> (tensor<?x3xf32>, tensor<?x3xf32>)
  %active = aten.call "aten.silu.default"(%parts#0) {self = #aten.arg<0>} : (tensor<?x3xf32>) -> tensor<?x3xf32>
  %inner = aten.call "aten.mul.Tensor"(%active, %parts#1) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %down_matrix = aten.call "aten.transpose.int"(%down) {dim0 = -2 : i64, dim1 = -1 : i64, self = #aten.arg<0>} : (tensor<8x4x3xf32>) -> tensor<8x3x4xf32>
  %results = aten.call "transformers.grouped_mm_fallback.default"(%inner, %down_matrix, %offs) {input = #aten.arg<0>, weight = #aten.arg<1>, offs = #aten.arg<2>} : (tensor<?x3xf32>, tensor<8x3x4xf32>, tensor<8xi32>) -> tensor<?x4xf32>
  %column = aten.call "aten.unsqueeze.default"(%sorted_weights) {dim = -1 : i64, self = #aten.arg<0>} : (tensor<?xf32>) -> tensor<?x1xf32>
  %weighted = aten.call "aten.mul.Tensor"(%results, %column) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x4xf32>, tensor<?x1xf32>) -> tensor<?x4xf32>
  %base = aten.call "aten.empty_like.default"(%order#1) {self = #aten.arg<0>} : (tensor<?xi64>) -> tensor<?xi64>
  %size = aten.call "aten.sym_size.int"(%logits) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<?x8xf32>) -> i64
  %pairs = aten.call "_operator.mul"(%size) {a = 2 : i64, b = #aten.arg<0>} : (i64) -> i64
  %places = aten.call "aten.arange.default"(%pairs) {end = #aten.arg<0>} : (i64) -> tensor<?xi64>
  %inverse = aten.call "aten.index_put.default"(%base, %order#1, %places) {indices = [#aten.arg<1>], self = #aten.arg<0>, values = #aten.arg<2>} : (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %restored = aten.call "aten.index.Tensor"(%weighted, %inverse) {indices = [#aten.arg<1>], self = #aten.arg<0>} : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %slots = aten.call "aten.view.default"(%restored, %size) {self = #aten.arg<0>, size = [#aten.arg<1>, 2, 4]} : (tensor<?x4xf32>, i64) -> tensor<?x2x4xf32>
  %sums = aten.call "aten.sum.dim_IntList"(%slots) {dim = [1], self = #aten.arg<0>} : (tensor<?x2x4xf32>) -> tensor<?x4xf32>
  return %sums : tensor<?x4xf32>
}
