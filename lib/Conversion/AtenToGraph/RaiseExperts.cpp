//===- RaiseExperts.cpp - moe_mlir::experts becomes gate, dispatch, expert, combine -------------------------------===//

#include "ExpertExpression.h"
#include "ExpertLayer.h"
#include "PlainLayers.h"
#include "ScalarMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::aten;

/// activation(x) of a name that the exporter knows; null for others.
static Value buildPointwise(const ScalarMath &s, StringRef name, Value x) {
  if (name == "silu")
    return s.silu(x);
  if (name == "relu")
    return s.relu(x);
  if (name == "relu2") {
    Value r = s.relu(x);
    return s.mul(r, r);
  }
  if (name == "gelu")
    return s.gelu(x);
  if (name == "gelu_tanh")
    return s.geluTanh(x);
  return {};
}

/// What the region of moe.expert yields: an expression of its own, activation(gate) * up, or activation(x) without a
/// gate. Null for a name that is not known and for an expression that cannot be read.
static Value buildActivation(const ScalarMath &s, StringRef name, Value gate, Value up) {
  if (name.consume_front(moe_mlir::expressionPrefix)) {
    llvm::Expected<moe_mlir::Expression> steps = moe_mlir::parseExpression(name, /*gated=*/up != nullptr);
    if (steps)
      return buildExpression(s, *steps, up ? gate : Value(), up ? up : gate);
    llvm::consumeError(steps.takeError());
    return {};
  }
  if (name == "swigluoai") { // clamped; gate * sigmoid(1.702 gate) * (up + 1)
    if (!up)
      return {};
    gate = s.atMost(gate, 7.0);
    up = s.atLeast(s.atMost(up, 7.0), -7.0);
    Value one = s.constant(1), power = s.make<math::ExpOp>(s.mul(gate, s.constant(-1.702)));
    Value swish = s.make<arith::DivFOp>(gate, s.add(one, power));
    return s.mul(s.add(up, one), swish);
  }
  Value result = buildPointwise(s, name, gate);
  return result && up ? s.mul(result, up) : result;
}

static LogicalResult checkCall(CallOp call, Mismatch *why) {
  auto hasRank = [](Value value, int64_t rank) {
    auto tensor = getTensorType(value);
    return tensor && tensor.getRank() == rank;
  };
  for (auto [name, rank] : {std::pair("hidden", 2), std::pair("ids", 2), std::pair("weights", 2),
                            std::pair("gate_up_proj", 3), std::pair("down_proj", 3)})
    if (!hasRank(call.getValue(name), rank))
      return giveUp(why, "sizes", Twine(name) + " has not " + Twine(rank) + " dimensions", call.getResult(0));
  if (!hasRank(call.getResult(0), 2) || !getTensorType(call.getValue("gate_up_proj")).hasStaticShape())
    return giveUp(why, "sizes", "the sizes of gate_up_proj are not known", call.getResult(0));
  return success();
}

void mlir::aten::explainExpertsCall(CallOp call, Mismatch &why) {
  if (failed(checkCall(call, &why)))
    return;
  StringRef activation = call.getString("activation").value_or("");
  if (activation.consume_front(moe_mlir::expressionPrefix)) {
    llvm::Expected<moe_mlir::Expression> steps =
        moe_mlir::parseExpression(activation, call.getBool("gated").value_or(false));
    if (!steps)
      (void)giveUp(&why, "activation", "its expression cannot be read: " + llvm::toString(steps.takeError()));
    return;
  }
  (void)giveUp(&why, "activation", "'" + activation + "' is no activation that moe_mlir.experts has");
}

namespace {
struct RaiseExperts : CallPattern {
  RaiseExperts(MLIRContext *context) : CallPattern(context, {"moe_mlir.experts"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Location loc = call.getLoc();
    Value tokens = call.getValue("hidden"), ids = call.getValue("ids"), weights = call.getValue("weights");
    Value wIn = call.getValue("gate_up_proj"), wOut = call.getValue("down_proj");
    StringRef activation = call.getString("activation").value_or("");
    bool gated = call.getBool("gated").value_or(false);
    if (failed(checkCall(call, /*why=*/nullptr)))
      return failure();

    // The region comes first: an unknown activation leaves the call for the report.
    OperationState probe(loc, moe::ExpertOp::getOperationName());
    Region *region = probe.addRegion();
    {
      OpBuilder::InsertionGuard guard(rewriter);
      SmallVector<Type> types(gated ? 2 : 1, rewriter.getF32Type());
      Block *block = rewriter.createBlock(region, {}, types, SmallVector<Location>(types.size(), loc));
      Value result = buildActivation({rewriter, loc}, activation, block->getArgument(0),
                                     gated ? Value(block->getArgument(1)) : Value());
      if (!result)
        return failure();
      moe::YieldOp::create(rewriter, loc, result);
    }

    ExpertLayer layer{tokens, ids, weights, wIn, wOut};
    layer.inTransposed = layer.outTransposed = call.getBool("transposed").value_or(false);
    layer.bIn = call.getValue("gate_up_bias");
    layer.bOut = call.getValue("down_bias");
    layer.gated = gated;
    layer.interleaved = call.getBool("interleaved").value_or(false);
    rewriter.replaceOp(call, createExpertLayer(rewriter, loc, layer, *region, call.getResult(0).getType()));
    return success();
  }
};
} // namespace

void mlir::aten::populateRaiseExpertsPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseExperts>(patterns.getContext());
}
