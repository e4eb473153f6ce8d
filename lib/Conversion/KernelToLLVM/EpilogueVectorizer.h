//===- EpilogueVectorizer.h - a scalar region on vectors of columns -----------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_EPILOGUEVECTORIZER_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_EPILOGUEVECTORIZER_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::memref {
class LoadOp;
} // namespace mlir::memref
namespace mlir::scf {
class IfOp;
} // namespace mlir::scf

namespace mlir::kernel {

/// Runs the region of a `kernel.store_tile`, `(row, column, values...) -> value`, for `width` columns at once.
///
/// Each value of the region is one of three kinds: uniform (does not depend on the column: stays scalar), a column (an
/// index that grows by one per lane: stays the scalar of lane 0) or a vector. Elementwise ops on vectors become vector
/// ops; a load whose last index is a column becomes a vector load; other loads that depend on the column are done
/// lane by lane. Of an scf.if whose branches may be computed whether they are taken or not, both are computed, and each
/// lane selects.
class EpilogueVectorizer {
public:
  /// With `limit`, only columns below it exist: `mask` says which lanes do, and loads never touch the others.
  EpilogueVectorizer(OpBuilder &builder, Location loc, int64_t width, Value mask = {}, Value limit = {})
      : builder(builder), loc(loc), width(width), mask(mask), limit(limit) {}

  /// True if every op of the region can run on vectors.
  static bool supports(Block &block);

  /// Clones the region for row `row` and the columns from `column` on; returns the vector that it yields.
  Value run(Block &block, Value row, Value column, ValueRange accumulators);

private:
  enum class Kind { Uniform, Column, Vector };
  struct Lanes {
    Kind kind;
    Value value;
  };

  static bool supports(Block &block, llvm::DenseSet<Value> &varying);
  Lanes get(Value value) const;
  void set(Value original, Kind kind, Value value) { lanes[original] = {kind, value}; }
  Value asVector(Lanes value);
  void cloneUniform(Operation &op);
  bool cloneColumnArithmetic(Operation &op);
  void cloneElementwise(Operation &op);
  void cloneLoad(memref::LoadOp load);
  void cloneBranch(scf::IfOp branch);
  void cloneBody(Block &block);

  OpBuilder &builder;
  Location loc;
  int64_t width;
  Value mask, limit, firstColumn;
  llvm::DenseMap<Value, Lanes> lanes;
};

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_EPILOGUEVECTORIZER_H
