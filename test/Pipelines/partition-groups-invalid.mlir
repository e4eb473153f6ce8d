// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=16})" --verify-diagnostics=only-expected
// RUN: not moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,groups=64})" 2>&1 | FileCheck %s --check-prefix=GROUPS
// RUN: not moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=1,groups=64})" 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=16,groups=32})" -o %t

// GROUPS: 'moe.dispatch' op cannot be divided: groups=64 does not divide a layer of 32 experts equally
// ONE: 'moe.combine' op cannot sum as several ranks would: groups=64 does not divide a layer of 32 experts equally
func.func @layer(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  // expected-error@+1 {{'moe.dispatch' op cannot be divided: ep=16 is more than the 8 groups that sums have; add groups=16}}
  %rows, %layout = moe.dispatch %x, %e num_experts(32) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<32>
  %s = moe.combine %rows, %layout : tensor<?x8xf32>, !moe.layout<32> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}
