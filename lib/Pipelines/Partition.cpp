//===- Partition.cpp - moe-partition: from the logical program to one rank's program ------------------------------===//
//
// Every function is divided by itself: gather its layers (DivideLayers.h), find out whether its tokens can be divided
// (SplitTokens.h), rewrite.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "DivideLayers.h"
#include "SplitTokens.h"

#include "moe-mlir/Dialect/Moe/IR/LayerName.h"
#include "moe-mlir/Pipelines/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace moe_mlir {
#define GEN_PASS_DEF_MOEPARTITION
#include "moe-mlir/Pipelines/Passes.h.inc"

using Tokens = ParallelSpec::Tokens;

static remark::detail::InFlightRemark startRemark(Location loc, func::FuncOp func, StringRef name) {
  return remark::analysis(loc, remark::RemarkOpts::name(name).category("moe-partition").function(func.getName()));
}

static int64_t bytesPerRow(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  for (int64_t size : type.getShape().drop_front())
    bytes *= size;
  return bytes;
}

namespace {
struct MoePartition : impl::MoePartitionBase<MoePartition> {
  using MoePartitionBase::MoePartitionBase;

  LogicalResult initializeOptions(StringRef options, function_ref<LogicalResult(const Twine &)> errorHandler) override {
    if (failed(MoePartitionBase::initializeOptions(options, errorHandler)))
      return failure();
    std::string error;
    return parallel.empty() || parseParallel(parallel, error) ? success()
                                                              : errorHandler("option 'parallel': " + error);
  }

  void runOnOperation() override {
    if (parallel.empty())
      return markAllAnalysesPreserved();
    std::string error;
    spec = *parseParallel(parallel, error);
    names.clear();
    for (auto grid : getOperation().getOps<shard::GridOp>()) {
      grid.emitOpError("says how the program is divided among ranks already, so nothing else can; leave 'parallel' "
                       "out");
      return signalPassFailure();
    }
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() && failed(divide(func)))
        return signalPassFailure();
    if (spec.experts && !spec.experts->namesOnly(names, error)) {
      getOperation().emitError(error);
      return signalPassFailure();
    }
  }

private:
  /// One rank has all experts, and sums as any number of ranks does.
  LogicalResult orderSums(func::FuncOp func) {
    WalkResult result = func.walk([&](moe::CombineOp combine) -> WalkResult {
      std::string error;
      std::optional<int64_t> groups = sumGroups(spec, combine.getLayout().getType().getExperts(), error);
      if (!groups)
        return combine.emitOpError() << "cannot sum as several ranks would: " << error;
      return setSum(combine, *groups);
    });
    return failure(result.wasInterrupted());
  }

  /// The layers of a function, with their experts in order.
  LogicalResult gather(func::FuncOp func, SmallVectorImpl<DividedLayer> &layers) {
    WalkResult result = func.walk([&](moe::DispatchOp dispatch) {
      FailureOr<DividedLayer> layer = gatherLayer(dispatch, spec);
      if (failed(layer))
        return WalkResult::interrupt();
      layers.push_back(*layer);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
    for (DividedLayer &layer : layers) {
      if (spec.experts && failed(orderExperts(layer, *spec.experts)))
        return failure();
      names.push_back(moe::layerName(layer.dispatch));
    }
    return success();
  }

  LogicalResult divide(func::FuncOp func) {
    SmallVector<DividedLayer> layers;
    if (spec.ranks == 1 && !spec.experts)
      return orderSums(func);
    if (failed(gather(func, layers)))
      return failure();
    if (layers.empty() || spec.ranks == 1)
      return success();

    StringAttr dimension = splitDimension(func);
    Tokens tokens = spec.tokens.value_or(dimension ? Tokens::Split : Tokens::Replicated);
    if (tokens == Tokens::Split && !dimension)
      return func.emitOpError("has no name for dimension 0 of its first input in 'moe.dims', by which tokens could be "
                              "divided among ranks; use tokens=replicated");
    if (!spec.tokens && !dimension)
      startRemark(func.getLoc(), func, "tokens")
          << remark::add("tokens=replicated: dimension 0 of the first input has no name, so it is not divided");
    FlatSymbolRefAttr grid = findGrid();
    if (tokens == Tokens::Split) {
      SplitTokens split(func, dimension);
      if (failed(split.check()))
        return failure();
      split.mark(grid);
    }
    for (DividedLayer &layer : layers) {
      explain(layer, func, tokens);
      if (failed(divideLayer(layer, grid, spec.ranks, tokens == Tokens::Split)))
        return failure();
    }
    return success();
  }

  /// One grid for all functions, before them.
  FlatSymbolRefAttr findGrid() {
    for (auto grid : getOperation().getOps<shard::GridOp>())
      return FlatSymbolRefAttr::get(grid.getSymNameAttr());
    auto b = OpBuilder::atBlockBegin(getOperation().getBody());
    auto grid = shard::GridOp::create(b, getOperation().getLoc(), "ep", ArrayRef<int64_t>{spec.ranks});
    grid->setAttr(moe::kAxesAttr, b.getStrArrayAttr({"ep"}));
    return FlatSymbolRefAttr::get(SymbolTable(getOperation()).insert(grid, getOperation().getBody()->begin()));
  }

  void explain(DividedLayer &layer, func::FuncOp func, Tokens tokens) {
    if (!getContext().getRemarkEngine())
      return;
    moe::DispatchOp dispatch = layer.dispatch;
    const int64_t experts = layer.numExperts() / spec.ranks;
    std::string text = std::to_string(experts) + " of " + std::to_string(layer.numExperts()) + " experts on each of " +
                       std::to_string(spec.ranks) + " ranks; ";
    int64_t there = bytesPerRow(dispatch.getTokens()) + bytesPerRow(dispatch.getExperts()), back = 0;
    if (dispatch.getWeights())
      there += bytesPerRow(dispatch.getWeights());
    for (moe::CombineOp combine : layer.combines) {
      there += combine.getWeights() ? bytesPerRow(combine.getWeights()) : 0;
      back += bytesPerRow(combine.getResult()) / (combine.getType().getElementTypeBitWidth() / 8) * 4;
    }
    int64_t k = cast<ShapedType>(dispatch.getExperts().getType()).getDimSize(1);
    const int64_t rows = ShapedType::isDynamic(k) ? spec.ranks : std::min(k, spec.ranks);
    if (tokens == Tokens::Split)
      text += "a token has at most " + std::to_string(rows) + " rows, each with " + std::to_string(there) +
              " bytes there and " + std::to_string(back) + " back";
    else
      text += "all have all tokens, and add " + std::to_string(back) + " bytes per token";
    startRemark(dispatch.getLoc(), func, "layer")
        << text << remark::metric("experts", experts) << remark::metric("ranks", spec.ranks)
        << remark::metric("groups", layer.groups);
  }

  ParallelSpec spec;
  SmallVector<std::string> names; ///< of layers
};
} // namespace
} // namespace moe_mlir
