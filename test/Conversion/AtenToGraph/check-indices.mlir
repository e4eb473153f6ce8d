// RUN: moe-opt %s --aten-check-indices --split-input-file | FileCheck %s
// RUN: moe-opt %s --aten-check-indices --convert-aten-to-linalg --split-input-file | FileCheck %s --check-prefix=LINALG

// LINALG-NOT: aten.call

// An argument promises its range; that of the metadata is narrowed to the table.
// CHECK-LABEL: func.func @arguments(
// CHECK-SAME:    %{{.*}}: tensor<?xi64> {moe.range = [0, 8]}, %{{.*}}: tensor<?xi64> {moe.range = [0, 7]}, %{{.*}}: tensor<?x1xi64> {moe.range = [-9, 8]},
// CHECK-NOT:     cf.assert
func.func @arguments(%ids: tensor<?xi64>, %few: tensor<?xi64> {moe.range = [-4, 7]}, %wrap: tensor<?x1xi64>, %table: tensor<9x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
  %0 = nn.embedding %ids, %table : tensor<?xi64>, tensor<9x8xf32> -> tensor<?x8xf32>
  %1 = aten.call "aten.embedding.default"(%table, %few) {weight = #aten.arg<0>, indices = #aten.arg<1>} : (tensor<9x8xf32>, tensor<?xi64>) -> tensor<?x8xf32>
  %v = aten.call "aten.view.default"(%wrap) {self = #aten.arg<0>, size = [-1]} : (tensor<?x1xi64>) -> tensor<?xi64>
  %2 = aten.call "aten.index.Tensor"(%table, %v) {self = #aten.arg<0>, indices = [#aten.arg<1>]} : (tensor<9x8xf32>, tensor<?xi64>) -> tensor<?x8xf32>
  return %0, %1, %2 : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// Numbers that are computed are checked where they are used, once. Negative ones are for `index` only.
// CHECK-LABEL: func.func @computed(
// CHECK:         %[[I:.*]] = aten.call "aten.sub.Tensor"
// CHECK:         %[[LO:.*]] = aten.call "aten.ge.Scalar"(%[[I]], %{{.*}})
// CHECK:         %[[HI:.*]] = aten.call "aten.lt.Scalar"(%[[I]], %{{.*}})
// CHECK:         %[[BOTH:.*]] = aten.call "aten.logical_and.default"(%[[LO]], %[[HI]])
// CHECK:         %[[ALL:.*]] = aten.call "aten.all.default"(%[[BOTH]]) {{.*}} -> tensor<i1>
// CHECK:         %[[OK:.*]] = tensor.extract %[[ALL]][] : tensor<i1>
// CHECK:         cf.assert %[[OK]], "an index is outside dimension 1, which has size 8 (aten.gather.default at model.py:7, node 'gather' of model.router)"
// CHECK-NEXT:    aten.call "aten.gather.default"
// CHECK-NEXT:    aten.call "aten.gather.default"
// CHECK:         %[[LOWEST:.*]] = arith.subi
// CHECK:         aten.call "aten.ge.Scalar"(%[[I]], %[[LOWEST]])
// CHECK:         cf.assert %{{.*}}, "an index is outside dimension 0 (aten.index.Tensor at
func.func @computed(%x: tensor<?x8xf32>, %a: tensor<?x2xi64>, %b: tensor<?x2xi64>) -> (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2x8xf32>) {
  %i = aten.call "aten.sub.Tensor"(%a, %b) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x2xi64>, tensor<?x2xi64>) -> tensor<?x2xi64>
  %0 = aten.call "aten.gather.default"(%x, %i) {self = #aten.arg<0>, dim = -1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32> loc("model.router"("gather"("model.py":7:0)))
  %1 = aten.call "aten.gather.default"(%x, %i) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  %2 = aten.call "aten.index.Tensor"(%x, %i) {self = #aten.arg<0>, indices = [#aten.arg<1>]} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2x8xf32>
  return %0, %1, %2 : tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2x8xf32>
}

// -----

// Narrow ones are compared in i64, as a bound may exceed their type.
// CHECK-LABEL: func.func @narrow(
// CHECK:         %[[I:.*]] = aten.call "aten.sub.Tensor"{{.*}} -> tensor<?xi32>
// CHECK:         %[[WIDE:.*]] = aten.call "aten.to.dtype"(%[[I]]) {{.*}} -> tensor<?xi64>
// CHECK:         aten.call "aten.ge.Scalar"(%[[WIDE]], %{{.*}})
// CHECK:         aten.call "aten.lt.Scalar"(%{{.*}}, %{{.*}}) {{.*}} : (tensor<?xi64>, i64)
func.func @narrow(%x: tensor<?x8xf32>, %a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?x8xf32> {
  %i = aten.call "aten.sub.Tensor"(%a, %b) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  %0 = aten.call "aten.index_select.default"(%x, %i) {self = #aten.arg<0>, dim = 0 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// What cannot be outside needs no check.
// CHECK-LABEL: func.func @known(
// CHECK-NOT:     cf.assert
// CHECK-NOT:     moe.range
func.func @known(%x: tensor<?x8xf32>, %any: tensor<?x2xi64>) -> (tensor<?x3xf32>, tensor<?x2xf32>, tensor<?x4xf32>, tensor<?xf32>) {
  %t:2 = aten.call "aten.topk.default"(%x) {self = #aten.arg<0>, k = 3 : i64} : (tensor<?x8xf32>) -> (tensor<?x3xf32>, tensor<?x3xi64>)
  %0 = aten.call "aten.gather.default"(%x, %t#1) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x3xi64>) -> tensor<?x3xf32>
  %r = aten.call "aten.remainder.Scalar"(%any) {self = #aten.arg<0>, other = 8 : i64} : (tensor<?x2xi64>) -> tensor<?x2xi64>
  %1 = aten.call "aten.gather.default"(%x, %r) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  %a = aten.call "aten.arange.start"() {start = 2 : i64, end = 6 : i64} : () -> tensor<4xi64>
  %b = aten.call "aten.add.Scalar"(%a) {self = #aten.arg<0>, other = 2 : i64} : (tensor<4xi64>) -> tensor<4xi64>
  %2 = aten.call "aten.index_select.default"(%x, %b) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<4xi64>) -> tensor<?x4xf32>
  %3 = aten.call "aten.select.int"(%x) {self = #aten.arg<0>, dim = 1 : i64, index = -8 : i64} : (tensor<?x8xf32>) -> tensor<?xf32>
  return %0, %1, %2, %3 : tensor<?x3xf32>, tensor<?x2xf32>, tensor<?x4xf32>, tensor<?xf32>
}

// -----

// ... and one more is too much.
// CHECK-LABEL: func.func @almost(
// CHECK-COUNT-2: cf.assert
func.func @almost(%x: tensor<?x8xf32>, %any: tensor<?x2xi64>) -> (tensor<?x2xf32>, tensor<?x4xf32>) {
  %r = aten.call "aten.remainder.Scalar"(%any) {self = #aten.arg<0>, other = 9 : i64} : (tensor<?x2xi64>) -> tensor<?x2xi64>
  %0 = aten.call "aten.gather.default"(%x, %r) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  %a = aten.call "aten.arange.start"() {start = 2 : i64, end = 6 : i64} : () -> tensor<4xi64>
  %b = aten.call "aten.add.Scalar"(%a) {self = #aten.arg<0>, other = 3 : i64} : (tensor<4xi64>) -> tensor<4xi64>
  %1 = aten.call "aten.index_select.default"(%x, %b) {self = #aten.arg<0>, dim = 1 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<4xi64>) -> tensor<?x4xf32>
  return %0, %1 : tensor<?x2xf32>, tensor<?x4xf32>
}

// -----

// A row of a dimension that may be shorter.
// CHECK-LABEL: func.func @select(
// CHECK:         %[[N:.*]] = aten.call "aten.sym_size.int"
// CHECK:         %[[OK:.*]] = arith.cmpi sge, %[[N]], %c5_i64
// CHECK:         cf.assert %[[OK]], "an index is outside dimension 0 (aten.select.int
func.func @select(%x: tensor<?x8xf32>) -> tensor<8xf32> {
  %0 = aten.call "aten.select.int"(%x) {self = #aten.arg<0>, dim = 0 : i64, index = -5 : i64} : (tensor<?x8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// The whole update must fit. A range with room for `seq` rows is enough; the range of a longer cache is not.
// CHECK-LABEL: func.func @cache(
// CHECK:         %[[A:.*]] = nn.cache_update %{{.*}}, %{{.*}} positions(%arg2)
// CHECK:         %[[P:.*]] = aten.call "aten.le.Scalar"(%arg2
// CHECK:         cf.assert %{{.*}}, "a position leaves no room in the cache of 8 rows (nn.cache_update
// CHECK-NEXT:    nn.cache_update
// CHECK-NOT:     cf.assert
func.func @cache(%c: tensor<?x2x16x8xf32> {moe.dims = ["batch", "", "", ""]}, %r: tensor<?x?x2x8xf32> {moe.dims = ["batch", "seq", "", ""]},
                 %p: tensor<?xi64> {moe.dims = ["batch"], moe.range = [0, 15], moe.range_plus = "seq"}, %s: tensor<?x2x8x8xf32>)
    -> (tensor<?x2x16x8xf32>, tensor<?x2x8x8xf32>) {
  %0 = nn.cache_update %c, %r positions(%p) : tensor<?x2x16x8xf32>, tensor<?x?x2x8xf32>, tensor<?xi64>
  %1 = nn.cache_update %s, %r positions(%p) : tensor<?x2x8x8xf32>, tensor<?x?x2x8xf32>, tensor<?xi64>
  return %0, %1 : tensor<?x2x16x8xf32>, tensor<?x2x8x8xf32>
}

// -----

// CHECK-LABEL: func.func @attention(
// CHECK-SAME:    %{{.*}}: tensor<1xi64> {moe.range = [0, 4611686018427387904]}
// CHECK:         cf.assert %{{.*}}, "a length is negative or too large (nn.attention
func.func @attention(%q: tensor<1x3x2x8xf32>, %k: tensor<1x2x6x8xf32>, %p: tensor<1xi64>, %x: tensor<1xi64>) -> tensor<1x3x2x8xf32> {
  %n = aten.call "aten.neg.default"(%x) {self = #aten.arg<0>} : (tensor<1xi64>) -> tensor<1xi64>
  %o = nn.attention %q, %k, %k positions(%p : tensor<1xi64>) lengths(%n : tensor<1xi64>) scale(0.25) causal : tensor<1x3x2x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32> -> tensor<1x3x2x8xf32>
  return %o : tensor<1x3x2x8xf32>
}

// All of what is narrowed to lies in the tensor, wherever it starts; a negative start counts from the end.
// CHECK-LABEL: func.func @narrow(
// CHECK-SAME:    %[[X:.*]]: tensor<?x8xf32>, %[[S:.*]]: i64, %[[L:.*]]: i64)
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : i64
// CHECK-DAG:     %[[N:.*]] = aten.call "aten.sym_size.int"(%[[X]]) {dim = 0
// CHECK:         %[[NEG:.*]] = arith.cmpi slt, %[[S]], %[[C0]]
// CHECK:         %[[SUM:.*]] = arith.addi %[[S]], %[[N]]
// CHECK:         %[[F:.*]] = arith.select %[[NEG]], %[[SUM]], %[[S]]
// CHECK:         arith.cmpi sle, %{{.*}}, %[[F]]
// CHECK:         arith.cmpi sle, %{{.*}}, %[[L]]
// CHECK:         %[[LAST:.*]] = arith.subi %[[N]], %[[L]]
// CHECK:         arith.cmpi sle, %[[F]], %[[LAST]]
// CHECK:         cf.assert %{{.*}}, "a range that is narrowed to is outside dimension 0 (aten.narrow
// CHECK:         aten.call "aten.narrow
// CHECK-NOT:     cf.assert
// CHECK:         return
func.func @narrow(%x: tensor<?x8xf32>, %s: i64, %l: i64) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0 = aten.call "aten.narrow.default"(%x, %s, %l) {self = #aten.arg<0>, dim = 0 : i64, start = #aten.arg<1>, length = #aten.arg<2>} : (tensor<?x8xf32>, i64, i64) -> tensor<?x8xf32>
  %1 = aten.call "aten.narrow.default"(%0) {self = #aten.arg<0>, dim = 1 : i64, start = -8 : i64, length = 8 : i64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %1, %0 : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// An argument promises positions along a size that has a name; only `index` takes negative ones.
// CHECK-LABEL: func.func @positions(
// CHECK-SAME:    %{{.*}}: tensor<?xi64> {moe.index_of = "rows"}, %{{.*}}: tensor<?x8xi64> {moe.index_of = "rows", moe.range = [0, 4611686018427387904]}
// CHECK-NOT:     cf.assert
// CHECK:         return
func.func @positions(%x: tensor<?x8xf32> {moe.dims = ["rows", ""]}, %keep: tensor<?xi64>, %at: tensor<?x8xi64>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %y = aten.call "aten.mul.Tensor"(%x, %x) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %0 = aten.call "aten.index.Tensor"(%y, %keep) {self = #aten.arg<0>, indices = [#aten.arg<1>]} : (tensor<?x8xf32>, tensor<?xi64>) -> tensor<?x8xf32>
  %1 = aten.call "aten.gather.default"(%y, %at) {self = #aten.arg<0>, dim = 0 : i64, index = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x8xi64>) -> tensor<?x8xf32>
  return %0, %1 : tensor<?x8xf32>, tensor<?x8xf32>
}
