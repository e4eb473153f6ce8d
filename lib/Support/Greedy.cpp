//===- Greedy.cpp - patterns until none matches -------------------------------------------------------------------===//

#include "moe-mlir/Support/Greedy.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

static constexpr int64_t kWalks = 1000;

LogicalResult moe_mlir::applyPatternsToEnd(Operation *op, const FrozenRewritePatternSet &patterns, bool fromFirst) {
  GreedyRewriteConfig config;
  config.setUseTopDownTraversal(fromFirst);
  config.setMaxIterations(kWalks);
  if (succeeded(applyPatternsGreedily(op, patterns, config)))
    return success();
  return op->emitOpError() << "still changes after " << kWalks << " walks of patterns over it";
}
