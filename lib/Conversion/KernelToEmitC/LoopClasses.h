//===- LoopClasses.h - which loops of a row program lanes may share -------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_LOOPCLASSES_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_LOOPCLASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::kernel {

/// One loop-carried value that is combined by an operation whose order may change.
struct LaneReduction {
  Operation *combine; ///< defines the yielded value
  arith::AtomicRMWKind kind;
};

/// Whether `op` or anything in it writes to memory.
bool writesMemory(Operation *op);

/// Whether the iterations of `loop` touch different elements: each store has the induction variable itself as an index,
/// and a memref that is written is read with the store's indices only. Distinct arguments of a kernel do not overlap.
bool hasIndependentStores(scf::ForOp loop);

/// The reductions of `loop`, one per loop-carried value; failure if one of them is something else.
FailureOr<SmallVector<LaneReduction>> matchLaneReductions(scf::ForOp loop);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_LOOPCLASSES_H
