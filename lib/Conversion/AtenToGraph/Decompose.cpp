//===- Decompose.cpp - the pass aten-decompose; norms and differences -------------------------------------------===//

#include "Decompose.h"

#include "moe-mlir/Conversion/AtenToGraph/Passes.h"
#include "moe-mlir/Support/Greedy.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::aten {
#define GEN_PASS_DEF_ATENDECOMPOSE
#include "moe-mlir/Conversion/AtenToGraph/Passes.h.inc"
} // namespace mlir::aten

using namespace mlir;
using namespace mlir::aten;

Type mlir::aten::getWideType(Type element) {
  return element.isF16() || element.isBF16() ? Float32Type::get(element.getContext()) : element;
}

Value mlir::aten::createCast(OpBuilder &builder, Location loc, Value value, Type element) {
  if (getElementTypeOf(value) == element)
    return value;
  return createCall(builder, loc, "aten.to.dtype", getTensorType(value).clone(element),
                    {{"self", value}, {"dtype", Attribute(TypeAttr::get(element))}});
}

Value mlir::aten::createSlice(OpBuilder &builder, Location loc, Value value, int64_t dim, int64_t begin, int64_t end) {
  RankedTensorType type = getTensorType(value);
  SmallVector<int64_t> shape(type.getShape());
  if (int64_t size = shape[dim]; !ShapedType::isDynamic(size))
    shape[dim] = std::max<int64_t>(std::min(end < 0 ? size + end : end, size) - begin, 0);
  return createCall(builder, loc, "aten.slice.Tensor", type.clone(shape),
                    {{"self", value},
                     {"dim", Attribute(builder.getI64IntegerAttr(dim))},
                     {"start", Attribute(builder.getI64IntegerAttr(begin))},
                     {"end", Attribute(builder.getI64IntegerAttr(end))}});
}

Value mlir::aten::createCat(OpBuilder &builder, Location loc, ValueRange values, int64_t dim) {
  RankedTensorType type = getTensorType(values.front());
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<Attribute> list;
  shape[dim] = 0;
  for (auto [i, value] : llvm::enumerate(values)) {
    int64_t size = getTensorType(value).getDimSize(dim);
    bool dynamic = ShapedType::isDynamic(size) || ShapedType::isDynamic(shape[dim]);
    shape[dim] = dynamic ? ShapedType::kDynamic : shape[dim] + size;
    list.push_back(ArgAttr::get(builder.getContext(), i));
  }
  auto arguments = builder.getDictionaryAttr({builder.getNamedAttr("dim", builder.getI64IntegerAttr(dim)),
                                              builder.getNamedAttr("tensors", builder.getArrayAttr(list))});
  return CallOp::create(builder, loc, TypeRange(type.clone(shape)), builder.getStringAttr("aten.cat.default"), values,
                        arguments)
      .getResult(0);
}

SizeArguments mlir::aten::getSizeArguments(OpBuilder &builder, Location loc, Value tensor) {
  SizeArguments sizes;
  for (auto [dim, size] : llvm::enumerate(getTensorType(tensor).getShape())) {
    sizes.push_back(Attribute(builder.getI64IntegerAttr(size)));
    if (ShapedType::isDynamic(size))
      sizes.back() = createSize(builder, loc, tensor, dim);
  }
  return sizes;
}

Value mlir::aten::createWithSizes(OpBuilder &builder, Location loc, StringRef target, Type result, Value self,
                                  ArrayRef<NamedArgument::second_type> sizes, ArrayRef<NamedAttribute> others) {
  SmallVector<Value> operands;
  SmallVector<Attribute> list;
  SmallVector<NamedAttribute> arguments(others);
  auto addOperand = [&](Value operand) {
    operands.push_back(operand);
    return ArgAttr::get(builder.getContext(), operands.size() - 1);
  };
  if (self)
    arguments.push_back(builder.getNamedAttr("self", addOperand(self)));
  for (NamedArgument::second_type size : sizes)
    list.push_back(isa<Value>(size) ? addOperand(cast<Value>(size)) : cast<Attribute>(size));
  arguments.push_back(builder.getNamedAttr("size", builder.getArrayAttr(list)));
  return CallOp::create(builder, loc, TypeRange(result), builder.getStringAttr(target), operands,
                        builder.getDictionaryAttr(arguments))
      .getResult(0);
}

