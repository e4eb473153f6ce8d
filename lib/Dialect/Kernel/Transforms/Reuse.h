//===- Reuse.h - windows that every pass of a loop writes again -----------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DIALECT_KERNEL_TRANSFORMS_REUSE_H
#define MOE_MLIR_LIB_DIALECT_KERNEL_TRANSFORMS_REUSE_H

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include <optional>

namespace mlir::kernel {

/// What a launch of a loop does with windows, by their numbers; or launches that run at the same time.
struct WindowStep {
  struct Read {
    LaunchOp launch;
    unsigned window;
    SmallVector<unsigned> told; ///< flags that its kernel signals behind the read
    bool byEpoch;               ///< as of a write
  };
  struct Write {
    unsigned window;
    bool byEpoch; ///< the place follows from the epoch: two halves take turns
  };
  SmallVector<Read> reads;
  SmallVector<Write> writes;
  SmallVector<unsigned> signals, awaits;
};

/// A rank must not write again to what another one has still to read. Between a read in one pass and the write in the
/// next one (or the one after it, if halves take turns for both) the reader signals flags, and the writer awaits them.
/// Returns a read for which this does not hold.
std::optional<WindowStep::Read> findUnsafeReuse(ArrayRef<WindowStep> pass);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_DIALECT_KERNEL_TRANSFORMS_REUSE_H
