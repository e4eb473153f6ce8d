// RUN: moe-opt %s --graph-choose-tiles --graph-place-rows | FileCheck %s --check-prefixes=CHECK,VECTOR
// RUN: moe-opt %s --kernel-set-target=target=cpu:sapphirerapids --graph-choose-tiles --graph-place-rows | FileCheck %s --check-prefixes=CHECK,MATRIX
// RUN: moe-opt %s --graph-choose-tiles --graph-place-rows -o %t && moe-opt %t --graph-place-rows | diff %t -

// CHECK-LABEL: func.func @experts
// VECTOR: moe.dispatch {{.*}} placement(in_place)
// MATRIX: moe.dispatch {{.*}} placement(apart)
func.func @experts(%x: tensor<?x64xbf16>, %ids: tensor<?x2xi32>, %w: tensor<8x64x64xbf16>) -> tensor<?x64xbf16> {
  %rows, %layout = moe.dispatch %x, %ids num_experts(8) : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w, %w {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x64xbf16>, !moe.layout<8>, tensor<8x64x64xbf16>, tensor<8x64x64xbf16> -> tensor<?x64xbf16>
  %r = moe.combine %y, %layout : tensor<?x64xbf16>, !moe.layout<8> -> tensor<?x64xbf16>
  return %r : tensor<?x64xbf16>
}

// Weights change the rows.
// CHECK-LABEL: func.func @weighted
// CHECK: moe.dispatch {{.*}} placement(gathered)
func.func @weighted(%x: tensor<?x64xf32>, %ids: tensor<?x2xi32>, %s: tensor<?x2xf32>, %w: tensor<8x64x64xf32>) -> tensor<?x64xf32> {
  %rows, %layout = moe.dispatch %x, %ids weights(%s : tensor<?x2xf32>) num_experts(8) : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w, %w {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x64xf32>, !moe.layout<8>, tensor<8x64x64xf32>, tensor<8x64x64xf32> -> tensor<?x64xf32>
  %r = moe.combine %y, %layout : tensor<?x64xf32>, !moe.layout<8> -> tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}

// Somebody else wants them.
// CHECK-LABEL: func.func @returned
// CHECK: moe.dispatch {{.*}} placement(gathered)
func.func @returned(%x: tensor<?x64xf32>, %ids: tensor<?x2xi32>) -> tensor<?x64xf32> {
  %rows, %layout = moe.dispatch %x, %ids num_experts(8) : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<8>
  return %rows : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @kept
// CHECK: moe.dispatch {{.*}} placement(gathered)
func.func @kept(%x: tensor<?x64xbf16>, %ids: tensor<?x2xi32>, %w: tensor<8x64x64xbf16>) -> tensor<?x64xbf16> {
  %rows, %layout = moe.dispatch %x, %ids num_experts(8) placement(gathered) : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w, %w {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x64xbf16>, !moe.layout<8>, tensor<8x64x64xbf16>, tensor<8x64x64xbf16> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

shard.grid @ep(shape = 2)

// Rows that go to ranks have no place; those of a rank's own experts do.
// CHECK-LABEL: func.func @ranks
// CHECK: num_experts(8) to @ep :
// VECTOR: num_experts(8) at @ep placement(in_place) :
// MATRIX: num_experts(8) at @ep placement(apart) :
func.func @ranks(%x: tensor<?x64xbf16>, %ids: tensor<?x2xi32>, %w: tensor<4x64x64xbf16>) -> tensor<?x64xf32> {
  %send, %sent = moe.dispatch %x, %ids num_experts(8) to @ep : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<2>
  %recv, %got, %rids = moe.all_to_all %send, %sent on @ep with(%ids : tensor<?x2xi32>) : tensor<?x64xbf16>, !moe.layout<2> -> tensor<?x64xbf16>, !moe.layout<1>, tensor<?x2xi32>
  %rows, %layout = moe.dispatch %recv, %rids num_experts(8) at @ep : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<4>
  %y = moe.expert %rows, %layout, %w, %w {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x64xbf16>, !moe.layout<4>, tensor<4x64x64xbf16>, tensor<4x64x64xbf16> -> tensor<?x64xbf16>
  %r = moe.combine %y, %layout sum(<tree, groups = 4>) : tensor<?x64xbf16>, !moe.layout<4> -> tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}