namespace {

/// diff(x, n, dim, prepend, append): n times x[1:] - x[:-1] of the joined tensor; for booleans, whether they differ.
struct DecomposeDiff : CallPattern {
  DecomposeDiff(MLIRContext *context) : CallPattern(context, {"aten.diff"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Location loc = call.getLoc();
    Value self = call.getValue("self"), prepend = call.getValue("prepend"), append = call.getValue("append");
    RankedTensorType type = getTensorType(self);
    std::optional<int64_t> dim = call.getArgument("dim") ? call.getDim("dim", type.getRank()) : type.getRank() - 1;
    std::optional<int64_t> order = call.getArgument("n") ? call.getInt("n") : 1;
    auto fits = [&](Value piece) {
      return !piece || (getTensorType(piece) && getTensorType(piece).getRank() == type.getRank() &&
                        getElementTypeOf(piece) == type.getElementType());
    };
    if (!dim || type.getRank() == 0 || !order || *order < 1 || !fits(prepend) || !fits(append))
      return failure();
    SmallVector<Value> pieces;
    SmallVector<int64_t> shape(type.getShape());
    shape[*dim] = -*order;
    for (Value piece : {prepend, self, append}) {
      if (!piece)
        continue;
      pieces.push_back(piece);
      bool dynamic = ShapedType::isDynamic(shape[*dim]) || getTensorType(piece).isDynamicDim(*dim);
      shape[*dim] = dynamic ? ShapedType::kDynamic : shape[*dim] + getTensorType(piece).getDimSize(*dim);
    }
    if (call.getResult(0).getType() != type.clone(shape))
      return failure();
    Value result = pieces.size() == 1 ? self : createCat(rewriter, loc, pieces, *dim);
    StringRef target = type.getElementType().isInteger(1) ? "aten.ne.Tensor" : "aten.sub.Tensor";
    for (int64_t i = 0; i < *order; ++i) {
      Value after = createSlice(rewriter, loc, result, *dim, 1, std::numeric_limits<int64_t>::max());
      Value before = createSlice(rewriter, loc, result, *dim, 0, -1);
      result = createCall(rewriter, loc, target, after.getType(), {{"self", after}, {"other", before}});
    }
    rewriter.replaceOp(call, result);
    return success();
  }
};

/// rms_norm and layer_norm over any trailing dimensions, with or without a weight: wide until the one rounding at the
/// end.
struct DecomposeNorm : CallPattern {
  DecomposeNorm(MLIRContext *context) : CallPattern(context, {"aten.rms_norm", "aten.layer_norm"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Location loc = call.getLoc();
    bool centred = call.getBase() == "aten.layer_norm";
    Value x = call.getValue("input"), weight = call.getValue("weight"), bias = call.getValue("bias");
    RankedTensorType type = getTensorType(x);
    std::optional<SmallVector<int64_t>> shape = call.getInts("normalized_shape");
    if (!type || !shape || shape->empty() || int64_t(shape->size()) > type.getRank() ||
        !isa<FloatType>(type.getElementType()) || call.getNumResults() != 1 || call.getResult(0).getType() != type)
      return failure();
    Type wide = getWideType(type.getElementType());
    double epsilon = centred ? 1e-5 : wide.isF64() ? 0x1p-52 : 0x1p-23;
    if (call.getArgument("eps")) {
      std::optional<double> given = call.getFloat("eps");
      if (!given)
        return failure();
      epsilon = *given;
    }
    SmallVector<int64_t> dims, reduced(type.getShape());
    for (int64_t dim = type.getRank() - int64_t(shape->size()); dim < type.getRank(); ++dim) {
      dims.push_back(dim);
      reduced[dim] = 1;
    }
    RankedTensorType statistic = type.clone(reduced, wide), wideType = type.clone(wide);
    auto mean = [&](Value value) {
      return createCall(rewriter, loc, "aten.mean.dim", statistic,
                        {{"self", value},
                         {"dim", Attribute(rewriter.getI64ArrayAttr(dims))},
                         {"keepdim", Attribute(rewriter.getBoolAttr(true))}});
    };
    auto combine = [&](StringRef target, Value self, Value other) {
      return createCall(rewriter, loc, target, wideType, {{"self", self}, {"other", other}});
    };
    x = createCast(rewriter, loc, x, wide);
    if (centred)
      x = combine("aten.sub.Tensor", x, mean(x));
    Value variance = mean(createCall(rewriter, loc, "aten.square.default", wideType, {{"self", x}}));
    variance = createCall(rewriter, loc, "aten.add.Scalar", statistic,
                          {{"self", variance}, {"other", Attribute(rewriter.getF64FloatAttr(epsilon))}});
    Value factor = createCall(rewriter, loc, "aten.rsqrt.default", statistic, {{"self", variance}});
    Value result = combine("aten.mul.Tensor", x, factor);
    if (weight)
      result = combine("aten.mul.Tensor", result, createCast(rewriter, loc, weight, wide));
    if (bias)
      result = combine("aten.add.Tensor", result, createCast(rewriter, loc, bias, wide));
    rewriter.replaceOp(call, createCast(rewriter, loc, result, type.getElementType()));
    return success();
  }
};

struct AtenDecompose : aten::impl::AtenDecomposeBase<AtenDecompose> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateDecomposePatterns(patterns);
    populateDecomposeAttentionPatterns(patterns);
    populateDecomposeEinsumPatterns(patterns);
    populateDecomposeIndicesPatterns(patterns);
    populateDecomposeProductsPatterns(patterns);
    populateDecomposeVariancePatterns(patterns);
    if (failed(moe_mlir::applyPatternsToEnd(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void mlir::aten::populateDecomposePatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeDiff, DecomposeNorm>(patterns.getContext());
}
