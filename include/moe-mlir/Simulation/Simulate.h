//===- Simulate.h - a MoE layer on several ranks, in time -----------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SIMULATION_SIMULATE_H
#define MOE_MLIR_SIMULATION_SIMULATE_H

#include "moe-mlir/Simulation/Cost.h"
#include "moe-mlir/Simulation/Layer.h"
#include "moe-mlir/Simulation/Schedule.h"

#include <vector>

namespace moe_mlir::sim {

/// What is simulated, beside the schedule.
struct Setup {
  Cluster cluster;
  Layer layer;
  Constants constants;
  bool nested = false; ///< two exchanges, between nodes and within one, in place of one
  int64_t blocks = 0;  ///< of columns of a program's result, which slices share equally; 0: slices are free
  bool bulk = true;    ///< rows and sums travel by bulk copies; otherwise by stores of a block's threads
  int64_t passes = 1;  ///< one after the other, each as `layer` says; a simulation is of one
};

/// Something that a rank does for a while.
struct Span {
  enum Lane { Products, Link, Network };
  Lane lane;
  std::string name;
  double start, seconds;
  double bytes = 0; ///< that leave the rank
};

/// What one leg of the exchange moves out of a rank or into it, whichever is more, and how long it takes by itself.
struct Leg {
  double localBytes = 0, networkBytes = 0;
  double seconds = 0;
};

/// Times in seconds since the tokens were routed, of the rank that ends last.
struct Run {
  double seconds = 0; ///< until the last sum has come back
  double collect = 0; ///< the launch that adds the sums of ranks, afterwards
  double announced = 0, upEnd = 0, downEnd = 0;
  double upBusy = 0, downBusy = 0; ///< that a multiprocessor (or thread) which multiplies is not waiting
  double upCopies = 0, downCopies = 0; ///< that threads of a CPU copy rows beside up, or sum and copy beside down
  double firstReturn = 0;          ///< when the first sums leave
  Leg out, back;
  int64_t rank = 0;
  std::vector<Span> spans;
};

/// Simulates a checked schedule. Ranks that behave alike are simulated once. Spans are kept if asked for.
Run simulate(const Setup &setup, const Schedule &schedule, bool keepSpans = false);

/// Blocks of columns of a rank's result, and its multiprocessors: the limits of a schedule.
int64_t columnBlocks(const Setup &setup);
/// Sources that a rank of the overlapped exchange receives from, itself included.
int64_t sourcesOf(const Setup &setup);
/// One line if a schedule does not fit the set-up.
llvm::Error checkSchedule(const Setup &setup, const Schedule &schedule);

/// A run beside the plain one.
struct Summary {
  double plain = 0; ///< seconds without overlap
  double up = 0, down = 0, out = 0, back = 0; ///< of the plain run; of a CPU with what its threads copy and sum
  double bound = 0;    ///< of two kernels: each takes at least as long as its products, and as its leg
  double hideable = 0; ///< of both legs: no more than the products beside it, and not the sums of the last round of
                       ///< tiles, which exist only when products end
  double hidden = 0;   ///< of both legs: what does not make the run longer than the plain run's products
};
Summary summarize(const Setup &setup, const Run &run);

} // namespace moe_mlir::sim

#endif // MOE_MLIR_SIMULATION_SIMULATE_H
