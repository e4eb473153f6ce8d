//===- RaiseBatchedExperts.cpp - experts as products of each pair with a copy of its weights ----------------------===//
//
//   x   = repeat_interleave(tokens, k, dim = 0)
//   h   = activation(bmm(w_in[ids], x[:, :, None])[:, :, 0] + b_in[ids])     or bmm(x[:, None], w_in[ids])[:, 0]
//   y   = the same with h, w_out and b_out
//   out = (y * weights[:, None]).view(T, k, H).sum(1)
//
// As loops, these calls copy the matrices of an expert for every pair. UnfusedExperts.h says how rounding differs.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "UnfusedExperts.h"

using namespace mlir;
using namespace mlir::aten;

/// The operand of an unsqueeze or squeeze of dimension `dim` of three.
static Value matchUnit(Value value, StringRef base, int64_t dim) {
  CallOp call = getDefiningCall(value, {base});
  std::optional<int64_t> at = call ? call.getDim("dim", 3) : std::nullopt;
  return at && *at == dim ? call.getValue("self") : Value();
}

/// w[ids] . x + bias[ids]; `ids` is set by the second product and compared by the first. Calls between the products are
/// asked, too, whether they are the first one: `why` hears only of what is a product.
static std::optional<PairProduct> matchProduct(Value value, Value &ids, StringRef step = firstProduct,
                                               Mismatch *why = nullptr) {
  BiasedProduct biased = matchBias(value);
  PairProduct product;
  product.bias = biased.bias;
  Value column = matchUnit(biased.product, "aten.squeeze", 2), row = matchUnit(biased.product, "aten.squeeze", 1);
  CallOp bmm = getDefiningCall(column ? column : row, {"aten.bmm"});
  if (!bmm)
    return giveUp(step == firstProduct ? nullptr : why, step,
                  nameOf(biased.product) + " is not bmm(w[ids], x[:, :, None])[:, :, 0]", biased.product);
  product.transposed = !column;
  StringRef weightName = column ? "self" : "mat2", otherName = column ? "mat2" : "self";
  std::optional<RowIndex> weight = matchRowIndex(bmm.getValue(weightName));
  product.x = matchUnit(bmm.getValue(otherName), "aten.unsqueeze", column ? 2 : 1);
  RankedTensorType x = getTensorType(product.x);
  if (!weight || !x || x.getRank() != 2 || getElementTypeOf(biased.product) != x.getElementType())
    return giveUp(why, step, "aten.bmm does not multiply one row with the matrix of one expert", bmm.getResult(0));
  if (ids && weight->index != ids)
    return giveUp(why, step, "the matrices are those of other ids than the second product's", bmm.getResult(0));
  if (biased.bias && weight->index != biased.order)
    return giveUp(why, step, "the biases are not those of the matrices' ids", value);
  product.weight = weight->self;
  ids = weight->index;
  return product;
}

std::optional<UnfusedExperts> mlir::aten::matchBatchedExperts(CallOp call, Mismatch *why) {
  std::optional<PairSum> sum = matchPairSum(call, why);
  std::optional<WeightedRows> weighted = sum ? matchWeightedRows(sum->pairs, why) : std::nullopt;
  Value ids;
  std::optional<PairProduct> out = weighted ? matchProduct(weighted->rows, ids, secondProduct, why) : std::nullopt;
  if (!out)
    return std::nullopt;
  std::optional<PairActivation> activation = matchPairActivation(
      out->x, getElementTypeOf(out->x),
      [&](Value value, Mismatch *why) { return matchProduct(value, ids, firstProduct, why).has_value(); }, why);
  std::optional<PairProduct> in = activation ? matchProduct(activation->source, ids) : std::nullopt;
  if (!in)
    return std::nullopt;
  CallOp repeat = getDefiningCall(in->x, {"aten.repeat_interleave"});
  Value tokens = repeat ? repeat.getValue("self") : Value();
  RankedTensorType type = getTensorType(tokens);
  if (!type || type.getRank() != 2 || repeat.getInt("repeats") != sum->topK || repeat.getDim("dim", 2) != 0)
    return giveUp(why, "tokens", "the rows are not repeat_interleave(tokens, " + Twine(sum->topK) + ", dim = 0)",
                  in->x);
  return UnfusedExperts{*sum, tokens, ids, weighted->weights, *in, *out, std::move(*activation)};
}

namespace {
struct RaiseBatchedExperts : CallPattern {
  RaiseBatchedExperts(MLIRContext *context) : CallPattern(context, {"aten.sum"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    std::optional<UnfusedExperts> experts = matchBatchedExperts(call, /*why=*/nullptr);
    std::optional<CallOp> last = experts ? checkUnfusedExperts(*experts, /*why=*/nullptr) : std::nullopt;
    if (!last)
      return failure();
    raiseUnfusedExperts(*experts, *last, rewriter);
    return success();
  }
};
} // namespace

void mlir::aten::populateRaiseBatchedExpertsPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseBatchedExperts>(patterns.getContext());
}
