//===- RaiseAttention.cpp - scaled dot-product attention and its masks --------------------------------------------===//

#include "ElementAnalysis.h"
#include "Patterns.h"
#include "PlainLayers.h"

#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace mlir::aten;

// Coordinates of a mask [B, N, S, L].
static constexpr unsigned rowCoordinate = 0, headCoordinate = 1, queryCoordinate = 2, keyCoordinate = 3;

namespace {
/// A mask as nn.attention states it. Expressions may use the row coordinate.
struct MaskForm {
  bool causal = false;
  SizeExpr position;
  std::optional<int64_t> window;
  std::optional<SizeExpr> length;
};
} // namespace

/// A float mask that adds 0 where a key is seen and (almost) minus infinity where it is not.
static Element evaluateFloatMask(ElementAnalysis &elements, Value mask) {
  CallOp call = mask.getDefiningOp<CallOp>();
  if (call && call.getBase() == "aten.where" && getNumber(call, "self") == 0.0 &&
      isHiding(call, "other", getElementTypeOf(mask)))
    return elements.evaluateBroadcast(call.getValue("condition"), 4);
  return {};
}

/// The coefficient of a coordinate that occurs only alone, with its term removed from `rest`; nothing if it occurs in a
/// product.
static std::optional<int64_t> takeCoefficient(SizeExpr &rest, unsigned coordinate) {
  int64_t coefficient = 0;
  for (const auto &[factors, c] : SizeExpr(rest).terms) {
    if (!llvm::is_contained(factors, coordinate))
      continue;
    if (factors.size() != 1)
      return std::nullopt;
    coefficient = c;
    rest.terms.erase(factors);
  }
  return coefficient;
}

/// Reads a conjunction of conditions as causal, window and length. The window is relative to the position, which the
/// causal condition gives.
static std::optional<MaskForm> readMask(const Element &element, const SizeExpr &keys) {
  if (element.kind != Element::Boolean || element.isFalse())
    return std::nullopt;
  MaskForm form;
  SmallVector<SizeExpr> windows;
  for (const SizeExpr &condition : element.conditions) {
    SizeExpr rest = condition;
    std::optional<int64_t> key = takeCoefficient(rest, keyCoordinate), query = takeCoefficient(rest, queryCoordinate),
                           head = takeCoefficient(rest, headCoordinate);
    if (!key || !query || !head || *head != 0)
      return std::nullopt;
    SizeExpr bound = SizeExpr() - rest;
    if (*key == 1 && *query == -1) { // key - query - position <= 0
      if (form.causal && form.position != bound)
        return std::nullopt;
      form.causal = true;
      form.position = bound;
    } else if (*key == -1 && *query == 1) { // query + position - window + 1 - key <= 0
      windows.push_back(rest);
    } else if (*key == 1 && *query == 0) { // key - length + 1 <= 0
      SizeExpr length = bound + 1;
      if (length == keys)
        continue;
      if (form.length && *form.length != length)
        return std::nullopt;
      form.length = length;
    } else if (*key == -1 && *query == 0 && rest.getConstant() && *rest.getConstant() <= 0) {
      continue; // key >= 0
    } else {
      return std::nullopt;
    }
  }
  for (const SizeExpr &rest : windows) {
    std::optional<int64_t> window = (form.position + 1 - rest).getConstant();
    if (!window || *window < 1)
      return std::nullopt;
    form.window = form.window ? std::min(*form.window, *window) : *window;
  }
  return form;
}

/// The tensor `[B, M, L, D]` whose heads `value` repeats: reshape(expand(unsqueeze(x, 2), [B, M, G, L, D]), [B, M*G, L,
/// D]).
static Value matchRepeatedHeads(Value value) {
  CallOp reshape = getDefiningCall(value, {"aten.reshape", "aten.view"});
  CallOp expand = reshape ? getDefiningCall(reshape.getValue("self"), {"aten.expand"}) : CallOp();
  CallOp unsqueeze = expand ? getDefiningCall(expand.getValue("self"), {"aten.unsqueeze"}) : CallOp();
  if (!unsqueeze || getTensorType(unsqueeze.getResult(0)).getRank() != 5 || unsqueeze.getDim("dim", 5) != 2)
    return {};
  Value source = unsqueeze.getValue("self");
  auto type = getTensorType(source), wide = getTensorType(expand.getResult(0)), flat = getTensorType(value);
  SizeAnalysis sizes;
  if (flat.getRank() != 4 || type.isDynamicDim(1) || wide.isDynamicDim(2) ||
      flat.getDimSize(1) != type.getDimSize(1) * wide.getDimSize(2) || wide.getDimSize(1) != type.getDimSize(1))
    return {};
  for (int64_t dim : {0, 2, 3})
    if (sizes.getSize(source, dim) != sizes.getSize(value, dim))
      return {};
  return source;
}

