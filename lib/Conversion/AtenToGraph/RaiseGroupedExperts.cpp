//===- RaiseGroupedExperts.cpp - experts as grouped products of sorted pairs --------------------------------------===//
//
//   ids_g, perm = sort(ids)                                         pairs in order of their experts
//   offs        = cumsum(histc(ids_g, bins = E, min = 0, max = E - 1), dtype = i32)    where each expert's rows end
//   x           = tokens[perm // k]
//   h           = activation(grouped_mm(x, w_in, offs) + b_in[ids_g])
//   y           = grouped_mm(h, w_out, offs) + b_out[ids_g]
//   inverse     = empty_like(perm); inverse[perm] = arange(P)       (or argsort(perm))
//   out         = (y * weights[perm][:, None])[inverse].view(T, k, H).sum(1)
//
// `grouped_mm` is PyTorch's own call, or the function of transformers that stands in for it where the weights are not
// bf16. UnfusedExperts.h says how rounding differs.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "SizeAnalysis.h"
#include "UnfusedExperts.h"

using namespace mlir;
using namespace mlir::aten;

namespace {
/// Pairs in ascending order of their ids.
struct Order {
  Value ids, permutation;
  /// The ids in that order, where the sort gives them as well.
  Value sorted;
};
} // namespace

static bool isVector(Value value) {
  RankedTensorType type = getTensorType(value);
  return type && type.getRank() == 1;
}

/// The second result of sort(ids), or argsort(ids).
static std::optional<Order> matchOrder(Value permutation, Mismatch *why = nullptr) {
  CallOp call = getDefiningCall(permutation, {"aten.sort", "aten.argsort"});
  Value ids = call ? call.getValue("self") : Value();
  bool sort = call && call.getBase() == "aten.sort";
  if (!isVector(ids) || !isa<IntegerType>(getElementTypeOf(ids)) || call.getNumResults() != (sort ? 2 : 1) ||
      permutation != call.getResult(sort) || (call.getArgument("descending") && call.getBool("descending") != false) ||
      (call.getArgument("dim") && call.getDim("dim", 1) != 0))
    return giveUp(why, "order", "the permutation of the pairs is not that of ids in ascending order", permutation);
  return Order{ids, permutation, sort ? call.getResult(0) : Value()};
}

static bool isSorted(Value value, const Order &order) {
  if (value && value == order.sorted)
    return true;
  std::optional<RowIndex> rows = matchRowIndex(value);
  return rows && rows->self == order.ids && rows->index == order.permutation;
}

/// The permutation that sorted the pairs, of the places where each pair stands in the order.
static Value matchInverse(Value inverse, Mismatch *why) {
  if (std::optional<Order> order = matchOrder(inverse)) {
    // The order of a permutation is its inverse.
    if (matchOrder(order->ids))
      return order->ids;
    return giveUp(why, "order", "the rows are put in the order of their experts a second time", inverse);
  }
  CallOp put = getDefiningCall(inverse, {"aten.index_put"});
  auto list = put ? dyn_cast_or_null<ArrayAttr>(put.getArgument("indices")) : ArrayAttr();
  Value permutation = list && list.size() == 1 ? put.getOperandOf(list[0]) : Value();
  Value base = put ? put.getValue("self") : Value(), numbers = put ? put.getValue("values") : Value();
  if (!isVector(permutation) || !isVector(base) || !isVector(numbers) || !isa<IntegerType>(getElementTypeOf(base)))
    return giveUp(why, "order",
                  nameOf(inverse) + " is not the inverse of a permutation, inverse[permutation] = arange(P)", inverse);
  CallOp arange = getDefiningCall(numbers, {"aten.arange"});
  if (!arange || (arange.getArgument("start") && arange.getInt("start") != 0) ||
      (arange.getArgument("step") && arange.getInt("step") != 1) || !isa<IntegerType>(getElementTypeOf(numbers)))
    return giveUp(why, "order", "the places of the pairs are not 0, 1, 2, ...", numbers);
  if (put.getBool("accumulate") == true)
    return giveUp(why, "order", "the places of the pairs are added instead of written", inverse);
  // Every element of the base is written once.
  SizeAnalysis sizes;
  SizeExpr count = sizes.getSize(permutation, 0);
  if (sizes.getSize(base, 0) != count || sizes.getSize(numbers, 0) != count)
    return giveUp(why, "order", "nothing says that there are as many places as pairs", inverse);
  return permutation;
}

/// Behind casts to types that hold every number below 2^24.
static Value skipCasts(Value value) {
  while (CallOp cast = getDefiningCall(value, {"aten.to", "aten.float"})) {
    RankedTensorType tensor = getTensorType(value);
    Type type = tensor ? tensor.getElementType() : Type();
    if (!type || !(type.isF32() || type.isF64() || type.isInteger(32) || type.isInteger(64)))
      break;
    value = cast.getValue("self");
  }
  return value;
}

/// True if `offsets` says where the rows of each of `experts` experts end in the order.
static bool isOffsets(Value offsets, const Order &order, int64_t experts) {
  CallOp cumsum = getDefiningCall(offsets, {"aten.cumsum"});
  if (!cumsum || !isVector(offsets) || cumsum.getDim("dim", 1) != 0 || experts > (1 << 24) ||
      !(getElementTypeOf(offsets).isInteger(32) || getElementTypeOf(offsets).isInteger(64)))
    return false;
  // Integers from 0 to E - 1 in E bins over that range: bin e holds those that are e.
  CallOp histogram = getDefiningCall(skipCasts(cumsum.getValue("self")), {"aten.histc"});
  if (!histogram || histogram.getInt("bins") != experts || histogram.getFloat("min") != 0.0 ||
      histogram.getFloat("max") != double(experts - 1))
    return false;
  Value counted = skipCasts(histogram.getValue("self"));
  return counted == order.ids || isSorted(counted, order);
}

