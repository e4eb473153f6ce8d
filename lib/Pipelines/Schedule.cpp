//===- Schedule.cpp - moe-schedule --------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Pipelines/Passes.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace moe_mlir {
#define GEN_PASS_DEF_MOESCHEDULE
#include "moe-mlir/Pipelines/Passes.h.inc"

/// Whether other ranks have experts of this layer.
static bool isDivided(moe::ExpertOp op) {
  auto dispatch = op.getLayout().getDefiningOp<moe::DispatchOp>();
  return dispatch && dispatch.getAt();
}

namespace {
struct MoeSchedule : impl::MoeScheduleBase<MoeSchedule> {
  using MoeScheduleBase::MoeScheduleBase;

  void runOnOperation() override {
    getOperation().walk([](moe::ExpertOp op) {
      if (op.getSchedule())
        return;
      op.setScheduleAttr(moe::ScheduleAttr::get(op.getContext(), moe::ScheduleKind::Plain));
      auto function = op->getParentOfType<FunctionOpInterface>();
      remark::analysis(op.getLoc(), remark::RemarkOpts::name("Schedule")
                                        .category("moe-schedule")
                                        .function(function ? function.getName() : StringRef()))
          << (isDivided(op) ? "plain: exchanges between ranks and products follow each other, without overlap"
                            : "plain: the layer does not communicate, there is nothing to overlap")
          << remark::metric("experts", op.getLayout().getType().getExperts());
    });
  }
};
} // namespace
} // namespace moe_mlir
