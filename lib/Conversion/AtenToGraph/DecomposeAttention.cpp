//===- DecomposeAttention.cpp - attention that nn.attention does not cover --------------------------------------===//
//
// Other element types, and sizes that are not known: two products around a softmax. It costs as much as the cache is
// long; nothing of it is tiled.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Decompose.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::aten;

/// [.., M, L, D] -> [.., heads, L, D], each head `heads / M` times.
static Value repeatHeads(OpBuilder &builder, Location loc, Value value, int64_t heads) {
  RankedTensorType type = getTensorType(value);
  if (type.getDimSize(1) == heads)
    return value;
  auto integer = [&](int64_t number) { return Attribute(builder.getI64IntegerAttr(number)); };
  int64_t group = heads / type.getDimSize(1);
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + 2, 1);
  value = createCall(builder, loc, "aten.unsqueeze.default", type.clone(shape), {{"self", value}, {"dim", integer(2)}});
  shape[2] = group;
  value = createCall(builder, loc, "aten.expand.default", type.clone(shape),
                     {{"self", value}, {"size", Attribute(builder.getI64ArrayAttr({-1, -1, group, -1, -1}))}});
  shape.erase(shape.begin() + 2);
  shape[1] = heads;
  return createCall(builder, loc, "aten.flatten.using_ints", type.clone(shape),
                    {{"self", value}, {"start_dim", integer(1)}, {"end_dim", integer(2)}});
}

/// [S, L], true where the key is not after the query; both count from 0.
static Value createCausalMask(OpBuilder &builder, Location loc, Value query, Value key) {
  auto count = [&](Value tensor) {
    int64_t size = getTensorType(tensor).getDimSize(2);
    auto type = RankedTensorType::get({size}, builder.getI64Type());
    NamedArgument end = {"end", Attribute(builder.getI64IntegerAttr(size))};
    if (ShapedType::isDynamic(size))
      end.second = createSize(builder, loc, tensor, 2);
    return createCall(builder, loc, "aten.arange.default", type, {end});
  };
  Value rows = count(query), columns = count(key);
  int64_t queries = getTensorType(rows).getDimSize(0), keys = getTensorType(columns).getDimSize(0);
  rows = createCall(builder, loc, "aten.unsqueeze.default", RankedTensorType::get({queries, 1}, builder.getI64Type()),
                    {{"self", rows}, {"dim", Attribute(builder.getI64IntegerAttr(1))}});
  return createCall(builder, loc, "aten.le.Tensor", RankedTensorType::get({queries, keys}, builder.getI1Type()),
                    {{"self", columns}, {"other", rows}});
}

/// Softmax over the last dimension; a row of minus infinities, a query that sees nothing, gives zeros.
static Value createSafeSoftmax(OpBuilder &builder, Location loc, Value scores) {
  RankedTensorType type = getTensorType(scores);
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = 1;
  auto last = Attribute(builder.getI64IntegerAttr(-1));
  auto lowest = Attribute(builder.getF64FloatAttr(-std::numeric_limits<double>::infinity()));
  Value largest = createCall(builder, loc, "aten.amax.default", type.clone(shape),
                             {{"self", scores},
                              {"dim", Attribute(builder.getI64ArrayAttr({-1}))},
                              {"keepdim", Attribute(builder.getBoolAttr(true))}});
  Value isEmpty = createCall(builder, loc, "aten.eq.Scalar", type.clone(shape, builder.getI1Type()),
                             {{"self", largest}, {"other", lowest}});
  Value weights = createCall(builder, loc, "aten.softmax.int", type, {{"self", scores}, {"dim", last}});
  return createCall(builder, loc, "aten.masked_fill.Scalar", type,
                    {{"self", weights}, {"mask", isEmpty}, {"value", Attribute(builder.getF64FloatAttr(0.0))}});
}

