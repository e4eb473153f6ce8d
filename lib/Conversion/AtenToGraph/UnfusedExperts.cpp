//===- UnfusedExperts.cpp - what the matchers of grouped_mm and batched_mm share ----------------------------------===//

#include "UnfusedExperts.h"
#include "ExpertLayer.h"
#include "IndexRange.h"
#include "SizeAnalysis.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace mlir::aten;

static bool hasRank(Value value, int64_t rank) {
  RankedTensorType type = getTensorType(value);
  return type && type.getRank() == rank;
}

std::optional<RowIndex> mlir::aten::matchRowIndex(Value value) {
  CallOp call = getDefiningCall(value, {"aten.index"});
  auto list = call ? dyn_cast_or_null<ArrayAttr>(call.getArgument("indices")) : ArrayAttr();
  Value index = list && list.size() == 1 ? call.getOperandOf(list[0]) : Value();
  Value self = call ? call.getValue("self") : Value();
  if (!hasRank(index, 1) || !getTensorType(self) || !isa<IntegerType>(getElementTypeOf(index)) ||
      getElementTypeOf(index).isInteger(1))
    return std::nullopt;
  return RowIndex{self, index};
}

std::optional<PairSum> mlir::aten::matchPairSum(CallOp sum, Mismatch *why) {
  Value pairs = sum.getValue("self");
  std::optional<SmallVector<int64_t>> dims = sum.getInts("dim");
  if (!hasRank(pairs, 3) || !hasRank(sum.getResult(0), 2) || !dims ||
      (*dims != SmallVector<int64_t>{1} && *dims != SmallVector<int64_t>{-2}) || sum.getBool("keepdim").value_or(false))
    return giveUp(why, "sum", "the rows are not summed over dimension 1 of [T, k, H]", sum.getResult(0));
  if (getElementTypeOf(sum.getResult(0)) != getElementTypeOf(pairs))
    return giveUp(why, "sum", "the sum casts the rows to another type first", sum.getResult(0));
  CallOp view = getDefiningCall(pairs, {"aten.view", "aten.reshape"});
  Value rows = view ? view.getValue("self") : Value();
  ArrayRef<int64_t> shape = getTensorType(pairs).getShape();
  // With known k and H, element (t, j, h) of the view can only be element (t k + j, h) of the rows.
  if (!hasRank(rows, 2) || ShapedType::isDynamic(shape[1]) || shape[1] < 1 || ShapedType::isDynamic(shape[2]) ||
      getTensorType(rows).getDimSize(1) != shape[2])
    return giveUp(why, "sum", "what is summed is not view(T, k, H) of a row for each pair, with known k and H", pairs);
  return PairSum{rows, shape[1], sum};
}

std::optional<WeightedRows> mlir::aten::matchWeightedRows(Value value, Mismatch *why) {
  CallOp product = getDefiningCall(value, {"aten.mul"});
  if (!product || !hasRank(value, 2))
    return giveUp(why, "weights", "the rows come from " + nameOf(value) + ", not from rows * weights[:, None]", value);
  for (auto [rowsName, columnName] : {std::pair("self", "other"), std::pair("other", "self")}) {
    Value rows = product.getValue(rowsName), column = product.getValue(columnName);
    CallOp unsqueeze = getDefiningCall(column, {"aten.unsqueeze", "aten.view", "aten.reshape"});
    Value weights = unsqueeze ? unsqueeze.getValue("self") : Value();
    if (hasRank(rows, 2) && hasRank(column, 2) && hasRank(weights, 1) && getTensorType(column).getDimSize(1) == 1 &&
        getTensorType(rows).getDimSize(1) == getTensorType(value).getDimSize(1) &&
        (unsqueeze.getBase() != "aten.unsqueeze" || unsqueeze.getDim("dim", 2) == 1))
      return WeightedRows{rows, weights};
  }
  return giveUp(why, "weights", "the rows are not multiplied by one weight each, rows * weights[:, None]", value);
}

BiasedProduct mlir::aten::matchBias(Value value) {
  CallOp add = getDefiningCall(value, {"aten.add"});
  if (!add || add.getArgument("alpha"))
    return {value, {}, {}};
  for (auto [productName, biasName] : {std::pair("self", "other"), std::pair("other", "self")}) {
    Value product = add.getValue(productName);
    std::optional<RowIndex> rows = matchRowIndex(add.getValue(biasName));
    if (rows && hasRank(product, 2) && hasRank(rows->self, 2) && getTensorType(rows->self).hasStaticShape() &&
        getTensorType(product).getDimSize(1) == getTensorType(rows->self).getDimSize(1))
      return {product, rows->self, rows->index};
  }
  return {value, {}, {}};
}

