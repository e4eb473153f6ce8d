// Variants from the command line: one program, or one line that says why not.
// RUN: moe-compile %s --from=graph --parallel=ep=2 --variant=dp=2 --variant='ep=2,schedule=<parts = 2>' --to=spmd -o %t.spmd.mlir -q
// RUN: FileCheck %s --check-prefix=SPMD --input-file=%t.spmd.mlir
// Edited text keeps its variants; here one has another schedule than the command line said.
// RUN: sed 's/schedule(<parts = 2>)/schedule(<parts = 4>)/' %t.spmd.mlir > %t.edited.mlir
// RUN: moe-compile %t.edited.mlir --to=kernel -o %t.kernel.mlir -q
// RUN: FileCheck %s --check-prefix=KERNEL --input-file=%t.kernel.mlir
// RUN: moe-compile %t.kernel.mlir --weights=none --emit=obj -o %t.o -q
// The report tells variants apart, and adds up each by itself.
// RUN: moe-compile %s --from=graph --parallel=ep=2 --variant=dp=2 --variant='ep=2,schedule=<parts = 2>' --to=kernel -o %t.kernel.mlir -q --report | FileCheck %s --check-prefix=REPORT
// RUN: moe-compile %t.kernel.mlir --to=kernel -o %t.again.mlir -q --report=%t.json && FileCheck %s --check-prefix=JSON --input-file=%t.json
// A flag that decides nothing is worth a line, and so is a variant that its layers cannot have.
// RUN: moe-compile %s --from=graph --parallel=dp=2 --variant='ep=2,schedule=<parts = 2>' --cluster=2xH100 --to=scheduled -o %t.no.mlir 2>&1 | FileCheck %s --check-prefix=NO-EFFECT
// RUN: not moe-compile %s --from=graph --parallel=ep=4 --variant=dp=2,ep=2 --cluster=4xH100 --to=scheduled -o %t.no.mlir 2>&1 | FileCheck %s --check-prefix=CLUSTER
// RUN: sed 's/moe.dims = ."tokens", ""., //' %s | not moe-compile - --from=graph --parallel=ep=2 --variant='ep=2,schedule=<parts = 2>' --to=scheduled -o %t.no.mlir 2>&1 | FileCheck %s --check-prefix=REPLICATED
// RUN: not moe-compile %s --from=graph --parallel=ep=2 --variant='ep=2	' 2>&1 | FileCheck %s --check-prefix=LINE
// At level kernel as well, text that is no variant is refused: here one reads the part of a weight that another one has.
// RUN: moe-compile %s --from=graph --parallel=dp=2 --variant=ep=2 --to=kernel -o %t.kernel.mlir -q
// RUN: sed '/moe.parameter/s/grid = @ep.1/grid = @dp/' %t.kernel.mlir > %t.foreign.mlir
// RUN: not moe-compile %t.foreign.mlir --weights=none --emit=obj -o %t.no 2>&1 | FileCheck %s --check-prefix=FOREIGN
// RUN: sed 's/ as "ep=2" on / as "dp=2" on /' %t.kernel.mlir > %t.same.mlir
// RUN: not moe-compile %t.same.mlir --weights=none --emit=obj -o %t.no 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: sed 's/moe.variant = #moe.variant<"main" as "ep=2" on [^>]*>//' %t.kernel.mlir > %t.unmarked.mlir
// RUN: not moe-compile %t.unmarked.mlir --weights=none --emit=obj -o %t.no 2>&1 | FileCheck %s --check-prefix=UNMARKED
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
// REPORT: {{^}}variant 0: ep=2{{$}}
// REPORT-NEXT: {{^}}variant 1: dp=2{{$}}
// REPORT-NEXT: {{^}}variant 2: ep=2,schedule=<parts = 2>{{$}}
// REPORT: {{^}}[[LAYER:[a-z]+]], variant 0
// REPORT: {{^}}[[LAYER]], variant 1
// REPORT: {{^}}[[LAYER]], variant 2
// REPORT: {{^}}total of variant 0 {{ *}}[[WEIGHTS:[0-9.k]+]]
// REPORT-NEXT: {{^}}total of variant 1
// REPORT-NEXT: {{^}}total of variant 2 {{ *}}[[WEIGHTS]]
// REPORT: , variant 2: parts = 2, simulated for 2 x cpu
// REPORT: {{^}}symmetric buffer of main, variant 0
// REPORT: {{^}}symmetric buffer of main, variant 2
// JSON: "entry": "main.1",
// JSON-NEXT: "variant": "dp=2",
// JSON: "variants": [
// JSON: "name": "ep=2",
// JSON-NEXT: "weight_bytes":
// JSON: "name": "dp=2",
// NO-EFFECT: moe-compile: warning: --cluster has no effect on layer '{{.*}}' and 1 other
// CLUSTER: error: {{.*}}cannot be scheduled: the layer has 2 ranks, the cluster 4; --cluster=NAME is for as many as each variant has
// REPLICATED: error: {{.*}}its tokens are replicated, add tokens=split)
// LINE: moe-compile: error: --parallel and --variant: 'ep=2\09': a variant is one line of ASCII, without quotes, braces and backslashes
// FOREIGN: error: {{.*}}'main.1', variant 'ep=2' of 'main', names the grid @dp, which is none of its own
// SAME: error: {{.*}}'main.1', variant 'dp=2' of 'main', is called as another variant of its entry
// UNMARKED: error: {{.*}}has no 'moe.variant' beside functions that have one; give each one
// FIRST: moe-compile: error: --variant is another way to divide a program among ranks; --parallel says the first one
// EMPTY: moe-compile: error: the value of --variant is empty
// SEMICOLON: moe-compile: error: --variant='dp=2;etp=2': a variant has no semicolon; give --variant once for each
// RANKS: moe-compile: error: --parallel and --variant: 'dp=4' has 4 ranks and 'ep=2' has 2; all variants run on the same ranks
// QUOTES: moe-compile: error: --parallel and --variant: 'dp="2"': a variant is one line of ASCII, without quotes, braces and backslashes
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
