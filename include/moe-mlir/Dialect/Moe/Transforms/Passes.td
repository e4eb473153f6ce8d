//===- Passes.td - passes over the moe dialect ------------------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_MOE_TRANSFORMS_PASSES
#define MOE_MLIR_DIALECT_MOE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def MoeLowerToDense : Pass<"moe-lower-to-dense", "::mlir::ModuleOp"> {
  let summary = "Lower MoE layers to dense one-hot products: the oracle of every other lowering";
  let description = [{
    Gate, dispatch, expert and combine become linalg over all tokens, experts and rows, where a comparison of ids takes
    the place of an index (moe-semantics D5). It is slow (the work grows with the square of the tokens) and simple: no
    sort, no gather, and every sum runs in the order of its indices in f32. `!moe.layout` becomes two tensors, the expert
    and the row of each (token, slot). Parameters and ops of other dialects stay; a layer that is divided among ranks is an error.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def MoeExtractLayers : Pass<"moe-extract-layers", "::mlir::ModuleOp"> {
  let summary = "Replace @main by a function per MoE layer";
  let description = [{
    Each `moe.combine` of `@main` ends a layer, which becomes the function `@layerN_moe(x: tensor<?xH>) -> y`: the ops between
    the tokens of its `moe.dispatch` and itself, with the parameters that they read. `N` is the layer's number in the model,
    the first number in the name of the experts' weights; where these do not tell the layers apart, they are counted from 0.

    `x` is what the dispatch orders. Where a router looks at an earlier form of the tokens, before a norm that only the experts
    see, `x` is the nearest value that both are made of. What is not made of the tokens at all (`ids` and `weights` that the caller
    of the model chooses) becomes a further argument. Everything else of the model is erased, as is `moe.generation`.

    A module without `@main` stays as it is. An `@main` without a MoE layer is an error.

    ```mlir
    func.func @layer3_moe(%x: tensor<?x64xf32> {moe.dims = ["tokens", ""], moe.name = "x"})
        -> (tensor<?x64xf32> {moe.dims = ["tokens", ""], moe.name = "y"}) {
      %router = moe.parameter ["model.layers.3.mlp.gate.weight"] : tensor<8x64xf32>
      %logits = nn.linear %x, %router : tensor<?x64xf32>, tensor<8x64xf32> -> tensor<?x8xf32>
      %w, %ids = moe.gate %logits top_k(2) score(softmax) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
      %rows, %layout = moe.dispatch %x, %ids num_experts(8)
          : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<8>
      %y = moe.combine %rows, %layout weights(%w : tensor<?x2xf32>)
          : tensor<?x64xf32>, !moe.layout<8> -> tensor<?x64xf32>
      return %y : tensor<?x64xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

#endif // MOE_MLIR_DIALECT_MOE_TRANSFORMS_PASSES
