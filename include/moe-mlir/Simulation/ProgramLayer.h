//===- ProgramLayer.h - a layer of a program as the simulator sees it -----------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SIMULATION_PROGRAMLAYER_H
#define MOE_MLIR_SIMULATION_PROGRAMLAYER_H

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Simulation/Layer.h"
#include "moe-mlir/Simulation/Simulate.h"

#include <optional>

namespace moe_mlir::sim {

/// A layer of a program. Tokens are 0 where their number is dynamic.
struct ProgramLayer {
  Layer layer;
  int64_t ranks = 0;                ///< of the grid that its tokens are exchanged in; 0: the program has one rank
  int64_t nodes = 1;                ///< of these ranks, which tokens come to before; 1: one exchange brings them
  int64_t passTokens = 0;           ///< of a rank that are exchanged at a time, at most; 0: all
  std::optional<Schedule> schedule; ///< as on the op, if one is decided
};

/// Makes equal passes of the set-up's tokens, of at most `tokens` of each rank (0: one pass).
void cutIntoPasses(Setup &setup, int64_t tokens);

/// Lets tokens go to `nodes` nodes first (1: they do not), as the program says. An error if the cluster has others.
llvm::Error takeNodes(Setup &setup, int64_t nodes);

/// Weights say the sizes, the dispatch in front of the op the routing. The error says what is missing.
llvm::Expected<ProgramLayer> layerOf(mlir::moe::ExpertOp op);

/// What the attribute says.
Schedule scheduleOf(mlir::moe::ScheduleAttr attribute);
mlir::moe::ScheduleAttr attributeOf(mlir::MLIRContext *context, const Schedule &schedule);

} // namespace moe_mlir::sim

#endif // MOE_MLIR_SIMULATION_PROGRAMLAYER_H
