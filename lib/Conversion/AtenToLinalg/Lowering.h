//===- Lowering.h - what the lowerings of single operators share --------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_ATENTOLINALG_LOWERING_H
#define MOE_MLIR_LIB_CONVERSION_ATENTOLINALG_LOWERING_H

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::aten {

/// One call that is being lowered: its operands, and builders for the few shapes that all lowerings produce.
class Lowering {
public:
  Lowering(OpBuilder &builder, CallOp call) : b(builder), loc(call.getLoc()), call(call) {}

  OpBuilder &b;
  Location loc;
  CallOp call;
  /// False once a builder was asked for what the types of the call do not allow: the graph contradicts itself. What it
  /// gave instead is good for nothing but to go on with.
  bool fits = true;

  RankedTensorType getType(unsigned result = 0) {
    return mlir::cast<RankedTensorType>(call.getResult(result).getType()); // not the member below
  }

  /// The tensor operand of that argument; null if it is a number or absent.
  Value getTensor(StringRef name);
  /// A number as a scalar value, constant or symbolic, in its own type (i1, i64 or f64); null if absent or a tensor.
  Value getScalar(StringRef name);
  /// Elements of a list argument as index sizes; `-1` and constants as attributes.
  std::optional<SmallVector<OpFoldResult>> getSizes(StringRef name);

  /// Size of a dimension of a tensor.
  OpFoldResult getSize(Value tensor, int64_t dim);
  SmallVector<OpFoldResult> getSizes(Value tensor);
  /// Sizes of a result whose dimensions come from operands that broadcast against it.
  SmallVector<OpFoldResult> getBroadcastSizes(RankedTensorType result, ValueRange operands);
  Value getIndex(OpFoldResult size);
  OpFoldResult multiply(ArrayRef<OpFoldResult> sizes);
  Value empty(RankedTensorType type, ArrayRef<OpFoldResult> sizes);

  using Body = llvm::function_ref<Value(OpBuilder &, Location, ValueRange)>;
  /// A parallel linalg.generic of `type` whose body sees one element of each operand; operands broadcast from
  /// the right.
  Value map(RankedTensorType type, ArrayRef<OpFoldResult> sizes, ValueRange operands, Body body);
  /// The same with the operands' own indexing maps; the body may use linalg.index.
  Value map(RankedTensorType type, ArrayRef<OpFoldResult> sizes, ValueRange operands, ArrayRef<AffineMap> maps,
            Body body);
  /// Reduces the dimensions `dims` of `input` (kept with size 1 if `keep`); the body combines (element, accumulator).
  Value reduce(Value input, ArrayRef<int64_t> dims, bool keep, TypedAttr init, Body body);
  /// The tensor with its elements converted.
  Value cast(Value tensor, Type element);
  /// A view with other sizes and the same elements in row-major order.
  Value reshape(Value tensor, RankedTensorType type, ArrayRef<OpFoldResult> sizes);
  /// The same where only dimensions of size 1 come or go: a metadata op that patterns see through.
  Value reshapeUnits(Value tensor, RankedTensorType type, ArrayRef<OpFoldResult> sizes);

private:
  /// What a builder gives where types do not fit.
  Value misfit(RankedTensorType type);
};

/// Converts a scalar: numbers by value (towards zero to integers), to i1 by "is not zero".
Value convertScalar(OpBuilder &b, Location loc, Value value, Type to);
/// The type in which an operator computes elements of `element`: f32 for 16-bit floats.
Type getComputeType(Type element);
/// The type in which operands meet (Promotion.h).
Type getPromotedType(OpBuilder &b, ArrayRef<Value> operands);

/// As many values as a call has results; nothing if this form of the operator is not supported.
using Values = std::optional<SmallVector<Value>>;
using LoweringFunction = Values (*)(Lowering &);
/// By base name, "aten.add".
using LoweringTable = llvm::StringMap<LoweringFunction>;

/// maximum(self, other), which max.other is as well.
Values lowerMaximumOfTwo(Lowering &l);

/// topk, sort, argsort, argmax, and max along a dimension: values and indices by rank.
Values lowerRanked(Lowering &l);

/// The smallest number of a type, minus infinity of floats, false of truth values.
TypedAttr getLowest(OpBuilder &b, Type type);
/// Bodies of reductions: (element, accumulator). The sum and the maximum of truth values is whether one of them is true.
Value add(OpBuilder &b, Location loc, ValueRange args);
Value maximum(OpBuilder &b, Location loc, ValueRange args);

/// topk of rows that are long, or whose length or k is not known; nothing for other calls.
Values lowerLongTopK(Lowering &l);

void addConvolutions(LoweringTable &table);
void addCreation(LoweringTable &table);
void addElementwise(LoweringTable &table);
void addIndexAdd(LoweringTable &table);
void addIndexing(LoweringTable &table);
void addMatMul(LoweringTable &table);
void addRankings(LoweringTable &table);
void addReductions(LoweringTable &table);
void addShapes(LoweringTable &table);
void addSlices(LoweringTable &table);
void addSymbolic(LoweringTable &table);
void addTriangles(LoweringTable &table);

} // namespace mlir::aten

#endif // MOE_MLIR_LIB_CONVERSION_ATENTOLINALG_LOWERING_H
