// The scheduler from the command line: what it decides for, its remark, and the report.
// RUN: moe-compile %s --from=graph --parallel=ep=8 --target=cuda:h200 --to=scheduled -v -o %t.mlir 2> %t.remarks
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: FileCheck %s --check-prefix=TEXT < %t.mlir
// RUN: moe-compile %s --from=graph --parallel=ep=8 --cluster=H100 --schedule-tokens=32768 --target-cpu=x86-64-v3 --to=kernel -o %t.kernel.mlir --report | FileCheck %s --check-prefix=TABLE
// RUN: moe-compile %s --from=graph --parallel=ep=8 --cluster=H100 --target-cpu=x86-64-v3 --to=kernel -q -o %t.kernel.mlir --report=%t.json
// RUN: %python -c "import json, sys; print(json.load(open(sys.argv[1]))['schedules'])" %t.json | FileCheck %s --check-prefix=JSON
// Sums in bf16 are timed as such: this is Qwen3-30B's layer.
// RUN: moe-compile %s --from=graph --parallel=ep=8,sums=bf16 --target=cuda:h200 --to=scheduled -v -o %t.half.mlir 2>&1 | grep -o "[0-9.]* us, plain takes [0-9.]* us; floor [0-9.]*" > %t.half
// RUN: moe-sim --layer=qwen3-30b --cluster=8xH200 --tokens=65536 --sums=bf16 --solve | tr '\n' ' ' | sed 's/.*plain \([0-9.]*\) us, best overlap \([0-9.]*\) us.*floor *\([0-9.]*\) us.*/\2 us, plain takes \1 us; floor \3\n/' | diff %t.half -
// Kernels of an overlap run in groups, which are single launches on a GPU.
// RUN: moe-compile %s --from=graph --parallel=ep=8 --target=cuda:h200 --weights=none --to=kernel -q -o - | moe-opt --kernel-to-runtime | FileCheck %s --check-prefix=GPU
// An edited schedule is kept, and timed.
// RUN: sed "s/schedule(<.*>) {/schedule(<parts = 4>) {/" %t.mlir > %t.edited.mlir && moe-compile %t.edited.mlir --to=scheduled -o - -q | FileCheck %s --check-prefix=KEPT
// RUN: not moe-compile %s --from=graph --parallel=ep=8 --cluster=H300 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: cp %S/../../../data/clusters/h100.json "%t my cluster.json"
// RUN: moe-compile %s --from=graph --parallel=ep=8 "--cluster=8x%t my cluster.json" --target-cpu=x86-64-v3 --to=scheduled -o - -q | FileCheck %s --check-prefix=TEXT
// RUN: not moe-compile %s --from=graph --parallel=ep=8 "--cluster=8x%t my cluster.json" --to=kernel "--report=%t my cluster.json" -o %t.no 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: not moe-compile %s --from=graph --parallel=ep=8 '--cluster="H100"' 2>&1 | FileCheck %s --check-prefix=QUOTES
// RUN: not moe-compile %s --from=graph --parallel=ep=8 --cluster= 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not moe-compile %s --from=graph --parallel=ep=8 --schedule-tokens=0 2>&1 | FileCheck %s --check-prefix=TOKENS
// RUN: not timeout 60 moe-compile %s --from=graph --parallel=ep=8 --target=cuda:h200 --schedule-tokens=4294967296 --to=scheduled -o %t.no 2>&1 | FileCheck %s --check-prefix=TOO-MANY
// RUN: not moe-compile %s --from=graph --cluster=H100 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not moe-compile %t.kernel.mlir --cluster=H100 2>&1 | FileCheck %s --check-prefix=LATE
// Flags that decide nothing say so: without ranks, before level scheduled, where all schedules are written, and where
// none but a plain one is possible.
// RUN: not moe-compile %s --from=graph --schedule-tokens=64 2>&1 | FileCheck %s --check-prefix=ONE-TOKENS
// RUN: not moe-compile %s --from=graph --parallel=ep=1 --cluster=H100 2>&1 | FileCheck %s --check-prefix=MORE
// RUN: not moe-compile %s --from=graph --parallel=ep=8 --cluster=H100 --to=spmd 2>&1 | FileCheck %s --check-prefix=SHORT
// RUN: not moe-compile %t.kernel.mlir --schedule-tokens=64 2>&1 | FileCheck %s --check-prefix=LATE-TOKENS
// RUN: not moe-compile %t.edited.mlir --schedule-tokens=64 --to=kernel -o %t.no 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: moe-compile %s --from=graph --parallel=ep=8 --to=spmd -q -o %t.spmd.mlir
// RUN: moe-compile %t.spmd.mlir --cluster=H100 --to=scheduled --target-cpu=x86-64-v3 -o - 2>&1 | FileCheck %s --check-prefixes=TEXT,QUIET
// RUN: sed "s/ gated {/ gated schedule(<plain>) {/" %t.spmd.mlir > %t.said.mlir
// RUN: not moe-compile %t.said.mlir --cluster=H100 --to=scheduled -o %t.no 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: moe-compile %s --from=graph --parallel=dp=2 --cluster=H100 --target-cpu=x86-64-v3 --to=scheduled -o %t.dp.mlir 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: moe-compile %s --from=graph --parallel=ep=8,tokens=replicated --cluster=H100 --target-cpu=x86-64-v3 --to=scheduled -o %t.all.mlir 2>&1 | FileCheck %s --check-prefix=ALL
// Ranks of a CPU have times as well; it is taken to be one machine.
// RUN: moe-compile %s --from=graph --parallel=ep=8 --schedule-tokens=64 --target-cpu=x86-64-v3 --to=scheduled -v -o %t.cpu.mlir 2>&1 | FileCheck %s --check-prefixes=CPU,QUIET

