//===- Epilogues.h - who may run in whose epilogue ----------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SCHEDULE_EPILOGUES_H
#define MOE_MLIR_SCHEDULE_EPILOGUES_H

#include "moe-mlir/Analysis/GraphSizes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <map>
#include <string>

namespace mlir::kernel {

/// The scalar that all elements of a tensor have, if its producer says so (a splat constant or a fill).
struct SplatValue {
  TypedAttr constant;
  Value scalar;
  explicit operator bool() const { return constant || scalar; }
};
SplatValue splatOf(Value tensor);

/// Who may run in whose epilogue. A residual sum after a product or a combine, or the activation of a dense layer,
/// needs no kernel of its own: its scalar body runs on the producer's values before they are stored. Reshapes in
/// between do not matter as long as they keep the last dimension, since both sides are matrices of such rows in memory.
class EpilogueAnalysis {
public:
  /// Whether kernels of `op` have an epilogue.
  static bool hasEpilogue(Operation *op);
  /// The op that computes operand `input` of `consumer`, through reshapes; null if none of the function does.
  static Operation *producerOf(linalg::GenericOp consumer, unsigned input);
  /// An operand of `consumer`, other than `input`, that has the shape of its result; null if none has.
  static Value shapeOf(linalg::GenericOp consumer, unsigned input);

  /// The operand of an elementwise op by which that op can run in the epilogue of `producer`; null if there is none.
  OpOperand *consumerOf(Operation *producer);
  /// Why `consumer` cannot run where its operand `input` is computed, as a text that follows the op's name; empty if it
  /// can.
  std::string whyNot(linalg::GenericOp consumer, unsigned input);

private:
  /// Why `value`, a reshape on the way, cannot be looked through.
  std::string whyNotThrough(Value reshaped, Operation *producer);
  GraphSizes &sizesOf(Operation *op);

  std::map<Operation *, GraphSizes> sizes; ///< by function
};

} // namespace mlir::kernel

#endif // MOE_MLIR_SCHEDULE_EPILOGUES_H
