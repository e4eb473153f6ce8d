//===- ApproximateActivations.cpp - let the target approximate where results are rounded to 16 bits ---------------===//

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/IR/Target.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"
#include "moe-mlir/Schedule/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using arith::FastMathFlags;

namespace mlir::kernel {
#define GEN_PASS_DEF_GRAPHAPPROXIMATEACTIVATIONS
#include "moe-mlir/Schedule/Passes.h.inc"
} // namespace mlir::kernel

static constexpr FastMathFlags quotientFlags = FastMathFlags::afn | FastMathFlags::arcp;

static bool isNarrow(Type type) { return type.getIntOrFloatBitWidth() <= 16; }

static void approximateExpert(moe::ExpertOp op) {
  for (Operation &nested : op.getActivation().front()) {
    if (auto quotient = dyn_cast<arith::DivFOp>(nested))
      quotient.setFastmath(quotient.getFastmath() | quotientFlags);
    else if (auto exp = dyn_cast<math::ExpOp>(nested))
      exp.setFastmath(exp.getFastmath() | FastMathFlags::afn);
    else if (auto silu = dyn_cast<nn::SiluOp>(nested))
      silu.setFastmath(silu.getFastmath() | quotientFlags);
  }
}

/// The activation of a dense layer, in the epilogue of its product.
static void approximateEpilogue(linalg::GenericOp op) {
  for (auto silu : op.getBody()->getOps<nn::SiluOp>())
    if (isNarrow(silu.getType()))
      silu.setFastmath(silu.getFastmath() | quotientFlags);
}

namespace {
struct GraphApproximateActivations
    : kernel::impl::GraphApproximateActivationsBase<GraphApproximateActivations> {
  void runOnOperation() override {
    kernel::TargetAttrInterface target = kernel::targetOf(getOperation());
    if (!target || !target.approximatesActivations())
      return markAllAnalysesPreserved();
    getOperation().walk([](Operation *op) {
      auto expert = dyn_cast<moe::ExpertOp>(op);
      // The result is rounded to the type of the weights.
      if (expert && isNarrow(getElementTypeOrSelf(expert.getWIn().getType())))
        approximateExpert(expert);
      if (op->hasAttr(kernel::KernelDialect::getEpilogueAttrName()))
        approximateEpilogue(cast<linalg::GenericOp>(op));
    });
  }
};
} // namespace
