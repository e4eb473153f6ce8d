//===- Patterns.h - pattern groups of the passes in this folder ----------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_PATTERNS_H
#define MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_PATTERNS_H

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::aten {

/// An argument of a call that is being built.
using NamedArgument = std::pair<StringRef, llvm::PointerUnion<Value, Attribute>>;
/// `target` with one result.
Value createCall(OpBuilder &builder, Location loc, StringRef target, Type result, ArrayRef<NamedArgument> arguments);
/// The size of that dimension as an i64, also where the type says it.
Value createSize(OpBuilder &builder, Location loc, Value tensor, int64_t dim);
/// `value` with two dimensions exchanged.
Value createTranspose(OpBuilder &builder, Location loc, Value value, int64_t dim0, int64_t dim1);
/// Exchanges the last two dimensions. For a parameter of rank 3 it is a step of the recipe: nothing is left to do at run time.
Value transposeMatrices(OpBuilder &builder, Location loc, Value value);

/// Asserts, in front of a topk, max or the like, that there are as many elements as it chooses.
void checkChoice(OpBuilder &builder, CallOp call);

/// A pattern on calls of some operators.
struct CallPattern : RewritePattern {
  CallPattern(MLIRContext *context, ArrayRef<StringRef> bases, PatternBenefit benefit = 1)
      : RewritePattern(CallOp::getOperationName(), benefit, context), bases(bases.begin(), bases.end()) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const final {
    auto call = cast<CallOp>(op);
    return llvm::is_contained(bases, call.getBase()) ? rewrite(call, rewriter) : failure();
  }
  virtual LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const = 0;

private:
  SmallVector<std::string> bases;
};

inline RankedTensorType getTensorType(Value value) {
  return dyn_cast_or_null<RankedTensorType>(value ? value.getType() : Type());
}
inline Type getElementTypeOf(Value value) { return getTensorType(value).getElementType(); }
/// Types that models compute in: products take them, and sum in f32.
inline bool isModelFloat(Type element) { return element.isF32() || element.isBF16() || element.isF16(); }

/// The number that an argument is, or that fills the tensor that it is (HidingMasks.cpp).
std::optional<double> getNumber(CallOp call, StringRef name);
/// Whether an argument is a number that hides a key when it is added to its score in a mask of these elements: the
/// exponential of the sum is 0 (HidingMasks.cpp).
bool isHiding(CallOp call, StringRef name, Type element);

// Each lives in the file of that name (of assertions: Assertions.cpp; of masks: HidingMasks.cpp; of bare norms:
// RaiseNorm.cpp).
void populateAssertionPatterns(RewritePatternSet &patterns);
void populateSimplifyPatterns(RewritePatternSet &patterns);
void populateSimplifyJoinsPatterns(RewritePatternSet &patterns);
void populateFoldParametersPatterns(RewritePatternSet &patterns);
void populateRaiseLinearPatterns(RewritePatternSet &patterns);
void populateRaiseBatchLinearPatterns(RewritePatternSet &patterns);
void populateRaiseNormPatterns(RewritePatternSet &patterns);
void populateRaiseBareNormPatterns(RewritePatternSet &patterns);
void populateRaiseNormCallsPatterns(RewritePatternSet &patterns);
void populateRaiseRopePatterns(RewritePatternSet &patterns);
void populateRaiseCachePatterns(RewritePatternSet &patterns);
void populateHidingMaskPatterns(RewritePatternSet &patterns);
void populateRaiseAttentionPatterns(RewritePatternSet &patterns);
void populateRaiseRecurrentPatterns(RewritePatternSet &patterns);
void populateRaiseExpertsPatterns(RewritePatternSet &patterns);
void populateRaiseGroupedExpertsPatterns(RewritePatternSet &patterns);
void populateRaiseBatchedExpertsPatterns(RewritePatternSet &patterns);
void populateRaiseReshapePatterns(RewritePatternSet &patterns);

} // namespace mlir::aten

#endif // MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_PATTERNS_H
