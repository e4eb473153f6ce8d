//===- LaneDistribution.h - the work of a warp, shared by its lanes -------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_LANEDISTRIBUTION_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_LANEDISTRIBUTION_H

#include "LoopClasses.h"

namespace mlir::kernel {

/// Rewrites what one warp does for one row. Control flow is the same for all lanes outside of the loops that they
/// share.
class LaneDistribution {
public:
  LaneDistribution(Operation *root, Value lane) : b(root->getContext()), lane(lane) {}

  void run(Block &block);

private:
  void run(Operation *op);
  void run(scf::ForOp loop);
  /// Lane l takes the iterations l, l + 32, ...; each carried value starts neutral and is combined across lanes.
  void share(scf::ForOp loop, SmallVector<LaneReduction> reductions);
  /// The loop that takes the place of `loop` and does `length` iterations in each of its own, with one access for each
  /// load or store along a row (VectorLoops.cpp). The reductions' operations are then those of the new loop.
  scf::ForOp byVectors(scf::ForOp loop, int64_t length, MutableArrayRef<LaneReduction> reductions);
  /// Lanes take 32 consecutive iterations at a time; carried sums are prefix sums across them (ScanLoops.cpp).
  void scan(scf::ForOp loop, ArrayRef<LaneScan> scans);
  /// Lanes take 32 consecutive iterations at a time; those that count up the same element find out by a match, and each
  /// gets what it would have read in turn (CursorLoops.cpp).
  void takeTurns(scf::ForOp loop, LaneCursor cursor);
  /// Wraps `ops`, which write, in `if (lane == 0)`, at the place of the last; its results, if any, are sent to all
  /// lanes.
  void onLaneZero(ArrayRef<Operation *> ops);
  /// Lanes wait for each other: before a part that writes, since others may still read, and after it. One meeting
  /// serves two parts.
  void meet(Location loc);

  Value number(Location loc, int64_t value);
  /// The loop that takes the place of `loop`, 32 iterations at a time: `body` gets this lane's iteration, whether there
  /// is one, and the carried values. It returns the next ones.
  void byGroups(scf::ForOp loop, llvm::function_ref<SmallVector<Value>(Value, Value, ValueRange)> body);

  OpBuilder b;
  Value lane;
};

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_LANEDISTRIBUTION_H
