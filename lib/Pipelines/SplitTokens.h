//===- SplitTokens.h - whether a function's inputs can be divided among ranks ---------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_PIPELINES_SPLITTOKENS_H
#define MOE_MLIR_LIB_PIPELINES_SPLITTOKENS_H

#include "moe-mlir/Analysis/GraphSizes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace moe_mlir {

/// The name of dimension 0 of the first input of `func`; null if it has none.
mlir::StringAttr splitDimension(mlir::func::FuncOp func);

/// Each rank gets a range of that dimension of all inputs that have it. This is right if no op mixes its elements: what
/// a function computes for a range is that range of what it computes for all.
class SplitTokens {
public:
  /// `otherwise` says in errors what else a user can do.
  SplitTokens(mlir::func::FuncOp func, mlir::StringAttr dimension, llvm::StringRef otherwise)
      : func(func), dimension(dimension), otherwise(otherwise), sizes(func) {}

  /// Says which op is in the way.
  mlir::LogicalResult check();
  /// Marks the inputs and outputs that are divided; after `check`. The slowest grid is the first one.
  void mark(llvm::ArrayRef<mlir::Attribute> grids);

private:
  /// What a value is on a rank: the same as on all; a range of dimension 0; or a number, made of how many elements the
  /// range has.
  enum class Kind { Whole, Range, Count };

  Kind kindOf(mlir::Value value) const { return kinds.lookup(value); }
  Kind kindOf(mlir::OpFoldResult size) const {
    auto value = mlir::dyn_cast<mlir::Value>(size);
    return value ? kindOf(value) : Kind::Whole;
  }
  bool isRange(mlir::Value value) const { return kindOf(value) == Kind::Range; }
  mlir::LogicalResult set(mlir::Operation *op, Kind kind);
  mlir::LogicalResult refuse(mlir::Operation *op, const llvm::Twine &why);
  mlir::LogicalResult refuseArgument(unsigned number, unsigned dim);

  mlir::LogicalResult visitArguments();
  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult visitLoops(mlir::linalg::LinalgOp op);
  mlir::LogicalResult visitBody(mlir::linalg::LinalgOp op, unsigned loop);
  mlir::LogicalResult visitElements(mlir::Operation *op);
  mlir::LogicalResult visitSymbols(mlir::Operation *op);
  mlir::LogicalResult visitLayer(mlir::Operation *op);
  mlir::LogicalResult visitReturn(mlir::func::ReturnOp op);
  // SplitTensors.cpp
  std::optional<mlir::LogicalResult> visitTensor(mlir::Operation *op);
  mlir::LogicalResult visitShape(mlir::Operation *op, mlir::Value source, mlir::ArrayRef<mlir::OpFoldResult> shape,
                                 int64_t outer);
  mlir::LogicalResult visitSlice(mlir::OffsetSizeAndStrideOpInterface op, mlir::Value whole);

  mlir::func::FuncOp func;
  mlir::StringAttr dimension;
  llvm::StringRef otherwise;
  mlir::kernel::GraphSizes sizes;
  llvm::DenseMap<mlir::Value, Kind> kinds; ///< absent: Whole
};

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_PIPELINES_SPLITTOKENS_H
