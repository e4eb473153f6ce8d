// RUN: moe-opt %s --graph-shared-tensors --remarks-filter=graph-shared-tensors --remark-format=emitRemark -o %t 2>&1 | FileCheck %s
// RUN: moe-opt %s | diff %t -
// RUN: moe-opt %s --pass-pipeline="builtin.module(func.func(graph-shared-tensors{rows=rows results=columns}))" -o %t.allowed
// RUN: not moe-opt %s --pass-pipeline="builtin.module(func.func(graph-shared-tensors{rows=columns}))" 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not moe-opt %s --pass-pipeline="builtin.module(func.func(graph-shared-tensors{results=rows}))" 2>&1 | FileCheck %s --check-prefix=RESULTS
// RUN: not moe-opt %s --pass-pipeline="builtin.module(func.func(graph-shared-tensors{rows=experts}))" 2>&1 | FileCheck %s --check-prefix=NAME

// ROWS: error: 'moe.expert' op cannot take operand 0 in pieces of dimension 1 (columns): each element of its result needs all of them; cut {rows}
// RESULTS: error: 'moe.combine' op cannot take operand 0 in pieces of dimension 0 (rows): each element of its result needs all of them; cut {columns}
// NAME: 'experts' is no dimension; rows or columns

// One rank, a gated layer whose activation takes a value from outside.
// CHECK: Function=layer | Remark="cut rows along {rows}; cut results along {columns}"
func.func @layer(%x: tensor<?x64xbf16>, %ids: tensor<?x2xi32>, %w: tensor<?x2xbf16>, %up: tensor<8x128x64xbf16>,
                 %down: tensor<8x64x64xbf16>, %limit: f32) -> tensor<?x64xbf16> {
  %rows, %layout = moe.dispatch %x, %ids num_experts(8)
      : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %up, %down gated {
  ^bb0(%g: f32, %u: f32):
    %a = arith.mulf %g, %u : f32
    %b = arith.minimumf %a, %limit : f32
    moe.yield %b : f32
  } : tensor<?x64xbf16>, !moe.layout<8>, tensor<8x128x64xbf16>, tensor<8x64x64xbf16> -> tensor<?x64xf32>
  %z = moe.combine %y, %layout weights(%w : tensor<?x2xbf16>)
      : tensor<?x64xf32>, !moe.layout<8> -> tensor<?x64xbf16>
  return %z : tensor<?x64xbf16>
}

// A rank's experts: rows come from other ranks, sums in ranges of experts.
shard.grid @ep(shape = 2)
// CHECK: Function=rank | Remark="cut rows along {rows}; cut results along {columns}"
func.func @rank(%x: tensor<?x64xbf16>, %ids: tensor<?x2xi32>, %w: tensor<?x2xbf16>, %up: tensor<4x64x64xbf16>,
                %down: tensor<4x64x64xbf16>) -> tensor<?x64xf32> {
  %rows, %here = moe.dispatch %x, %ids num_experts(8) at @ep
      : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<4>
  %y = moe.expert %rows, %here, %up, %down {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x64xbf16>, !moe.layout<4>, tensor<4x64x64xbf16>, tensor<4x64x64xbf16> -> tensor<?x64xf32>
  %part = moe.combine %y, %here weights(%w : tensor<?x2xbf16>) sum(<tree, groups = 4>)
      : tensor<?x64xf32>, !moe.layout<4> -> tensor<?x64xf32>
  return %part : tensor<?x64xf32>
}
