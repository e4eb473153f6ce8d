//===- Raise.cpp - the pass raise-aten-to-graph -------------------------------------------------------------------===//

#include "Decompose.h"
#include "PlainLayers.h"

#include "moe-mlir/Conversion/AtenToGraph/Passes.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"
#include "moe-mlir/Support/Greedy.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::aten {
#define GEN_PASS_DEF_RAISEATENTOGRAPH
#include "moe-mlir/Conversion/AtenToGraph/Passes.h.inc"
} // namespace mlir::aten

using namespace mlir;
using namespace mlir::aten;

namespace {
struct RaiseAtenToGraph : aten::impl::RaiseAtenToGraphBase<RaiseAtenToGraph> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function->hasAttr(AtenDialect::MutableAttrHelper::getNameStr())) {
      function.emitError() << "has in-place calls; run aten-functionalize first";
      return signalPassFailure();
    }
    // Patterns match calls that say something: those that do not go first. Reshapes come last, because the others see
    // them as calls.
    using Populate = void (*)(RewritePatternSet &);
    static constexpr Populate simplify[] = {populateSimplifyPatterns, populateFoldParametersPatterns,
                                             populateDecomposeVectorNormPatterns, populateDecomposeEinsumPatterns,
                                             populateDecomposeIndicesPatterns, populateDecomposeProductsPatterns};
    static constexpr Populate raise[] = {populateSimplifyPatterns,
                                         populateRaiseExpertsPatterns,
                                         populateRaiseGroupedExpertsPatterns,
                                         populateRaiseLinearPatterns,
                                         populateRaiseBatchLinearPatterns,
                                         populateRaiseNormPatterns,
                                         populateRaiseBatchedExpertsPatterns,
                                         populateRaiseRopePatterns,
                                         populateRaiseCachePatterns,
                                         populateHidingMaskPatterns,
                                         populateRaiseAttentionPatterns,
                                         populateRaiseRecurrentPatterns,
                                         populateRaiseNormCallsPatterns};
    static constexpr Populate finish[] = {populateRaiseBareNormPatterns}; // of what others left
    static constexpr Populate reshape[] = {populateSimplifyPatterns, populateRaiseReshapePatterns};
    auto apply = [&](ArrayRef<Populate> groups) {
      RewritePatternSet patterns(&getContext());
      for (Populate populate : groups)
        populate(patterns);
      return moe_mlir::applyPatternsToEnd(function, std::move(patterns));
    };
    if (failed(apply(simplify)) || failed(apply(raise)) || failed(apply(finish)))
      return signalPassFailure();
    recordPlainLayers(function);
    if (failed(apply(reshape)))
      signalPassFailure();
  }
};
} // namespace
