//===- DecomposeProducts.cpp - products with vectors, and products that are added ---------------------------------===//

#include "Decompose.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

using namespace mlir;
using namespace mlir::aten;

/// value * factor, or value where the factor is 1. It must be a number that `isFactor` takes.
static Value scale(OpBuilder &builder, Location loc, Value value, CallOp call, StringRef factor) {
  if (call.getFloat(factor).value_or(1) == 1)
    return value;
  return createCall(builder, loc, "aten.mul.Scalar", value.getType(),
                    {{"self", value}, {"other", call.getArgument(factor)}});
}

/// Whether an argument is absent, or a number that integers are multiplied with only if it is one.
static bool isFactor(CallOp call, StringRef name, Type element) {
  return !call.getArgument(name) || (isa<FloatType>(element) ? call.getFloat(name).has_value()
                                                             : call.getInt(name).has_value());
}

/// matrix @ vector. A constant matrix is the weight of a linear layer, which has one row here.
static Value multiplyVector(OpBuilder &builder, Location loc, Value matrix, Value vector, Value bias = {}) {
  RankedTensorType type = getTensorType(matrix), vectorType = getTensorType(vector);
  auto first = Attribute(builder.getI64IntegerAttr(0));
  auto result = type.clone({type.getDimSize(0)});
  if (!matrix.getDefiningOp<moe::ParameterOp>())
    return createCall(builder, loc, "aten.matmul.default", result, {{"self", matrix}, {"other", vector}});
  Value row = createCall(builder, loc, "aten.unsqueeze.default", type.clone({1, vectorType.getDimSize(0)}),
                         {{"self", vector}, {"dim", first}});
  SmallVector<NamedArgument> arguments{{"input", row}, {"weight", matrix}};
  if (bias)
    arguments.push_back({"bias", bias});
  row = createCall(builder, loc, "aten.linear.default", type.clone({1, type.getDimSize(0)}), arguments);
  return createCall(builder, loc, "aten.squeeze.dim", result, {{"self", row}, {"dim", first}});
}

namespace {
/// mv(self, vec) and addmv(self, mat, vec) = beta * self + alpha * mat @ vec.
struct DecomposeMatrixVector : CallPattern {
  DecomposeMatrixVector(MLIRContext *context) : CallPattern(context, {"aten.mv", "aten.addmv"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Location loc = call.getLoc();
    const bool adds = call.getBase() == "aten.addmv";
    Value matrix = call.getValue(adds ? "mat" : "self"), vector = call.getValue("vec"),
          added = adds ? call.getValue("self") : Value();
    RankedTensorType type = getTensorType(matrix), vectorType = getTensorType(vector), addedType = getTensorType(added);
    if (!type || !vectorType || type.getRank() != 2 || vectorType.getRank() != 1 ||
        type.getDimSize(1) != vectorType.getDimSize(0) || call.getNumResults() != 1 ||
        type.getElementType().isInteger(1))
      return failure();
    Type element = type.getElementType();
    RankedTensorType result = type.clone({type.getDimSize(0)});
    if (vectorType.getElementType() != element || call.getResult(0).getType() != result ||
        (adds && (!addedType || addedType.getRank() > 1 || addedType.getElementType() != element)))
      return failure();
    if (!adds) {
      rewriter.replaceOp(call, multiplyVector(rewriter, loc, matrix, vector));
      return success();
    }
    if (!isFactor(call, "beta", element) || !isFactor(call, "alpha", element))
      return failure();
    const bool isPlain = call.getFloat("beta").value_or(1) == 1 && call.getFloat("alpha").value_or(1) == 1;
    if (isPlain && matrix.getDefiningOp<moe::ParameterOp>() && addedType == result) {
      rewriter.replaceOp(call, multiplyVector(rewriter, loc, matrix, vector, added));
      return success();
    }
    Type wide = getWideType(element);
    Value sum = multiplyVector(rewriter, loc, createCast(rewriter, loc, matrix, wide),
                               createCast(rewriter, loc, vector, wide));
    sum = scale(rewriter, loc, sum, call, "alpha");
    // What is multiplied with 0 is not read: a NaN there does not count.
    if (call.getFloat("beta").value_or(1) != 0)
      sum = createCall(
          rewriter, loc, "aten.add.Tensor", sum.getType(),
          {{"self", sum}, {"other", scale(rewriter, loc, createCast(rewriter, loc, added, wide), call, "beta")}});
    rewriter.replaceOp(call, createCast(rewriter, loc, sum, element));
    return success();
  }
};

/// addcmul(self, tensor1, tensor2) = self + value * tensor1 * tensor2, wide until the one rounding at the end.
struct DecomposeAddedProduct : CallPattern {
  DecomposeAddedProduct(MLIRContext *context) : CallPattern(context, {"aten.addcmul"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Location loc = call.getLoc();
    RankedTensorType type = getTensorType(call.getResult(0));
    SmallVector<Value> operands;
    Type element = type ? type.getElementType() : Type();
    if (!element || !element.isIntOrFloat() || element.isInteger(1) || !isFactor(call, "value", element))
      return failure();
    Type wide = getWideType(element);
    for (StringRef name : {"self", "tensor1", "tensor2"}) {
      Value operand = call.getValue(name);
      if (!getTensorType(operand) || !getElementTypeOf(operand).isIntOrFloat())
        return failure();
      // In the type of the result first: a tensor without dimensions may be of a wider one.
      operands.push_back(createCast(rewriter, loc, createCast(rewriter, loc, operand, element), wide));
    }
    // The shape of the product alone.
    RankedTensorType a = getTensorType(operands[1]), b = getTensorType(operands[2]);
    if (a.getRank() < b.getRank())
      std::swap(a, b);
    SmallVector<int64_t> shape(a.getShape());
    for (int64_t dim = 0; dim < b.getRank(); ++dim)
      if (int64_t &size = shape[dim + a.getRank() - b.getRank()]; size == 1 || (size < 0 && b.getDimSize(dim) != 1))
        size = b.getDimSize(dim);
    Value product = scale(rewriter, loc, operands[1], call, "value");
    product = createCall(rewriter, loc, "aten.mul.Tensor", a.clone(shape), {{"self", product}, {"other", operands[2]}});
    Value sum = createCall(rewriter, loc, "aten.add.Tensor", type.clone(wide),
                           {{"self", operands[0]}, {"other", product}});
    rewriter.replaceOp(call, createCast(rewriter, loc, sum, element));
    return success();
  }
};
} // namespace

void mlir::aten::populateDecomposeProductsPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeMatrixVector, DecomposeAddedProduct>(patterns.getContext());
}
