//===- LayerTimes.h - what layers of several ranks take, by the simulator -------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_PIPELINES_LAYERTIMES_H
#define MOE_MLIR_PIPELINES_LAYERTIMES_H

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Simulation/Solve.h"

#include "mlir/IR/BuiltinOps.h"

namespace moe_mlir {

/// What schedules are decided for.
struct SchedulingOptions {
  std::string cluster; ///< `[N x]NAME` or a file, as moe-sim takes it. Empty: that of the target, if it is a GPU.
  int64_t tokens = 0;  ///< of all ranks together; 0: those of the program, or kScheduledTokens of each rank
};

/// Tokens of a rank, if neither the program nor the command line says how many.
constexpr int64_t kScheduledTokens = 8192;

/// One line about a cluster that there is not; success without a name.
llvm::Error checkCluster(llvm::StringRef spec);

/// A layer on a cluster. The error says why it has no times there. `isFault` is set if the options are wrong, not the
/// layer.
llvm::Expected<sim::Setup> setupOf(mlir::moe::ExpertOp op, const SchedulingOptions &options, bool &isFault);

/// "8 x H200, 8192 tokens of each".
std::string describeMachine(const sim::Setup &setup);

/// What the schedule of a layer takes.
struct LayerTimes {
  std::string layer, entry; ///< its name, and the function that it is in
  std::string schedule, machine;
  double seconds = 0, plain = 0;
  double floor = 0;  ///< products, or the exchange beside each, whichever takes longer
  double hidden = 0; ///< part of the exchange that does not make the layer longer
  std::string why = {}; ///< not empty: why it was not simulated, and there are no times
};
LayerTimes timesOf(const sim::Setup &setup, const sim::Schedule &schedule);

/// Those of all layers of a module at level scheduled that have times.
std::vector<LayerTimes> timesOfLayers(mlir::ModuleOp module, const SchedulingOptions &options);

/// What these options have no effect on, and why: "layer 'x' and 2 others: .." with the reason of the first one, if no
/// layer of a module at level scheduled can have another schedule than a plain one; empty otherwise. With `areTimed`
/// they have an effect on a schedule that a variant says, too: a report tells its times.
std::string whyNothingScheduled(mlir::ModuleOp module, const SchedulingOptions &options, bool areTimed);

} // namespace moe_mlir

#endif // MOE_MLIR_PIPELINES_LAYERTIMES_H
