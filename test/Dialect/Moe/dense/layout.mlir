// RUN: moe-opt %s --moe-lower-to-dense | FileCheck %s

// A layout is two tensors, also at the boundary of a function: the expert and the row of each (token, slot).
// CHECK-LABEL: func.func private @combine
// CHECK-SAME: (%{{.*}}: tensor<?x4xf32>, %[[E:.*]]: tensor<?x?xi32>, %[[R:.*]]: tensor<?x?xindex>, %[[W:.*]]: tensor<?x2xf32>)
func.func private @combine(%rows: tensor<?x4xf32>, %layout: !moe.layout<8>, %w: tensor<?x2xf32>) -> tensor<?x4xf32> {
  // CHECK: linalg.generic {{.*}} ins(%[[E]], %[[R]], %{{.*}}, %[[W]]
  %0 = moe.combine %rows, %layout weights(%w : tensor<?x2xf32>) : tensor<?x4xf32>, !moe.layout<8> -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) -> tensor<?x4xf32> {
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<8>
  // CHECK: call @combine(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (tensor<?x4xf32>, tensor<?x?xi32>, tensor<?x?xindex>, tensor<?x2xf32>) -> tensor<?x4xf32>
  %0 = call @combine(%rows, %layout, %w) : (tensor<?x4xf32>, !moe.layout<8>, tensor<?x2xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
