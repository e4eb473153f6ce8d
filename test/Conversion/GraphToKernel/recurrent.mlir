// RUN: moe-opt %s --graph-decide --convert-graph-to-kernel --split-input-file | FileCheck %s

// The state is changed where it is. A unit has a row, a head and its columns; what a step does to a row of the matrix is one loop.
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[H:[a-z0-9]+]]: memref<?x4x8x16xf32> {moe.dims = ["batch", "", "", ""], moe.state}) -> memref<?x?x4x16xbf16>
// CHECK-NOT: copy
// CHECK: kernel.launch @scan_delta_heads_4x8x16_group2_bf16({{.*}}, %[[H]],
// CHECK-NOT: kernel.launch
// CHECK: return %{{.*}} : memref<?x?x4x16xbf16>
// CHECK-LABEL: kernel.func @scan_delta_heads_4x8x16_group2_bf16(
// CHECK: scf.forall (%{{.*}}, %[[HEAD:.*]], %{{.*}}) in (%{{.*}}, 4, 1) {
// CHECK: arith.divui %[[HEAD]], %c2
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c1 {
// CHECK: math.exp
// The first walk over the matrix sums what the key finds, the second changes it and reads.
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c1 {
// CHECK: scf.for %{{.*}} = %c0 to %c16 step %c1 {
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c1 {
// CHECK: scf.for %{{.*}} = %c0 to %c16 step %c1 {
// CHECK: memref.store %{{.*}} : memref<?x4x8x16xf32>
func.func @step(%q: tensor<?x?x2x8xbf16>, %v: tensor<?x?x4x16xbf16>, %d: tensor<?x?x4xf32>, %b: tensor<?x?x4xf32>,
                %h: tensor<?x4x8x16xf32> {moe.state, moe.dims = ["batch", "", "", ""]})
    -> (tensor<?x?x4x16xbf16>, tensor<?x4x8x16xf32> {moe.state_of = 4}) {
  %y, %n = nn.scan %q, %q, %v decay(%d : tensor<?x?x4xf32>) beta(%b : tensor<?x?x4xf32>) state(%h : tensor<?x4x8x16xf32>)
      : tensor<?x?x2x8xbf16>, tensor<?x?x2x8xbf16>, tensor<?x?x4x16xbf16> -> tensor<?x?x4x16xbf16>
  return %y, %n : tensor<?x?x4x16xbf16>, tensor<?x4x8x16xf32>
}

// -----

// The last block of columns is narrower. A state that is an input is copied before; each row has its decay.
// CHECK-LABEL: func.func @channels
// CHECK-SAME: %[[H:[a-z0-9]+]]: memref<2x1x8x70xf32>)
// CHECK: %[[NEXT:.*]] = memref.alloc() : memref<2x1x8x70xf32>
// CHECK: kernel.launch @copy_{{.*}}
// CHECK: kernel.launch @scan_channels_1x8x70_f32({{.*}}%[[NEXT]],
// CHECK-LABEL: kernel.func @scan_channels_1x8x70_f32(
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %[[BLOCK:.*]]) in (2, 1, 2) {
// CHECK: %[[FULL:.*]] = arith.cmpi ne, %[[BLOCK]], %c1
// CHECK: scf.if %[[FULL]] {
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c1 {
// CHECK: } else {
// CHECK: scf.for %{{.*}} = %c0 to %c6 step %c1 {
func.func @channels(%q: tensor<2x3x1x8xf32>, %v: tensor<2x3x1x70xf32>, %d: tensor<2x3x1x8xf32>, %h: tensor<2x1x8x70xf32>)
    -> (tensor<2x3x1x70xf32>, tensor<2x1x8x70xf32>) {
  %y, %n = nn.scan %q, %q, %v decay(%d : tensor<2x3x1x8xf32>) state(%h : tensor<2x1x8x70xf32>)
      : tensor<2x3x1x8xf32>, tensor<2x3x1x8xf32>, tensor<2x3x1x70xf32> -> tensor<2x3x1x70xf32>
  return %y, %n : tensor<2x3x1x70xf32>, tensor<2x1x8x70xf32>
}

// -----

// CHECK-LABEL: kernel.func @scan_elements_1x8x16_f32(
// CHECK: %[[RATE:.*]] = memref.load %{{.*}} : memref<1x8x16xf32>
// CHECK: %[[POWER:.*]] = arith.mulf %{{.*}}, %[[RATE]]
// CHECK: math.exp %[[POWER]]
func.func @elements(%q: tensor<2x3x1x8xf32>, %v: tensor<2x3x1x16xf32>, %d: tensor<2x3x1x16xf32>, %r: tensor<1x8x16xf32>, %h: tensor<2x1x8x16xf32>)
    -> (tensor<2x3x1x16xf32>, tensor<2x1x8x16xf32>) {
  %y, %n = nn.scan %q, %q, %v decay(%d : tensor<2x3x1x16xf32>) rates(%r : tensor<1x8x16xf32>) state(%h : tensor<2x1x8x16xf32>)
      : tensor<2x3x1x8xf32>, tensor<2x3x1x8xf32>, tensor<2x3x1x16xf32> -> tensor<2x3x1x16xf32>
  return %y, %n : tensor<2x3x1x16xf32>, tensor<2x1x8x16xf32>
}

// -----

// Sizes that types do not show are compared before.
// CHECK-LABEL: func.func @convolution
// CHECK: kernel.launch @causal_conv_8x3_silu_bf16(
// CHECK-LABEL: kernel.func @causal_conv_8x3_silu_bf16(
// CHECK: scf.forall (%{{.*}}, %{{.*}}) in (%{{.*}}, 8) {
// CHECK: %[[END:.*]] = arith.minsi %c2, %[[L:.*]] : index
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c1
// CHECK: scf.for %{{.*}} = %[[END]] to %[[L]] step %c1
// CHECK-COUNT-3: math.fma
// CHECK: math.exp
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: kernel.independent
func.func @convolution(%x: tensor<?x8x?xbf16>, %w: tensor<8x3xbf16>) -> tensor<?x8x?xbf16> {
  %y = nn.causal_conv %x, %w silu : tensor<?x8x?xbf16>, tensor<8x3xbf16> -> tensor<?x8x?xbf16>
  return %y : tensor<?x8x?xbf16>
}
