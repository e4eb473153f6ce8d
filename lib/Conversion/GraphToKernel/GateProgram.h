//===- GateProgram.h - the kernels of a moe.gate --------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_GATEPROGRAM_H
#define MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_GATEPROGRAM_H

#include "Routing.h"

namespace mlir::kernel {

/// Builds the kernels of one gate: scores, choice and weights of each token (GateScores, GateChoice, GateWeights), and
/// what a capacity drops (GateDrop).
class GateProgram {
public:
  GateProgram(GraphLowering &lowering, moe::GateOp op, moe::GateOp::Adaptor adaptor,
              ConversionPatternRewriter &rewriter, Value weights, Value experts)
      : lowering(lowering), op(op), adaptor(adaptor), rewriter(rewriter), weightsBuffer(weights),
        expertsBuffer(experts), numExperts(op.getNumExperts()), k(op.getK()), f32(rewriter.getF32Type()) {}

  void emit();

private:
  void emitRows();
  /// Where the pairs are counted, if a layout of them follows.
  std::optional<PairCounts> countsForLayout();
  /// `body` for each token, in the kernel's blocks; behind it the pairs of its chunk are counted if a layout of them follows.
  void forTokens(KernelBuilder &b, llvm::function_ref<void(Value)> body);
  Value emitLocations();
  void emitDrop();
  void score(KernelBuilder &b, Value t);
  void maskGroups(KernelBuilder &b, Value t);
  void choose(KernelBuilder &b, Value t);
  void takeGiven(KernelBuilder &b, Value t);
  void weigh(KernelBuilder &b, Value t);
  void weighBySoftmax(KernelBuilder &b, Value t);
  void weighBySparseMixer(KernelBuilder &b, Value t);
  void renormalize(KernelBuilder &b, Value t);
  void finish(KernelBuilder &b, Value t);

  /// The value that the choice ranks: score plus bias; NaN ranks first, so that it is seen in the result.
  Value choiceOf(KernelBuilder &b, Value t, Value e);
  Value isExpert(KernelBuilder &b, Value id);
  /// The score of the expert that slot j has, or `otherwise`.
  Value chosen(KernelBuilder &b, Value t, Value j, double otherwise);
  Value sigmoid(KernelBuilder &b, Value x);
  Value reduce(KernelBuilder &b, Value upper, double init, llvm::function_ref<Value(Value, Value)> body);

  bool hasCapacity() { return op.getCapacity() && !op.getCapacity()->getFactor().isZero(); }
  Value cmp(KernelBuilder &b, arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, predicate, x, y);
  }

  GraphLowering &lowering;
  moe::GateOp op;
  moe::GateOp::Adaptor adaptor;
  ConversionPatternRewriter &rewriter;
  Value weightsBuffer, expertsBuffer, listBuffer;
  int64_t numExperts, k;
  Type f32;
  OpFoldResult tokens;

  // Inside the kernel under construction.
  Value logits, bias, ids, scores, choices, groupScores, list, weights, experts;
};

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_GATEPROGRAM_H
