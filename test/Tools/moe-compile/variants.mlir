// Variants from the command line: one program, or one line that says why not.
// RUN: moe-compile %s --from=graph --parallel=ep=2 --variant=dp=2 --variant='ep=2,schedule=<parts = 2>' --to=spmd -o %t.spmd.mlir -q
// RUN: FileCheck %s --check-prefix=SPMD --input-file=%t.spmd.mlir
// Edited text keeps its variants; here one has another schedule than the command line said.
// RUN: sed 's/schedule(<parts = 2>)/schedule(<parts = 4>)/' %t.spmd.mlir > %t.edited.mlir
// RUN: moe-compile %t.edited.mlir --to=kernel -o %t.kernel.mlir -q
// RUN: FileCheck %s --check-prefix=KERNEL --input-file=%t.kernel.mlir
// RUN: moe-compile %t.kernel.mlir --weights=none --emit=obj -o %t.o -q
// RUN: not moe-compile %s --from=graph --variant=dp=2 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: not moe-compile %s --from=graph --parallel=ep=2 --variant= 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not moe-compile %s --from=graph --parallel=ep=2 --variant='dp=2;etp=2' 2>&1 | FileCheck %s --check-prefix=SEMICOLON
// RUN: not moe-compile %s --from=graph --parallel=ep=2 --variant=dp=4 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not moe-compile %s --from=graph --parallel=ep=2 --variant='dp="2"' 2>&1 | FileCheck %s --check-prefix=QUOTES
// RUN: not moe-compile %s --from=graph --parallel=ep=2 --variant=dp=2 --target=cuda:h200 2>&1 | FileCheck %s --check-prefix=GPU
// RUN: not moe-compile %t.spmd.mlir --target=cuda:h200 2>&1 | FileCheck %s --check-prefix=GPU
// RUN: not moe-compile %t.spmd.mlir --parallel=ep=2 --variant=dp=2 2>&1 | FileCheck %s --check-prefix=LATE
// RUN: not moe-compile %s --from=graph --parallel=ep=2 --variant='ep=2,schedule=<overlap, chunk = 8, steps = [1], slices = 1>' --to=scheduled 2>&1 | FileCheck %s --check-prefix=STEPS
// A bias of a slice has no place in an archive of whole experts.
// RUN: not moe-compile %s --from=graph --parallel=ep=2 --variant=etp=2 --weights=none --emit=obj -o %t.no 2>&1 | FileCheck %s --check-prefix=PACKED
// RUN: moe-compile %s --from=graph --parallel=dp=2,etp=2 --variant=ep=2,etp=2 --weights=none --emit=obj -o %t.o -q

// SPMD: moe.variant = #moe.variant<"main" as "ep=2" on [@ep]>
// SPMD: moe.variant = #moe.variant<"main" as "dp=2" on [@dp.1]>
// SPMD: moe.variant = #moe.variant<"main" as "ep=2,schedule=<parts = 2>" on [@ep.2], schedule(<parts = 2>)>
// KERNEL: moe.variant = #moe.variant<"main" as "ep=2,schedule=<parts = 2>" on [@ep.2], schedule(<parts = 4>)>
// KERNEL: kernel.launch_group
// FIRST: moe-compile: error: --variant is another way to divide a program among ranks; --parallel says the first one
// EMPTY: moe-compile: error: the value of --variant is empty
// SEMICOLON: moe-compile: error: --variant='dp=2;etp=2': a variant has no semicolon; give --variant once for each
// RANKS: moe-compile: error: --parallel and --variant: 'dp=4' has 4 ranks and 'ep=2' has 2; all variants run on the same ranks
// QUOTES: moe-compile: error: --parallel and --variant: 'dp="2"': a variant has no quotes, braces and backslashes
// GPU: moe-compile: error: variants are for ranks of CPUs in this release, and the target is a GPU
// LATE: moe-compile: error: --parallel divides a program of level graph among ranks
// STEPS: error: {{.*}}'moe.expert' op has a schedule whose steps take the rows of 1 ranks, but there are 2 (the schedule is that of variant 'ep=2,schedule=<overlap, chunk = 8, steps = [1], slices = 1>')
// PACKED: moe-compile: error: {{.*}}variant 'etp=2' of 'main' reads weight "bias" packed in another way than variant 'ep=2'; all variants read one archive, so make this one a program of its own
func.func @main(%x: tensor<?x64xf32> {moe.dims = ["tokens", ""], moe.name = "x"},
                %e: tensor<?x2xi32> {moe.dims = ["tokens", ""], moe.name = "ids"})
    -> (tensor<?x64xf32> {moe.dims = ["tokens", ""], moe.name = "y"}) {
  %up = moe.parameter ["up"] : tensor<4x128x64xf32>
  %bias = moe.parameter ["bias"] : tensor<4x128xf32>
  %down = moe.parameter ["down"] : tensor<4x64x128xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(4) : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<4>
  %r = moe.expert %rows, %layout, %up, %down bias_in(%bias : tensor<4x128xf32>) {
  ^bb0(%v: f32):
    %s = nn.silu %v : f32
    moe.yield %s : f32
  } : tensor<?x64xf32>, !moe.layout<4>, tensor<4x128x64xf32>, tensor<4x64x128xf32> -> tensor<?x64xf32>
  %y = moe.combine %r, %layout : tensor<?x64xf32>, !moe.layout<4> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
