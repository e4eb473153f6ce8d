//===- Predictions.h - published times beside the model's -----------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SIMULATION_PREDICTIONS_H
#define MOE_MLIR_SIMULATION_PREDICTIONS_H

#include "moe-mlir/Simulation/Cost.h"

#include <vector>

namespace moe_mlir::sim {

/// The machines of the published figures.
struct Machines {
  Cluster h800, h200, l20, a100;
};
/// From a folder of descriptions.
llvm::Expected<Machines> readMachines(llvm::StringRef folder);

/// A published number, and the simulated one.
struct Prediction {
  std::string source, what, unit;
  double published = 0, simulated = 0;

  double deviation() const { return simulated / published - 1; }
};

/// What the constants are fitted to: five times.
std::vector<Prediction> fittedRows(const Machines &machines, const Constants &constants);
/// What is predicted and counts.
std::vector<Prediction> predictedRows(const Machines &machines, const Constants &constants);
/// What is printed beside it: whole models, and averages over many layers.
std::vector<Prediction> printedRows(const Machines &machines, const Constants &constants);

/// The median of the deviations, without their sign.
double medianDeviation(const std::vector<Prediction> &rows);

/// The constants with the least sum of squared logarithms of simulated / published over fittedRows.
Constants fit(const Machines &machines);

/// All of it as Markdown, for docs/Simulation.md.
llvm::Error printPredictions(llvm::StringRef folder, llvm::raw_ostream &os);

} // namespace moe_mlir::sim

#endif // MOE_MLIR_SIMULATION_PREDICTIONS_H
