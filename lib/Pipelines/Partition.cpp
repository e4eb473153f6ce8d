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
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace moe_mlir
