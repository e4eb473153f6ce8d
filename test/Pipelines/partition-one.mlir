// One rank keeps its experts and sums as several would; a second time there is nothing to do.
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=1})" -o %t && FileCheck %s < %t
// RUN: moe-opt %t --pass-pipeline="builtin.module(moe-partition{parallel=ep=1})" | diff %t -
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=1,groups=2})" | FileCheck %s --check-prefix=TWO

// CHECK-NOT: shard.grid
// CHECK-NOT: moe.split
// CHECK-LABEL: func.func @sums
func.func @sums(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK: num_experts(32) :
  %r0, %l0 = moe.dispatch %x, %e num_experts(32) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<32>
  %r1, %l1 = moe.dispatch %x, %e num_experts(12) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<12>
  %r2, %l2 = moe.dispatch %x, %e num_experts(6) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<6>
  // CHECK: moe.combine {{.*}} sum(<tree, groups = 8>)
  // TWO: moe.combine {{.*}} sum(<tree, groups = 2>)
  %0 = moe.combine %r0, %l0 : tensor<?x8xf32>, !moe.layout<32> -> tensor<?x8xf32>
  // CHECK: moe.combine {{.*}} sum(<tree, groups = 4>)
  // TWO: moe.combine {{.*}} sum(<tree, groups = 2>)
  %1 = moe.combine %r1, %l1 : tensor<?x8xf32>, !moe.layout<12> -> tensor<?x8xf32>
  // CHECK: moe.combine {{.*}} sum(<tree, groups = 2>)
  // TWO: moe.combine {{.*}} sum(<tree, groups = 2>)
  %2 = moe.combine %r2, %l2 : tensor<?x8xf32>, !moe.layout<6> -> tensor<?x8xf32>
  return %0, %1, %2 : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}
