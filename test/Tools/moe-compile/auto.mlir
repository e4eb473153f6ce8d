// The compiler chooses how ranks divide a program: a remark for each way, the best one as if it had been written.
// RUN: moe-compile %s --parallel=auto --cluster=4xH200 --schedule-tokens=4096 --to=spmd -v -o %t.auto.mlir 2> %t.remarks
// RUN: FileCheck %s < %t.remarks
// RUN: moe-compile %s --parallel=dp=4 --to=spmd -q -o %t.said.mlir && diff %t.auto.mlir %t.said.mlir
// Fields that are given stay. Few tokens are another choice than many.
// RUN: moe-compile %s --parallel=auto,ep=2,ranks=4,groups=4 --cluster=H200 --to=spmd -v -o %t.mlir 2>&1 | FileCheck %s --check-prefix=FIXED
// RUN: moe-compile %s --parallel=auto,ranks=2,tokens=replicated --schedule-tokens=1 --to=spmd -o - 2>&1 | FileCheck %s --check-prefix=CPU
// More ranks than sums have groups get as many groups. Of several nodes, tokens can go to nodes first.
// RUN: moe-compile %s --parallel=auto,dp=1,etp=1,tp=1 --cluster=16xH200 --to=spmd -v -o %t.mlir 2>&1 | FileCheck %s --check-prefix=GROUPS
// The report lists what was compared. A division that is written is estimated, too.
// RUN: moe-compile %s --parallel=auto --cluster=4xH200 --schedule-tokens=4096 --target-cpu=x86-64-v3 --to=kernel -q -o %t.mlir --report | FileCheck %s --check-prefix=TABLE
// RUN: moe-compile %s --parallel=ep=2,etp=2 --cluster=4xH200 --schedule-tokens=4096 --target-cpu=x86-64-v3 --to=kernel -q -o %t.mlir --report | FileCheck %s --check-prefix=SAID
// A rank's memory decides, too.
// RUN: sed 's/"memoryBytes": 48e9/"memoryBytes": 17e6/' %S/../../../data/clusters/l20.json > %t.small.json
// RUN: moe-compile %s --parallel=auto,tokens=replicated,tp=1 --cluster=4x%t.small.json --schedule-tokens=64 --to=spmd -v -o %t.mlir 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: sed 's/"memoryBytes": 48e9/"memoryBytes": 1e6/' %S/../../../data/clusters/l20.json > %t.none.json
// RUN: not moe-compile %s --parallel=auto --cluster=4x%t.none.json --to=spmd -o %t.no 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not moe-compile %s --parallel=auto --to=spmd -o %t.no 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not moe-compile %s --parallel=auto,ranks=8 --cluster=4xH200 --to=spmd -o %t.no 2>&1 | FileCheck %s --check-prefix=CONTRADICTION
// RUN: not moe-compile %s --parallel=auto,ep=8 --cluster=4xH200 --to=spmd -o %t.no 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not moe-compile %s --parallel=auto,ep=3,ranks=3 --to=spmd -o %t.no 2>&1 | FileCheck %s --check-prefix=FIELD
// RUN: not moe-compile %s --parallel=auto,tp=4,etp=1,ep=1 --cluster=4xV100 --to=spmd -o %t.no 2>&1 | FileCheck %s --check-prefix=FACTS
// RUN: not moe-compile %s --parallel=auto,ranks=none 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not moe-compile %s --parallel=auto,rank=2 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not moe-compile %s --parallel=auto,ranks=2 --variant=dp=2 2>&1 | FileCheck %s --check-prefix=VARIANT
// RUN: not moe-compile %t.auto.mlir --parallel=auto,ranks=2 2>&1 | FileCheck %s --check-prefix=LATE

