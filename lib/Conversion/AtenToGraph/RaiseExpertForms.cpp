//===- RaiseExpertForms.cpp - experts that transformers wrote out become one call again ---------------------------===//
//
// A model that was exported with transformers' own `batched_mm` or `grouped_mm` experts holds them as calls of a form
// that does not depend on the model. Both become the call of `moe_mlir::experts` that the exporter of this project
// writes, which RaiseExperts then takes apart.
//
//   pairs of token and expert   batched_mm: in order        grouped_mm: perm = sort(ids).indices
//   rows of tokens              repeat_interleave(x, k)     x[perm // k]
//   y = product(x, w)           squeeze(bmm(w[ids], x))     _grouped_mm(x, w, cumsum(histc(sorted ids)))
//   rows, weighted              y * weights                 (y * weights[perm])[inverse of perm]
//   sum                         sum(view(rows, [T, k, H]), 1)
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "ExpertActivation.h"
#include "Patterns.h"

using namespace mlir;
using namespace mlir::aten;

/// The call if it takes a tensor `self`.
static CallOp getCall(Value value, ArrayRef<StringRef> bases) {
  CallOp call = getDefiningCall(value, bases);
  return call && getTensorType(call.getValue("self")) ? call : CallOp();
}

/// The operand of `[T, k] -> [T * k]`.
static Value matchFlattened(Value value) {
  CallOp reshape = getCall(value, {"aten.reshape", "aten.view", "aten.flatten"});
  Value source = reshape ? reshape.getValue("self") : Value();
  return source && getTensorType(source).getRank() == 2 && getTensorType(value).getRank() == 1 ? source : Value();
}

/// The rows of `table` in `table[rows]`.
static Value matchRows(Value value, Value &table) {
  CallOp index = getCall(value, {"aten.index"});
  auto list = index ? dyn_cast_or_null<ArrayAttr>(index.getArgument("indices")) : ArrayAttr();
  if (!list || list.size() != 1)
    return {};
  table = index.getValue("self");
  return index.getOperandOf(list[0]);
}

static Value matchUnsqueezed(Value value, int64_t dim) {
  CallOp call = getCall(value, {"aten.unsqueeze"});
  return call && call.getDim("dim", getTensorType(value).getRank()) == dim ? call.getValue("self") : Value();
}

namespace {
/// One product of rows with the weights of their experts.
struct Product {
  Value rows, weight, bias;
  bool transposed = false;
};

/// What the two forms have in common: pairs of token and expert in some order.
class Form {
public:
  virtual ~Form() = default;
  /// The products of pairs behind `value`, without a bias.
  virtual bool matchProduct(Value value, Product &product) = 0;
  /// Weights [T, k] of pairs, given as [T * k].
  virtual Value matchWeights(Value value) = 0;
  /// Tokens [T, H] of pairs, given as [T * k, H].
  virtual Value matchTokens(Value value, int64_t k) = 0;
  /// The order of pairs in which the ids of a bias are asked for.
  virtual Value orderedIds() = 0;

