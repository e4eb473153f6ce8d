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
static std::optional<Order> matchOrder(Value permutation) {
  CallOp call = getDefiningCall(permutation, {"aten.sort", "aten.argsort"});
  Value ids = call ? call.getValue("self") : Value();
  bool sort = call && call.getBase() == "aten.sort";
  if (!isVector(ids) || !isa<IntegerType>(getElementTypeOf(ids)) || call.getNumResults() != (sort ? 2 : 1) ||
      permutation != call.getResult(sort) || (call.getArgument("descending") && call.getBool("descending") != false) ||
      (call.getArgument("dim") && call.getDim("dim", 1) != 0))
    return std::nullopt;
  return Order{ids, permutation, sort ? call.getResult(0) : Value()};
}

static bool isSorted(Value value, const Order &order) {
  if (value && value == order.sorted)
    return true;
  std::optional<RowIndex> rows = matchRowIndex(value);
  return rows && rows->self == order.ids && rows->index == order.permutation;
}

/// Where each pair stands in the order.
static Value matchInverse(Value inverse) {
  if (std::optional<Order> order = matchOrder(inverse)) {
    // The order of a permutation is its inverse.
    return matchOrder(order->ids) ? order->ids : Value();
  }
  CallOp put = getDefiningCall(inverse, {"aten.index_put"});
  auto list = put ? dyn_cast_or_null<ArrayAttr>(put.getArgument("indices")) : ArrayAttr();
  Value permutation = list && list.size() == 1 ? put.getOperandOf(list[0]) : Value();
  Value base = put ? put.getValue("self") : Value(), numbers = put ? put.getValue("values") : Value();
  CallOp arange = getDefiningCall(numbers, {"aten.arange"});
  if (!isVector(permutation) || !isVector(base) || !isVector(numbers) || !arange || put.getBool("accumulate") == true ||
      (arange.getArgument("start") && arange.getInt("start") != 0) ||
      (arange.getArgument("step") && arange.getInt("step") != 1) || !isa<IntegerType>(getElementTypeOf(numbers)) ||
      !isa<IntegerType>(getElementTypeOf(base)))
    return {};
  // Every element of the base is written once.
  SizeAnalysis sizes;
  SizeExpr count = sizes.getSize(permutation, 0);
  return sizes.getSize(base, 0) == count && sizes.getSize(numbers, 0) == count ? permutation : Value();
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

/// grouped_mm(x, weight, offs) + bias[sorted ids], of rows in `order`.
static std::optional<PairProduct> matchProduct(Value value, const Order &order) {
  BiasedProduct biased = matchBias(value);
  if (biased.bias && !isSorted(biased.order, order))
    return std::nullopt;
  CallOp call = getDefiningCall(biased.product, {"aten._grouped_mm", "transformers.grouped_mm_fallback"});
  if (!call)
    return std::nullopt;
  bool fallback = call.getBase() != "aten._grouped_mm";
  PairProduct product;
  product.x = call.getValue(fallback ? "input" : "self");
  product.weight = call.getValue(fallback ? "weight" : "mat2");
  product.transposed = true;
  product.bias = biased.bias;
  RankedTensorType weight = getTensorType(product.weight), x = getTensorType(product.x);
  if (!weight || !x || x.getRank() != 2 || weight.getRank() != 3 || call.getArgument("bias") ||
      getElementTypeOf(biased.product) != x.getElementType() ||
      !isOffsets(call.getValue("offs"), order, weight.getDimSize(0)))
    return std::nullopt;
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

namespace {
struct RaiseGroupedExperts : CallPattern {
  RaiseGroupedExperts(MLIRContext *context) : CallPattern(context, {"aten.sum"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    std::optional<PairSum> sum = matchPairSum(call);
    std::optional<RowIndex> restored = sum ? matchRowIndex(sum->pairs) : std::nullopt;
    Value permutation = restored ? matchInverse(restored->index) : Value();
    std::optional<Order> order = permutation ? matchOrder(permutation) : std::nullopt;
    std::optional<WeightedRows> weighted = order ? matchWeightedRows(restored->self) : std::nullopt;
    std::optional<RowIndex> weights = weighted ? matchRowIndex(weighted->weights) : std::nullopt;
    if (!weights || weights->index != permutation)
      return failure();
    std::optional<PairProduct> out = matchProduct(weighted->rows, *order);
    if (!out)
      return failure();
    std::optional<PairActivation> activation = matchPairActivation(
        out->x, getElementTypeOf(out->x), [&](Value value) { return matchProduct(value, *order).has_value(); });
    std::optional<PairProduct> in = activation ? matchProduct(activation->source, *order) : std::nullopt;
    std::optional<RowIndex> tokens = in ? matchRowIndex(in->x) : std::nullopt;
    if (!tokens || !isTokenOf(tokens->index, permutation, sum->topK))
      return failure();
    UnfusedExperts experts{*sum, tokens->self, order->ids, weights->self, *in, *out, std::move(*activation)};
    return raiseUnfusedExperts(experts, rewriter);
  }
};
} // namespace

void mlir::aten::populateRaiseGroupedExpertsPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseGroupedExperts>(patterns.getContext());
}
