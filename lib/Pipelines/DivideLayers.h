//===- DivideLayers.h - MoE layers divided among ranks --------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_PIPELINES_DIVIDELAYERS_H
#define MOE_MLIR_LIB_PIPELINES_DIVIDELAYERS_H

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Pipelines/Parallel.h"

namespace moe_mlir {

/// What is made of one dispatch: the experts that read its rows, and the sums of theirs.
struct DividedLayer {
  mlir::moe::DispatchOp dispatch;
  llvm::SmallVector<mlir::moe::ExpertOp> experts;
  llvm::SmallVector<mlir::moe::CombineOp> combines;
  int64_t groups = 1;   ///< of the sum over all experts
  mlir::Type sums = {}; ///< what a rank's sum of a token is made of when it travels: f32 or bf16

  int64_t numExperts() { return dispatch.getLayout().getType().getExperts(); }
};

/// Collects the layer of a dispatch. Says what of it cannot be divided.
mlir::FailureOr<DividedLayer> gatherLayer(mlir::moe::DispatchOp dispatch, const ParallelSpec &spec);

/// The operands of an expert layer that have one entry per expert.
llvm::SmallVector<mlir::OpOperand *> weightsOf(mlir::moe::ExpertOp expert);

/// Puts the layer's experts where `orders` says.
mlir::LogicalResult orderExperts(DividedLayer &layer, const ExpertOrders &orders);

/// Gives a sum the order that all numbers of ranks share. Fails if it has another one.
mlir::LogicalResult setSum(mlir::moe::CombineOp combine, int64_t groups);

/// Gives an operand of an expert layer this rank's part of its parameter: `step` makes it, of type `type`. It stands
/// behind the parameter, once for all layers that read it.
void takePart(mlir::OpOperand &weight, mlir::Attribute step, mlir::Type type);

/// Erases parameters that nothing reads whole any more.
void dropUnread(llvm::ArrayRef<mlir::Operation *> parameters);

/// How tokens come to a rank: by an exchange among the ranks of a grid, once they are `at` a node of another one.
struct TokenWay {
  mlir::FlatSymbolRefAttr to;
  int64_t ranks;
  mlir::FlatSymbolRefAttr at = {}; ///< null: from where they are
};

/// Rewrites the layer for one of the `ranks` of `grid`: tokens go to the ranks of their experts by these ways, one
/// behind the other, and their sums come back. Without ways each rank has all tokens and the ranks add their sums.
mlir::LogicalResult divideLayer(DividedLayer &layer, mlir::FlatSymbolRefAttr grid, int64_t ranks,
                                llvm::ArrayRef<TokenWay> ways);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_PIPELINES_DIVIDELAYERS_H