  /// [T, k]; known from the first product on.
  Value ids;
};

class Batched : public Form {
public:
  bool matchProduct(Value value, Product &product) override {
    CallOp squeeze = getCall(value, {"aten.squeeze"});
    CallOp bmm = squeeze ? getCall(squeeze.getValue("self"), {"aten.bmm"}) : CallOp();
    std::optional<int64_t> dim = squeeze ? squeeze.getDim("dim", 3) : std::nullopt;
    if (!bmm || !dim || *dim == 0)
      return false;
    product.transposed = *dim == 1;
    Value rows = bmm.getValue(product.transposed ? "self" : "mat2");
    Value weights = bmm.getValue(product.transposed ? "mat2" : "self");
    product.rows = matchUnsqueezed(rows, *dim);
    return product.rows && setIds(matchRows(weights, product.weight));
  }
  Value matchWeights(Value value) override { return matchFlattened(value); }
  Value matchTokens(Value value, int64_t k) override {
    CallOp repeat = getCall(value, {"aten.repeat_interleave"});
    return repeat && repeat.getInt("repeats") == k && repeat.getInt("dim") == 0 ? repeat.getValue("self") : Value();
  }
  Value orderedIds() override { return flatIds; }

private:
  bool setIds(Value flat) {
    if (!flat || (flatIds && flatIds != flat))
      return false;
    flatIds = flat;
    ids = matchFlattened(flat);
    return bool(ids);
  }
  Value flatIds;
};

class Grouped : public Form {
public:
  bool matchProduct(Value value, Product &product) override {
    CallOp call = getDefiningCall(value, {"aten._grouped_mm", "transformers.grouped_mm_fallback"});
    if (!call || call.getValue("bias") || !setOffsets(call.getValue("offs"), product))
      return false;
    bool isAten = call.getBase() == "aten._grouped_mm";
    product.rows = call.getValue(isAten ? "self" : "input");
    product.weight = call.getValue(isAten ? "mat2" : "weight");
    if (!getTensorType(product.rows) || !getTensorType(product.weight))
      return false;
    product.transposed = true;
    CallOp transpose = getCall(product.weight, {"aten.transpose"});
    auto dim0 = transpose ? transpose.getDim("dim0", 3) : std::nullopt;
    auto dim1 = transpose ? transpose.getDim("dim1", 3) : std::nullopt;
    if (dim0 && dim1 && *dim0 + *dim1 == 3 && *dim0 * *dim1 == 2) {
      product.weight = transpose.getValue("self");
      product.transposed = false;
    }
    auto type = getTensorType(product.weight);
    return type.getRank() == 3 && type.getDimSize(0) == experts;
  }
  Value matchWeights(Value value) override {
    Value flat;
    return matchRows(value, flat) == sort.getResult(1) ? matchFlattened(flat) : Value();
  }
  Value matchTokens(Value value, int64_t k) override {
    Value tokens;
    CallOp token = getCall(matchRows(value, tokens), {"aten.floor_divide"});
    return token && token.getValue("self") == sort.getResult(1) && token.getInt("other") == k ? tokens : Value();
  }
  Value orderedIds() override { return sort.getResult(0); }

  /// The sorted rows of `rows[inverse]`, where `inverse[perm] = 0, 1, 2, ...`; fills in the sort.
  Value matchUnsorted(Value value) {
    Value sorted;
    CallOp put = getCall(matchRows(value, sorted), {"aten.index_put"});
    auto list = put ? dyn_cast_or_null<ArrayAttr>(put.getArgument("indices")) : ArrayAttr();
    CallOp range = put ? getDefiningCall(put.getValue("values"), {"aten.arange"}) : CallOp();
    if (!list || list.size() != 1 || !range || put.getBool("accumulate").value_or(false) ||
        range.getInt("start").value_or(0) != 0 || range.getInt("step").value_or(1) != 1 || range.getValue("start"))
      return {};
    sort = getCall(put.getOperandOf(list[0]), {"aten.sort"});
    if (!sort || sort.getNumResults() != 2 || sort.getResult(1) != put.getOperandOf(list[0]) ||
        sort.getBool("descending").value_or(false))
      return {};
    ids = matchFlattened(sort.getValue("self"));
    return ids ? sorted : Value();
  }

private:
  /// cumsum(histc(sorted ids, bins=E, min=0, max=E-1)): where the rows of each expert end.
  bool setOffsets(Value offsets, Product &product) {
    CallOp cumsum = getCall(offsets, {"aten.cumsum"});
    CallOp histc = cumsum ? getCall(cumsum.getValue("self"), {"aten.histc"}) : CallOp();
    Value counted = histc ? histc.getValue("self") : Value();
    if (CallOp cast = getCall(counted, {"aten.to", "aten.float"}))
      counted = cast.getValue("self");
    if (!counted || counted != sort.getResult(0) || !histc.getInt("bins"))
      return false;
    experts = *histc.getInt("bins");
    return histc.getFloat("min") == 0.0 && histc.getFloat("max") == double(experts - 1);
  }
  CallOp sort;
  int64_t experts = 0;
};

/// product(rows, weight) + bias[ids].
bool matchLinear(Form &form, Value value, Product &product) {
  CallOp add = getCall(value, {"aten.add"});
  Value sides[] = {add ? add.getValue("self") : Value(), add ? add.getValue("other") : Value()};
  if (!add || add.getArgument("alpha"))
    return form.matchProduct(value, product);
  for (unsigned i : {0, 1})
    if (form.matchProduct(sides[i], product))
      return matchRows(sides[1 - i], product.bias) == form.orderedIds();
  return false;
}

struct RaiseExpertForm : CallPattern {
  RaiseExpertForm(MLIRContext *context) : CallPattern(context, {"aten.sum"}) {}

