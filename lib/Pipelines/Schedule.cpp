//===- Schedule.cpp - moe-schedule --------------------------------------------------------------------------------===//
//
// The simulator finds the schedule that takes the least time on a cluster. What it finds has to be one that the layer
// can have: slices share the blocks of the second product's columns, whose tiles are chosen before.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Pipelines/LayerTimes.h"
#include "moe-mlir/Pipelines/Passes.h"
#include "moe-mlir/Schedule/Decisions.h"
#include "moe-mlir/Simulation/ProgramLayer.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace moe_mlir {
#define GEN_PASS_DEF_MOESCHEDULE
#include "moe-mlir/Pipelines/Passes.h.inc"

/// What tells layers apart that have different times.
static std::string keyOf(const sim::Setup &setup) {
  const sim::Layer &layer = setup.layer;
  return llvm::formatv("{0} {1} {2} {3} {4} {5} {6} {7} {8} {9} {10} {11}", layer.tokens, layer.experts, layer.topK,
                       layer.hidden, layer.ffn, layer.gated, layer.elementBytes, layer.sumBytes, setup.cluster.ranks(),
                       setup.blocks, setup.nested, layer.gathered);
}

static std::string microseconds(double seconds) { return llvm::formatv("{0:f1} us", seconds * 1e6); }

/// "plain: 12.0 us; the best overlap takes 11.9 us, ..", or the other way round.
static std::string sentence(const sim::Setup &setup, const sim::Solution &solution) {
  const LayerTimes times = timesOf(setup, solution.schedule);
  std::string text = times.schedule + ": ";
  if (solution.schedule.kind == sim::Schedule::Plain)
    text += microseconds(times.plain) + "; the best overlap takes " + microseconds(solution.overlapped * setup.passes) +
            ", which gains less than " + std::to_string(std::lround(sim::kLeastGain * 100)) + " %";
  else
    text += microseconds(times.seconds) + ", plain takes " + microseconds(times.plain);
  return text + "; floor " + microseconds(times.floor) + ", " + std::to_string(std::lround(times.hidden * 100)) +
         " % of the exchange hidden; simulated for " + times.machine;
}

namespace {
struct MoeSchedule : impl::MoeScheduleBase<MoeSchedule> {
  using MoeScheduleBase::MoeScheduleBase;

  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](moe::ExpertOp op) {
      if (op.getSchedule())
        return WalkResult::advance();
      auto function = op->getParentOfType<FunctionOpInterface>();
      auto variant = function ? moe::variantOf(function) : moe::VariantAttr();
      if (variant && variant.getSchedule())
        return WalkResult(setGiven(op, variant));
      std::string why;
      if (failed(decide(op, why)))
        return WalkResult::interrupt();
      remark::analysis(op.getLoc(), remark::RemarkOpts::name("Schedule")
                                        .category("moe-schedule")
                                        .function(function ? function.getName() : StringRef()))
          << why << remark::metric("experts", op.getLayout().getType().getExperts());
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  /// The schedule that the layer's function says.
  LogicalResult setGiven(moe::ExpertOp op, moe::VariantAttr variant) {
    op.setScheduleAttr(variant.getSchedule());
    std::string fault = kernel::whyNotOverlapped(op);
    if (fault.empty())
      return success();
    // Nobody who wrote the variant has seen the exchange that is not there.
    auto dispatch = op.getLayout().getDefiningOp<moe::DispatchOp>();
    const bool travels = dispatch && dispatch.getTokens().getDefiningOp<moe::AllToAllOp>();
    return op.emitOpError(fault) << " (the schedule is that of variant '" << variant.getName() << "'"
                                 << (travels ? ")" : "; its tokens are replicated, add tokens=split)");
  }

  /// Sets the schedule. `why` is the remark's text.
  LogicalResult decide(moe::ExpertOp op, std::string &why) {
    op.setScheduleAttr(moe::ScheduleAttr::get(&getContext(), moe::ScheduleKind::Plain));
    bool isFault;
    llvm::Expected<sim::Setup> setup = setupOf(op, {cluster, tokens}, isFault);
    if (!setup) {
      const std::string reason = llvm::toString(setup.takeError());
      if (isFault)
        return op.emitOpError("cannot be scheduled: " + reason);
      why = "plain: " + reason;
      return success();
    }
    if (std::string never = kernel::whyNeverOverlapped(op); !never.empty()) {
      why = "plain: an overlap is not possible, as the layer " + never;
      return success();
    }
    if (llvm::Error error = sim::checkSearch(*setup)) {
      const std::string reason = llvm::toString(std::move(error));
      if (tokens)
        return op.emitOpError("cannot be scheduled: " + reason);
      why = "plain: " + reason;
      return success();
    }
    const std::string key = keyOf(*setup);
    if (!solved.contains(key))
      solved[key] = sim::solve(*setup);
    const sim::Solution &solution = solved[key];
    why = sentence(*setup, solution);
    op.setScheduleAttr(sim::attributeOf(&getContext(), solution.schedule));
    if (std::string fault = kernel::whyNotOverlapped(op); !fault.empty())
      return op.emitOpError(fault);
    return success();
  }

  llvm::StringMap<sim::Solution> solved; ///< by keyOf: models repeat their layers
};
} // namespace
} // namespace moe_mlir
