//===- Solve.h - the schedule that takes the least simulated time ---------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SIMULATION_SOLVE_H
#define MOE_MLIR_SIMULATION_SOLVE_H

#include "moe-mlir/Simulation/Simulate.h"

#include <random>

namespace moe_mlir::sim {

/// A schedule other than `plain` has to save at least this part of plain's time.
constexpr double kLeastGain = 0.03;

struct Solution {
  Schedule schedule;
  double seconds = 0;      ///< of the schedule
  double plain = 0;        ///< of `plain`
  Schedule overlap;        ///< the best one that is not plain
  double overlapped = 0;   ///< its seconds
  int64_t simulations = 0; ///< that were needed
};

/// Tokens of a rank up to which a search ends within seconds; more than its memory holds.
int64_t mostTokens(const Layer &layer);
/// One line if the set-up has more than those.
llvm::Error checkSearch(const Setup &setup);

/// Numbers are changed one after the other until none of them helps.
Solution solve(const Setup &setup);

/// The set-up with one exchange or with two, whichever has the better solution.
std::pair<Setup, Solution> solveExchange(Setup setup);

/// An overlap or parts, drawn at random, that fit the set-up.
Schedule drawSchedule(const Setup &setup, std::mt19937 &random);

} // namespace moe_mlir::sim

#endif // MOE_MLIR_SIMULATION_SOLVE_H
