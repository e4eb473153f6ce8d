//===- Bounds.h - what must hold of sizes and indices so that no kernel leaves its buffers -------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_BOUNDS_H
#define MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_BOUNDS_H

#include "moe-mlir/Analysis/GraphSizes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <set>

namespace mlir::kernel {

/// Takes what the ops of a function need: proves it, reports it as wrong, or leaves it to a `kernel.check`, which
/// stands as early as its sizes are known, so that no fusion moves a use before it. In texts {0} and {1} are the two
/// sizes.
class Bounds {
public:
  explicit Bounds(func::FuncOp function)
      : sizes(function), builder(function.getContext()), top(&function.front().front()) {}

  GraphSizes sizes;

  void equal(Operation *op, const SizeExpr &x, const SizeExpr &y, const Twine &text);
  /// y is x or 1.
  void equalOrOne(Operation *op, const SizeExpr &x, const SizeExpr &y, const Twine &text);
  /// x <= y, unless `count` is given and 0: what is not run reads nothing.
  void atMost(Operation *op, const SizeExpr &x, const SizeExpr &y, const Twine &text,
              std::optional<SizeExpr> count = std::nullopt);
  void notNegative(Operation *op, const SizeExpr &x, const Twine &text, std::optional<SizeExpr> count = std::nullopt);
  void notZero(Operation *op, const SizeExpr &x, const Twine &text, std::optional<SizeExpr> count = std::nullopt);
  /// 64 bits hold x, which is computed.
  void fits(Operation *op, const SizeExpr &x);
  void wrong(Operation *op, const Twine &text);

  /// Whether `indices` are held against `high` for the first time.
  bool isNew(Value indices, const SizeExpr &high) {
    return held.insert({indices.getAsOpaquePointer(), high.terms}).second;
  }
  /// Writes the check; `builder` stands where it is to be.
  void check(Operation *op, OpBuilder &builder, Value holds, const Twine &text, ValueRange values);

  bool failed() const { return hasFailed; }

private:
  enum class Relation { Equal, EqualOrOne, AtMost, Different };
  void require(Operation *op, Relation relation, const SizeExpr &x, const SizeExpr &y, const Twine &text,
               std::optional<SizeExpr> count);
  /// Moves `builder` to where all of them are known; false if that is the beginning.
  bool moveBehind(ArrayRef<SizeExpr> known);
  using Terms = decltype(SizeExpr::terms);

  OpBuilder builder;
  Operation *top; ///< what depends on the arguments alone is checked before it
  std::set<std::tuple<Relation, Terms, Terms, Terms>> done;
  std::set<Terms> fitting; ///< numbers of which `fits` has been asked
  std::set<std::pair<const void *, Terms>> held;
  bool hasFailed = false;
};

/// What the op needs of its sizes: nn and moe ops by their shapes, ops of tensor and linalg, and arithmetic on sizes.
void boundShapes(Bounds &bounds, Operation *op);
void boundTensors(Bounds &bounds, Operation *op);
void boundLoops(Bounds &bounds, Operation *op);
/// What the op needs of indices that stand in tensors.
void boundIndices(Bounds &bounds, Operation *op);

/// How often each loop runs, according to the first dimension that it walks.
SmallVector<SizeExpr> loopSizes(GraphSizes &sizes, linalg::LinalgOp op);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_BOUNDS_H
