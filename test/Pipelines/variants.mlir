// Variants of a program: copies of each function, divided among grids of their own, that share kernels and weights.
// RUN: moe-opt %s --moe-partition='parallel="ep=2" variants="dp=2;ep=2,schedule=<overlap, chunk = 64, steps = [1, 1], slices = 1>;etp=2"' --moe-verify-level=level=spmd > %t.spmd.mlir
// RUN: FileCheck %s --check-prefix=SPMD --input-file=%t.spmd.mlir
// RUN: moe-opt %t.spmd.mlir --pass-pipeline='builtin.module(kernel-set-target{target=cpu:x86-64-v3},graph-to-scheduled,moe-schedule,moe-verify-level{level=scheduled})' > %t.scheduled.mlir
// RUN: FileCheck %s --check-prefix=SCHEDULED --input-file=%t.scheduled.mlir
// RUN: moe-opt %t.scheduled.mlir --pass-pipeline='builtin.module(scheduled-to-kernel,moe-verify-level{level=kernel})' > %t.kernel.mlir
// RUN: FileCheck %s --check-prefix=KERNEL --input-file=%t.kernel.mlir
// RUN: moe-opt %t.kernel.mlir --kernel-to-runtime | FileCheck %s --check-prefix=RUNTIME
// Text of each level goes on as what the one before has made.
// RUN: moe-opt %t.kernel.mlir | moe-opt --kernel-to-runtime | FileCheck %s --check-prefix=RUNTIME
// RUN: moe-opt %s --moe-graph-to-spmd='parallel="ep=2" variants="dp=2"' | FileCheck %s --check-prefix=TWO
// Groups, sums and the order of experts are those of the first variant.
// RUN: echo '[0, 3, 1, 2]' > %t.json
// RUN: moe-opt %s --moe-graph-to-spmd='parallel="ep=2,groups=2,sums=bf16,experts=%t.json" variants="dp=2;etp=2,groups=2"' | FileCheck %s --check-prefix=INHERITED

// SPMD-DAG: shard.grid @ep(shape = 2) {moe.axes = ["ep"]}
// SPMD-DAG: shard.grid @dp.1(shape = 2) {moe.axes = ["dp"]}
// SPMD-DAG: shard.grid @ep.2(shape = 2) {moe.axes = ["ep"]}
// SPMD-DAG: shard.grid @etp.3(shape = 2) {moe.axes = ["etp"]}
// SPMD: func.func @layer({{.*}}moe.split = @ep}{{.*}} attributes {moe.variant = #moe.variant<"layer" as "ep=2" on [@ep]>}
// SPMD: moe.all_to_all {{.*}} on @ep with
// SPMD: func.func @layer.1({{.*}}moe.split = @dp.1}{{.*}} attributes {moe.variant = #moe.variant<"layer" as "dp=2" on [@dp.1]>}
// SPMD-NOT: all_to_all
// SPMD: func.func @layer.2({{.*}}moe.split = @ep.2}{{.*}} attributes {moe.variant = #moe.variant<"layer" as "ep=2,schedule=<overlap, chunk = 64, steps = [1, 1], slices = 1>" on [@ep.2], schedule(<overlap, chunk = 64, steps = [1, 1], slices = 1>)>}
// SPMD: moe.all_to_all {{.*}} on @ep.2 with
// SPMD: func.func @layer.3({{.*}} attributes {moe.variant = #moe.variant<"layer" as "etp=2" on [@etp.3]>}
// SPMD: shard.all_reduce {{.*}} on @etp.3
// SPMD: func.func @other(
// SPMD: func.func @other.1(

// SCHEDULED: func.func @layer(
// SCHEDULED: schedule(<plain>)
// SCHEDULED: func.func @layer.1(
// SCHEDULED: schedule(<plain>)
// SCHEDULED: func.func @layer.2(
// SCHEDULED: schedule(<overlap, chunk = 64, steps = [1, 1], slices = 1>)
// SCHEDULED: func.func @layer.3(
// SCHEDULED: schedule(<plain>)

