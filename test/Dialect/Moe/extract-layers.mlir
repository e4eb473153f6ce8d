// RUN: moe-opt %s --split-input-file --moe-extract-layers | FileCheck %s
// RUN: moe-opt %s --split-input-file --moe-extract-layers -o %t && moe-opt %t --split-input-file --moe-extract-layers | diff %t -

// What the dispatch orders is the argument; the norm before it, which the router shares, stays with the model.
// Numbers are the model's.
// CHECK-LABEL: module attributes {moe.name = "two"}
// CHECK-NOT:   @main
// CHECK:       func.func @layer1_moe(%[[X:.*]]: tensor<?x4xf32> {moe.dims = ["tokens", ""], moe.name = "x"}) -> (tensor<?x4xf32> {moe.dims = ["tokens", ""], moe.name = "y"}) {
// CHECK-NEXT:    %[[R:.*]] = moe.parameter ["layers.1.router"]
// CHECK-NEXT:    %[[B:.*]] = moe.parameter ["layers.1.bias"]
// CHECK-NEXT:    %[[W1:.*]] = moe.parameter ["layers.1.up"]
// CHECK-NEXT:    %[[B1:.*]] = moe.parameter ["layers.1.up_bias"]
// CHECK-NEXT:    %[[W2:.*]] = moe.parameter ["layers.1.down"]
// CHECK-NEXT:    %[[L:.*]] = nn.linear %[[X]], %[[R]]
// CHECK-NEXT:    %[[G:.*]], %[[I:.*]] = moe.gate %[[L]] bias(%[[B]] : tensor<3xf32>)
// CHECK-NEXT:    %[[D:.*]], %[[LAYOUT:.*]] = moe.dispatch %[[X]], %[[I]]
// CHECK-NEXT:    %[[E:.*]] = moe.expert %[[D]], %[[LAYOUT]], %[[W1]], %[[W2]] bias_in(%[[B1]]
// CHECK:         %[[Y:.*]] = moe.combine %[[E]], %[[LAYOUT]] weights(%[[G]]
// CHECK-NEXT:    return %[[Y]]
// CHECK:       func.func @layer3_moe(
// CHECK:         moe.parameter ["layers.3.up"]
module attributes {moe.name = "two", moe.generation = {tokens = "tokens"}} {
  func.func @main(%h: tensor<?x4xf32>, %scale: tensor<4xf32>) -> tensor<?x4xf32> {
    %x = nn.rms_norm %h, %scale eps(1.0e-5) : tensor<?x4xf32>, tensor<4xf32>
    %r = moe.parameter ["layers.1.router"] : tensor<3x4xf32>
    %b = moe.parameter ["layers.1.bias"] : tensor<3xf32>
    %w1 = moe.parameter ["layers.1.up"] : tensor<3x2x4xf32>
    %b1 = moe.parameter ["layers.1.up_bias"] : tensor<3x2xf32>
    %w2 = moe.parameter ["layers.1.down"] : tensor<3x4x2xf32>
    %l = nn.linear %x, %r : tensor<?x4xf32>, tensor<3x4xf32> -> tensor<?x3xf32>
    %g, %i = moe.gate %l bias(%b : tensor<3xf32>) top_k(2) score(sigmoid) : tensor<?x3xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
    %d, %layout = moe.dispatch %x, %i num_experts(3) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<3>
    %e = moe.expert %d, %layout, %w1, %w2 bias_in(%b1 : tensor<3x2xf32>) {
    ^bb0(%v: f32):
      moe.yield %v : f32
    } : tensor<?x4xf32>, !moe.layout<3>, tensor<3x2x4xf32>, tensor<3x4x2xf32> -> tensor<?x4xf32>
    %y = moe.combine %e, %layout weights(%g : tensor<?x2xf32>) : tensor<?x4xf32>, !moe.layout<3> -> tensor<?x4xf32>
    %r3 = moe.parameter ["layers.3.router"] : tensor<3x4xf32>
    %w13 = moe.parameter ["layers.3.up"] : tensor<3x2x4xf32>
    %w23 = moe.parameter ["layers.3.down"] : tensor<3x4x2xf32>
    %l3 = nn.linear %y, %r3 : tensor<?x4xf32>, tensor<3x4xf32> -> tensor<?x3xf32>
    %g3, %i3 = moe.gate %l3 top_k(1) score(softmax) : tensor<?x3xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
    %d3, %layout3 = moe.dispatch %y, %i3 num_experts(3) : tensor<?x4xf32>, tensor<?x1xi32> -> tensor<?x4xf32>, !moe.layout<3>
    %e3 = moe.expert %d3, %layout3, %w13, %w23 {
    ^bb0(%v: f32):
      moe.yield %v : f32
    } : tensor<?x4xf32>, !moe.layout<3>, tensor<3x2x4xf32>, tensor<3x4x2xf32> -> tensor<?x4xf32>
    %y3 = moe.combine %e3, %layout3 weights(%g3 : tensor<?x1xf32>) : tensor<?x4xf32>, !moe.layout<3> -> tensor<?x4xf32>
    return %y3 : tensor<?x4xf32>
  }
}

// -----

// The router sees the tokens before the norm of the experts: both are made of the argument. No number in the names.
// CHECK-LABEL: func.func @layer0_moe(
// CHECK-SAME:    %[[H:[^:]*]]: tensor<?x4xf32>
// CHECK:         %[[X:.*]] = nn.rms_norm %[[H]]
// CHECK:         nn.linear %[[H]]
// CHECK:         moe.dispatch %[[X]]
func.func @main(%t: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %h = arith.addf %t, %t : tensor<?x4xf32>
  %scale = moe.parameter ["scale"] : tensor<4xf32>
  %x = nn.rms_norm %h, %scale eps(1.0e-5) : tensor<?x4xf32>, tensor<4xf32>
  %r = moe.parameter ["router"] : tensor<3x4xf32>
  %l = nn.linear %h, %r : tensor<?x4xf32>, tensor<3x4xf32> -> tensor<?x3xf32>
  %g, %i = moe.gate %l top_k(2) score(softmax) : tensor<?x3xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %d, %layout = moe.dispatch %x, %i num_experts(3) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<3>
  %y = moe.combine %d, %layout weights(%g : tensor<?x2xf32>) : tensor<?x4xf32>, !moe.layout<3> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

// No gate: ids and weights are the caller's.
// CHECK-LABEL: func.func @layer0_moe(
// CHECK-SAME:    %{{[^:]*}}: tensor<?x4xf32> {moe.dims = ["tokens", ""], moe.name = "x"},
// CHECK-SAME:    moe.name = "weights"
// CHECK-SAME:    moe.name = "ids", moe.range = [-1, 2]
// CHECK:         moe.dispatch
func.func @main(%t: tensor<?x4xf32>, %g: tensor<?x2xf32>, %ids: tensor<?x2xi32>) -> tensor<?x4xf32> {
  %x = arith.addf %t, %t : tensor<?x4xf32>
  %d, %layout = moe.dispatch %x, %ids num_experts(3) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<3>
  %y = moe.combine %d, %layout weights(%g : tensor<?x2xf32>) : tensor<?x4xf32>, !moe.layout<3> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
