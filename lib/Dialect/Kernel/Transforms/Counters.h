//===- Counters.h - arrivals, and memory that launches of a group share ---------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DIALECT_KERNEL_TRANSFORMS_COUNTERS_H
#define MOE_MLIR_LIB_DIALECT_KERNEL_TRANSFORMS_COUNTERS_H

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::kernel {

/// What a kernel does with the buffers that it takes, by the numbers of its arguments.
struct BufferUses {
  struct Access {
    unsigned argument;
    bool isWrite;
    SmallVector<unsigned> told;    ///< counters that arrive behind it, in the program of one block
    SmallVector<unsigned> awaited; ///< counters that are awaited before it
  };
  SmallVector<Access> accesses;
  SmallVector<unsigned> arrives, awaits; ///< each buffer of counters once
  SmallVector<unsigned> byPhase;         ///< counters that are used by the number of the phase only
  SmallVector<unsigned> zeroed;          ///< buffers that nothing but 0 is stored to

  static BufferUses of(FuncOp kernel);
};

/// A launch's place among those that run at the same time.
struct Place {
  int64_t phases, lag, number;
  static Place of(LaunchOp launch, int64_t number);
  /// Whether what `other` awaits, in whichever phase, is told in blocks that start before. `byPhase`: each phase awaits
  /// what the same one tells.
  bool startsBefore(const Place &other, bool byPhase) const;
};

/// Follows counters through the launches of a host function.
class CounterOrder {
public:
  explicit CounterOrder(const llvm::DenseMap<StringAttr, BufferUses> &kernels) : kernels(kernels) {}

  /// Launches that run at the same time; one if there is no group. Emits an error if a wait might not end, or a member
  /// uses what another one writes without one.
  LogicalResult follow(ArrayRef<LaunchOp> members);
  /// All launches of a block, and those of its loops over passes.
  LogicalResult followAll(Block &block);

private:
  LogicalResult checkAwait(ArrayRef<LaunchOp> members, unsigned member, unsigned argument);
  LogicalResult checkConflicts(ArrayRef<LaunchOp> members, unsigned member, unsigned other);
  const BufferUses &usesOf(LaunchOp launch) const;

  enum class State { Zero, Counted };
  const llvm::DenseMap<StringAttr, BufferUses> &kernels;
  llvm::DenseMap<Value, State> states; ///< of buffers that may be counters
  BufferUses none;
};

/// The launches that an op of the host function is, or runs at the same time.
SmallVector<LaunchOp> launchesOf(Operation &op);

/// Checks the groups and counters of all host functions, also of programs of one rank. Emits an error.
LogicalResult verifyCounters(ModuleOp module);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_DIALECT_KERNEL_TRANSFORMS_COUNTERS_H
