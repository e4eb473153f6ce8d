//===- Schedule.h - when a MoE layer sends, multiplies and returns --------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SIMULATION_SCHEDULE_H
#define MOE_MLIR_SIMULATION_SCHEDULE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <string>

namespace moe_mlir::sim {

/// The numbers of a schedule, in the words of the attribute on `moe.expert`.
struct Schedule {
  enum Kind { Plain, Parts, Overlap };
  enum Order { Source, Part };

  Kind kind = Plain;
  int64_t parts = 1;                ///< of `parts`: Tutel's degree
  int64_t chunk = 128;              ///< rows that one flag covers
  Order order = Source;             ///< rows received stand by source, or in parts of a chunk of every source
  llvm::SmallVector<int64_t> steps; ///< sources (or parts) whose rows are multiplied together, step by step
  int64_t piece = 256;              ///< rows of a record at most: what waits together; 0: as many as there are
  int64_t send = 1, back = 1;       ///< blocks that send rows, and that return sums (`return`); 0: the target decides
  int64_t slices = 1;               ///< of the result's columns, which return one after the other

  bool operator==(const Schedule &other) const;
};

/// Parses `plain`, `parts = 4`, or `overlap, chunk = 128, order = source, steps = [1, 3, 4], piece = 256, send = 12,
/// slices = 8, return = 20`; brackets `<..>` around it are left out or not, and so are piece, send and return.
llvm::Expected<Schedule> parseSchedule(llvm::StringRef text);
/// What parseSchedule reads, without brackets.
std::string toString(const Schedule &schedule);

/// One line if a schedule does not fit: steps that are not all units, more slices than there are column blocks, or more
/// blocks than multiprocessors (0: there are none, as threads do all of the work in turns).
llvm::Error checkSchedule(const Schedule &schedule, int64_t ranks, int64_t columnBlocks, int64_t multiprocessors);

} // namespace moe_mlir::sim

#endif // MOE_MLIR_SIMULATION_SCHEDULE_H
