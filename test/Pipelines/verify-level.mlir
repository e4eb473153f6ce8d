// A parameter may stand at every level up to kernel; a schedule is needed at level scheduled only.
// RUN: moe-opt %s --moe-verify-level=level=graph --moe-verify-level=level=spmd | FileCheck %s
// RUN: not moe-opt %s --moe-verify-level=level=scheduled 2>&1 | FileCheck %s --check-prefix=SCHEDULED
// RUN: moe-opt %s --moe-schedule --moe-verify-level=level=scheduled | FileCheck %s --check-prefix=DONE
// RUN: not moe-opt %s --moe-verify-level=level=kernel 2>&1 | FileCheck %s --check-prefix=KERNEL
// RUN: not moe-opt %s --moe-verify-level=level=tiles 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CHECK-LABEL: func.func @experts
// SCHEDULED: level scheduled: 'moe.expert' has no moe.schedule
// DONE: moe.expert {{.*}} gated
// DONE: moe.schedule = "plain"
// KERNEL: level kernel: 'moe.parameter' works on tensors; this level has buffers only (and {{[0-9]+}} more ops break the contract)
// UNKNOWN: unknown level 'tiles'; one of graph, spmd, scheduled, kernel, runtime
func.func @experts(%x: tensor<?x64xf32>, %layout: !moe.layout<8>) -> tensor<?x64xf32> {
  %w1 = moe.parameter ["gate_up"] : tensor<8x64x64xf32>
  %w2 = moe.parameter ["down"] : tensor<8x64x32xf32>
  %y = moe.expert %x, %layout, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    %a = arith.mulf %g, %u : f32
    moe.yield %a : f32
  } : tensor<?x64xf32>, !moe.layout<8>, tensor<8x64x64xf32>, tensor<8x64x32xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
