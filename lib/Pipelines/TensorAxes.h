//===- TensorAxes.h - which dimension of each value several ranks can share ----------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_PIPELINES_TENSORAXES_H
#define MOE_MLIR_LIB_PIPELINES_TENSORAXES_H

#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace moe_mlir {

/// Finds what of a function can be divided among `ranks` ranks that have the same inputs: heads, the hidden columns of
/// a dense layer, and the vocabulary. A division begins where a product makes columns of what all ranks have, or at a
/// cache, and ends in a product that sums over them. What one op cannot take divided is whole from where it comes.
class TensorAxes {
public:
  TensorAxes(mlir::func::FuncOp func, int64_t ranks) : func(func), ranks(ranks) {}

  /// Emits an error for heads that the ranks cannot share.
  mlir::LogicalResult run();

  /// The dimension of which each rank has a part; none if all have all of the value.
  std::optional<int64_t> dimOf(mlir::Value value) const;

  /// How many different parts there are: as many as ranks, or as heads of keys, of which neighbours have the same.
  int64_t partsOf(mlir::Value value) const;

  /// A parameter, or a tensor without content, of which an op reads the part of this rank.
  struct Cut {
    mlir::OpOperand *operand;
    int64_t dim, parts;
  };
  llvm::ArrayRef<Cut> cuts() const { return cut; }
  /// Products that sum over what is divided.
  llvm::ArrayRef<mlir::nn::LinearOp> sums() const { return summed; }
  /// Norms over what is divided.
  llvm::ArrayRef<mlir::nn::RmsNormOp> norms() const { return normed; }
  /// Results of the function that callers want whole.
  llvm::ArrayRef<mlir::OpOperand *> gathers() const { return gathered; }
  /// Tables whose rows are divided.
  llvm::ArrayRef<mlir::nn::EmbeddingOp> tables() const { return embedded; }

  bool dividesAny() const { return !cut.empty() || !embedded.empty(); }

  /// A product or a table that stays whole, and what kept it from being divided.
  struct Stop {
    mlir::Operation *op, *by;
    std::string why;
  };
  llvm::ArrayRef<Stop> stops() const { return stopped; }

private:
  /// What begins a division: the result of a product, or a state.
  struct Source {
    mlir::Value value;
    int64_t parts;
    bool isAlive = true;
  };
  struct Part {
    int64_t dim;
    unsigned source;
  };

  void gatherSources();
  void gatherTables();
  /// Visits all ops. Whether a source has died, or has fewer parts.
  bool visitAll();
  void visit(mlir::Operation *op);
  void visitLinear(mlir::nn::LinearOp op);
  void visitBatch(mlir::nn::BatchLinearOp op);
  void visitNorm(mlir::nn::RmsNormOp op);
  void visitLoops(mlir::linalg::LinalgOp op);
  void visitElements(mlir::Operation *op);
  void visitReturn(mlir::func::ReturnOp op);
  // TensorAxesOfHeads.cpp
  mlir::LogicalResult checkHeads();
  /// How many parts `size` heads have among the ranks; 1 if these cannot share them.
  int64_t partsOfHeads(int64_t size) const;
  void visitUpdate(mlir::nn::CacheUpdateOp op);
  void visitAttention(mlir::nn::AttentionOp op);
  // TensorAxesOfShapes.cpp
  bool visitTensor(mlir::Operation *op);
  void visitExpand(mlir::tensor::ExpandShapeOp op, int64_t dim);
  void visitCollapse(mlir::tensor::CollapseShapeOp op, int64_t dim);
  void visitReshape(mlir::tensor::ReshapeOp op, int64_t dim);
  void visitSlice(mlir::tensor::ExtractSliceOp op, int64_t dim);

  std::optional<Part> partOf(mlir::Value value) const;
  /// All of these belong together: they are divided, or none is.
  void join(mlir::ValueRange values);
  /// Says that dimension `dim` of `value`, a result of `op` that is made of `from`, is divided.
  void set(mlir::Operation *op, mlir::Value value, int64_t dim, mlir::Value from);
  /// `op` cannot take `values` divided, so all that they belong to stays whole.
  void refuse(mlir::Operation *op, mlir::ValueRange values, const llvm::Twine &why);
  void refuse(mlir::Operation *op, const llvm::Twine &why);
  /// Whether `operand` can be made this rank's one of `parts`, which is noted.
  bool mayCut(mlir::OpOperand &operand, int64_t dim, int64_t parts);

  mlir::func::FuncOp func;
  int64_t ranks;
  llvm::SmallVector<Source> sources;
  bool hasFewer = false; ///< parts of a source than before
  llvm::DenseMap<mlir::Value, unsigned> sourceOf;
  llvm::DenseMap<mlir::Value, Part> parts;
  llvm::EquivalenceClasses<unsigned> together; ///< of sources
  llvm::SmallVector<Cut> cut;
  llvm::SmallVector<mlir::nn::LinearOp> summed;
  llvm::SmallVector<mlir::nn::RmsNormOp> normed;
  llvm::SmallVector<mlir::OpOperand *> gathered;
  llvm::SmallVector<mlir::nn::EmbeddingOp> embedded;
  llvm::SmallVector<Stop> stopped;
};

/// Whether the value is a parameter, of which a rank can read a part.
bool isParameter(mlir::Value value);

/// Whether the value has no content but one number, so that a part of it can be made anew: tensor.empty, a fill of it,
/// a splat.
bool isUniform(mlir::Value value);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_PIPELINES_TENSORAXES_H
