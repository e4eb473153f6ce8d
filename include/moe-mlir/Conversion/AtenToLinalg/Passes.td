//===- Passes.td - what no pattern raised, as linalg --------------------------------------------------------------===//
#ifndef MOE_MLIR_CONVERSION_ATENTOLINALG_PASSES
#define MOE_MLIR_CONVERSION_ATENTOLINALG_PASSES

include "mlir/Pass/PassBase.td"

def ConvertAtenToLinalg : Pass<"convert-aten-to-linalg", "::mlir::func::FuncOp"> {
  let summary = "Lower every aten.call to linalg, tensor and arith";
  let description = [{
    Runs after raising, on functions without in-place calls. Each result keeps the element type of the graph; 16-bit
    floats are computed in f32 and rounded once per operator, as PyTorch does it, so that a rounding that decides a
    choice stays where the model has it. Symbolic integers become index arithmetic.

    Operators (or forms of one) that cannot be lowered are collected over the whole function and reported once, with
    their number and the place in the model where each first occurs; the function is left as it was.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::nn::NnDialect", "::mlir::tensor::TensorDialect"];
}

#endif // MOE_MLIR_CONVERSION_ATENTOLINALG_PASSES
