//===- DivideLayers.cpp - MoE layers divided among ranks ----------------------------------------------------------===//
//
// Gather: a layer is a dispatch, the experts that read its rows, and the combines that sum them. What else reads rows
// or the layout would see those of one rank, and is refused.
// Rewrite: the experts' weights become this rank's part of them. With an exchange the dispatch becomes three ops (to
// the ranks, the exchange, at this rank), and so does each combine (of this rank's experts, the way back, of ranks).
// Nested exchanges have the first two, and the last two, once for nodes and once for the ranks of a node.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "DivideLayers.h"

#include "moe-mlir/Support/UserFault.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace moe_mlir;

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

SmallVector<OpOperand *> moe_mlir::weightsOf(moe::ExpertOp expert) {
  SmallVector<OpOperand *> operands = {&expert.getWInMutable(), &expert.getWOutMutable()};
  for (MutableOperandRange bias : {expert.getBInMutable(), expert.getBOutMutable()})
    for (OpOperand &operand : bias)
      operands.push_back(&operand);
  return operands;
}

static LogicalResult checkWeights(moe::ExpertOp expert) {
  for (OpOperand *operand : weightsOf(expert)) {
    auto parameter = operand->get().getDefiningOp<moe::ParameterOp>();
    if (!parameter)
      return expert.emitOpError() << "cannot be divided among ranks: operand " << operand->getOperandNumber()
                                  << " has one entry per expert and is no moe.parameter, of which each rank would read "
                                     "its part";
    auto recipe = parameter.getRecipe().value_or(ArrayAttr::get(expert.getContext(), {}));
    if (llvm::any_of(recipe, llvm::IsaPred<moe::ShardAttr>))
      return parameter.emitOpError("is divided among ranks already");
  }
  return success();
}

/// Rows may go to experts and sums of the same layout.
static LogicalResult checkReaders(Value rows, moe::DispatchOp dispatch) {
  for (OpOperand &use : rows.getUses()) {
    auto expert = dyn_cast<moe::ExpertOp>(use.getOwner());
    auto combine = dyn_cast<moe::CombineOp>(use.getOwner());
    if ((expert && expert.getRows() == rows && expert.getLayout() == dispatch.getLayout()) ||
        (combine && combine.getRows() == rows && combine.getLayout() == dispatch.getLayout()))
      continue;
    return use.getOwner()->emitOpError()
           << "reads rows of experts that are to be divided among ranks; only moe.expert and moe.combine of the same "
              "layout can";
  }
  return success();
}

FailureOr<DividedLayer> moe_mlir::gatherLayer(moe::DispatchOp dispatch, const ParallelSpec &spec) {
  if (dispatch.getTo() || dispatch.getAt())
    return dispatch.emitOpError("is divided among ranks already");
  DividedLayer layer{dispatch, {}, {}};
  MLIRContext *context = dispatch.getContext();
  layer.sums = spec.sums == ParallelSpec::Sums::BF16 ? Type(BFloat16Type::get(context)) : Float32Type::get(context);
  std::string error;
  std::optional<int64_t> groups = sumGroups(spec, layer.numExperts(), error);
  if (!groups)
    return asUserFault(dispatch.emitOpError()) << "cannot be divided: " << error;
  layer.groups = *groups;
  for (Operation *user : dispatch.getLayout().getUsers()) {
    if (user->getBlock() != dispatch->getBlock() || !isa<moe::ExpertOp, moe::CombineOp>(user))
      return user->emitOpError("uses the layout of experts that are to be divided among ranks; only moe.expert and "
                               "moe.combine of the same block can");
    Value rows = user->getOperand(0);
    auto maker = rows.getDefiningOp<moe::ExpertOp>();
    if (rows != dispatch.getRows() && !(maker && maker.getLayout() == dispatch.getLayout()))
      return user->emitOpError("reads other rows than those of its layout, so its experts cannot be divided among "
                               "ranks");
    if (auto expert = dyn_cast<moe::ExpertOp>(user)) {
      if (failed(checkWeights(expert)) || failed(checkReaders(expert.getResult(), dispatch)))
        return failure();
      layer.experts.push_back(expert);
    } else {
      layer.combines.push_back(cast<moe::CombineOp>(user));
    }
  }
  if (failed(checkReaders(dispatch.getRows(), dispatch)))
    return failure();
  auto isEarlier = [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); };
  llvm::sort(layer.experts, isEarlier);
  llvm::sort(layer.combines, isEarlier);
  for (moe::CombineOp combine : layer.combines)
    if (failed(setSum(combine, layer.groups)))
      return failure();
  return layer;
}