// REMARK: [Analysis] Schedule: overlap, chunk = {{.*}} us, plain takes {{.*}} us; floor {{.*}} us, {{.*}} % of the exchange hidden; simulated for 8 x H200, 8192 tokens of each; experts = 16
// TEXT: schedule(<overlap, chunk =
// TABLE: {{^}}schedule {{.*}}estimate {{.*}}plain {{.*}}floor {{.*}}hidden
// TABLE: {{^}}many_experts {{ *[0-9.]+}} us {{ *[0-9.]+}} ms {{ *[0-9.]+}} us {{ *[0-9]+}} %
// TABLE: {{^}}many_experts: overlap, chunk = {{.*}}, simulated for 8 x H100, 4096 tokens of each
// JSON: [{'entry': 'many_experts', 'estimate_seconds': 0.00{{[0-9]+}}, 'floor_seconds': 0.00{{[0-9]+}}, 'hidden': 0.{{[0-9]+}}, 'name': 'many_experts', 'plain_seconds': 0.00{{[0-9]+}}, 'schedule': 'overlap, {{.*}}', 'simulated': '8 x H100, 8192 tokens of each'}]
// GPU: moert.launch %{{.*}}, @{{.*}}_with_experts_up
// GPU-NOT: moert.launch_group
// KEPT: schedule(<parts = 4>)
// NAME: moe-compile: error: --cluster=H300: no cluster is called 'H300'; there are {{.*}}h200{{.*}}, or the path of a description, FILE.json; see moe-compile --help
// SAME: moe-compile: error: the report {{.*}}my cluster.json{{.*}} the description of the cluster
// QUOTES: moe-compile: error: --cluster="H100": a cluster is a name, or that of a file without quotes and braces
// EMPTY: moe-compile: error: the value of --cluster is empty
// TOKENS: moe-compile: error: --schedule-tokens=0 is no number of tokens
// TOO-MANY: error: {{.*}}'moe.expert' op cannot be scheduled: 536870912 tokens of each rank are too many to find a schedule for; this layer's ranks can have up to 1398101
// ONE: moe-compile: error: --cluster says what connects ranks, and this program has one; add --parallel=ep=N
// LATE: moe-compile: error: --cluster decides and times the schedules of level scheduled; '{{.*}}' is at level kernel already
// ONE-TOKENS: moe-compile: error: --schedule-tokens is a number of tokens of all ranks, and this program has one; add --parallel=ep=N
// MORE: moe-compile: error: --cluster says what connects ranks, and this program has one; --parallel=ep=N asks for more
// SHORT: moe-compile: error: --cluster decides schedules, at level scheduled, which --to=spmd does not reach; see moe-compile --help
// LATE-TOKENS: moe-compile: error: --schedule-tokens decides and times the schedules of level scheduled; '{{.*}}' is at level kernel already
// SAID: moe-compile: error: --{{cluster|schedule-tokens}} decides the schedules of layers that have none, and '{{.*}}' says those of all its layers; with --report it would tell how long they take
// QUIET-NOT: has no effect
// ALONE: moe-compile: warning: --cluster has no effect on layer 'many_experts': the layer does not communicate, there is nothing to overlap
// ALL: moe-compile: warning: --cluster has no effect on layer 'many_experts': it exchanges no tokens: each rank has all of them (tokens=replicated)
// CPU: [Analysis] Schedule: plain: {{[0-9.]+}} us; the best overlap takes {{.*}}; simulated for 8 x cpu, 8 tokens of each
func.func @many_experts(%x: tensor<?x2048xbf16> {moe.dims = ["tokens", ""], moe.name = "x"},
                    %e: tensor<?x8xi32> {moe.dims = ["tokens", ""], moe.name = "ids"},
                    %w: tensor<?x8xbf16> {moe.dims = ["tokens", ""], moe.name = "weights"})
    -> (tensor<?x2048xbf16> {moe.dims = ["tokens", ""], moe.name = "y"}) {
  %up = moe.parameter ["many_experts.up"] : tensor<128x1536x2048xbf16>
  %down = moe.parameter ["many_experts.down"] : tensor<128x2048x768xbf16>
  %rows, %layout = moe.dispatch %x, %e num_experts(128) : tensor<?x2048xbf16>, tensor<?x8xi32> -> tensor<?x2048xbf16>, !moe.layout<128>
  %r = moe.expert %rows, %layout, %up, %down gated {
  ^bb0(%g: f32, %u: f32):
    %s = nn.silu %g : f32
    %a = arith.mulf %s, %u : f32
    moe.yield %a : f32
  } : tensor<?x2048xbf16>, !moe.layout<128>, tensor<128x1536x2048xbf16>, tensor<128x2048x768xbf16> -> tensor<?x2048xbf16>
  %y = moe.combine %r, %layout weights(%w : tensor<?x8xbf16>) : tensor<?x2048xbf16>, !moe.layout<128> -> tensor<?x2048xbf16>
  return %y : tensor<?x2048xbf16>
}
