//===- ReadLayers.h - MoE layers of a program as text ---------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_TOOLS_MOE_SIM_READLAYERS_H
#define MOE_MLIR_TOOLS_MOE_SIM_READLAYERS_H

#include "moe-mlir/Simulation/ProgramLayer.h"

#include <vector>

namespace moe_mlir::sim {

struct ReadLayer : ProgramLayer {
  std::string variant; ///< whose layer it is; empty: the program has none
  std::string why;     ///< of a variant, not empty: why its layer is not simulated
};

/// The layers of a module at level graph, spmd or scheduled, `-` for standard input. Layers that are alike appear once,
/// or once for each variant. Tokens are 0 where their number is dynamic. Diagnostics about the text go to standard
/// error.
llvm::Expected<std::vector<ReadLayer>> readLayers(llvm::StringRef path);

} // namespace moe_mlir::sim

#endif // MOE_MLIR_TOOLS_MOE_SIM_READLAYERS_H