/// grouped_mm(x, weight, offs) + bias[sorted ids], of rows in `order`. Calls between the products are asked, too,
/// whether they are the first one: `why` hears only of what is a product.
static std::optional<PairProduct> matchProduct(Value value, const Order &order, StringRef step = firstProduct,
                                               Mismatch *why = nullptr) {
  BiasedProduct biased = matchBias(value);
  if (biased.bias && !isSorted(biased.order, order))
    return giveUp(why, step, "the biases are not those of the rows' ids", value);
  CallOp call = getDefiningCall(biased.product, {"aten._grouped_mm", "transformers.grouped_mm_fallback"});
  if (!call)
    return giveUp(step == firstProduct ? nullptr : why, step, nameOf(biased.product) + " is not a grouped product",
                  biased.product);
  bool fallback = call.getBase() != "aten._grouped_mm";
  PairProduct product;
  product.x = call.getValue(fallback ? "input" : "self");
  product.weight = call.getValue(fallback ? "weight" : "mat2");
  product.transposed = true;
  product.bias = biased.bias;
  RankedTensorType weight = getTensorType(product.weight), x = getTensorType(product.x);
  if (!weight || !x || x.getRank() != 2 || weight.getRank() != 3 || call.getArgument("bias") ||
      getElementTypeOf(biased.product) != x.getElementType())
    return giveUp(why, step,
                  "the grouped product is not rows times [E, in, out] in one type, without a bias of its own",
                  biased.product);
  if (!isOffsets(call.getValue("offs"), order, weight.getDimSize(0)))
    return giveUp(why, step,
                  "the ends of the groups are not cumsum(histc(ids, bins = E, min = 0, max = E - 1)) of the ids that "
                  "the rows are sorted by",
                  call.getValue("offs"));
  if (CallOp transpose = getDefiningCall(product.weight, {"aten.transpose"})) {
    std::optional<int64_t> a = transpose.getDim("dim0", 3), b = transpose.getDim("dim1", 3);
    if ((a == 1 && b == 2) || (a == 2 && b == 1)) {
      product.weight = transpose.getValue("self");
      product.transposed = false;
    }
  }
  return product;
}

/// perm // k: the token of each pair.
static bool isTokenOf(Value tokens, Value permutation, int64_t topK) {
  if (topK == 1 && tokens == permutation)
    return true;
  CallOp divide = getDefiningCall(tokens, {"aten.floor_divide", "aten.div"});
  if (!divide || divide.getValue("self") != permutation || divide.getInt("other") != topK)
    return false;
  std::optional<StringRef> mode = divide.getString("rounding_mode");
  return divide.getBase() == "aten.floor_divide" || mode == StringRef("floor") || mode == StringRef("trunc");
}

std::optional<UnfusedExperts> mlir::aten::matchGroupedExperts(CallOp call, Mismatch *why) {
  std::optional<PairSum> sum = matchPairSum(call, why);
  if (!sum)
    return std::nullopt;
  std::optional<RowIndex> restored = matchRowIndex(sum->pairs);
  if (!restored)
    return giveUp(why, "order", "the rows do not return to the order of their pairs, rows[inverse]", sum->pairs);
  Value permutation = matchInverse(restored->index, why);
  std::optional<Order> order = permutation ? matchOrder(permutation, why) : std::nullopt;
  if (!order)
    return std::nullopt;
  std::optional<WeightedRows> weighted = matchWeightedRows(restored->self, why);
  if (!weighted)
    return std::nullopt;
  std::optional<RowIndex> weights = matchRowIndex(weighted->weights);
  if (!weights || weights->index != permutation)
    return giveUp(why, "weights", "the weights of the pairs are not in the order of the rows", weighted->weights);
  std::optional<PairProduct> out = matchProduct(weighted->rows, *order, secondProduct, why);
  if (!out)
    return std::nullopt;
  std::optional<PairActivation> activation = matchPairActivation(
      out->x, getElementTypeOf(out->x),
      [&](Value value, Mismatch *why) { return matchProduct(value, *order, firstProduct, why).has_value(); }, why);
  std::optional<PairProduct> in = activation ? matchProduct(activation->source, *order) : std::nullopt;
  if (!in)
    return std::nullopt;
  std::optional<RowIndex> tokens = matchRowIndex(in->x);
  if (!tokens || !isTokenOf(tokens->index, permutation, sum->topK))
    return giveUp(why, "tokens", "the rows are not tokens[permutation // " + Twine(sum->topK) + "]", in->x);
  return UnfusedExperts{*sum, tokens->self, order->ids, weights->self, *in, *out, std::move(*activation)};
}

namespace {
struct RaiseGroupedExperts : CallPattern {
  RaiseGroupedExperts(MLIRContext *context) : CallPattern(context, {"aten.sum"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    std::optional<UnfusedExperts> experts = matchGroupedExperts(call, /*why=*/nullptr);
    std::optional<CallOp> last = experts ? checkUnfusedExperts(*experts, /*why=*/nullptr) : std::nullopt;
    if (!last)
      return failure();
    raiseUnfusedExperts(*experts, *last, rewriter);
    return success();
  }
};
} // namespace

void mlir::aten::populateRaiseGroupedExpertsPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseGroupedExperts>(patterns.getContext());
}
