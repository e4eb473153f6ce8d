//===- DecomposeIndices.cpp - operators that place elements by index ----------------------------------------------===//

#include "Decompose.h"

#include <limits>

using namespace mlir;
using namespace mlir::aten;

namespace {
/// one_hot(self, num_classes): zeros with a one where the index says. It is `scatter`, whose indices are checked: one
/// outside is an error of the call, as in PyTorch, and no row of zeros.
struct DecomposeOneHot : CallPattern {
  DecomposeOneHot(MLIRContext *context) : CallPattern(context, {"aten.one_hot"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Location loc = call.getLoc();
    Value self = call.getValue("self");
    RankedTensorType type = getTensorType(self);
    std::optional<int64_t> count = call.getInt("num_classes");
    // Without a number of classes, the values would say how large the result is.
    if (!type || !type.getElementType().isInteger(64) || !count || *count < 1 || call.getNumResults() != 1)
      return failure();
    SmallVector<int64_t> shape(type.getShape());
    shape.push_back(*count);
    if (call.getResult(0).getType() != type.clone(shape))
      return failure();
    SizeArguments sizes = getSizeArguments(rewriter, loc, self);
    sizes.push_back(Attribute(rewriter.getI64IntegerAttr(*count)));
    Value zeros = createWithSizes(rewriter, loc, "aten.zeros.default", type.clone(shape), {}, sizes,
                                  rewriter.getNamedAttr("dtype", TypeAttr::get(type.getElementType())));
    auto last = Attribute(rewriter.getI64IntegerAttr(type.getRank()));
    SmallVector<int64_t> columns(type.getShape());
    columns.push_back(1);
    Value index =
        createCall(rewriter, loc, "aten.unsqueeze.default", type.clone(columns), {{"self", self}, {"dim", last}});
    rewriter.replaceOp(call, createCall(rewriter, loc, "aten.scatter.value", type.clone(shape),
                                        {{"self", zeros},
                                         {"dim", last},
                                         {"index", index},
                                         {"value", Attribute(rewriter.getI64IntegerAttr(1))}}));
    return success();
  }
};

/// roll(self, shifts, dims): the end before the beginning, or positions modulo a size that is not known. Without
/// dimensions, of all elements in a row.
struct DecomposeRoll : CallPattern {
  DecomposeRoll(MLIRContext *context) : CallPattern(context, {"aten.roll"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Location loc = call.getLoc();
    Value self = call.getValue("self");
    RankedTensorType type = getTensorType(self);
    std::optional<SmallVector<int64_t>> shifts = call.getInts("shifts");
    std::optional<SmallVector<int64_t>> dims = call.getArgument("dims") ? call.getInts("dims") : SmallVector<int64_t>();
    if (!type || !shifts || !dims || call.getResult(0).getType() != type)
      return failure();
    const bool flat = dims->empty();
    if (flat)
      dims->push_back(0);
    if (dims->size() != shifts->size())
      return failure();
    for (int64_t &dim : *dims) {
      if (!flat && (dim < -type.getRank() || dim >= type.getRank()))
        return failure();
      dim += dim < 0 ? type.getRank() : 0;
    }
    // Positions less the shift must be numbers.
    if (llvm::any_of(*shifts, [](int64_t shift) { return shift > INT32_MAX || shift < -INT32_MAX; }))
      return failure();
    if (type.getRank() == 0) {
      rewriter.replaceOp(call, self);
      return success();
    }
    Value result = self;
    if (flat && type.getRank() > 1) {
      const int64_t all = type.hasStaticShape() ? type.getNumElements() : ShapedType::kDynamic;
      result = createCall(rewriter, loc, "aten.flatten.using_ints", type.clone({all}),
                          {{"self", self},
                           {"start_dim", Attribute(rewriter.getI64IntegerAttr(0))},
                           {"end_dim", Attribute(rewriter.getI64IntegerAttr(-1))}});
    }
    for (auto [dim, shift] : llvm::zip_equal(*dims, *shifts))
      result = roll(rewriter, loc, result, dim, shift);
    if (result.getType() != type)
      result = createWithSizes(rewriter, loc, "aten.view.default", type, result, getSizeArguments(rewriter, loc, self));
    rewriter.replaceOp(call, result);
    return success();
  }

  static Value roll(OpBuilder &builder, Location loc, Value value, int64_t dim, int64_t shift) {
    RankedTensorType type = getTensorType(value);
    auto number = [&](int64_t i) { return Attribute(builder.getI64IntegerAttr(i)); };
    if (int64_t size = type.getDimSize(dim); !ShapedType::isDynamic(size)) {
      const int64_t first = size ? (size - shift % size) % size : 0;
      if (first == 0)
        return value;
      Value end = createSlice(builder, loc, value, dim, first, std::numeric_limits<int64_t>::max());
      return createCat(builder, loc, {end, createSlice(builder, loc, value, dim, 0, first)}, dim);
    }
    Value size = createSize(builder, loc, value, dim);
    auto vector = RankedTensorType::get({ShapedType::kDynamic}, builder.getI64Type());
    Value index = createCall(builder, loc, "aten.arange.default", vector, {{"end", size}});
    index = createCall(builder, loc, "aten.sub.Scalar", vector, {{"self", index}, {"other", number(shift)}});
    index = createCall(builder, loc, "aten.remainder.Scalar", vector, {{"self", index}, {"other", size}});
    return createCall(builder, loc, "aten.index_select.default", type,
                      {{"self", value}, {"dim", number(dim)}, {"index", index}});
  }
};
} // namespace

void mlir::aten::populateDecomposeIndicesPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeOneHot, DecomposeRoll>(patterns.getContext());
}
