// What the simulator finds for layers of eight ranks. Kernels for a GPU are scheduled for a cluster of it.
// DEFINE: %{opt} = moe-opt %s --moe-graph-to-spmd=parallel=ep=8 --remarks-filter=moe-schedule --remark-format=emitRemark
// RUN: %{opt} --moe-spmd-to-scheduled=target=cuda:h200 -o %t.mlir 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=TEXT < %t.mlir
// RUN: moe-opt %t.mlir --moe-verify-level=level=scheduled -o %t.verified
// With one token of each rank, what an overlap costs is what it gains.
// RUN: %{opt} --moe-spmd-to-scheduled="target=cuda:h200 schedule-tokens=8" -o %t.few 2>&1 | FileCheck %s --check-prefix=FEW
// Another link, another schedule; slices share the blocks of the target's own tiles.
// RUN: %{opt} --moe-spmd-to-scheduled="target=cpu:x86-64-v3 cluster=8xH800" -o %t.cpu 2>&1 | FileCheck %s --check-prefix=H800
// RUN: moe-opt %t.cpu --moe-verify-level=level=scheduled -o %t.verified
// Ranks of a CPU are taken to share a machine, where threads copy rows themselves. Hosts that a slow link joins are another matter.
// RUN: %{opt} --moe-spmd-to-scheduled=target=cpu:x86-64-v3 -o %t.cpu 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: FileCheck %s --check-prefix=PLAIN < %t.cpu
// RUN: sed 's/"ranksPerNode": 2/"ranksPerNode": 1/; s/1.25e9/2.5e9/' %S/../../data/clusters/cpu.json > %t.hosts.json
// RUN: %{opt} --moe-spmd-to-scheduled="target=cpu:x86-64-v3 cluster=8x%t.hosts.json" -o %t.cpu 2>&1 | FileCheck %s --check-prefix=HOSTS
// RUN: FileCheck %s --check-prefix=HOSTS-TEXT < %t.cpu
// RUN: moe-opt %t.cpu --moe-verify-level=level=scheduled -o %t.verified
// RUN: %{opt} --moe-spmd-to-scheduled="target=cpu:x86-64-v3 cluster=8x%t.hosts.json schedule-tokens=8" -o %t.cpu 2>&1 | FileCheck %s --check-prefix=HOSTS-FEW
// Rows that matrix registers want gathered come step by step, too.
// RUN: %{opt} --moe-spmd-to-scheduled="target=cpu:sapphirerapids cluster=8x%t.hosts.json" -o %t.cpu 2>&1 | FileCheck %s --check-prefix=HOSTS
// RUN: FileCheck %s --check-prefix=GATHERED < %t.cpu
// What stands there by hand is kept.
// RUN: sed "s/schedule(<overlap, [^>]*>)/schedule(<parts = 2>)/" %t.mlir | moe-opt --moe-schedule=cluster=8xH800 | FileCheck %s --check-prefix=KEPT
// Of a cluster of all ranks, a layer has those that its grids say; nodes are dimensions of a grid, and no ranks more.
// RUN: moe-opt %s --moe-graph-to-spmd=parallel=ep=8,nodes=2,etp=2 -o %t.nested
// RUN: moe-opt %t.nested --moe-spmd-to-scheduled="target=cuda:h200 cluster=16xH200" --remarks-filter=moe-schedule --remark-format=emitRemark -o %t.mlir 2>&1 | FileCheck %s --check-prefix=NESTED
// RUN: not moe-opt %t.nested --moe-spmd-to-scheduled="target=cuda:h200 cluster=32xH200" 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not %{opt} --moe-spmd-to-scheduled="target=cuda:h200 cluster=4xH200" 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not %{opt} --moe-spmd-to-scheduled="target=cuda:h200 cluster=H300" 2>&1 | FileCheck %s --check-prefix=NAME

// CHECK: Function=many_experts | Remark="overlap, chunk = {{.*}}, steps = [{{.*}}], piece = {{.*}}, send = {{.*}}, slices = 8, return = {{[0-9]+}}: {{[0-9.]+}} us, plain takes {{[0-9.]+}} us; floor {{[0-9.]+}} us, {{[0-9]+}} % of the exchange hidden; simulated for 8 x H200, 8192 tokens of each"
// CHECK: Function=wide_experts | Remark="plain: {{[0-9.]+}} us; the best overlap takes {{[0-9.]+}} us, which gains less than 3 %; floor {{[0-9.]+}} us, 0 % of the exchange hidden; simulated for 8 x H200, 8192 tokens of each"

// TEXT-LABEL: @many_experts
// TEXT: schedule(<overlap, chunk = {{[0-9]+}}, steps = [{{[0-9, ]+}}], piece = {{[0-9]+}}, send = {{[0-9]+}}, slices = 8, return = {{[0-9]+}}>)
// TEXT-LABEL: @wide_experts
// TEXT: schedule(<plain>)

