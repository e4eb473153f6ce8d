// RUN: moe-compile %s --target=cuda:sm_90a --parallel=ep=2 --weights=none --to=runtime -q -o - | FileCheck %s

// A number of f64 in an activation is rounded where its text is written, in a kernel that is part of another one too.
// CHECK:     "emitc.constant"() <{value = 1.702000e+00 : f32}>
// CHECK-NOT: f64
module attributes {moe.level = "graph"} {
  func.func @main(%x: tensor<?x64xbf16> {moe.name = "x", moe.dims = ["tokens", ""]}) -> (tensor<?x64xbf16> {moe.name = "y"}) {
    %router = moe.parameter ["router"] : tensor<8x64xbf16>
    %first = moe.parameter ["first"] : tensor<8x256x64xbf16>
    %second = moe.parameter ["second"] : tensor<8x64x128xbf16>
    %logits = nn.linear %x, %router : tensor<?x64xbf16>, tensor<8x64xbf16> -> tensor<?x8xf32>
    %weights, %ids = moe.gate %logits top_k(2) score(softmax) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
    %rows, %layout = moe.dispatch %x, %ids num_experts(8) : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<8>
    %o = moe.expert %rows, %layout, %first, %second gated {
    ^bb0(%g: f32, %u: f32):
      %wide = arith.constant 1.702 : f64
      %scale = arith.truncf %wide : f64 to f32
      %s = arith.mulf %scale, %g : f32
      %v = arith.mulf %s, %u : f32
      moe.yield %v : f32
    } : tensor<?x64xbf16>, !moe.layout<8>, tensor<8x256x64xbf16>, tensor<8x64x128xbf16> -> tensor<?x64xbf16>
    %y = moe.combine %o, %layout weights(%weights : tensor<?x2xf32>) : tensor<?x64xbf16>, !moe.layout<8> -> tensor<?x64xbf16>
    return %y : tensor<?x64xbf16>
  }
}
