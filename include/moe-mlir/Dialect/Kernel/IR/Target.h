//===- Target.h - the device that kernels are made for ------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_KERNEL_IR_TARGET_H
#define MOE_MLIR_DIALECT_KERNEL_IR_TARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

#include <string>

namespace mlir::kernel {

/// The sizes that a product's program is made with.
struct ProductTiles {
  int64_t rows = 6;          ///< of a tile of accumulators
  int64_t columns = 64;      ///< of a tile, a divisor of blockColumns
  int64_t blockColumns = 64; ///< that a weight is blocked by
  int64_t depth = 1;         ///< elements that one step of the product takes
  int64_t chunkRows = 48;    ///< of a linear that a block takes at a time, in whole tiles
  /// Products run on matrix registers, which want rows one below the other and apart by an odd number of cache lines.
  bool matrix = false;
};

/// Enough chunks of tokens for the blocks, few enough that each of them can add up the counts of all.
struct RoutingSizes {
  int64_t chunks = 16;           ///< at most
  int64_t chunkTokens = 1;       ///< tokens of a chunk, at least
  int64_t countedExperts = 1024; ///< experts whose counts are added up at a time
};

/// What a product of so many rows is expected to take.
struct TileEstimate {
  int64_t rows;
  double seconds, floor; ///< with the chosen tiles, and the least that the device allows
  std::string device;
};

/// The module attribute that holds the target, and the attribute of a kernel.func that holds its plan.
constexpr llvm::StringLiteral targetAttrName = "kernel.target", planAttrName = "kernel.plan";

/// The sizes of products without a target: one step takes a pair of bf16, or one element of another type.
ProductTiles plainTiles(Type element);

} // namespace mlir::kernel

#include "moe-mlir/Dialect/Kernel/IR/KernelAttrInterfaces.h.inc"

namespace mlir::kernel {

/// The target of `module`, or null.
TargetAttrInterface targetOf(ModuleOp module);
/// Whether the kernels of `module` run on another processor than its host program.
bool isOffloaded(ModuleOp module);

/// The target of `module` as one of a certain kind; emits an error if it has none, or one of another kind.
template <typename Attr> FailureOr<Attr> requireTarget(ModuleOp module, StringRef advice) {
  TargetAttrInterface target = targetOf(module);
  if (auto wanted = dyn_cast_or_null<Attr>(target))
    return wanted;
  InFlightDiagnostic error = emitError(module.getLoc());
  if (target)
    return error << "'" << targetAttrName << "' is for " << target.describe() << "; " << advice;
  return error << "module has no '" << targetAttrName << "' attribute; " << advice;
}

} // namespace mlir::kernel

#endif // MOE_MLIR_DIALECT_KERNEL_IR_TARGET_H