/// The tensor [T, k] that `flat` [P] lists row by row, or a view that gives it this shape.
static Value getPairMatrix(Value flat, int64_t topK, PatternRewriter &rewriter) {
  if (CallOp view = getDefiningCall(flat, {"aten.view", "aten.reshape"}))
    if (Value source = view.getValue("self"); hasRank(source, 2) && getTensorType(source).getDimSize(1) == topK)
      return source;
  RankedTensorType type = getTensorType(flat);
  int64_t count = type.isDynamicDim(0) ? ShapedType::kDynamic : type.getDimSize(0) / topK;
  return createCall(rewriter, flat.getLoc(), "aten.view.default", type.clone({count, topK}),
                    {{"self", flat}, {"size", Attribute(rewriter.getI64ArrayAttr({-1, topK}))}});
}

/// [E, in, out] of weights; nothing unless they are static and of the type `element`.
static std::optional<std::array<int64_t, 3>> getSizes(const PairProduct &product, Type element) {
  RankedTensorType type = getTensorType(product.weight);
  if (!type || type.getRank() != 3 || !type.hasStaticShape() || type.getElementType() != element ||
      getElementTypeOf(product.x) != element || (product.bias && getElementTypeOf(product.bias) != element))
    return std::nullopt;
  int64_t in = type.getDimSize(product.transposed ? 1 : 2), out = type.getDimSize(product.transposed ? 2 : 1);
  if (getTensorType(product.x).getDimSize(1) != in)
    return std::nullopt;
  if (product.bias && getTensorType(product.bias).getShape() != ArrayRef<int64_t>{type.getDimSize(0), out})
    return std::nullopt;
  return std::array<int64_t, 3>{type.getDimSize(0), in, out};
}

std::optional<CallOp> mlir::aten::checkUnfusedExperts(UnfusedExperts &experts, Mismatch *why) {
  CallOp last = experts.sum.sum;
  Type element = getElementTypeOf(experts.tokens);
  if (!isModelFloat(element) || !hasRank(experts.tokens, 2) || !hasRank(experts.ids, 1) || !hasRank(experts.weights, 1))
    return giveUp(why, "types", "tokens are not rows of f32, bf16 or f16");
  Type weightElement = getElementTypeOf(experts.weights);
  Type idElement = getElementTypeOf(experts.ids);
  if (!isModelFloat(weightElement) || !(idElement.isInteger(32) || idElement.isInteger(64)))
    return giveUp(why, "types", "weights or ids of the pairs have a type that moe ops do not take");

  // A sum of f32 whose rows are bf16 has to be rounded in the next call; moe.combine does both.
  if (getElementTypeOf(last.getResult(0)) != element) {
    CallOp cast = last->hasOneUse() ? dyn_cast<CallOp>(*last->user_begin()) : CallOp();
    if (!cast || cast.getBase() != "aten.to" || !getElementTypeOf(last.getResult(0)).isF32() ||
        !hasRank(cast.getResult(0), 2) || getElementTypeOf(cast.getResult(0)) != element)
      return giveUp(why, "types", "the sum has another type than the tokens", last.getResult(0));
    last = cast;
  }

  auto in = getSizes(experts.in, element), out = getSizes(experts.out, element);
  if (!in || !out || (*in)[0] != (*out)[0] || (*in)[2] != (*out)[1] * (experts.activation.gated ? 2 : 1) ||
      getTensorType(last.getResult(0)).getDimSize(1) != (*out)[2])
    return giveUp(why, "sizes", "sizes or types of the experts' weights do not fit each other and the tokens");

  // These calls have no meaning for an id that names no expert (or another one than moe.dispatch would take).
  std::optional<IndexRange> range = getIndexRange(experts.ids);
  if (!range || !range->isWithin({0, (*in)[0] - 1}))
    return giveUp(why, "ids", "an id may name no expert: nothing says that all are in [0, " + Twine((*in)[0] - 1) + "]",
                  experts.ids);
  SizeAnalysis sizes;
  SizeExpr pairs = sizes.getSize(experts.tokens, 0) * experts.sum.topK;
  if (sizes.getSize(experts.ids, 0) != pairs || sizes.getSize(experts.weights, 0) != pairs)
    return giveUp(why, "sizes", "nothing says that there are " + Twine(experts.sum.topK) + " pairs for each token");
  return last;
}

void mlir::aten::raiseUnfusedExperts(UnfusedExperts &experts, CallOp last, PatternRewriter &rewriter) {
  rewriter.setInsertionPoint(last);
  ExpertLayer layer{experts.tokens, getPairMatrix(experts.ids, experts.sum.topK, rewriter),
                    getPairMatrix(experts.weights, experts.sum.topK, rewriter), experts.in.weight, experts.out.weight};
  layer.inTransposed = experts.in.transposed;
  layer.outTransposed = experts.out.transposed;
  layer.bIn = experts.in.bias;
  layer.bOut = experts.out.bias;
  layer.gated = experts.activation.gated;
  layer.interleaved = experts.activation.interleaved;
  Location loc = experts.sum.sum.getLoc();
  rewriter.replaceOp(last,
                     createExpertLayer(rewriter, loc, layer, *experts.activation.region, last.getResult(0).getType()));
  remark::passed(loc, remark::RemarkOpts::name("Experts").category("moe-import"))
      << "calls on pairs of tokens and experts became a MoE layer";
}
