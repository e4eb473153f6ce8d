//===- HidingMasks.cpp - float masks of attention that only hide keys ---------------------------------------------===//
//
// A mask that adds 0 where a key is seen and (almost) minus infinity where it is not becomes one of truth values, which
// is what nn.attention takes.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace mlir::aten;

std::optional<double> mlir::aten::getNumber(CallOp call, StringRef name) {
  if (std::optional<double> number = call.getFloat(name))
    return number;
  if (std::optional<int64_t> number = call.getInt(name))
    return static_cast<double>(*number);
  Value value = call.getValue(name);
  if (getDefiningCall(value, {"aten.zeros", "aten.zeros_like", "aten.new_zeros"}))
    return 0.0;
  if (CallOp full = getDefiningCall(value, {"aten.full", "aten.full_like", "aten.new_full"}))
    return getNumber(full, "fill_value");
  if (CallOp scalar = getDefiningCall(value, {"aten.scalar_tensor"}))
    return getNumber(scalar, "s");
  return std::nullopt;
}

bool mlir::aten::isHiding(CallOp call, StringRef name, Type element) {
  std::optional<double> number = getNumber(call, name);
  return number && *number <= (element.isF16() ? -65504.0 : -1e30);
}

/// The truth values `tensor` is not.
static Value negate(OpBuilder &builder, Location loc, Value tensor) {
  if (CallOp call = getDefiningCall(tensor, {"aten.bitwise_not", "aten.logical_not"}))
    if (Value self = call.getValue("self"); getElementTypeOf(self).isInteger(1))
      return self;
  return createCall(builder, loc, "aten.bitwise_not.default", tensor.getType(), {{"self", tensor}});
}

/// Where a float mask lets keys be seen; null if it does something else.
static Value getSeen(Value mask, OpBuilder &builder) {
  auto call = mask.getDefiningOp<CallOp>();
  if (!call)
    return {};
  Value seen;
  Type element = getElementTypeOf(mask);
  if (call.getBase() == "aten.where" && getNumber(call, "self") == 0.0 && isHiding(call, "other", element))
    seen = call.getValue("condition");
  if (call.getBase() == "aten.masked_fill" && getNumber(call, "self") == 0.0 && isHiding(call, "value", element)) {
    Value hidden = call.getValue("mask");
    if (getTensorType(hidden).getShape() == getTensorType(mask).getShape())
      seen = negate(builder, call.getLoc(), hidden);
  }
  bool fits = seen && getElementTypeOf(seen).isInteger(1) &&
              getTensorType(seen).getShape() == getTensorType(mask).getShape();
  return fits ? seen : Value();
}

namespace {
struct HidingMask : CallPattern {
  // Before attention is raised with a float mask as its bias.
  HidingMask(MLIRContext *context) : CallPattern(context, {"aten.scaled_dot_product_attention"}, /*benefit=*/2) {}

  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    auto argument = dyn_cast_or_null<ArgAttr>(call.getArgument("attn_mask"));
    Value mask = argument ? call.getOperandOf(argument) : Value();
    if (!mask || !isa<FloatType>(getElementTypeOf(mask)))
      return failure();
    Value seen = getSeen(mask, rewriter);
    if (!seen)
      return failure();
    rewriter.modifyOpInPlace(call, [&] { call.getInputsMutable()[argument.getIndex()].set(seen); });
    return success();
  }
};
} // namespace

void mlir::aten::populateHidingMaskPatterns(RewritePatternSet &patterns) {
  patterns.add<HidingMask>(patterns.getContext());
}
