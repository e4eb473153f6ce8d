// What a level accepts it leaves alone; a schedule and tiles are needed at level scheduled, and a schedule is refused before.
// RUN: moe-opt %s --moe-verify-level=level=graph --moe-verify-level=level=spmd | FileCheck %s
// RUN: not moe-opt %s --moe-verify-level=level=scheduled 2>&1 | FileCheck %s --check-prefix=SCHEDULED
// RUN: not moe-opt %s --moe-schedule --moe-verify-level=level=scheduled 2>&1 | FileCheck %s --check-prefix=TILES
// RUN: moe-opt %s --moe-schedule --graph-decide --moe-verify-level=level=scheduled | FileCheck %s --check-prefix=DONE
// RUN: not moe-opt %s --moe-schedule --moe-verify-level=level=spmd 2>&1 | FileCheck %s --check-prefix=EARLY
// RUN: not moe-opt %s --moe-verify-level=level=kernel 2>&1 | FileCheck %s --check-prefix=KERNEL
// RUN: not moe-opt %s --moe-verify-level=level=tiles 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: moe-opt %S/../Dialect/Kernel/ops.mlir --moe-verify-level=level=kernel -o %t
// RUN: moe-opt %S/../Dialect/MoeRt/ops.mlir --moe-verify-level=level=runtime -o %t

// CHECK-LABEL: func.func @experts
// CHECK: linalg.generic
// SCHEDULED: level scheduled: 'moe.expert' has no schedule
// TILES: error: 'moe.expert' op has no 'kernel.tiles'; run graph-choose-tiles
// DONE: moe.expert {{.*}} gated schedule(<plain>)
// EARLY: level spmd: 'moe.expert' has a schedule, which a later level decides
// KERNEL-DAG: level kernel: 'func.func' works on tensors; this level has buffers only
// KERNEL-DAG: level kernel: 'moe.parameter' works on tensors; this level has buffers only (2 ops, this is the first)
// KERNEL-DAG: level kernel: 'moe.expert' is not an op of this level
// UNKNOWN: unknown level 'tiles'; one of graph, spmd, scheduled, kernel, runtime
func.func @experts(%tokens: tensor<?x64xf32>, %ids: tensor<?x1xi32>) -> tensor<?x64xf32> {
  %x, %layout = moe.dispatch %tokens, %ids num_experts(8) : tensor<?x64xf32>, tensor<?x1xi32> -> tensor<?x64xf32>, !moe.layout<8>
  %w1 = moe.parameter ["gate_up"] : tensor<8x64x64xf32>
  %w2 = moe.parameter ["down"] : tensor<8x64x32xf32>
  %y = moe.expert %x, %layout, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    %a = arith.mulf %g, %u : f32
    moe.yield %a : f32
  } : tensor<?x64xf32>, !moe.layout<8>, tensor<8x64x64xf32>, tensor<8x64x32xf32> -> tensor<?x64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%y : tensor<?x64xf32>) {
  ^bb0(%a: f32):
    %t = math.tanh %a : f32
    linalg.yield %t : f32
  } -> tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}