static moe::SumAttr treeOf(MLIRContext *context, int64_t groups) {
  return moe::SumAttr::get(context, moe::SumKind::Tree, groups);
}

LogicalResult moe_mlir::setSum(moe::CombineOp combine, int64_t groups) {
  moe::SumAttr wanted = treeOf(combine.getContext(), groups);
  if (combine.getSum() && *combine.getSum() != wanted)
    return combine.emitOpError() << "sums by " << combine.getSum()->getGroups() << " groups, but is to do so by "
                                 << groups << "; take its clause away, or say groups="
                                 << combine.getSum()->getGroups();
  combine.setSumAttr(wanted);
  return success();
}

//===----------------------------------------------------------------------===//
// Rewrite
//===----------------------------------------------------------------------===//

void moe_mlir::takePart(OpOperand &weight, Attribute step, Type type) {
  auto parameter = weight.get().getDefiningOp<moe::ParameterOp>();
  SmallVector<Attribute> recipe;
  if (parameter.getRecipe())
    recipe.append(parameter.getRecipe()->begin(), parameter.getRecipe()->end());
  recipe.push_back(step);
  OpBuilder b(parameter->getContext());
  ArrayAttr wanted = b.getArrayAttr(recipe);
  auto next = parameter;
  while ((next = dyn_cast_or_null<moe::ParameterOp>(next->getNextNode())) &&
         next.getSources() == parameter.getSources())
    if (next.getRecipe() == wanted)
      return weight.set(next);
  b.setInsertionPointAfter(parameter);
  auto part = cast<moe::ParameterOp>(b.clone(*parameter));
  part.setRecipeAttr(wanted);
  part.getResult().setType(type);
  weight.set(part);
}

void moe_mlir::dropUnread(ArrayRef<Operation *> parameters) {
  for (Operation *parameter : parameters)
    if (parameter->use_empty())
      parameter->erase();
}

namespace {
class Rewriter {
public:
  Rewriter(DividedLayer &layer, FlatSymbolRefAttr grid, int64_t ranks)
      : layer(layer), grid(grid), ranks(ranks), b(layer.dispatch), context(b.getContext()) {}

  LogicalResult exchange(ArrayRef<TokenWay> ways);
  void reduce();

private:
  /// One of the exchanges that bring tokens here.
  struct Leg {
    TokenWay way;
    moe::DispatchOp to = {};
    moe::AllToAllOp there = {};
  };

  LogicalResult checkWeightsOfSums();
  Leg send(const TokenWay &way, Value tokens, IRMapping &arrived, ArrayRef<Value> companions);
  Value giveBack(Leg &leg, Location loc, Value part, Type sum);
  void divideWeights();
  moe::LayoutType layoutOf(int64_t groups) { return moe::LayoutType::get(context, groups); }
  moe::DispatchOp dispatchAt(Value tokens, Value ids, Value weights, Type rows);
  /// This rank's sum, of what sums are made of that travel.
  moe::CombineOp partialSum(moe::CombineOp combine, Value weights, int64_t tokens);
  void finish();

  /// The type with another first size.
  static RankedTensorType withRows(Value value, int64_t rows) {
    SmallVector<int64_t> shape(cast<RankedTensorType>(value.getType()).getShape());
    shape.front() = rows;
    return RankedTensorType::get(shape, getElementTypeOrSelf(value.getType()));
  }

