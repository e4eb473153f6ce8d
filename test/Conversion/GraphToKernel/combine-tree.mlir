// A sum in a tree: slots by range of groups, which shows in their rows, then the ranges in pairs.
// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --scheduled-to-kernel | FileCheck %s

// CHECK-LABEL: kernel.func @combine_64_f32_top2_tree2
// CHECK-SAME: %[[Y:[a-z0-9]+]]: memref<?x64xf32>, %[[PLACES:[a-z0-9]+]]: memref<?x?xi32>, %[[W:[a-z0-9]+]]: memref<?x2xf32>, %[[OFFSETS:[a-z0-9]+]]: memref<9xi32>, %[[OUT:[a-z0-9]+]]: memref<?x64xf32>
// CHECK: memref.load %[[OFFSETS]][%c0]
// CHECK: memref.load %[[OFFSETS]][%c4]
// CHECK: memref.load %[[OFFSETS]][%c8]
// CHECK: scf.forall
// Whether the row of a slot is in the first range, and in the second.
// CHECK-COUNT-4: arith.andi
// CHECK: scf.for
// CHECK: %[[V0:.*]] = arith.mulf
// CHECK: arith.select %{{.*}}, %[[V0]],
// CHECK: %[[A0:.*]] = arith.addf
// CHECK: arith.select %{{.*}}, %[[V0]],
// CHECK: %[[B0:.*]] = arith.addf
// CHECK: %[[V1:.*]] = arith.mulf
// CHECK: arith.select %{{.*}}, %[[V1]],
// CHECK: %[[A1:.*]] = arith.addf %[[A0]],
// CHECK: arith.select %{{.*}}, %[[V1]],
// CHECK: %[[B1:.*]] = arith.addf %[[B0]],
// CHECK: arith.addf %[[A1]], %[[B1]]
func.func @main(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) -> tensor<?x64xf32> {
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<8>
  %y = moe.combine %rows, %layout weights(%w : tensor<?x2xf32>) sum(<tree, groups = 2>)
      : tensor<?x64xf32>, !moe.layout<8> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