  LogicalResult rewrite(CallOp sum, PatternRewriter &rewriter) const override {
    auto dims = sum.getInts("dim");
    CallOp view = getCall(sum.getValue("self"), {"aten.view", "aten.reshape"});
    if (!view || !dims || *dims != SmallVector<int64_t>{1} || sum.getBool("keepdim").value_or(false))
      return failure();
    auto viewed = getTensorType(view.getResult(0));
    Value rows = view.getValue("self");
    if (viewed.getRank() != 3 || viewed.isDynamicDim(1) || getTensorType(rows).getRank() != 2)
      return failure();
    Batched batched;
    Grouped grouped;
    Value sorted = grouped.matchUnsorted(rows);
    return sorted ? raise(grouped, sum, sorted, viewed.getDimSize(1), rewriter)
                  : raise(batched, sum, rows, viewed.getDimSize(1), rewriter);
  }

private:
  static LogicalResult raise(Form &form, CallOp sum, Value rows, int64_t k, PatternRewriter &rewriter) {
    CallOp weighted = getCall(rows, {"aten.mul"});
    Value column = weighted ? weighted.getValue("other") : Value();
    Value weights = column ? matchUnsqueezed(column, 1) : Value();
    Product up, down;
    if (!weights || !matchLinear(form, weighted.getValue("self"), down))
      return failure();
    weights = form.matchWeights(weights);
    std::optional<ExpertActivation> activation = matchExpertActivation(down.rows);
    if (!weights || !activation || !matchLinear(form, activation->input, up) || up.transposed != down.transposed)
      return failure();
    Value tokens = form.matchTokens(up.rows, k);
    auto hasPairs = [&](Value value) {
      auto type = value ? getTensorType(value) : RankedTensorType();
      return type && type.getRank() == 2 && type.getDimSize(1) == k;
    };
    if (!tokens || getTensorType(tokens).getRank() != 2 || !hasPairs(weights) || !hasPairs(form.ids))
      return failure();
    // Routing weights may be wider than the rows; then so is the sum, until it is cast.
    CallOp last = sum;
    Type element = getElementTypeOf(tokens);
    if (getElementTypeOf(sum.getResult(0)) != element) {
      auto cast = sum->hasOneUse() ? dyn_cast<CallOp>(*sum->user_begin()) : CallOp();
      if (!cast || cast.getBase() != "aten.to" || getElementTypeOf(cast.getResult(0)) != element)
        return failure();
      last = cast;
    }

    auto flag = [&](bool value) { return Attribute(rewriter.getBoolAttr(value)); };
    SmallVector<NamedArgument> arguments = {{"hidden", tokens},
                                            {"ids", form.ids},
                                            {"weights", weights},
                                            {"gate_up_proj", up.weight},
                                            {"down_proj", down.weight},
                                            {"activation", Attribute(rewriter.getStringAttr(activation->name))},
                                            {"gated", flag(activation->gated)},
                                            {"interleaved", flag(activation->interleaved)},
                                            {"transposed", flag(up.transposed)}};
    if (up.bias)
      arguments.push_back({"gate_up_bias", up.bias});
    if (down.bias)
      arguments.push_back({"down_bias", down.bias});
    rewriter.setInsertionPoint(last);
    rewriter.replaceOp(
        last, createCall(rewriter, sum.getLoc(), "moe_mlir.experts.default", last.getResult(0).getType(), arguments));
    return success();
  }
};
} // namespace

void mlir::aten::populateRaiseExpertFormPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseExpertForm>(patterns.getContext());
}
