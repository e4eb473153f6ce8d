//===- Decompose.h - building several calls in place of one ---------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_DECOMPOSE_H
#define MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_DECOMPOSE_H

#include "Patterns.h"

namespace mlir::aten {

/// `value` in another element type.
Value createCast(OpBuilder &builder, Location loc, Value value, Type element);
/// value[begin:end] along `dim`; a negative end counts from the back, INT64_MAX is the end.
Value createSlice(OpBuilder &builder, Location loc, Value value, int64_t dim, int64_t begin, int64_t end);
/// The values one after the other along `dim`.
Value createCat(OpBuilder &builder, Location loc, ValueRange values, int64_t dim);
/// Numbers of a list argument, or what holds them.
using SizeArguments = SmallVector<NamedArgument::second_type>;
/// The sizes of a tensor.
SizeArguments getSizeArguments(OpBuilder &builder, Location loc, Value tensor);
/// A call with a list `size`: of a tensor, or null if it has none.
Value createWithSizes(OpBuilder &builder, Location loc, StringRef target, Type result, Value self,
                      ArrayRef<NamedArgument::second_type> sizes, ArrayRef<NamedAttribute> others = {});
/// Element type in which a call on `element` computes: f32 for floats of 16 bits.
Type getWideType(Type element);

// Each lives in the file of that name.
void populateDecomposePatterns(RewritePatternSet &patterns);
void populateDecomposeAttentionPatterns(RewritePatternSet &patterns);
void populateDecomposeEinsumPatterns(RewritePatternSet &patterns);
void populateDecomposeIndicesPatterns(RewritePatternSet &patterns);
void populateDecomposeProductsPatterns(RewritePatternSet &patterns);
void populateDecomposeVariancePatterns(RewritePatternSet &patterns);
void populateDecomposeVectorNormPatterns(RewritePatternSet &patterns);

} // namespace mlir::aten

#endif // MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_DECOMPOSE_H
