//===- Partition.cpp - moe-partition ------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Pipelines/Passes.h"

using namespace mlir;

namespace moe_mlir {
#define GEN_PASS_DEF_MOEPARTITION
#include "moe-mlir/Pipelines/Passes.h.inc"

namespace {
struct MoePartition : impl::MoePartitionBase<MoePartition> {
  using MoePartitionBase::MoePartitionBase;

  void runOnOperation() override {
    WalkResult result = getOperation().walk([](moe::AllToAllOp op) {
      op.emitOpError("communicates already: the module was partitioned before");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
    else
      markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace moe_mlir