/// Softmax over the last dimension and one more score per head, whose weight is dropped. A row of minus infinities gives
/// zeros.
static Value createSoftmaxWithSinks(OpBuilder &builder, Location loc, Value scores, Value sinks) {
  RankedTensorType type = getTensorType(scores);
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = 1;
  auto column = type.clone(shape);
  auto last = Attribute(builder.getI64ArrayAttr({-1}));
  auto yes = Attribute(builder.getBoolAttr(true));
  auto binary = [&](StringRef name, RankedTensorType result, Value a, Value b) {
    return createCall(builder, loc, name, result, {{"self", a}, {"other", b}});
  };
  auto exp = [&](Value x) { return createCall(builder, loc, "aten.exp.default", getTensorType(x), {{"self", x}}); };
  int64_t heads = getTensorType(sinks).getDimSize(0);
  sinks = createCall(builder, loc, "aten.view.default", RankedTensorType::get({1, heads, 1, 1}, type.getElementType()),
                     {{"self", createCast(builder, loc, sinks, type.getElementType())},
                      {"size", Attribute(builder.getI64ArrayAttr({1, heads, 1, 1}))}});
  Value largest =
      createCall(builder, loc, "aten.amax.default", column, {{"self", scores}, {"dim", last}, {"keepdim", yes}});
  largest = binary("aten.maximum.default", column, largest, sinks);
  Value terms = exp(binary("aten.sub.Tensor", type, scores, largest));
  Value sum =
      createCall(builder, loc, "aten.sum.dim_IntList", column, {{"self", terms}, {"dim", last}, {"keepdim", yes}});
  sum = binary("aten.add.Tensor", column, sum, exp(binary("aten.sub.Tensor", column, sinks, largest)));
  return binary("aten.div.Tensor", type, terms, sum);
}

namespace {
/// softmax(scale * q . k^T, masked) . v, wide until the one rounding at the end.
struct DecomposeAttention : CallPattern {
  DecomposeAttention(MLIRContext *context) : CallPattern(context, {"aten.scaled_dot_product_attention", "moe_mlir.attention"}) {}

  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Location loc = call.getLoc();
    Value query = call.getValue("query"), key = call.getValue("key"), value = call.getValue("value"),
          mask = call.getValue("attn_mask"), sinks = call.getValue("sinks");
    if (!mask)
      mask = call.getValue("mask");
    RankedTensorType type = getTensorType(query), keyType = getTensorType(key), valueType = getTensorType(value);
    auto result = cast<RankedTensorType>(call.getResult(0).getType());
    if (type.getRank() != 4 || keyType.getRank() != 4 || valueType.getRank() != 4 || type.isDynamicDim(1) ||
        type.isDynamicDim(3) || keyType.isDynamicDim(1) || keyType.getDimSize(1) == 0 ||
        type.getDimSize(1) % keyType.getDimSize(1) || keyType.getDimSize(1) != valueType.getDimSize(1) ||
        !isa<FloatType>(type.getElementType()) || call.getFloat("dropout_p").value_or(0) != 0)
      return failure();
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = valueType.getShape().back();
    if (result != type.clone(shape))
      return failure();
    Type wide = getWideType(type.getElementType());
    double scale = call.getFloat("scale").value_or(1.0 / std::sqrt(double(type.getDimSize(3))));
    int64_t heads = type.getDimSize(1);
    if (!mask && call.getBool("is_causal").value_or(false))
      mask = createCausalMask(rewriter, loc, query, key);
    query = createCast(rewriter, loc, query, wide);
    key = repeatHeads(rewriter, loc, createCast(rewriter, loc, key, wide), heads);
    value = repeatHeads(rewriter, loc, createCast(rewriter, loc, value, wide), heads);

    auto scoreType =
        RankedTensorType::get({type.getDimSize(0), heads, type.getDimSize(2), keyType.getDimSize(2)}, wide);
    Value scores = createCall(rewriter, loc, "aten.matmul.default", scoreType,
                              {{"self", query}, {"other", createTranspose(rewriter, loc, key, 2, 3)}});
    scores = createCall(rewriter, loc, "aten.mul.Scalar", scoreType,
                        {{"self", scores}, {"other", Attribute(rewriter.getF64FloatAttr(scale))}});
    if (mask && getElementTypeOf(mask).isInteger(1)) {
      auto hidden = rewriter.getF64FloatAttr(-std::numeric_limits<double>::infinity());
      scores = createCall(rewriter, loc, "aten.where.ScalarOther", scoreType,
                          {{"condition", mask}, {"self", scores}, {"other", Attribute(hidden)}});
    } else if (mask) {
      scores = createCall(rewriter, loc, "aten.add.Tensor", scoreType,
                          {{"self", scores}, {"other", createCast(rewriter, loc, mask, wide)}});
    }
    Value weights = sinks  ? createSoftmaxWithSinks(rewriter, loc, scores, sinks)
                    : mask ? createSafeSoftmax(rewriter, loc, scores)
                           : createCall(rewriter, loc, "aten.softmax.int", scoreType,
                                        {{"self", scores}, {"dim", Attribute(rewriter.getI64IntegerAttr(-1))}});
    Value output =
        createCall(rewriter, loc, "aten.matmul.default", result.clone(wide), {{"self", weights}, {"other", value}});
    rewriter.replaceOp(call, createCast(rewriter, loc, output, result.getElementType()));
    return success();
  }
};
} // namespace

void mlir::aten::populateDecomposeAttentionPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeAttention>(patterns.getContext());
}
