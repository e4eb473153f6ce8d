//===- RaiseExperts.cpp - moe_mlir::experts becomes gate, dispatch, expert, combine -------------------------------===//

#include "Patterns.h"
#include "Router.h"

#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::aten;

namespace {
/// Scalar arithmetic in f32.
struct Scalars {
  OpBuilder &builder;
  Location loc;
  Value constant(double value) { return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value)); }
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
  Value relu(Value x) { return arith::MaximumFOp::create(builder, loc, x, constant(0)); }
  Value atMost(Value x, double bound) { return arith::MinimumFOp::create(builder, loc, x, constant(bound)); }
  Value atLeast(Value x, double bound) { return arith::MaximumFOp::create(builder, loc, x, constant(bound)); }
  /// 0.5 x (1 + t)
  Value halfOfOnePlus(Value x, Value t) { return mul(mul(constant(0.5), x), add(constant(1), t)); }
};
} // namespace

/// activation(x) of a name that the exporter knows; null for others.
static Value buildPointwise(Scalars s, StringRef name, Value x) {
  if (name == "silu")
    return nn::SiluOp::create(s.builder, s.loc, x);
  if (name == "relu")
    return s.relu(x);
  if (name == "relu2") {
    Value r = s.relu(x);
    return s.mul(r, r);
  }
  if (name == "gelu")
    return s.halfOfOnePlus(x, math::ErfOp::create(s.builder, s.loc, s.mul(x, s.constant(M_SQRT1_2))));
  if (name == "gelu_tanh") {
    Value cube = s.mul(s.mul(x, x), x);
    Value inner = s.mul(s.constant(M_SQRT2 * M_2_SQRTPI / 2), s.add(x, s.mul(s.constant(0.044715), cube)));
    return s.halfOfOnePlus(x, math::TanhOp::create(s.builder, s.loc, inner));
  }
  return {};
}

/// What the region of moe.expert yields: activation(gate) * up, or activation(x) without a gate.
static Value buildActivation(Scalars s, StringRef name, Value gate, Value up) {
  if (name == "swigluoai") { // clamped; gate * sigmoid(1.702 gate) * (up + 1)
    if (!up)
      return {};
    gate = s.atMost(gate, 7.0);
    up = s.atLeast(s.atMost(up, 7.0), -7.0);
    Value one = s.constant(1), power = math::ExpOp::create(s.builder, s.loc, s.mul(gate, s.constant(-1.702)));
    Value swish = arith::DivFOp::create(s.builder, s.loc, gate, s.add(one, power));
    return s.mul(s.add(up, one), swish);
  }
  Value result = buildPointwise(s, name, gate);
  return result && up ? s.mul(result, up) : result;
}

/// [E, out, in], which moe.expert wants, from [E, in, out].
static Value transposeWeight(PatternRewriter &rewriter, Value weight) {
  auto type = getTensorType(weight);
  auto parameter = weight.getDefiningOp<moe::ParameterOp>();
  if (!parameter)
    return createTranspose(rewriter, weight.getLoc(), weight, 1, 2);
  SmallVector<Attribute> recipe;
  if (ArrayAttr steps = parameter.getRecipeAttr())
    llvm::append_range(recipe, steps);
  recipe.push_back(moe::TransposeAttr::get(rewriter.getContext(), {0, 2, 1}));
  return moe::ParameterOp::create(rewriter, parameter.getLoc(),
                                  type.clone({type.getDimSize(0), type.getDimSize(2), type.getDimSize(1)}),
                                  parameter.getSources(), rewriter.getArrayAttr(recipe));
}

/// Ids that a caller gives are checked by the executable.
static void boundIds(Value ids, int64_t experts, OpBuilder &builder) {
  while (CallOp view = getDefiningCall(ids, {"aten.view", "aten.reshape"}))
    ids = view.getValue("self");
  auto argument = dyn_cast<BlockArgument>(ids);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  if (function && !function.getArgAttr(argument.getArgNumber(), "moe.range"))
    function.setArgAttr(argument.getArgNumber(), "moe.range", builder.getI64ArrayAttr({-1, experts - 1}));
}

namespace {
struct RaiseExperts : CallPattern {
  RaiseExperts(MLIRContext *context) : CallPattern(context, {"moe_mlir.experts"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Location loc = call.getLoc();
    Value tokens = call.getValue("hidden"), ids = call.getValue("ids"), weights = call.getValue("weights");
    Value wIn = call.getValue("gate_up_proj"), wOut = call.getValue("down_proj");
    Value bIn = call.getValue("gate_up_bias"), bOut = call.getValue("down_bias");
    auto type = getTensorType(tokens);
    StringRef activation = call.getString("activation").value_or("");
    bool gated = call.getBool("gated").value_or(false), interleaved = call.getBool("interleaved").value_or(false);
    if (!tokens || !ids || !weights || !wIn || !wOut || type.getRank() != 2 || getTensorType(wIn).getRank() != 3 ||
        !getTensorType(wIn).hasStaticShape())
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

    int64_t experts = getTensorType(wIn).getDimSize(0);
    if (call.getBool("transposed").value_or(false)) {
      wIn = transposeWeight(rewriter, wIn);
      wOut = transposeWeight(rewriter, wOut);
    }
    auto options = remark::RemarkOpts::name("Router").category("moe-import");
    if (std::optional<Router> router = matchRouter(ids, weights);
        router && getTensorType(router->logits).getDimSize(1) == experts) {
      auto number = [&](std::optional<double> value) { return value ? rewriter.getF64FloatAttr(*value) : FloatAttr(); };
      if (router->ids)
        boundIds(router->ids, experts, rewriter);
      auto gate = moe::GateOp::create(
          rewriter, loc, weights.getType(), getTensorType(ids).clone(rewriter.getI32Type()), router->logits,
          router->bias, router->ids, rewriter.getI64IntegerAttr(router->topK),
          moe::ScoreAttr::get(getContext(), router->score),
          moe::RenormalizeAttr::get(getContext(), router->renormalize), number(router->eps), /*p=*/FloatAttr(),
          number(router->scale), router->groups, /*capacity=*/moe::CapacityAttr());
      weights = gate.getWeights();
      ids = gate.getExperts();
      remark::passed(loc, options) << remark::metric("top_k", router->topK);
    } else {
      remark::missed(loc, options) << "the router follows no known pattern and stays plain ops";
    }

    int64_t k = getTensorType(ids).getDimSize(1), count = type.getDimSize(0);
    int64_t rowCount = type.isDynamicDim(0) || ShapedType::isDynamic(k) ? ShapedType::kDynamic : count * k;
    auto rowType = type.clone({rowCount, type.getDimSize(1)});
    auto dispatch = moe::DispatchOp::create(rewriter, loc, rowType, moe::LayoutType::get(getContext(), experts), tokens,
                                            ids, /*weights=*/Value(), rewriter.getI64IntegerAttr(experts));
    auto expert = moe::ExpertOp::create(rewriter, loc, rowType, dispatch.getRows(), dispatch.getLayout(), wIn, wOut,
                                        bIn, bOut, gated, interleaved);
    expert.getActivation().takeBody(*region);
    rewriter.replaceOpWithNewOp<moe::CombineOp>(call, call.getResult(0).getType(), expert.getResult(),
                                                dispatch.getLayout(), weights);
    return success();
  }
};
} // namespace

void mlir::aten::populateRaiseExpertsPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseExperts>(patterns.getContext());
}
