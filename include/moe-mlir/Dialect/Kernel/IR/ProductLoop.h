//===- ProductLoop.h - the loop over K of products ----------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_KERNEL_IR_PRODUCTLOOP_H
#define MOE_MLIR_DIALECT_KERNEL_IR_PRODUCTLOOP_H

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

namespace mlir::kernel {

/// Products over the same K, each a sum of its own:
///
///   %sums:n = scf.for %k = .. to .. step s iter_args(%acc0 = .., ..) {
///     %next0 = kernel.mma %acc0, %a[%rows, %k], %w[.., %k, %column0]
///     ..
///     scf.yield %next0, ..
///   }
struct ProductLoop {
  scf::ForOp loop;
  SmallVector<MmaOp> mmas; ///< by result of the loop

  /// The loop over K that `mma` is in: its induction variable is the product's k, and takes the product's steps. Null
  /// if there is none.
  static scf::ForOp around(MmaOp mma);
  /// What `loop` computes, if its form is the one above and it holds nothing else.
  static std::optional<ProductLoop> match(scf::ForOp loop);
  /// The products of a loop that was folded because it has one step: `first` and those of its block that have the same
  /// operands but for the column. None if not all of the block start from zero.
  static std::optional<SmallVector<MmaOp>> matchSingleStep(MmaOp first);
  /// Whether `x` and `y` read the same operands, but for the column.
  static bool haveSameOperands(MmaOp x, MmaOp y);
  /// Whether `mma` reads the same operands, but for k, in all steps of `loop`.
  static bool isInvariant(MmaOp mma, scf::ForOp loop);
};

} // namespace mlir::kernel

#endif // MOE_MLIR_DIALECT_KERNEL_IR_PRODUCTLOOP_H
