// Text of each level may be edited, and no pass behind it leaves invalid IR because of what the level does not hold.
// RUN: not moe-opt %s --moe-graph-to-spmd 2>&1 | FileCheck %s -DLEVEL=graph
// RUN: not moe-opt %s --moe-spmd-to-scheduled=target=cpu:x86-64-v3 2>&1 | FileCheck %s -DLEVEL=spmd
// RUN: not moe-opt %s --moe-scheduled-to-kernel=target=cpu:x86-64-v3 2>&1 | FileCheck %s -DLEVEL=scheduled

// CHECK: error: level [[LEVEL]]: argument 0 of 'complex' is of type 'tensor<?xcomplex<f32>>'
// CHECK-NOT: error:
func.func @complex(%x: tensor<?xcomplex<f32>>) -> tensor<?xcomplex<f32>> {
  return %x : tensor<?xcomplex<f32>>
}
