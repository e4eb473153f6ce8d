//===- WidenExperts.cpp - keep what experts have accumulated ------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Schedule/Passes.h"

using namespace mlir;

namespace mlir::kernel {
#define GEN_PASS_DEF_GRAPHWIDENEXPERTS
#include "moe-mlir/Schedule/Passes.h.inc"
} // namespace mlir::kernel

namespace {
struct GraphWidenExperts : kernel::impl::GraphWidenExpertsBase<GraphWidenExperts> {
  void runOnOperation() override {
    getOperation().walk([](moe::ExpertOp op) {
      if (llvm::all_of(op->getUsers(), llvm::IsaPred<moe::CombineOp>))
        op.getResult().setType(op.getResult().getType().clone(Float32Type::get(op.getContext())));
    });
  }
};
} // namespace
