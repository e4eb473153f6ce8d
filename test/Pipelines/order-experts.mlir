// Orders of experts from a file: what the option experts=FILE of moe-partition makes of them.
// RUN: split-file %s %t
// RUN: moe-opt %t/two.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/named.json})" -o %t/two.out && FileCheck %s --check-prefixes=TWO,SPLIT < %t/two.out
// RUN: moe-opt %t/two.out --moe-verify-level=level=spmd -o %t/verified
// RUN: moe-opt %t/two.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,tokens=replicated,experts=%t/named.json})" -o %t/whole.out && FileCheck %s --check-prefixes=TWO,WHOLE < %t/whole.out
// One rank orders its experts as well, and the sums go by place.
// RUN: moe-opt %t/two.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=1,experts=%t/named.json})" -o %t/one.out && FileCheck %s --check-prefix=ONE < %t/one.out
// RUN: moe-opt %t/one.out --moe-verify-level=level=spmd -o %t/verified
// A row of SGLang's table for each layer of the model; other keys are not read.
// RUN: moe-opt %t/two.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/map.json})" | diff %t/two.out -
// Layers that go by number have no order in their text.
// RUN: moe-opt %t/two.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2})" -o %t/plain.out
// RUN: moe-opt %t/two.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/nothing.json})" | diff %t/plain.out -
// RUN: moe-opt %t/two.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/by-number.json})" | diff %t/plain.out -
// One table for all layers, which have as many experts.
// RUN: moe-opt %t/alike.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/all.json})" | FileCheck %s --check-prefix=ALIKE

// TWO: #order = #moe.order<[2, 0, 3, 1]>
// Experts in this order before the ranks take their parts; once for both layers that read it.
// TWO: %[[UP:.*]] = moe.parameter ["model.layers.0.mlp.experts.up"] recipe [#moe.cast<f32>, #order, #moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<2x16x8xf32>
// TWO-NEXT: moe.parameter ["model.layers.0.mlp.experts.down"] recipe [#order, #moe.shard<dim = 0, grid = @ep, ranks = 2>]
// TWO-NEXT: moe.parameter ["model.layers.0.mlp.experts.bias"] recipe [#order, #moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<2x8xf32>
// TWO-NEXT: moe.parameter ["model.layers.2.mlp.experts.up"] recipe [#moe.shard
// TWO-NEXT: moe.parameter ["model.layers.2.mlp.experts.down"] recipe [#moe.shard
// SPLIT: moe.dispatch {{.*}} num_experts(4) order(#order) to @ep
// SPLIT: moe.dispatch {{.*}} num_experts(4) order(#order) at @ep
// SPLIT: moe.dispatch {{.*}} num_experts(8) to @ep
// SPLIT: moe.dispatch {{.*}} num_experts(8) at @ep
// WHOLE: moe.dispatch {{.*}} num_experts(4) order(#order) at @ep
// WHOLE: moe.dispatch {{.*}} num_experts(8) at @ep

// ONE-NOT: shard.grid
// ONE: moe.parameter ["model.layers.0.mlp.experts.up"] recipe [#moe.cast<f32>, #order] : tensor<4x16x8xf32>
// ONE: moe.parameter ["model.layers.2.mlp.experts.up"] : tensor<8x16x8xf32>
// ONE: moe.dispatch {{.*}} num_experts(4) order(#order) :
// ONE: moe.combine {{.*}} sum(<tree, groups = 4>)
// ONE: moe.dispatch {{.*}} num_experts(8) :
// ONE: moe.combine {{.*}} sum(<tree, groups = 8>)

// ALIKE: moe.parameter ["model.layers.0.mlp.experts.up"] recipe [#order, #moe.shard
// ALIKE: moe.parameter ["model.layers.1.mlp.experts.up"] recipe [#order, #moe.shard
// ALIKE-COUNT-4: order(#order)

//--- named.json
{"model.layers.0.mlp": [2, 0, 3, 1]}
//--- map.json
{"logical_count": [[7]], "physical_to_logical_map": [[2, 0, 3, 1], [0], [0, 1, 2, 3, 4, 5, 6, 7]]}
//--- nothing.json
{}
//--- by-number.json
{"model.layers.0.mlp": [0, 1, 2, 3]}
//--- all.json
[3, 1, 0, 2]
//--- two.mlir
func.func @main(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %up0 = moe.parameter ["model.layers.0.mlp.experts.up"] recipe [#moe.cast<f32>] : tensor<4x16x8xf32>
  %down0 = moe.parameter ["model.layers.0.mlp.experts.down"] : tensor<4x8x16xf32>
  %bias0 = moe.parameter ["model.layers.0.mlp.experts.bias"] : tensor<4x8xf32>
  %up2 = moe.parameter ["model.layers.2.mlp.experts.up"] : tensor<8x16x8xf32>
  %down2 = moe.parameter ["model.layers.2.mlp.experts.down"] : tensor<8x8x16xf32>
  %rows0, %layout0 = moe.dispatch %x, %e num_experts(4) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<4>
  %r0 = moe.expert %rows0, %layout0, %up0, %down0 bias_out(%bias0 : tensor<4x8xf32>) {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x16x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  %y0 = moe.combine %r0, %layout0 : tensor<?x8xf32>, !moe.layout<4> -> tensor<?x8xf32>
  %rows2, %layout2 = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %r2 = moe.expert %rows2, %layout2, %up2, %down2 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x16x8xf32>, tensor<8x8x16xf32> -> tensor<?x8xf32>
  %y2 = moe.combine %r2, %layout2 : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %y0, %y2 : tensor<?x8xf32>, tensor<?x8xf32>
}
//--- alike.mlir
func.func @main(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %up0 = moe.parameter ["model.layers.0.mlp.experts.up"] : tensor<4x16x8xf32>
  %down0 = moe.parameter ["model.layers.0.mlp.experts.down"] : tensor<4x8x16xf32>
  %up1 = moe.parameter ["model.layers.1.mlp.experts.up"] : tensor<4x16x8xf32>
  %down1 = moe.parameter ["model.layers.1.mlp.experts.down"] : tensor<4x8x16xf32>
  %rows0, %layout0 = moe.dispatch %x, %e num_experts(4) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<4>
  %r0 = moe.expert %rows0, %layout0, %up0, %down0 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x16x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  %y0 = moe.combine %r0, %layout0 : tensor<?x8xf32>, !moe.layout<4> -> tensor<?x8xf32>
  %rows1, %layout1 = moe.dispatch %x, %e num_experts(4) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<4>
  %r1 = moe.expert %rows1, %layout1, %up1, %down1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x16x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  %y1 = moe.combine %r1, %layout1 : tensor<?x8xf32>, !moe.layout<4> -> tensor<?x8xf32>
  return %y0, %y1 : tensor<?x8xf32>, tensor<?x8xf32>
}
