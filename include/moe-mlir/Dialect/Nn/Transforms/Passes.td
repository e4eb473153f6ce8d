//===- Passes.td - passes over the nn dialect -------------------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_NN_TRANSFORMS_PASSES
#define MOE_MLIR_DIALECT_NN_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def NnDecompose : Pass<"nn-decompose"> {
  let summary = "Replace nn ops by linalg, tensor, arith and math ops of the same meaning";
  let description = [{
    The reference for every other lowering: each op becomes the loops that its description states, in f32, in the
    order of the indices, rounded where the description rounds. Nothing is fused or tiled. Other ops stay as they are.

    ```mlir
    %s = nn.silu %g : f32
    ```

    becomes

    ```mlir
    %one = arith.constant 1.0 : f32
    %n = arith.negf %g : f32
    %e = math.exp %n : f32
    %d = arith.addf %one, %e : f32
    %s = arith.divf %g, %d : f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

#endif // MOE_MLIR_DIALECT_NN_TRANSFORMS_PASSES
