// Each pipeline between levels leaves a module that says where it is, whatever it said before.
// RUN: moe-opt %s --moe-set-level=level=graph | FileCheck %s -DLEVEL=graph
// RUN: moe-opt %s --moe-graph-to-spmd -o %t.spmd.mlir && FileCheck %s -DLEVEL=spmd < %t.spmd.mlir
// RUN: moe-opt %t.spmd.mlir --moe-spmd-to-scheduled=target=cpu:x86-64-v3 -o %t.scheduled.mlir && FileCheck %s -DLEVEL=scheduled < %t.scheduled.mlir
// RUN: moe-opt %t.scheduled.mlir --moe-scheduled-to-kernel=target=cpu:x86-64-v3 -o %t.kernel.mlir && FileCheck %s -DLEVEL=kernel < %t.kernel.mlir
// RUN: moe-opt %t.kernel.mlir --moe-kernel-to-runtime | FileCheck %s -DLEVEL=runtime
// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v3 --graph-to-kernel | FileCheck %s -DLEVEL=kernel
// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v3 --graph-to-kernel --kernel-to-runtime | FileCheck %s -DLEVEL=runtime
// RUN: moe-opt %s --import-to-graph | FileCheck %s -DLEVEL=graph
// So such a module needs no --from.
// RUN: moe-compile %t.kernel.mlir --to=runtime -q | FileCheck %s -DLEVEL=runtime
// RUN: not moe-opt %s --moe-set-level=level=kernels 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CHECK: moe.level = "[[LEVEL]]"
// UNKNOWN: unknown level 'kernels'; one of graph, spmd, scheduled, kernel, runtime
module attributes {moe.level = "something else"} {
  func.func @main(%x: tensor<?x64xf32> {moe.name = "x", moe.dims = ["tokens", ""]},
                  %w: tensor<32x64xf32> {moe.name = "w"}) -> (tensor<?x32xf32> {moe.name = "y", moe.dims = ["tokens", ""]}) {
    %y = nn.linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
    return %y : tensor<?x32xf32>
  }
}
