// Encodings of states and updates in place: what nobody else sees has the attention program's form and is written where it is.
// RUN: moe-opt %s --graph-encode-states --graph-update-in-place | FileCheck %s
// RUN: moe-opt %s --graph-encode-states --graph-update-in-place -o %t && moe-opt %t --graph-encode-states --graph-update-in-place | diff %t -

// The size of the batch says nothing about elements.
// CHECK-LABEL: func.func @hidden
// CHECK-SAME: %[[K:.*]]: tensor<?x1x8x2xf32, "key"> {moe.state}, %[[V:.*]]: tensor<?x1x8x2xf32, "value"> {moe.state}
// CHECK: nn.cache_update %[[K]], {{.*}} in_place : tensor<?x1x8x2xf32, "key">
// CHECK: nn.cache_update %[[V]], {{.*}} in_place : tensor<?x1x8x2xf32, "value">
func.func @hidden(%k: tensor<?x1x8x2xf32> {moe.state}, %v: tensor<?x1x8x2xf32> {moe.state}, %r: tensor<?x1x1x2xf32>, %p: tensor<?xi64>)
    -> (tensor<?x1x1x2xf32>, tensor<?x1x8x2xf32> {moe.state_of = 0}, tensor<?x1x8x2xf32> {moe.state_of = 1}, index) {
  %k1 = nn.cache_update %k, %r positions(%p) : tensor<?x1x8x2xf32>, tensor<?x1x1x2xf32>, tensor<?xi64>
  %v1 = nn.cache_update %v, %r positions(%p) : tensor<?x1x8x2xf32>, tensor<?x1x1x2xf32>, tensor<?xi64>
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %k, %c0 : tensor<?x1x8x2xf32>
  %o = nn.attention %r, %k1, %v1 scale(1.0) : tensor<?x1x1x2xf32>, tensor<?x1x8x2xf32>, tensor<?x1x8x2xf32> -> tensor<?x1x1x2xf32>
  return %o, %k1, %v1, %batch : tensor<?x1x1x2xf32>, tensor<?x1x8x2xf32>, tensor<?x1x8x2xf32>, index
}

// One cache for keys and values would need two forms.
// CHECK-LABEL: func.func @both
// CHECK-SAME: tensor<1x1x8x2xf32> {moe.state}
// CHECK: nn.cache_update {{.*}} in_place : tensor<1x1x8x2xf32>,
func.func @both(%k: tensor<1x1x8x2xf32> {moe.state}, %r: tensor<1x1x1x2xf32>, %p: tensor<1xi64>)
    -> (tensor<1x1x1x2xf32>, tensor<1x1x8x2xf32> {moe.state_of = 0}) {
  %k1 = nn.cache_update %k, %r positions(%p) : tensor<1x1x8x2xf32>, tensor<1x1x1x2xf32>, tensor<1xi64>
  %o = nn.attention %r, %k1, %k1 scale(1.0) : tensor<1x1x1x2xf32>, tensor<1x1x8x2xf32>, tensor<1x1x8x2xf32> -> tensor<1x1x1x2xf32>
  return %o, %k1 : tensor<1x1x1x2xf32>, tensor<1x1x8x2xf32>
}

// What an attention reads a query at a time stays as it is.
// CHECK-LABEL: func.func @by_rows
// CHECK-SAME: tensor<1x1x8x2xf32> {moe.state}, %{{.*}}: tensor<1x1x8x2xf32> {moe.state}
// CHECK: nn.cache_update {{.*}} in_place : tensor<1x1x8x2xf32>,
func.func @by_rows(%k: tensor<1x1x8x2xf32> {moe.state}, %v: tensor<1x1x8x2xf32> {moe.state}, %r: tensor<1x1x1x2xf32>, %p: tensor<1xi64>)
    -> (tensor<1x1x1x2xf32>, tensor<1x1x8x2xf32> {moe.state_of = 0}, tensor<1x1x8x2xf32> {moe.state_of = 1}) {
  %k1 = nn.cache_update %k, %r positions(%p) : tensor<1x1x8x2xf32>, tensor<1x1x1x2xf32>, tensor<1xi64>
  %v1 = nn.cache_update %v, %r positions(%p) : tensor<1x1x8x2xf32>, tensor<1x1x1x2xf32>, tensor<1xi64>
  %o = nn.attention %r, %k1, %v1 scale(1.0) {kernel.by_rows} : tensor<1x1x1x2xf32>, tensor<1x1x8x2xf32>, tensor<1x1x8x2xf32> -> tensor<1x1x1x2xf32>
  return %o, %k1, %v1 : tensor<1x1x1x2xf32>, tensor<1x1x8x2xf32>, tensor<1x1x8x2xf32>
}

// An input is not written, nor is what is read later.
// CHECK-LABEL: func.func @copied
// CHECK-NOT: in_place
func.func @copied(%c: tensor<1x1x8x2xf32>, %s: tensor<1x1x8x2xf32> {moe.state}, %r: tensor<1x1x1x2xf32>, %p: tensor<1xi64>)
    -> (tensor<1x1x8x2xf32>, tensor<1x1x8x2xf32> {moe.state_of = 1}, tensor<1x1x1x2xf32>) {
  %c1 = nn.cache_update %c, %r positions(%p) : tensor<1x1x8x2xf32>, tensor<1x1x1x2xf32>, tensor<1xi64>
  %s1 = nn.cache_update %s, %r positions(%p) : tensor<1x1x8x2xf32>, tensor<1x1x1x2xf32>, tensor<1xi64>
  %o = nn.attention %r, %s, %s scale(1.0) : tensor<1x1x1x2xf32>, tensor<1x1x8x2xf32>, tensor<1x1x8x2xf32> -> tensor<1x1x1x2xf32>
  return %c1, %s1, %o : tensor<1x1x8x2xf32>, tensor<1x1x8x2xf32>, tensor<1x1x1x2xf32>
}
