// The layers of a program: sizes from types, ranks from the grid, tokens where they are not fixed from the command line.
// RUN: moe-compile %s --from=graph --parallel=ep=2 --to=scheduled -o %t.mlir && FileCheck %s --check-prefix=LEVEL < %t.mlir
// RUN: moe-sim %t.mlir --cluster=2xH200 --tokens=4096 | FileCheck %s
// RUN: moe-sim - --cluster=2xH200 --tokens=4096 < %t.mlir | FileCheck %s
// The same layer by its sizes is the same run.
// RUN: moe-sim %t.mlir --cluster=2xH200 --tokens=4096 --solve | sed 's/simulated: [a-z]* on/on/' > %t.program
// RUN: moe-sim --layer=experts=8,top-k=2,hidden=256,ffn=64 --cluster=2xH200 --tokens=4096 --solve | sed 's/simulated: [a-z]* on/on/' | diff %t.program -
// Sums travel as the program says.
// RUN: moe-compile %s --from=graph --parallel=ep=2,sums=bf16 --to=scheduled -o %t.half.mlir
// RUN: moe-sim %t.half.mlir --cluster=2xH200 --tokens=4096 --solve | sed 's/simulated: [a-z]* on/on/' > %t.program
// RUN: moe-sim --layer=experts=8,top-k=2,hidden=256,ffn=64 --sums=bf16 --cluster=2xH200 --tokens=4096 --solve | sed 's/simulated: [a-z]* on/on/' | diff %t.program -
// RUN: moe-sim %t.half.mlir --sums=bf16 --cluster=2xH200 --tokens=4096 | FileCheck %s --check-prefix=HALF
// RUN: not moe-sim %t.half.mlir --sums=f32 --cluster=2xH200 --tokens=4096 2>&1 | FileCheck %s --check-prefix=SUMS
// Without a grid the program is divided among the ranks of the cluster.
// RUN: moe-sim %s --cluster=2xH200 --tokens=4096 | FileCheck %s
// RUN: sed 's/tensor<?x/tensor<4096x/g; s/"tokens", ""/"", ""/g; s/4096x256xbf16>, !moe/8192x256xbf16>, !moe/g; /} :/s/-> tensor<4096/-> tensor<8192/' %s > %t.fixed.mlir
// RUN: moe-sim %t.fixed.mlir --cluster=2xH200 | FileCheck %s
// RUN: not moe-sim %t.fixed.mlir --cluster=2xH200 --tokens=64 2>&1 | FileCheck %s --check-prefix=FIXED
// RUN: sed 's/schedule(<plain>)/schedule(<overlap, chunk = 64, steps = [1, 1], slices = 2>)/' %t.mlir | moe-sim - --cluster=2xH200 --tokens=4096 | FileCheck %s --check-prefix=OVERLAP
// RUN: sed 's/schedule(<plain>)/schedule(<overlap, chunk = 64, steps = [1, 1], piece = 256, send = 4, slices = 2, return = 8>)/' %t.mlir | moe-sim - --cluster=2xH200 --tokens=4096 | FileCheck %s --check-prefix=ALL
// RUN: sed 's/schedule(<plain>)/schedule(<parts = 4>)/' %t.mlir | moe-sim - --cluster=2xH200 --tokens=4096 | FileCheck %s --check-prefix=PARTS
// RUN: not moe-sim %t.mlir --cluster=4xH200 --tokens=4096 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: moe-compile %s --from=graph --parallel=dp=2,ep=2,etp=2 --to=scheduled -o %t.eight.mlir
// RUN: not moe-sim %t.eight.mlir --cluster=8xH200 --tokens=4096 2>&1 | FileCheck %s --check-prefix=EIGHT
// RUN: moe-compile %s --from=graph --parallel=ep=2 --to=runtime -o %t.runtime.mlir --dump-intermediates=%t.ir
// RUN: not moe-sim %t.ir/3_kernel.mlir --cluster=2xH200 --tokens=4096 2>&1 | FileCheck %s --check-prefix=KERNEL
// RUN: not moe-sim %t.runtime.mlir --cluster=2xH200 --tokens=4096 2>&1 | FileCheck %s --check-prefix=RUNTIME
// RUN: not moe-sim %t.mlir --cluster=2xH200 2>&1 | FileCheck %s --check-prefix=TOKENS
// RUN: moe-compile %s --from=graph --parallel=ep=2,tokens=replicated --to=spmd -o %t.whole.mlir
// RUN: not moe-sim %t.whole.mlir --cluster=2xH200 --tokens=64 2>&1 | FileCheck %s --check-prefix=WHOLE
// Of variants those with an exchange among as many ranks as the cluster has.
// RUN: moe-compile %s --from=graph --parallel=ep=4 --variant=dp=4 --variant=dp=2,ep=2 --variant=ep=4,tokens=replicated --to=scheduled -q -o %t.variants.mlir
// RUN: moe-sim %t.variants.mlir --cluster=4xH200 --tokens=4096 | FileCheck %s --check-prefix=VARIANTS
// RUN: not moe-sim %t.variants.mlir --cluster=8xH200 --tokens=4096 2>&1 | FileCheck %s --check-prefix=NO-VARIANT
// Nodes of the program are those of the cluster, whose schedule has the ranks of a node.
// RUN: sed 's/"ranksPerNode": 8/"ranksPerNode": 2/' %S/../../../data/clusters/h200.json > %t.pairs.json
// RUN: moe-compile %s --from=graph --parallel=ep=4,nodes=2 --cluster=4x%t.pairs.json --schedule-tokens=4096 --to=scheduled -q -o %t.nested.mlir
// RUN: moe-sim %t.nested.mlir --cluster=4x%t.pairs.json --tokens=4096 | FileCheck %s --check-prefix=NESTED
// RUN: moe-sim %t.nested.mlir --cluster=4x%t.pairs.json --tokens=4096 --exchange=nested --solve | sed 's/simulated: [a-z]* on/on/' > %t.program
// RUN: moe-sim --layer=experts=8,top-k=2,hidden=256,ffn=64 --cluster=4x%t.pairs.json --tokens=4096 --exchange=nested --solve | sed 's/simulated: [a-z]* on/on/' | diff %t.program -
// RUN: not moe-sim %t.nested.mlir --cluster=4xH200 --tokens=4096 2>&1 | FileCheck %s --check-prefix=NODES
// RUN: not moe-sim %t.nested.mlir --cluster=4x%t.pairs.json --tokens=4096 --exchange=flat 2>&1 | FileCheck %s --check-prefix=FLAT
// RUN: not moe-compile %s --from=graph --parallel=ep=4,nodes=2 --cluster=4xH200 --to=scheduled -q -o %t.none.mlir 2>&1 | FileCheck %s --check-prefix=NODES

