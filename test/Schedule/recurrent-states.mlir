// The next state of a scan is written where the old one is, if nobody reads that one any more.
// RUN: moe-opt %s --graph-update-in-place | FileCheck %s
// RUN: moe-opt %s --graph-update-in-place -o %t && moe-opt %t --graph-update-in-place | diff %t -
// RUN: moe-opt %s --graph-update-in-place --remarks-filter=graph-update-in-place --remark-format=emitRemark -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// CHECK-LABEL: func.func @chain
// CHECK: nn.scan {{.*}} in_place
// CHECK: nn.scan {{.*}} in_place
func.func @chain(%q: tensor<1x3x1x8xf32>, %v: tensor<1x3x1x16xf32>, %d: tensor<1x3x1xf32>, %h: tensor<1x1x8x16xf32> {moe.state})
    -> (tensor<1x3x1x16xf32>, tensor<1x1x8x16xf32> {moe.state_of = 3}) {
  %y, %n = nn.scan %q, %q, %v decay(%d : tensor<1x3x1xf32>) state(%h : tensor<1x1x8x16xf32>)
      : tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x16xf32> -> tensor<1x3x1x16xf32>
  %z, %m = nn.scan %q, %q, %y decay(%d : tensor<1x3x1xf32>) state(%n : tensor<1x1x8x16xf32>)
      : tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x16xf32> -> tensor<1x3x1x16xf32>
  return %z, %m : tensor<1x3x1x16xf32>, tensor<1x1x8x16xf32>
}

// The state's elements stand in another shape between calls.
// CHECK-LABEL: func.func @view
// CHECK: nn.scan {{.*}} in_place
func.func @view(%q: tensor<1x3x1x8xf32>, %v: tensor<1x3x1x16xf32>, %d: tensor<1x3x1xf32>, %s: tensor<1x8x16xf32> {moe.state})
    -> (tensor<1x3x1x16xf32>, tensor<1x8x16xf32> {moe.state_of = 3}) {
  %h = tensor.expand_shape %s [[0, 1], [2], [3]] output_shape [1, 1, 8, 16] : tensor<1x8x16xf32> into tensor<1x1x8x16xf32>
  %y, %n = nn.scan %q, %q, %v decay(%d : tensor<1x3x1xf32>) state(%h : tensor<1x1x8x16xf32>)
      : tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x16xf32> -> tensor<1x3x1x16xf32>
  %t = tensor.collapse_shape %n [[0, 1], [2], [3]] : tensor<1x1x8x16xf32> into tensor<1x8x16xf32>
  return %y, %t : tensor<1x3x1x16xf32>, tensor<1x8x16xf32>
}

// An input stays as it is, and so does what is read later, in this shape or in another.
// CHECK-LABEL: func.func @copied
// CHECK-NOT: in_place
// REMARK: the whole state is copied before the first step, because it writes into an argument that is no state
// REMARK: the whole state is copied before the first step, because it writes into a state whose old elements are read later
// REMARK: the whole state is copied before the first step, because it writes into a state that is neither an argument nor the result of another update
func.func @copied(%q: tensor<1x3x1x8xf32>, %v: tensor<1x3x1x16xf32>, %d: tensor<1x3x1xf32>, %i: tensor<1x1x8x16xf32>, %s: tensor<1x8x16xf32> {moe.state})
    -> (tensor<1x3x1x16xf32>, tensor<1x8x16xf32> {moe.state_of = 4}, tensor<1x8x16xf32>) {
  %y, %n = nn.scan %q, %q, %v decay(%d : tensor<1x3x1xf32>) state(%i : tensor<1x1x8x16xf32>)
      : tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x16xf32> -> tensor<1x3x1x16xf32>
  %h = tensor.expand_shape %s [[0, 1], [2], [3]] output_shape [1, 1, 8, 16] : tensor<1x8x16xf32> into tensor<1x1x8x16xf32>
  %z, %m = nn.scan %q, %q, %y decay(%d : tensor<1x3x1xf32>) state(%h : tensor<1x1x8x16xf32>)
      : tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x16xf32> -> tensor<1x3x1x16xf32>
  %zero = arith.constant dense<0.0> : tensor<1x1x8x16xf32>
  %x, %l = nn.scan %q, %q, %z decay(%d : tensor<1x3x1xf32>) state(%zero : tensor<1x1x8x16xf32>)
      : tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x16xf32> -> tensor<1x3x1x16xf32>
  %t = tensor.collapse_shape %m [[0, 1], [2], [3]] : tensor<1x1x8x16xf32> into tensor<1x8x16xf32>
  return %x, %t, %s : tensor<1x3x1x16xf32>, tensor<1x8x16xf32>, tensor<1x8x16xf32>
}
