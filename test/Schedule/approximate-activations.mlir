// On a GPU, where the target says so, for results of 16 bits; elsewhere nothing.
// RUN: sed 's/TYPE/bf16/g' %s | moe-opt --kernel-set-target=target=cuda:h200 --graph-approximate-activations | FileCheck %s
// RUN: sed 's/TYPE/bf16/g' %s | moe-opt --kernel-set-target=target=cuda:h200 --graph-approximate-activations -o %t && moe-opt %t --graph-approximate-activations | diff %t -
// RUN: sed 's/TYPE/f32/g' %s | moe-opt --kernel-set-target=target=cuda:h200 --graph-approximate-activations | FileCheck %s --check-prefix=EXACT
// RUN: sed 's/TYPE/bf16/g' %s | moe-opt --kernel-set-target=target=cpu:znver4 --graph-approximate-activations | FileCheck %s --check-prefix=EXACT
// RUN: sed 's/TYPE/bf16/g' %s | moe-opt --graph-approximate-activations | FileCheck %s --check-prefix=EXACT

#id = affine_map<(i, j) -> (i, j)>

// EXACT-NOT: fastmath
// CHECK-LABEL: func.func @layer
func.func @layer(%x: tensor<4x64xTYPE>, %layout: !moe.layout<8>, %w: tensor<8x64x64xTYPE>, %d: tensor<64x64xTYPE>)
    -> (tensor<4x64xTYPE>, tensor<4x64xTYPE>, tensor<4x64xTYPE>) {
  %y = moe.expert %x, %layout, %w, %w {
  ^bb0(%v: f32):
    // CHECK: nn.silu %{{.*}} fastmath<arcp,afn> : f32
    // CHECK: math.exp %{{.*}} fastmath<afn> : f32
    // CHECK: arith.divf %{{.*}}, %{{.*}} fastmath<arcp,afn> : f32
    %a = nn.silu %v : f32
    %b = math.exp %a : f32
    %c = arith.divf %a, %b : f32
    moe.yield %c : f32
  } : tensor<4x64xTYPE>, !moe.layout<8>, tensor<8x64x64xTYPE>, tensor<8x64x64xTYPE> -> tensor<4x64xTYPE>
  %p = nn.linear %x, %d : tensor<4x64xTYPE>, tensor<64x64xTYPE> -> tensor<4x64xTYPE>
  %e = tensor.empty() : tensor<4x64xTYPE>
  // CHECK: kernel.epilogue
  // CHECK: nn.silu %{{.*}} fastmath<arcp,afn> : bf16
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<4x64xTYPE>) outs(%e : tensor<4x64xTYPE>) attrs = {kernel.epilogue = 0 : i64} {
  ^bb0(%q: TYPE, %o: TYPE):
    %t = nn.silu %q : TYPE
    linalg.yield %t : TYPE
  } -> tensor<4x64xTYPE>
  // Not in an epilogue.
  // CHECK: linalg.generic
  // CHECK: nn.silu %{{[^ ]*}} : bf16
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4x64xTYPE>) outs(%e : tensor<4x64xTYPE>) {
  ^bb0(%q: TYPE, %o: TYPE):
    %t = nn.silu %q : TYPE
    linalg.yield %t : TYPE
  } -> tensor<4x64xTYPE>
  return %y, %s, %z : tensor<4x64xTYPE>, tensor<4x64xTYPE>, tensor<4x64xTYPE>
}
