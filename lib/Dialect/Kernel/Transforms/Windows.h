//===- Windows.h - what windows of a host function are, and what a kernel does with them --------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DIALECT_KERNEL_TRANSFORMS_WINDOWS_H
#define MOE_MLIR_LIB_DIALECT_KERNEL_TRANSFORMS_WINDOWS_H

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <optional>
#include <vector>

namespace mlir::kernel {

/// Numbers the windows of a host function; those that are the same memory have one number.
class WindowNumbers {
public:
  /// The number of what a `kernel.window` or `kernel.window_at` makes; nothing for another value.
  std::optional<unsigned> of(Value window);
  /// The first one with this number.
  Value first(unsigned number) const { return firsts[number]; }
  FlatSymbolRefAttr gridOf(unsigned number) const;
  /// For messages: its name in quotes, or its type.
  std::string describe(unsigned number) const;

private:
  std::map<std::vector<const void *>, unsigned> numbers;
  std::vector<Value> firsts;
};

/// Whether a block does `second` after `first`. Blocks share the iterations of an scf.forall, so what is done in one is
/// before what is in the same iteration only.
bool isBefore(Operation *first, Operation *second);

/// What a kernel does with windows, by the numbers of its arguments. What is said of "before" holds in the program of
/// one block.
struct WindowUses {
  /// A put, or a store into another rank's part, with the flags that are signalled after it; none where a later launch
  /// signals.
  struct Write {
    unsigned window;
    SmallVector<unsigned> signalled;
    SmallVector<unsigned> halves; ///< flag windows by whose epoch, odd or even, its place is chosen
  };
  /// A read of an own part, with the flags that are awaited before it. The argument is a window or a memref.
  struct Read {
    unsigned argument;
    SmallVector<unsigned> awaited;
    SmallVector<unsigned> told;   ///< flags that are signalled behind it
    SmallVector<unsigned> halves; ///< as of a write
  };
  SmallVector<Write> writes;
  SmallVector<Read> reads;
  SmallVector<unsigned> signals, awaits, advances; ///< each flag window once
  SmallVector<unsigned> meetings;                  ///< flag windows that are signalled, and behind that awaited
  SmallVector<unsigned> byPhase;                   ///< flag windows that are used by the number of the phase only

  /// Emits an error if the kernel breaks a rule that does not depend on its launches.
  static FailureOr<WindowUses> of(FuncOp kernel);
};

/// Checks that the launches of a host function exchange what they put, signal and await in an order that ends. Emits an
/// error.
LogicalResult verifyLaunches(func::FuncOp function, const llvm::DenseMap<StringAttr, WindowUses> &kernels);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_DIALECT_KERNEL_TRANSFORMS_WINDOWS_H
