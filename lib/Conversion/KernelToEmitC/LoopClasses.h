//===- LoopClasses.h - which loops of a row program lanes may share -------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_LOOPCLASSES_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_LOOPCLASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir {
class IRMapping;
}

namespace mlir::kernel {

/// One loop-carried value that is combined by an operation whose order may change.
struct LaneReduction {
  Operation *combine; ///< defines the yielded value
  arith::AtomicRMWKind kind;
};

/// A carried integer sum that the loop uses on the way.
struct LaneScan {
  Operation *combine; ///< defines the yielded value
  Value increment;    ///< does not depend on what the loop carries or writes
};

/// An element that iterations count up in turn: %n = load, store %n + 1.
struct LaneCursor {
  memref::LoadOp load;
  memref::StoreOp store;
  Value condition; ///< under which both happen; null if they always do
  Value element;   ///< the index that differs between iterations
};

constexpr int64_t kLanes = 32;

/// On a loop whose body is written once for each iteration, or for as many as the attribute says.
constexpr llvm::StringLiteral kUnrollAttr = "unroll";

/// Whether `op` or anything in it writes to memory, of this rank or another one.
bool writesMemory(Operation *op);

/// Whether `op` writes to other ranks or waits for them, in an order that lanes keep.
bool isExchange(Operation *op);

/// What is added to the number of the iteration of `loop`, or taken from it, to give `index`; null if that is not how
/// it is made.
Value shiftOf(scf::ForOp loop, Value index);

/// Whether the iterations of `loop` touch different elements: it says so (`kernel.independent`), or each store has the
/// induction variable itself as an index, or its quotient and remainder by one number, and a memref that is written is
/// read with the store's indices only. Distinct arguments of a kernel do not overlap. `except` is not looked at.
bool hasIndependentStores(scf::ForOp loop, Value except = Value());

/// The reductions of `loop`, one per loop-carried value; failure if one of them is something else.
FailureOr<SmallVector<LaneReduction>> matchLaneReductions(scf::ForOp loop);

/// The sums that `loop` carries, at least one; failure if it carries anything else.
FailureOr<SmallVector<LaneScan>> matchLaneScans(scf::ForOp loop);

/// The only element that iterations of `loop` share; failure if they share none or in another way.
FailureOr<LaneCursor> matchLaneCursor(scf::ForOp loop);

/// Consecutive iterations of `loop` that one access of up to 16 bytes can stand for, so that all lanes still have some;
/// 0 if an access does not go along rows that start at such multiples.
int64_t vectorLength(scf::ForOp loop);

/// If `outer` adds rows up in memory, column by column in an inner loop: the loop over the columns that takes its
/// place.
scf::ForOp interchangeSum(scf::ForOp outer);

/// The operations of `loop` that `value` is computed by, in their order; failure if one of them depends on carried
/// values or on memory that the loop writes, or has regions.
FailureOr<SmallVector<Operation *>> sliceInLoop(scf::ForOp loop, Value value);
/// Clones those that `mapping` does not know, and returns what `value` is then.
Value cloneSlice(OpBuilder &b, ArrayRef<Operation *> slice, Value value, IRMapping &mapping);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_LOOPCLASSES_H
