//===- ProgramCost.h - what one rank's program takes, in time and memory --------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_PIPELINES_PROGRAMCOST_H
#define MOE_MLIR_LIB_PIPELINES_PROGRAMCOST_H

#include "moe-mlir/Pipelines/AutoParallel.h"

namespace moe_mlir {

/// Estimates modules of level spmd, which differ in how they are divided. Layers that were simulated once are known.
class CostModel {
public:
  CostModel(const sim::Cluster &cluster, const sim::Rates &rates, const CallSize &call)
      : cluster(cluster), rates(rates), call(call) {}

  ProgramCost costOf(mlir::ModuleOp module);

private:
  friend class FunctionCost;
  double simulated(const sim::Setup &setup);

  const sim::Cluster &cluster;
  const sim::Rates &rates;
  const CallSize &call;
  sim::Constants constants;
  llvm::StringMap<double> known;
};

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_PIPELINES_PROGRAMCOST_H
