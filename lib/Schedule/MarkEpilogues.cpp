//===- MarkEpilogues.cpp - elementwise ops that run where their operand is computed -------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Schedule/Epilogues.h"
#include "moe-mlir/Schedule/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace mlir::kernel {
#define GEN_PASS_DEF_GRAPHMARKEPILOGUES
#include "moe-mlir/Schedule/Passes.h.inc"
} // namespace mlir::kernel

namespace {
/// How many exchanges with other ranks an op needs, one after the other.
class Exchanges {
public:
  explicit Exchanges(func::FuncOp func) {
    for (Block &block : func.getBody())
      for (Operation &op : block) {
        llvm::SetVector<Value> read(op.operand_begin(), op.operand_end());
        getUsedValuesDefinedAbove(op.getRegions(), read);
        unsigned count = 0;
        for (Value value : read)
          count = std::max(count, before(value.getDefiningOp()));
        if (isa<moe::AllToAllOp, shard::AllGatherOp, shard::AllReduceOp>(op))
          ++count;
        if (count)
          counts[&op] = count;
      }
  }

  unsigned before(Operation *op) const { return counts.lookup(op); }

private:
  llvm::DenseMap<Operation *, unsigned> counts; ///< those that are not 0
};

struct GraphMarkEpilogues : kernel::impl::GraphMarkEpiloguesBase<GraphMarkEpilogues> {
  void runOnOperation() override {
    SmallVector<Operation *> producers;
    getOperation().walk([&](Operation *op) {
      if (kernel::EpilogueAnalysis::hasEpilogue(op))
        producers.push_back(op);
    });
    kernel::EpilogueAnalysis analysis;
    const Exchanges exchanges(getOperation());
    // Later producers first: of two that one op consumes, the last one sees the other's result.
    for (Operation *producer : llvm::reverse(producers)) {
      OpOperand *use = analysis.consumerOf(producer);
      if (!use || use->getOwner()->hasAttr(kernel::KernelDialect::getEpilogueAttrName()))
        continue;
      // What needs no other rank can run while rows are on their way, but not with what waits for them.
      if (exchanges.before(use->getOwner()) > exchanges.before(producer))
        continue;
      auto number = IntegerAttr::get(IntegerType::get(&getContext(), 64), use->getOperandNumber());
      use->getOwner()->setAttr(kernel::KernelDialect::getEpilogueAttrName(), number);
    }
  }
};
} // namespace