// FEW: Function=few_experts | Remark="plain: {{.*}}; simulated for 8 x H200, 1 tokens of each"

// H800: Function=many_experts | Remark="overlap, {{.*}}, slices = {{1|2|4|8|16|32}}, {{.*}}; simulated for 8 x H800, 8192 tokens of each"

// CPU-COUNT-3: Remark="plain: {{[0-9.]+}} us; the best overlap takes {{[0-9.]+}} us, which gains less than 3 %; floor {{[0-9.]+}} us, 0 % of the exchange hidden; simulated for 8 x cpu, 8192 tokens of each"
// PLAIN-COUNT-3: schedule(<plain>)
// HOSTS: Function=many_experts | Remark="overlap, chunk = {{[0-9]+}}, order = source, steps = [{{[0-9, ]+}}], piece = {{[0-9]+}}, slices = {{[0-9]+}}: {{[0-9.]+}} us, plain takes {{[0-9.]+}} us; floor {{[0-9.]+}} us, {{[1-9][0-9]+}} % of the exchange hidden; simulated for 8 x cpu, 8192 tokens of each"
// HOSTS-TEXT: schedule(<overlap, chunk = {{[0-9]+}}, steps = [{{[0-9, ]+}}], piece = {{[0-9]+}}, slices = {{[0-9]+}}>)
// HOSTS-FEW: Function=many_experts | Remark="plain: {{[0-9.]+}} us; the best overlap {{.*}}; simulated for 8 x cpu, 1 tokens of each"
// GATHERED: placement(apart)
// GATHERED: schedule(<overlap,
// KEPT: schedule(<parts = 2>)
// NESTED: Function=many_experts | Remark="{{.*}} us; {{.*}}simulated for 8 x H200
// MANY: 'moe.expert' op cannot be scheduled: the layer has 8 ranks, the cluster 32
// RANKS: 'moe.expert' op cannot be scheduled: the layer has 8 ranks, the cluster 4; --cluster=8xNAME
// NAME: 'moe.expert' op cannot be scheduled: no cluster is called 'H300'; there are {{.*}}h200{{.*}}, or the path of a description, FILE.json
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

func.func @wide_experts(%x: tensor<?x256xbf16> {moe.dims = ["tokens", ""], moe.name = "x"},
                    %e: tensor<?x1xi32> {moe.dims = ["tokens", ""], moe.name = "ids"},
                    %w: tensor<?x1xbf16> {moe.dims = ["tokens", ""], moe.name = "weights"})
    -> (tensor<?x256xbf16> {moe.dims = ["tokens", ""], moe.name = "y"}) {
  %up = moe.parameter ["wide_experts.up"] : tensor<8x131072x256xbf16>
  %down = moe.parameter ["wide_experts.down"] : tensor<8x256x65536xbf16>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x256xbf16>, tensor<?x1xi32> -> tensor<?x256xbf16>, !moe.layout<8>
  %r = moe.expert %rows, %layout, %up, %down gated {
  ^bb0(%g: f32, %u: f32):
    %s = nn.silu %g : f32
    %a = arith.mulf %s, %u : f32
    moe.yield %a : f32
  } : tensor<?x256xbf16>, !moe.layout<8>, tensor<8x131072x256xbf16>, tensor<8x256x65536xbf16> -> tensor<?x256xbf16>
  %y = moe.combine %r, %layout weights(%w : tensor<?x1xbf16>) : tensor<?x256xbf16>, !moe.layout<8> -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

func.func @few_experts(%x: tensor<?x4096xbf16> {moe.dims = ["tokens", ""], moe.name = "x"},
                    %e: tensor<?x2xi32> {moe.dims = ["tokens", ""], moe.name = "ids"},
                    %w: tensor<?x2xbf16> {moe.dims = ["tokens", ""], moe.name = "weights"})
    -> (tensor<?x4096xbf16> {moe.dims = ["tokens", ""], moe.name = "y"}) {
  %up = moe.parameter ["few_experts.up"] : tensor<8x28672x4096xbf16>
  %down = moe.parameter ["few_experts.down"] : tensor<8x4096x14336xbf16>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x4096xbf16>, tensor<?x2xi32> -> tensor<?x4096xbf16>, !moe.layout<8>
  %r = moe.expert %rows, %layout, %up, %down gated {
  ^bb0(%g: f32, %u: f32):
    %s = nn.silu %g : f32
    %a = arith.mulf %s, %u : f32
    moe.yield %a : f32
  } : tensor<?x4096xbf16>, !moe.layout<8>, tensor<8x28672x4096xbf16>, tensor<8x4096x14336xbf16> -> tensor<?x4096xbf16>
  %y = moe.combine %r, %layout weights(%w : tensor<?x2xbf16>) : tensor<?x4096xbf16>, !moe.layout<8> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