  DividedLayer &layer;
  FlatSymbolRefAttr grid;
  int64_t ranks;
  OpBuilder b;
  MLIRContext *context;
  moe::DispatchOp here; ///< the dispatch at this rank
};
} // namespace

void Rewriter::divideWeights() {
  llvm::SetVector<Operation *> whole;
  for (moe::ExpertOp expert : layer.experts)
    for (OpOperand *operand : weightsOf(expert)) {
      Value parameter = operand->get();
      whole.insert(parameter.getDefiningOp());
      Type type = withRows(parameter, cast<RankedTensorType>(parameter.getType()).getDimSize(0) / ranks);
      takePart(*operand, moe::ShardAttr::get(context, 0, grid, ranks, /*halves=*/false), type);
    }
  dropUnread(whole.getArrayRef());
}

moe::DispatchOp Rewriter::dispatchAt(Value tokens, Value ids, Value weights, Type rows) {
  moe::DispatchOp all = layer.dispatch;
  return moe::DispatchOp::create(b, all.getLoc(), rows, layoutOf(layer.numExperts() / ranks), tokens, ids, weights,
                                 all.getNumExpertsAttr(), /*placement=*/moe::PlacementAttr(),
                                 /*to=*/FlatSymbolRefAttr(), /*at=*/grid, all.getOrderAttr());
}

moe::CombineOp Rewriter::partialSum(moe::CombineOp combine, Value weights, int64_t tokens) {
  Type type = withRows(combine.getResult(), tokens).clone(layer.sums);
  return moe::CombineOp::create(b, combine.getLoc(), type, combine.getRows(), here.getLayout(), weights,
                                treeOf(context, layer.groups / ranks));
}

void Rewriter::finish() {
  for (moe::CombineOp combine : layer.combines)
    combine.erase();
  layer.dispatch.erase();
}

/// Weights travel with the tokens, before any expert works.
LogicalResult Rewriter::checkWeightsOfSums() {
  BackwardSliceOptions options;
  options.omitBlockArguments = options.inclusive = true;
  for (moe::CombineOp combine : layer.combines) {
    llvm::SetVector<Operation *> makers;
    if (combine.getWeights() && (failed(getBackwardSlice(combine.getWeights(), &makers, options)) ||
                                 makers.contains(layer.dispatch)))
      return combine.emitOpError("has weights that depend on its own experts, so they cannot travel with the tokens; "
                                 "use tokens=replicated");
  }
  return success();
}

/// One way there: companions of tokens arrive with them.
Rewriter::Leg Rewriter::send(const TokenWay &way, Value tokens, IRMapping &arrived, ArrayRef<Value> companions) {
  moe::DispatchOp all = layer.dispatch;
  RankedTensorType rows = withRows(tokens, ShapedType::kDynamic);
  Leg leg{way};
  leg.to = moe::DispatchOp::create(b, all.getLoc(), rows, layoutOf(way.ranks), tokens,
                                   arrived.lookupOrDefault(all.getExperts()), /*weights=*/Value(),
                                   all.getNumExpertsAttr(), /*placement=*/moe::PlacementAttr(), /*to=*/way.to,
                                   /*at=*/way.at, all.getOrderAttr());
  SmallVector<Value> sent;
  SmallVector<Type> received;
  for (Value companion : companions) {
    sent.push_back(arrived.lookupOrDefault(companion));
    received.push_back(withRows(companion, ShapedType::kDynamic));
  }
  leg.there = moe::AllToAllOp::create(b, all.getLoc(), rows, layoutOf(1), received, leg.to.getRows(),
                                      leg.to.getLayout(), way.to, sent,
                                      moe::ViaAttr::get(context, moe::Via::Direct), /*inverse=*/UnitAttr());
  arrived.map(companions, leg.there.getReceived());
  return leg;
}

