//===- Partition.cpp - moe-partition ------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Pipelines/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace moe_mlir {
#define GEN_PASS_DEF_MOEPARTITION
#include "moe-mlir/Pipelines/Passes.h.inc"

namespace {
struct MoePartition : impl::MoePartitionBase<MoePartition> {
  using MoePartitionBase::MoePartitionBase;

  void runOnOperation() override {
    SmallVector<Operation *> exchanges;
    getOperation().walk([&](moe::AllToAllOp op) { exchanges.push_back(op); });
    if (exchanges.empty())
      return markAllAnalysesPreserved();

    RewritePatternSet patterns(&getContext());
    moe::AllToAllOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyOpPatternsGreedily(exchanges, std::move(patterns))))
      return signalPassFailure();
    getOperation().walk([&](moe::AllToAllOp op) {
      op.emitOpError() << "exchanges rows between the ranks of " << op.getGridAttr() << "; one process runs the model";
      signalPassFailure();
    });
  }
};
} // namespace
} // namespace moe_mlir