static void describeMask(CallOp call, StringRef name, const std::optional<MaskForm> &form) {
  auto options = remark::RemarkOpts::name(name).category("moe-import");
  if (!form) {
    remark::missed(call.getLoc(), options)
        << "the mask is no combination of causal, window and length; it stays a tensor, and every step costs as "
           "much as the cache is long";
    return;
  }
  remark::passed(call.getLoc(), options) << remark::metric("causal", form->causal ? 1 : 0)
                                         << remark::metric("window", form->window.value_or(0))
                                         << remark::metric("length", form->length ? 1 : 0);
}

bool mlir::aten::isAttentionCall(CallOp call) {
  return llvm::is_contained({"aten.scaled_dot_product_attention", "moe_mlir.attention"}, call.getBase());
}

static Value getMask(CallOp call) {
  Value mask = call.getValue("attn_mask");
  return mask ? mask : call.getValue("mask");
}

namespace {
struct Operands {
  Value query, key, value;
};
} // namespace

static std::optional<Operands> matchOperands(CallOp call, Mismatch *why) {
  Value query = call.getValue("query"), key = call.getValue("key"), value = call.getValue("value");
  auto type = getTensorType(query);
  if (type.getRank() != 4)
    return giveUp(why, "heads", "queries are not [B, heads, S, D]", query);
  Type element = type.getElementType();
  if (!isModelFloat(element) || getElementTypeOf(key) != element || getElementTypeOf(value) != element)
    return giveUp(why, "types", "queries, keys and values are not all of f32, of bf16 or of f16", query);
  if (call.getFloat("dropout_p").value_or(0) != 0)
    return giveUp(why, "dropout", "it drops probabilities, as in training");
  if (Value heads = matchRepeatedHeads(key))
    if (Value valueHeads = matchRepeatedHeads(value)) {
      key = heads;
      value = valueHeads;
    }
  auto keyType = getTensorType(key), valueType = getTensorType(value);
  if (keyType.getRank() != 4 || valueType.getRank() != 4 || type.isDynamicDim(1) || type.isDynamicDim(3) ||
      keyType.isDynamicDim(1))
    return giveUp(why, "heads", "number or width of the heads is not known", key);
  if (keyType.getDimSize(1) == 0 || type.getDimSize(1) % keyType.getDimSize(1) ||
      keyType.getDimSize(1) != valueType.getDimSize(1))
    return giveUp(why, "heads",
                  "queries have " + Twine(type.getDimSize(1)) + " heads, keys " + Twine(keyType.getDimSize(1)) +
                      ", values " + Twine(valueType.getDimSize(1)));
  if (keyType.getDimSize(3) != type.getDimSize(3) || valueType.isDynamicDim(3))
    return giveUp(why, "heads", "the width of the heads is not known, or keys have another than queries", key);
  if (Value sinks = call.getValue("sinks"))
    if (RankedTensorType own = getTensorType(sinks);
        own.getRank() != 1 || own.getDimSize(0) != type.getDimSize(1) || !isModelFloat(own.getElementType()))
      return giveUp(why, "sinks", "there is not one of f32, bf16 or f16 per head", sinks);
  if (Value mask = getMask(call))
    if (Type own = getElementTypeOf(mask); !own.isInteger(1) && !isModelFloat(own))
      return giveUp(why, "mask", "it is neither of truth values nor of f32, bf16 or f16", mask);
  return Operands{query, key, value};
}

namespace {
struct Mask {
  /// Nothing where it has to stay a tensor.
  std::optional<MaskForm> form;
  /// What it adds to the scores, if it does not only hide keys.
  Value bias;
};
} // namespace

static Mask readMask(CallOp call, Value key, ElementAnalysis &elements) {
  Value mask = getMask(call);
  if (!mask) {
    MaskForm form;
    form.causal = call.getBool("is_causal").value_or(false);
    return {form, {}};
  }
  SizeExpr keys = elements.getSize(key, 2);
  if (getElementTypeOf(mask).isInteger(1))
    return {readMask(elements.evaluateBroadcast(mask, 4), keys), {}};
  if (std::optional<MaskForm> form = readMask(evaluateFloatMask(elements, mask), keys))
    return {form, {}};
  // Numbers where keys are seen.
  auto where = mask.getDefiningOp<CallOp>();
  RankedTensorType numbers = where ? getTensorType(where.getValue("self")) : RankedTensorType();
  if (numbers && where.getBase() == "aten.where" && isModelFloat(numbers.getElementType()) &&
      isHiding(where, "other", getElementTypeOf(mask)) && numbers.getShape() == getTensorType(mask).getShape())
    if (std::optional<MaskForm> form = readMask(elements.evaluateBroadcast(where.getValue("condition"), 4), keys))
      return {form, where.getValue("self")};
  return {std::nullopt, mask};
}