/// The way back: a sum of what the ranks of this way have made of each token.
Value Rewriter::giveBack(Leg &leg, Location loc, Value part, Type sum) {
  auto back = moe::AllToAllOp::create(b, loc, part.getType(), layoutOf(leg.way.ranks), TypeRange(), part,
                                      leg.there.getResultLayout(), leg.way.to, ValueRange(), /*via=*/moe::ViaAttr(),
                                      b.getUnitAttr());
  return moe::CombineOp::create(b, loc, sum, back.getResult(), leg.to.getLayout(), /*weights=*/Value(),
                                treeOf(context, leg.way.ranks));
}

LogicalResult Rewriter::exchange(ArrayRef<TokenWay> ways) {
  if (failed(checkWeightsOfSums()))
    return failure();
  moe::DispatchOp all = layer.dispatch;
  divideWeights();
  llvm::SetVector<Value> companions;
  companions.insert(all.getExperts());
  if (all.getWeights())
    companions.insert(all.getWeights());
  for (moe::CombineOp combine : layer.combines)
    if (combine.getWeights())
      companions.insert(combine.getWeights());

  constexpr int64_t any = ShapedType::kDynamic;
  Value tokens = all.getTokens();
  IRMapping arrived;
  SmallVector<Leg> legs;
  for (const TokenWay &way : ways) {
    legs.push_back(send(way, tokens, arrived, companions.getArrayRef()));
    tokens = legs.back().there.getResult();
  }
  here = dispatchAt(tokens, arrived.lookup(all.getExperts()),
                    all.getWeights() ? arrived.lookup(all.getWeights()) : Value(), tokens.getType());
  all.getRows().replaceAllUsesWith(here.getRows());
  for (moe::ExpertOp expert : layer.experts) {
    expert.getLayoutMutable().assign(here.getLayout());
    expert.getResult().setType(withRows(expert.getResult(), any));
  }
  for (moe::CombineOp combine : layer.combines) {
    b.setInsertionPoint(combine);
    Value sum = partialSum(combine, combine.getWeights() ? arrived.lookup(combine.getWeights()) : Value(), any);
    Type between = sum.getType();
    for (Leg &leg : llvm::reverse(legs))
      sum = giveBack(leg, combine.getLoc(), sum, &leg == legs.begin() ? Type(combine.getType()) : between);
    combine.getResult().replaceAllUsesWith(sum);
  }
  moe::DispatchOp to = legs.front().to;
  bool isLate = llvm::any_of(legs.front().there.getCompanions(), [&](Value companion) {
    Operation *maker = companion.getDefiningOp();
    return maker && maker->getBlock() == to->getBlock() && to->isBeforeInBlock(maker);
  });
  finish();
  if (isLate)
    sortTopologically(to->getBlock());
  return success();
}

void Rewriter::reduce() {
  moe::DispatchOp all = layer.dispatch;
  divideWeights();
  here = dispatchAt(all.getTokens(), all.getExperts(), all.getWeights(), all.getRows().getType());
  all.getRows().replaceAllUsesWith(here.getRows());
  for (moe::ExpertOp expert : layer.experts)
    expert.getLayoutMutable().assign(here.getLayout());
  for (moe::CombineOp combine : layer.combines) {
    b.setInsertionPoint(combine);
    Location loc = combine.getLoc();
    auto type = cast<RankedTensorType>(combine.getType());
    Value part = partialSum(combine, combine.getWeights(), type.getDimSize(0));
    // The result's type is that in which summands are added.
    Value sum =
        shard::AllReduceOp::create(b, loc, type.clone(b.getF32Type()), grid.getValue(), ArrayRef<int16_t>{0}, part);
    if (!type.getElementType().isF32())
      sum = arith::TruncFOp::create(b, loc, type, sum);
    combine.getResult().replaceAllUsesWith(sum);
  }
  finish();
}

LogicalResult moe_mlir::divideLayer(DividedLayer &layer, FlatSymbolRefAttr grid, int64_t ranks,
                                    ArrayRef<TokenWay> ways) {
  Rewriter rewriter(layer, grid, ranks);
  if (!ways.empty())
    return rewriter.exchange(ways);
  rewriter.reduce();
  return success();
}
