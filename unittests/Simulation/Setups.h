//===- Setups.h - set-ups of the tests ------------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_UNITTESTS_SIMULATION_SETUPS_H
#define MOE_MLIR_UNITTESTS_SIMULATION_SETUPS_H

#include "moe-mlir/Simulation/Simulate.h"

namespace moe_mlir::sim {

inline Setup setupOf(llvm::StringRef cluster, llvm::StringRef layer, int64_t tokens) {
  Setup setup;
  setup.cluster = llvm::cantFail(findCluster(cluster, MOE_CLUSTERS));
  setup.layer = llvm::cantFail(parseLayer(layer));
  setup.layer.tokens = tokens;
  return setup;
}

inline Schedule scheduleOf(llvm::StringRef text) { return llvm::cantFail(parseSchedule(text)); }

} // namespace moe_mlir::sim

#endif // MOE_MLIR_UNITTESTS_SIMULATION_SETUPS_H