void mlir::aten::explainAttentionCall(CallOp call, Mismatch &why) { (void)matchOperands(call, &why); }

namespace {
struct RaiseAttention : CallPattern {
  RaiseAttention(MLIRContext *context) : CallPattern(context, {"aten.scaled_dot_product_attention", "moe_mlir.attention"}) {}

  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    ElementAnalysis elements;
    std::optional<Operands> operands = matchOperands(call, /*why=*/nullptr);
    if (!operands)
      return failure();
    auto [query, key, value] = *operands;
    Value mask = getMask(call);
    auto [form, bias] = readMask(call, key, elements);
    auto type = getTensorType(query);
    Location loc = call.getLoc();
    Value positions, lengths, kept;
    if (form && form->position.getConstant() != 0)
      positions = elements.materializeRow(rewriter, loc, form->position, key, 0);
    if (form && form->length)
      lengths = elements.materializeRow(rewriter, loc, *form->length, key, 0);
    if (form && ((form->position.getConstant() != 0 && !positions) || (form->length && !lengths)))
      form = std::nullopt;
    if (!form && getElementTypeOf(mask).isInteger(1))
      kept = expandMask(call, mask, query, key, rewriter);
    else if (!form || bias)
      bias = expandMask(call, form ? bias : mask, query, key, rewriter);
    describeMask(call, "Mask", form);

    std::optional<double> scale = call.getFloat("scale");
    Value rows = createTranspose(rewriter, loc, query, 1, 2);
    SmallVector<int64_t> shape(getTensorType(rows).getShape());
    shape.back() = getTensorType(value).getDimSize(3);
    Value result = nn::AttentionOp::create(
        rewriter, loc, getTensorType(rows).clone(shape), rows, key, value, form ? positions : Value(),
        form ? lengths : Value(), kept, call.getValue("sinks"), bias,
        rewriter.getF64FloatAttr(scale.value_or(1.0 / std::sqrt(double(type.getDimSize(3))))),
        form && form->causal ? rewriter.getUnitAttr() : UnitAttr(),
        form && form->window ? rewriter.getI64IntegerAttr(*form->window) : IntegerAttr());
    rewriter.replaceOp(call, createTranspose(rewriter, loc, result, 1, 2));
    return success();
  }

  /// The mask with four dimensions, the last two as wide as queries and keys.
  static Value expandMask(CallOp call, Value mask, Value query, Value key, PatternRewriter &rewriter) {
    Location loc = call.getLoc();
    while (getTensorType(mask).getRank() < 4) {
      SmallVector<int64_t> shape(getTensorType(mask).getShape());
      shape.insert(shape.begin(), 1);
      mask = createCall(rewriter, loc, "aten.unsqueeze.default", getTensorType(mask).clone(shape),
                        {{"self", mask}, {"dim", Attribute(rewriter.getI64IntegerAttr(0))}});
    }
    auto type = getTensorType(mask);
    int64_t queries = getTensorType(query).getDimSize(2), keys = getTensorType(key).getDimSize(2);
    if ((type.getDimSize(2) != 1 || queries == 1) && (type.getDimSize(3) != 1 || keys == 1))
      return mask;
    Value s = createSize(rewriter, loc, query, 2), l = createSize(rewriter, loc, key, 2);
    SmallVector<Attribute> sizes{rewriter.getI64IntegerAttr(-1), rewriter.getI64IntegerAttr(-1),
                                 ArgAttr::get(rewriter.getContext(), 1), ArgAttr::get(rewriter.getContext(), 2)};
    auto arguments = rewriter.getDictionaryAttr({rewriter.getNamedAttr("self", ArgAttr::get(rewriter.getContext(), 0)),
                                                 rewriter.getNamedAttr("size", rewriter.getArrayAttr(sizes))});
    auto wide = RankedTensorType::get({type.getDimSize(0), type.getDimSize(1), queries, keys}, type.getElementType());
    return CallOp::create(rewriter, loc, TypeRange(wide), rewriter.getStringAttr("aten.expand.default"),
                          ValueRange{mask, s, l}, arguments)
        .getResult(0);
  }
};
} // namespace

void mlir::aten::populateRaiseAttentionPatterns(RewritePatternSet &patterns) {
  static_assert(rowCoordinate == 0, "ElementAnalysis::materializeRow counts rows by coordinate 0");
  patterns.add<RaiseAttention>(patterns.getContext());
}
