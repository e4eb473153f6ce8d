//===- Schedule.cpp - moe-schedule --------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Pipelines/Passes.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace moe_mlir {
#define GEN_PASS_DEF_MOESCHEDULE
#include "moe-mlir/Pipelines/Passes.h.inc"

namespace {
struct MoeSchedule : impl::MoeScheduleBase<MoeSchedule> {
  using MoeScheduleBase::MoeScheduleBase;

  void runOnOperation() override {
    getOperation().walk([](moe::ExpertOp op) {
      if (op->hasAttr(kScheduleAttr))
        return;
      op->setAttr(kScheduleAttr, StringAttr::get(op.getContext(), "plain"));
      remark::analysis(op.getLoc(), remark::RemarkOpts::name("Schedule").category("moe-schedule"))
          << remark::add("plain: the layer does not communicate, there is nothing to overlap");
    });
  }
};
} // namespace
} // namespace moe_mlir
