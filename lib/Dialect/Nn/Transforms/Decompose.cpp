//===- Decompose.cpp - nn-decompose -------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Nn/IR/Nn.h"
#include "moe-mlir/Dialect/Nn/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::nn {
#define GEN_PASS_DEF_NNDECOMPOSE
#include "moe-mlir/Dialect/Nn/Transforms/Passes.h.inc"
} // namespace mlir::nn

using namespace mlir;
using namespace mlir::nn;

namespace {
struct Decompose : nn::impl::NnDecomposeBase<Decompose> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateDecomposeRowsPatterns(patterns);
    populateDecomposeAttentionPatterns(patterns);
    populateDecomposeRecurrentPatterns(patterns);
    populateDecomposeTopKPatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
