//===- ReadLayers.h - MoE layers of a program as text ---------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_TOOLS_MOE_SIM_READLAYERS_H
#define MOE_MLIR_TOOLS_MOE_SIM_READLAYERS_H

#include "moe-mlir/Simulation/Layer.h"

#include "llvm/Support/Error.h"

#include <vector>

namespace moe_mlir::sim {

/// A layer of a program. `ranks` are those of its grid; none: the program has one rank.
struct ProgramLayer {
  Layer layer;
  int64_t ranks = 0;
  std::string schedule; ///< as on the op; empty: none is decided
};

/// The layers of a module at level graph, spmd or scheduled, `-` for standard input. Layers that are alike appear once.
/// Tokens are 0 where their number is dynamic. Diagnostics about the text go to standard error.
llvm::Expected<std::vector<ProgramLayer>> readLayers(llvm::StringRef path);

} // namespace moe_mlir::sim

#endif // MOE_MLIR_TOOLS_MOE_SIM_READLAYERS_H
