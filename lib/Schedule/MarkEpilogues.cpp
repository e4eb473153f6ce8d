//===- MarkEpilogues.cpp - elementwise ops that run where their operand is computed -------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Schedule/Epilogues.h"
#include "moe-mlir/Schedule/Passes.h"

using namespace mlir;

namespace mlir::kernel {
#define GEN_PASS_DEF_GRAPHMARKEPILOGUES
#include "moe-mlir/Schedule/Passes.h.inc"
} // namespace mlir::kernel

namespace {
struct GraphMarkEpilogues : kernel::impl::GraphMarkEpiloguesBase<GraphMarkEpilogues> {
  void runOnOperation() override {
    SmallVector<Operation *> producers;
    getOperation().walk([&](Operation *op) {
      if (kernel::EpilogueAnalysis::hasEpilogue(op))
        producers.push_back(op);
    });
    kernel::EpilogueAnalysis analysis;
    // Later producers first: of two that one op consumes, the last one sees the other's result.
    for (Operation *producer : llvm::reverse(producers)) {
      OpOperand *use = analysis.consumerOf(producer);
      if (!use || use->getOwner()->hasAttr(kernel::KernelDialect::getEpilogueAttrName()))
        continue;
      auto number = IntegerAttr::get(IntegerType::get(&getContext(), 64), use->getOperandNumber());
      use->getOwner()->setAttr(kernel::KernelDialect::getEpilogueAttrName(), number);
    }
  }
};
} // namespace
