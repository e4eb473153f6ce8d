//===- Variants.h - several ways in which ranks run one program ----------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_PIPELINES_VARIANTS_H
#define MOE_MLIR_PIPELINES_VARIANTS_H

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Pipelines/Parallel.h"

namespace moe_mlir {

/// Grids of all variants of a program together; the runtime's MOERT_MAX_AXES.
constexpr int64_t kMostGrids = 16;

/// What `moe-compile --variant` says: as `--parallel`, which says what a variant leaves out of groups, sums and
/// experts, and "schedule=<..>" as well.
struct VariantSpec {
  std::string name; ///< the text
  ParallelSpec parallel;
  mlir::moe::ScheduleAttr schedule; ///< null: moe-schedule finds one

  int64_t ranks() const { return parallel.copies * parallel.ranks * parallel.sharers(); }
};

/// The variants of a program: `parallel` is the first one, `others` has texts with semicolons between them. None with a
/// message in `error`, a part of a sentence, if one is none or they do not belong together.
std::optional<std::vector<VariantSpec>> parseVariants(mlir::MLIRContext *context, llvm::StringRef parallel,
                                                      llvm::StringRef others, std::string &error);

/// Checks of all levels that have ranks: what #moe.variant says of the functions of a module. Emits an error.
mlir::LogicalResult verifyVariants(mlir::Operation *module);

} // namespace moe_mlir

#endif // MOE_MLIR_PIPELINES_VARIANTS_H