// The slice of an expert stands with gaps among the others, as the archive has whole experts.
// KERNEL: func.func @layer.1({{.*}}moe.variant = #moe.variant<"layer" as "dp=2" on [@dp.1]>
// KERNEL: func.func @layer.3(
// KERNEL: moe.parameter ["up"] recipe [#moe.shard<dim = 1, grid = @etp.3, ranks = 2, halves = true>, #moe.pack<columns = 64, pairs = 1, halves = true>] {moe.shape = array<i64: 4, 64, 32>} : memref<4x1x32x64xf32, strided<[4096, 2048, 64, 1]>>
// KERNEL: moe.parameter ["down"] recipe [#moe.shard<dim = 2, grid = @etp.3, ranks = 2>, #moe.pack<columns = 64, pairs = 1>] {moe.shape = array<i64: 4, 32, 32>} : memref<4x1x32x64xf32, strided<[4096, 4096, 64, 1]>>
// What is equal is one kernel.
// KERNEL: kernel.func @send_rows(
// KERNEL-NOT: kernel.func @send_rows
// KERNEL: kernel.func @await_rows(

// One archive, of whole experts; who has which part differs.
// RUNTIME: moert.axes = [{name = "ep", ranks = 2 : i64, stride = 1 : i64}, {name = "dp.1", ranks = 2 : i64, stride = 1 : i64}, {name = "ep.2", ranks = 2 : i64, stride = 1 : i64}, {name = "etp.3", ranks = 2 : i64, stride = 1 : i64}
// RUNTIME-SAME: {axes = array<i64: 0>, key = "up", recipe = [#moe.pack<columns = 64, pairs = 1, halves = true>], shape = array<i64: 4, 128, 32>, sources = ["up"], type = memref<4x2x32x64xf32>}
// RUNTIME-SAME: {key = "up", recipe = [#moe.pack<columns = 64, pairs = 1, halves = true>], shape = array<i64: 4, 128, 32>, sources = ["up"], type = memref<4x2x32x64xf32>}
// RUNTIME-SAME: {axes = array<i64: 2>, key = "up", recipe
// RUNTIME-SAME: {key = "up", recipe = [#moe.pack<columns = 64, pairs = 1, halves = true>], shape = array<i64: 4, 128, 32>, slices = array<i64: 3, 2048>, sources = ["up"], type = memref<4x2x32x64xf32>}
// RUNTIME-SAME: {key = "down", recipe = [#moe.pack<columns = 64, pairs = 1>], shape = array<i64: 4, 32, 64>, slices = array<i64: 3, 2048>, sources = ["down"], type = memref<4x1x64x64xf32>}
// RUNTIME: llvm.func @moe_run_layer.1(
// RUNTIME-SAME: moert.program = {axes = array<i64: 1>, entry = "layer", {{.*}}, variant = "dp=2"}

// INHERITED: func.func @layer.1(
// INHERITED: moe.parameter ["up"] recipe [#order]
// INHERITED: moe.combine {{.*}} sum(<tree, groups = 2>)
// INHERITED: func.func @layer.2(
// INHERITED: moe.dispatch {{.*}} order(#order)
// INHERITED: moe.combine {{.*}} sum(<tree, groups = 2>) : {{.*}} -> tensor<?x32xbf16>
// INHERITED: func.func @other(

// TWO: moe.level = "spmd"
// TWO: func.func @layer.1(
// TWO-NOT: func.func @layer.2(
func.func @layer(%x: tensor<?x32xf32> {moe.dims = ["tokens", ""], moe.name = "x"},
                 %e: tensor<?x2xi32> {moe.dims = ["tokens", ""], moe.name = "ids"},
                 %w: tensor<?x2xf32> {moe.dims = ["tokens", ""], moe.name = "weights"})
    -> (tensor<?x32xf32> {moe.dims = ["tokens", ""], moe.name = "y"}) {
  %up = moe.parameter ["up"] : tensor<4x128x32xf32>
  %down = moe.parameter ["down"] : tensor<4x32x64xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(4) : tensor<?x32xf32>, tensor<?x2xi32> -> tensor<?x32xf32>, !moe.layout<4>
  %r = moe.expert %rows, %layout, %up, %down gated {
  ^bb0(%g: f32, %u: f32):
    %a = arith.mulf %g, %u : f32
    moe.yield %a : f32
  } : tensor<?x32xf32>, !moe.layout<4>, tensor<4x128x32xf32>, tensor<4x32x64xf32> -> tensor<?x32xf32>
  %y = moe.combine %r, %layout weights(%w : tensor<?x2xf32>) : tensor<?x32xf32>, !moe.layout<4> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

func.func @other(%x: tensor<?x32xf32> {moe.dims = ["tokens", ""], moe.name = "x"})
    -> (tensor<?x32xf32> {moe.dims = ["tokens", ""], moe.name = "y"}) {
  return %x : tensor<?x32xf32>
}