// CHECK: remark: [Analysis] Parallel: [[BEST:[a-z].*]]: {{[0-9.]+}} us{{.*}}; {{[0-9.]+}} MB of each rank
// CHECK-DAG: [Analysis] Parallel: ep=4,tokens=split: {{[0-9.]+}} us; {{[0-9.]+}} MB of each rank
// CHECK-DAG: [Analysis] Parallel: ep=2,tp=2,etp=2,tokens=replicated: {{[0-9.]+}} us, {{[0-9.]+}} us of it for exchanges; {{[0-9.]+}} MB of each rank
// CHECK-DAG: [Analysis] Parallel: tp=4,etp=4: {{.*}}
// CHECK: note: --parallel=[[BEST]]: {{.*}}; the best of 17 ways to divide the program
// FIXED-NOT: Parallel: ep=4
// FIXED-NOT: Parallel: dp=4
// FIXED-DAG: Parallel: dp=2,ep=2,tokens=split,groups=4
// FIXED-DAG: Parallel: ep=2,tp=2,tokens=replicated,groups=4
// FIXED: note: --parallel={{.*}}ep=2,{{.*}}groups=4: {{.*}} ways to divide the program
// CPU: note: --parallel=tp=2,etp=2,tokens=replicated: {{.*}}; the best of 5 ways to divide the program
// CPU: shard.grid @tp(shape = 2)
// GROUPS-DAG: [Analysis] Parallel: dp=1,ep=16,tp=1,etp=1,tokens=split,groups=16:
// GROUPS-DAG: [Analysis] Parallel: dp=1,ep=16,tp=1,etp=1,tokens=split,nodes=2,groups=16:
// TABLE: {{^}}parallel {{ *}}estimate {{ *}}exchanges {{ *}}memory
// TABLE: {{^}}dp=4 {{ *[0-9.]+}} us
// TABLE: {{^}}ep=4,tokens=split {{ *[0-9.]+}} us
// TABLE: : estimated for 4 x H200, a call of 4096 tokens
// SAID: {{^}}ep=2,etp=2 {{ *[0-9.]+}} us
// SAID: {{^}}ep=2,etp=2: estimated for 4 x H200, a call of 4096 tokens
// SAID: simulated for 2 x H200, 2048 tokens of each
// SMALL-DAG: [Analysis] Parallel: ep=4,tp=1,tokens=replicated: 
// SMALL-DAG: [Missed] Parallel: dp=4,tp=1,tokens=replicated: a rank takes {{[0-9.]+}} MB and has 17.0 MB
// NOTHING: moe-compile: error: --parallel=auto: none of {{[0-9]+}} ways to divide the program among 4 ranks can be taken; {{.*}}: a rank takes {{[0-9.]+}} MB and has 1.0 MB
// RANKS: moe-compile: error: --parallel=auto: there is no number of ranks: add ranks=2, say, or the cluster, --cluster=8xH200
// CONTRADICTION: moe-compile: error: --parallel=auto,ranks=8: ranks=8 contradicts --cluster=4xH200; leave one out
// NONE: moe-compile: error: --parallel=auto,ep=8: no way to divide the program among 4 ranks has ep=8
// FIELD: moe-compile: error: --parallel=auto,ep=3,ranks=3: ep must be a power of two, got '3'
// FACTS: moe-compile: error: --parallel=auto,tp=4,etp=1,ep=1: cluster 'V100' does not say what memory its device has; add 'memoryBytes' to its 'device'
// NUMBER: moe-compile: error: --parallel=auto,ranks=none: ranks must be a number from 1 to 65536, got 'none'
// NAME: moe-compile: error: --parallel=auto,rank=2: unknown field 'rank'; one of dp, ep, nodes, etp, tp, tokens, groups, sums, experts, and of auto ranks, batch
// VARIANT: moe-compile: error: --parallel=auto chooses one way to divide the program, --variant adds others; say the first one, too
// LATE: moe-compile: error: --parallel divides a program of level graph among ranks

module attributes {moe.level = "graph", moe.name = "layer"} {
  func.func @main(%x: tensor<?x256xbf16> {moe.name = "x", moe.dims = ["tokens", ""]})
      -> (tensor<?x256xbf16> {moe.name = "y", moe.dims = ["tokens", ""]}) {
    %router = moe.parameter ["router"] : tensor<16x256xbf16>
    %in = moe.parameter ["experts.gate_up"] : tensor<16x1024x256xbf16>
    %out = moe.parameter ["experts.down"] : tensor<16x256x512xbf16>
    %wide = moe.parameter ["up"] : tensor<8192x256xbf16>
    %narrow = moe.parameter ["down"] : tensor<256x8192xbf16>
    %up = nn.linear %x, %wide : tensor<?x256xbf16>, tensor<8192x256xbf16> -> tensor<?x8192xbf16>
    %active = nn.silu %up : tensor<?x8192xbf16>
    %down = nn.linear %active, %narrow : tensor<?x8192xbf16>, tensor<256x8192xbf16> -> tensor<?x256xbf16>
    %logits = nn.linear %down, %router : tensor<?x256xbf16>, tensor<16x256xbf16> -> tensor<?x16xbf16>
    %weights, %ids = moe.gate %logits top_k(2) score(softmax) renormalize(sum)
        : tensor<?x16xbf16> -> tensor<?x2xbf16>, tensor<?x2xi32>
    %rows, %layout = moe.dispatch %down, %ids num_experts(16)
        : tensor<?x256xbf16>, tensor<?x2xi32> -> tensor<?x256xbf16>, !moe.layout<16>
    %made = moe.expert %rows, %layout, %in, %out gated {
    ^bb0(%gate: f32, %value: f32):
      %silu = nn.silu %gate : f32
      %product = arith.mulf %silu, %value : f32
      moe.yield %product : f32
    } : tensor<?x256xbf16>, !moe.layout<16>, tensor<16x1024x256xbf16>, tensor<16x256x512xbf16> -> tensor<?x256xbf16>
    %y = moe.combine %made, %layout weights(%weights : tensor<?x2xbf16>)
        : tensor<?x256xbf16>, !moe.layout<16> -> tensor<?x256xbf16>
    return %y : tensor<?x256xbf16>
  }
}
