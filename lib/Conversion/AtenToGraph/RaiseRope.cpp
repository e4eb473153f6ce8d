//===- RaiseRope.cpp - rotary position embedding ------------------------------------------------------------------===//
//
// x * cos + cat(-x[D/2:], x[:D/2]) * sin, with cos and sin unsqueezed at the dimension of the heads.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Patterns.h"

#include "moe-mlir/Dialect/Nn/IR/Nn.h"

using namespace mlir;
using namespace mlir::aten;

/// `value` is x[..., begin:end] over the last dimension.
static bool isSliceOf(Value value, Value x, int64_t begin, int64_t end) {
  CallOp slice = getDefiningCall(value, {"aten.slice"});
  if (!slice || slice.getValue("self") != x || slice.getInt("step").value_or(1) != 1)
    return false;
  int64_t rank = getTensorType(x).getRank(), size = getTensorType(x).getShape().back();
  int64_t start = slice.getArgument("start") ? slice.getInt("start").value_or(-1) : 0;
  int64_t stop = slice.getArgument("end") ? slice.getInt("end").value_or(-1) : size;
  return slice.getDim("dim", rank) == rank - 1 && start == begin && std::min(stop, size) == end;
}

static bool isRotatedHalf(Value value, Value x) {
  CallOp cat = getDefiningCall(value, {"aten.cat"});
  auto list = cat ? dyn_cast_or_null<ArrayAttr>(cat.getArgument("tensors")) : ArrayAttr();
  int64_t rank = getTensorType(x).getRank(), size = getTensorType(x).getShape().back();
  if (!list || list.size() != 2 || cat.getDim("dim", rank) != rank - 1 || size % 2)
    return false;
  CallOp neg = getDefiningCall(cat.getOperandOf(list[0]), {"aten.neg"});
  return neg && isSliceOf(neg.getValue("self"), x, size / 2, size) &&
         isSliceOf(cat.getOperandOf(list[1]), x, 0, size / 2);
}

/// The table `[B or 1, S, D]` behind an unsqueeze at `headDim` (1 for [B, N, S, D], 2 for [B, S, N, D]).
static Value matchTable(Value value, int64_t headDim) {
  CallOp unsqueeze = getDefiningCall(value, {"aten.unsqueeze"});
  if (!unsqueeze || getTensorType(value).getRank() != 4 || unsqueeze.getDim("dim", 4) != headDim)
    return {};
  return unsqueeze.getValue("self");
}

namespace {
struct RaiseRope : CallPattern {
  RaiseRope(MLIRContext *context) : CallPattern(context, {"aten.add"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    CallOp left = getDefiningCall(call.getValue("self"), {"aten.mul"}),
           right = getDefiningCall(call.getValue("other"), {"aten.mul"});
    auto type = dyn_cast<RankedTensorType>(call.getResult(0).getType());
    if (!left || !right || call.getArgument("alpha") || !type || type.getRank() != 4 || type.isDynamicDim(3))
      return failure();
    for (auto [straight, rotated] : {std::pair(left, right), std::pair(right, left)})
      for (auto [xName, cosName] : {std::pair("self", "other"), std::pair("other", "self")})
        for (auto [rName, sinName] : {std::pair("self", "other"), std::pair("other", "self")}) {
          Value x = straight.getValue(xName), cos = straight.getValue(cosName), r = rotated.getValue(rName),
                sin = rotated.getValue(sinName);
          if (x && cos && r && sin && x.getType() == type && isRotatedHalf(r, x) &&
              succeeded(replace(call, x, cos, sin, rewriter)))
            return success();
        }
    return failure();
  }

  LogicalResult replace(CallOp call, Value x, Value cos, Value sin, PatternRewriter &rewriter) const {
    for (int64_t headDim : {1, 2}) {
      Value cosTable = matchTable(cos, headDim), sinTable = matchTable(sin, headDim);
      if (!cosTable || !sinTable || getElementTypeOf(cosTable) != getElementTypeOf(x) ||
          cosTable.getType() != sinTable.getType() || getTensorType(x).isDynamicDim(headDim))
        continue;
      // nn.rope has the heads behind the tokens; the transposes cancel with those of the model.
      Location loc = call.getLoc();
      Value rows = headDim == 1 ? createTranspose(rewriter, loc, x, 1, 2) : x;
      Value result = nn::RopeOp::create(rewriter, loc, rows, cosTable, sinTable);
      rewriter.replaceOp(call, headDim == 1 ? createTranspose(rewriter, loc, result, 1, 2) : result);
      return success();
    }
    return failure();
  }
};
} // namespace

void mlir::aten::populateRaiseRopePatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseRope>(patterns.getContext());
}
