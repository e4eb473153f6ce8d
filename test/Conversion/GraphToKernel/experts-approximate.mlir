// On a GPU the activation of experts of 16-bit floats is approximate, by fastmath flags in the program, unless the target
// says otherwise. Nothing else is.
// RUN: sed 's/TYPE/bf16/g; s/ACTIVATION/approximate/' %s | moe-opt --graph-decide --convert-graph-to-kernel | FileCheck %s --check-prefix=FLAGS
// RUN: sed 's/TYPE/f16/g; s/ACTIVATION/approximate/' %s | moe-opt --graph-decide --convert-graph-to-kernel | FileCheck %s --check-prefix=FLAGS
// RUN: sed 's/TYPE/bf16/g; s/ACTIVATION/exact/' %s | moe-opt --graph-decide --convert-graph-to-kernel | FileCheck %s --check-prefix=EXACT
// RUN: sed 's/TYPE/f32/g; s/ACTIVATION/approximate/' %s | moe-opt --graph-decide --convert-graph-to-kernel | FileCheck %s --check-prefix=EXACT
// RUN: sed 's/TYPE/bf16/g; s/kernel.target = .*>}/moe.level = "graph"}/' %s | moe-opt --graph-decide --convert-graph-to-kernel | FileCheck %s --check-prefix=EXACT

// FLAGS: kernel.func @gate
// FLAGS-NOT: fastmath<{{.*}}afn
// FLAGS: kernel.func @experts_up
// FLAGS: math.exp %{{.*}} fastmath<afn> : f32
// FLAGS: arith.divf %{{.*}}, %{{.*}} fastmath<arcp,afn> : f32
// FLAGS-NOT: fastmath<{{.*}}afn
// EXACT-NOT: fastmath<{{.*}}afn
// EXACT: math.exp
// EXACT-NOT: fastmath<{{.*}}afn
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64, activation = ACTIVATION>} {
func.func @layer(%x: tensor<?x64xTYPE>, %logits: tensor<?x8xTYPE>, %w1: tensor<8x128x64xTYPE>, %w2: tensor<8x64x64xTYPE>) -> tensor<?x64xTYPE> {
  %w, %e = moe.gate %logits top_k(2) score(softmax) renormalize(sum) : tensor<?x8xTYPE> -> tensor<?x2xTYPE>, tensor<?x2xi32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x64xTYPE>, tensor<?x2xi32> -> tensor<?x64xTYPE>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    %s = nn.silu %g : f32
    %a = arith.mulf %s, %u : f32
    moe.yield %a : f32
  } : tensor<?x64xTYPE>, !moe.layout<8>, tensor<8x128x64xTYPE>, tensor<8x64x64xTYPE> -> tensor<?x64xTYPE>
  %out = moe.combine %y, %layout weights(%w : tensor<?x2xTYPE>) : tensor<?x64xTYPE>, !moe.layout<8> -> tensor<?x64xTYPE>
  return %out : tensor<?x64xTYPE>
}
}
