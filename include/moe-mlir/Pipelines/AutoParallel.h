//===- AutoParallel.h - the best way to divide a program among ranks ------------------------------------*- C++ -*-===//
//
// `--parallel=auto`: every way to divide a program among the ranks of a cluster is tried on the program itself, by
// moe-partition, so that what is valid is said in one place. What is made so is estimated (ProgramCost.cpp).
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_PIPELINES_AUTOPARALLEL_H
#define MOE_MLIR_PIPELINES_AUTOPARALLEL_H

#include "moe-mlir/Simulation/Rates.h"
#include "moe-mlir/Simulation/Solve.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>
#include <vector>

namespace moe_mlir {

/// How much a call is that alternatives are compared by.
struct CallSize {
  int64_t tokens = 0; ///< of all ranks together; 0: those of the program, or kScheduledTokens of each rank
  int64_t batch = 1;  ///< sequences that they belong to, if the program has a dimension of its own for these
};

/// What `--parallel=auto,...` says.
struct AutoParallel {
  int64_t ranks = 0; ///< 0: as many as the cluster has
  int64_t batch = 1;
  std::vector<std::pair<std::string, std::string>> fixed; ///< fields of --parallel that all alternatives have
};

/// Whether a text of --parallel leaves the choice to the compiler.
bool isAutoParallel(llvm::StringRef text);
/// None with a message in `error`, a part of a sentence, if the text is none.
std::optional<AutoParallel> parseAutoParallel(llvm::StringRef text, std::string &error);

/// The cluster to choose for: that of `--cluster`, as many GPUs of `gpu` as there are ranks, or that many ranks that
/// share one host. `spec` becomes what the scheduler has to know; empty for ranks of a CPU that nothing was said of.
llvm::Expected<sim::Cluster> clusterToDivide(const AutoParallel &wanted, llvm::StringRef gpu, std::string &spec);

/// Of one rank, in seconds and bytes.
struct ProgramCost {
  double seconds = 0;
  double exchanged = 0; ///< seconds of it in which sums and rows travel, beside those of layers that are simulated
  double weights = 0, states = 0, windows = 0;
  double scratch = 0; ///< results of ops that live at the same time

  double memory() const { return weights + states + windows + scratch; }
};

struct Alternative {
  std::string text; ///< of --parallel
  ProgramCost cost;
  std::string why; ///< not empty: why it cannot be taken
};

/// All ways to divide a module of level graph that `wanted` allows, the best one first, then the others by time, and
/// last those that cannot be taken. An error if not even one of them can.
llvm::Expected<std::vector<Alternative>> compareAlternatives(mlir::ModuleOp graph, const AutoParallel &wanted,
                                                             const sim::Cluster &cluster, int64_t tokens);

/// What a program takes that is divided as `parallel` says.
llvm::Expected<ProgramCost> costOfParallel(mlir::ModuleOp graph, llvm::StringRef parallel, const sim::Cluster &cluster,
                                           const CallSize &call);

/// "1.23 ms, 0.12 ms of it for exchanges; 456.1 MB of each rank".
std::string describe(const ProgramCost &cost);

} // namespace moe_mlir

#endif // MOE_MLIR_PIPELINES_AUTOPARALLEL_H