// NESTED: simulated: layer on 4 x {{.*}}, 1024 tokens per rank, exchanges between nodes and within one
// NODES: its tokens go to 2 nodes first, and the cluster has 1 of 4 ranks
// FLAT: moe-sim: error: --exchange=flat, but the program's tokens go to 2 nodes first
// VARIANTS: variant:   ep=4{{$}}
// VARIANTS-NEXT: simulated: layer on 4 x H200, 1024 tokens per rank
// VARIANTS: variant:   dp=4, not simulated: no tokens travel{{$}}
// VARIANTS: variant:   dp=2,ep=2, not simulated: 2 ranks share its experts; use --cluster=2xNAME
// VARIANTS: variant:   ep=4,tokens=replicated, not simulated: it exchanges no tokens: each rank has all of them (tokens=replicated)
// VARIANTS-NOT: simulated
// NO-VARIANT: moe-sim: error: no variant of the program is simulated on this cluster
// HALF: rows out {{ *}}[[MB:[0-9.]+]]
// HALF: sums back {{ *}}[[MB]]
// SUMS: moe-sim: error: {{.*}}--sums=f32, but the sums of the program travel in 16 bits
// OVERLAP: overlap, chunk = 64, order = source, steps = [1, 1], slices = 2{{$}}
// ALL: overlap, chunk = 64, order = source, steps = [1, 1], piece = 256, send = 4, slices = 2, return = 8
// PARTS: schedule:  parts = 4
// LEVEL: moe.expert
// LEVEL-SAME: schedule(<plain>)

// CHECK: simulated: layer on 2 x H200, 2048 tokens per rank
// CHECK-NEXT: schedule:  plain
// CHECK: rows out
// CHECK-NOT: simulated

// RANKS: moe-sim: error: the ranks that share the program's experts are simulated, which are 2; the cluster has 4: use --cluster=2xNAME
// EIGHT: moe-sim: error: the ranks that share the program's experts are simulated, which are 2; the cluster has 8: use --cluster=2xNAME
// KERNEL-NOT: error
// KERNEL: moe-sim: error: '{{.*}}3_kernel.mlir' is at level kernel, where layers have become kernels; level scheduled has them
// KERNEL-NOT: error
// RUNTIME-NOT: error
// RUNTIME: moe-sim: error: '{{.*}}' is at level runtime, where layers have become kernels; level scheduled has them
// FIXED: moe-sim: error: the program has 4096 tokens, not 64
// TOKENS: moe-sim: error: give --tokens=N, of all ranks together
// WHOLE: moe-sim: error: the layer at {{.*}} cannot be simulated: it exchanges no tokens: each rank has all of them (tokens=replicated)
func.func @layer(%x: tensor<?x256xbf16> {moe.dims = ["tokens", ""], moe.name = "x"})
    -> (tensor<?x256xbf16> {moe.dims = ["tokens", ""], moe.name = "y"}) {
  %router = moe.parameter ["router"] : tensor<8x256xbf16>
  %w1 = moe.parameter ["up"] : tensor<8x128x256xbf16>
  %w2 = moe.parameter ["down"] : tensor<8x256x64xbf16>
  %logits = nn.linear %x, %router : tensor<?x256xbf16>, tensor<8x256xbf16> -> tensor<?x8xbf16>
  %w, %e = moe.gate %logits top_k(2) score(softmax) renormalize(sum) : tensor<?x8xbf16> -> tensor<?x2xbf16>, tensor<?x2xi32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x256xbf16>, tensor<?x2xi32> -> tensor<?x256xbf16>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    %s = nn.silu %g : f32
    %a = arith.mulf %s, %u : f32
    moe.yield %a : f32
  } : tensor<?x256xbf16>, !moe.layout<8>, tensor<8x128x256xbf16>, tensor<8x256x64xbf16> -> tensor<?x256xbf16>
  %out = moe.combine %y, %layout weights(%w : tensor<?x2xbf16>) : tensor<?x256xbf16>, !moe.layout<8> -> tensor<?x256xbf16>
  return %out : tensor<?x256xbf16>
}
