//===- Axes.h - the ranks of a program, and what is divided among them --------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_HOSTTOMOERT_AXES_H
#define MOE_MLIR_LIB_CONVERSION_HOSTTOMOERT_AXES_H

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::moert {

/// The grids of a module by number. Variants of an entry have grids of their own, and the job's ranks stand on those of
/// each.
class Axes {
public:
  /// Emits an error if a grid's number of ranks is not known. A grid of one rank that nothing names is none. Functions
  /// have been verified as variants.
  static FailureOr<Axes> read(ModuleOp module);

  /// Grids are verified where they are named.
  int32_t number(FlatSymbolRefAttr grid) const { return ranks.find(grid.getAttr()) - ranks.begin(); }
  int32_t ranksOf(FlatSymbolRefAttr grid) const { return ranks.find(grid.getAttr())->second.ranks; }
  bool contains(FlatSymbolRefAttr grid) const { return ranks.contains(grid.getAttr()); }
  /// The grids whose numbers make that of a rank, of no variant: without those that are dimensions of others, or of
  /// groups of their ranks.
  SmallVector<int64_t> wholeGrids() const;
  bool empty() const { return ranks.empty(); }
  size_t size() const { return ranks.size(); }
  /// The module attribute `moert.axes`.
  ArrayAttr toAttr(MLIRContext *context) const;

private:
  struct Axis {
    int32_t ranks;
    int64_t stride = 1; ///< from a rank to the next one on the axis, in numbers of the job
    std::optional<moe::GridAxis> part = std::nullopt; ///< of another grid
    FlatSymbolRefAttr grouped = {};                   ///< the grid of whose ranks there are groups here
  };
  /// The last grid varies fastest. Those that are dimensions or groups of another one count with that.
  void setStrides(ArrayRef<StringAttr> grids);

  llvm::MapVector<StringAttr, Axis> ranks;
};

/// A parameter as the archive has it, which does not know ranks.
struct WholeParameter {
  ArrayAttr recipe;
  MemRefType type;
  DenseI64ArrayAttr shape; ///< before the pack; null if it is not packed
  SmallVector<int64_t, 2> axes; ///< among whose ranks the first dimensions are divided
  int64_t sliceAxis = -1;       ///< of slices that stand with gaps between them
  int64_t sliceStep = 0;        ///< elements from the beginning of one to that of the next
};

/// `op`, whose type is what this rank has, without the steps for ranks of its recipe: parts of the first dimension
/// stand one behind the other as they are, and those of another dimension get a new first one, unless the memref says
/// that they stand with gaps. Emits an error if that cannot be done.
FailureOr<WholeParameter> makeWhole(moe::ParameterOp op, const Axes &axes);

} // namespace mlir::moert

#endif // MOE_MLIR_LIB_CONVERSION_HOSTTOMOERT_AXES_H
