// One change each to a layer that is raised as it stands, and nothing is raised.
// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s --check-prefix=RAISED
// The rows of other ids are counted:
// RUN: sed 's/order#0) {dtype/others) {dtype/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// The weights are in the order of other ids:
// RUN: sed 's/\(weights, .\)order#1/\1detour#1/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// The weights are not put in order:
// RUN: sed 's/sorted_weights) {dim/weights) {dim/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// The rows stay in the order of their experts:
// RUN: sed 's/restored\(, .size) {self\)/weighted\1/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// The permutation instead of its inverse:
// RUN: sed 's/\(weighted, .\)inverse)/\1order#1)/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// The inverse of another permutation:
// RUN: sed 's/\(base, .\)order#1/\1detour#1/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// Places that count from one:
// RUN: sed 's/{end = /{start = 1 : i64, end = /' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// Places that are added up:
// RUN: sed 's/values = /accumulate = true, values = /' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// The last expert first:
// RUN: sed 's/\(sort.default"(.ids) {\)self/\1descending = true, self/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// Token p % k instead of p / k:
// RUN: sed 's/floor_divide.default/remainder.Scalar/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// Token p / 4, with two pairs for each token:
// RUN: sed 's/other = 2 /other = 4 /' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// Seven bins for eight experts:
// RUN: sed 's/bins = 8/bins = 7/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// A last bin that holds two experts:
// RUN: sed 's/max = 7/max = 8/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// Ids that may name no expert: these calls would shift every row, moe.dispatch would drop the pair:
// RUN: sed 's/chosen#1) {self/given) {self/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// A step of the activation that needs other elements:
// RUN: sed 's/silu.default"\(.*\) {self/softmax.int"\1 {dim = -1 : i64, self/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// A half of another product:
// RUN: sed 's/\(active, .\)parts#1/\1strange#1/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT
// A sum over tokens:
// RUN: sed 's/dim = \[1\]/dim = [0]/' %s | moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT

// RAISED:      moe.expert
// RAISED-NOT:  transformers.grouped_mm_fallback

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
