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
    and the row of each (token, slot). Parameters and ops of other dialects stay; exchanges between ranks are an error.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // MOE_MLIR_DIALECT_MOE_TRANSFORMS_PASSES
