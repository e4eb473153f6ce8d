//===- Partition.cpp - moe-partition: from the logical program to one rank's program ------------------------------===//
//
// Every function, and every variant of it, is divided by itself: gather its layers (DivideLayers.h), find out whether
// its tokens can be divided (SplitTokens.h), divide attention and dense layers (DivideTensors.h), cut experts into
// slices (SliceLayers.h), divide experts among ranks.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "DivideTensors.h"
#include "SliceLayers.h"
#include "SplitTokens.h"

#include "moe-mlir/Dialect/Moe/IR/LayerName.h"
#include "moe-mlir/Pipelines/Passes.h"
#include "moe-mlir/Pipelines/Variants.h"
#include "moe-mlir/Support/UserFault.h"

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
    if (!parallel.empty() && !parseParallel(parallel, error))
      return errorHandler("option 'parallel': " + error);
    return parallel.empty() && !variants.empty() ? errorHandler("option 'variants' needs 'parallel', the first of them")
                                                 : success();
  }

  void runOnOperation() override {
    if (parallel.empty())
      return markAllAnalysesPreserved();
    std::string error;
    // A file of experts may have changed since the options were read.
    std::optional<ParallelSpec> wanted = parseParallel(parallel, error);
    if (!wanted) {
      getOperation().emitError("option 'parallel': ") << error;
      return signalPassFailure();
    }
    spec = *wanted;
    startVariant(0);
    for (auto grid : getOperation().getOps<shard::GridOp>()) {
      grid.emitOpError("says how the program is divided among ranks already, so nothing else can; leave 'parallel' "
                       "out");
      return signalPassFailure();
    }
    SmallVector<func::FuncOp> functions;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal())
        functions.push_back(func);
    if (failed(variants.empty() ? partitionAll(functions) : makeVariants(functions)))
      signalPassFailure();
  }

private:
  LogicalResult partitionAll(ArrayRef<func::FuncOp> functions) {
    for (func::FuncOp func : functions)
      if (failed(partition(func)))
        return failure();
    if (spec.tensors > 1 && spec.slices == 1 && !dividesTensors && !functions.empty())
      return asUserFault(func::FuncOp(functions.front()).emitOpError())
             << "has nothing that tp=" << spec.tensors
             << " divides: no attention or dense layer whose heads or columns ranks can share; leave tp out";
    if ((spec.ranks > 1 || spec.slices > 1) && !hasLayers && !functions.empty()) {
      const bool isOfExperts = spec.ranks > 1;
      return asUserFault(func::FuncOp(functions.front()).emitOpError())
             << "has nothing that " << (isOfExperts ? "ep=" : "etp=") << (isOfExperts ? spec.ranks : spec.slices)
             << " divides: no MoE layer; leave " << (isOfExperts ? "ep" : "etp") << " out";
    }
    std::string error;
    if (spec.experts && !spec.experts->namesOnly(names, error))
      return asUserFault(getOperation().emitError(error));
    if (std::string unused = spec.experts ? spec.experts->describeUnused(names) : ""; !unused.empty())
      getOperation().emitWarning(unused);
    return success();
  }

  /// Copies of the functions stand behind each, and every variant divides its own.
  LogicalResult makeVariants(ArrayRef<func::FuncOp> functions) {
    std::string error;
    std::optional<std::vector<VariantSpec>> specs = parseVariants(&getContext(), parallel, variants, error);
    if (!specs)
      return getOperation().emitError("variants: " + error);
    std::vector<SmallVector<func::FuncOp>> copies(specs->size());
    for (func::FuncOp func : functions) {
      SymbolTable symbols(getOperation());
      for (unsigned number = 0; number < specs->size(); ++number) {
        func::FuncOp copy = number ? func.clone() : func;
        if (number) {
          copy.setName((func.getName() + "." + Twine(number)).str());
          symbols.insert(copy, std::next(Block::iterator(copies[number - 1].back())));
        }
        copies[number].push_back(copy);
      }
    }
    for (auto [number, variant] : llvm::enumerate(*specs)) {
      startVariant(number);
      spec = variant.parallel;
      makeGrids();
      for (auto [copy, entry] : llvm::zip(copies[number], copies[0]))
        copy->setAttr(moe::kVariantAttr,
                      moe::VariantAttr::get(&getContext(), entry.getName(), variant.name, ordered, variant.schedule));
      if (failed(partitionAll(copies[number])))
        return failure();
    }
    return success();
  }

  void startVariant(unsigned number) {
    suffix = number ? "." + std::to_string(number) : "";
    grids.clear();
    ordered.clear();
    names.clear();
  }

  LogicalResult partition(func::FuncOp func) {
    const bool dividesLayers = spec.ranks > 1 || spec.slices > 1 || spec.experts;
    SmallVector<DividedLayer> layers;
    if (failed(dividesLayers ? gather(func, layers) : orderSums(func)))
      return failure();
    hasLayers |= !layers.empty();
    bool exchanges = !layers.empty() && spec.ranks > 1;
    if ((!layers.empty() || spec.copies > 1) && failed(splitInputs(func, exchanges)))
      return failure();
    if (spec.tensors > 1 && failed(shareTensors(func)))
      return failure();
    for (DividedLayer &layer : layers)
      if (spec.slices > 1)
        sliceLayer(layer, findGrid(spec.tensors > 1 ? "tp" : "etp"), spec.slices);
    for (DividedLayer &layer : layers) {
      explain(layer, func, exchanges);
      if (spec.ranks > 1 && failed(divideLayer(layer, findGrid("ep"), spec.ranks, waysOfTokens(exchanges))))
        return failure();
    }
    return success();
  }

  SmallVector<TokenWay> waysOfTokens(bool exchanges) {
    if (!exchanges)
      return {};
    if (!spec.isNested())
      return {{findGrid("ep"), spec.ranks}};
    return {{findGrid("node"), spec.nodes}, {findGrid("local"), spec.ranks / spec.nodes, findGrid("node")}};
  }

  LogicalResult shareTensors(func::FuncOp func) {
    const bool rounds = spec.sums == ParallelSpec::Sums::BF16;
    Type sums = rounds ? Type(BFloat16Type::get(&getContext())) : Float32Type::get(&getContext());
    FailureOr<bool> divides = divideTensors(func, findGrid("tp"), spec.tensors, sums);
    if (failed(divides))
      return failure();
    dividesTensors |= *divides;
    return success();
  }

  /// One rank has all experts, and sums as any number of ranks does.
  LogicalResult orderSums(func::FuncOp func) {
    WalkResult result = func.walk([&](moe::CombineOp combine) -> WalkResult {
      std::string error;
      std::optional<int64_t> groups = sumGroups(spec, combine.getLayout().getType().getExperts(), error);
      if (!groups)
        return asUserFault(combine.emitOpError()) << "cannot sum as several ranks would: " << error;
      return setSum(combine, *groups);
    });
    return failure(result.wasInterrupted());
  }

  /// The layers of a function, with their experts in order.
  LogicalResult gather(func::FuncOp func, SmallVectorImpl<DividedLayer> &layers) {
    WalkResult result = func.walk([&](moe::DispatchOp dispatch) {
      FailureOr<DividedLayer> layer = gatherLayer(dispatch, spec);
      if (failed(layer) || (spec.slices > 1 && failed(checkSlices(*layer, spec))))
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

  /// Divides the inputs among the ranks of @dp, and among those of @ep if tokens are split. `exchanges` becomes false
  /// if ranks that share experts have the same tokens.
  LogicalResult splitInputs(func::FuncOp func, bool &exchanges) {
    const bool hasLayers = exchanges;
    StringAttr dimension = splitDimension(func);
    if (exchanges && !spec.tokens && !dimension)
      startRemark(func.getLoc(), func, "tokens")
          << remark::add("tokens=replicated: dimension 0 of the first input has no name, so it is not divided");
    exchanges = exchanges && spec.tokens.value_or(dimension ? Tokens::Split : Tokens::Replicated) == Tokens::Split;
    if (!exchanges && hasLayers && spec.isNested())
      return func.emitOpError() << "exchanges no tokens between nodes=" << spec.nodes
                                << ", as its tokens are not divided; leave nodes out, or name dimension 0 of its first "
                                   "input in 'moe.dims'";
    StringRef otherwise = spec.copies == 1 ? "use tokens=replicated"
                          : exchanges      ? "leave dp out and use tokens=replicated"
                                           : "leave dp out";
    if (spec.copies == 1 && !exchanges)
      return success();
    if (!dimension)
      return func.emitOpError("has no name for dimension 0 of its first input in 'moe.dims', by which tokens could be "
                              "divided among ranks; ")
             << otherwise;
    SplitTokens split(func, dimension, otherwise);
    if (failed(split.check()))
      return failure();
    SmallVector<Attribute> among;
    if (spec.copies > 1)
      among.push_back(findGrid("dp"));
    if (exchanges)
      among.push_back(findGrid("ep"));
    split.mark(among);
    return success();
  }

  /// One grid of each kind for all functions, before them; the last one varies fastest in the number of a rank.
  FlatSymbolRefAttr findGrid(StringRef name) {
    if (grids.empty())
      makeGrids();
    return grids.lookup(name);
  }

  void makeGrids() {
    SymbolTable symbols(getOperation());
    // Behind those of variants that came before.
    auto isNone = [](Operation &op) { return !isa<shard::GridOp>(op); };
    Block::iterator place = llvm::find_if(*getOperation().getBody(), isNone);
    const std::pair<StringRef, int64_t> axes[] = {{"dp", spec.copies},
                                                  {"ep", spec.ranks},
                                                  {"tp", spec.tensors},
                                                  {"etp", spec.tensors > 1 ? 1 : spec.slices}};
    for (auto [name, ranks] : axes) {
      if (ranks == 1)
        continue;
      const int64_t local = spec.ranks / spec.nodes;
      if (name != "ep" || !spec.isNested()) {
        ordered.push_back(makeGrid(symbols, place, name, ranks, name));
        continue;
      }
      ordered.push_back(makeGrid(symbols, place, name, {spec.nodes, local}, {"node", "local"}));
      makeGrid(symbols, place, "node", spec.nodes, StringRef("node"), grids[name]);
      makeGrid(symbols, place, "local", local, StringRef("local"), grids[name]);
    }
  }

  FlatSymbolRefAttr makeGrid(SymbolTable &symbols, Block::iterator place, StringRef name, ArrayRef<int64_t> shape,
                             ArrayRef<StringRef> axes, FlatSymbolRefAttr axisOf = {}) {
    OpBuilder b(&getContext());
    auto grid = shard::GridOp::create(b, getOperation().getLoc(), (name + suffix).str(), shape);
    grid->setAttr(moe::kAxesAttr, b.getStrArrayAttr(axes));
    if (axisOf)
      grid->setAttr(moe::kAxisOfAttr, axisOf);
    // A function may have the name already.
    return grids[name] = FlatSymbolRefAttr::get(symbols.insert(grid, place));
  }

  /// Bytes of the sums of a token that travel.
  static int64_t sumBytes(DividedLayer &layer) {
    int64_t bytes = 0;
    for (moe::CombineOp combine : layer.combines)
      bytes += combine.getType().getDimSize(1) * layer.sums.getIntOrFloatBitWidth() / 8;
    return bytes;
  }

  void explain(DividedLayer &layer, func::FuncOp func, bool exchanges) {
    if (!getContext().getRemarkEngine())
      return;
    if (spec.slices > 1)
      startRemark(layer.dispatch.getLoc(), func, "slices")
          << "each of " + std::to_string(spec.slices) + " ranks has a slice of every expert; they add " +
                 std::to_string(sumBytes(layer)) + " bytes per token"
          << remark::metric("slices", spec.slices);
    if (spec.ranks > 1)
      explainRanks(layer, func, exchanges);
    if (!layer.sums.isF32() && !layer.combines.empty())
      startRemark(layer.dispatch.getLoc(), func, "sums")
          << "each rank's sum of a token is rounded to bf16 before it travels, so results depend on the number of ranks; "
             "sums=f32 gives the same bits for all";
  }

  void explainRanks(DividedLayer &layer, func::FuncOp func, bool exchanges) {
    moe::DispatchOp dispatch = layer.dispatch;
    const int64_t experts = layer.numExperts() / spec.ranks;
    std::string text = std::to_string(experts) + " of " + std::to_string(layer.numExperts()) + " experts on each of " +
                       std::to_string(spec.ranks) + " ranks; ";
    int64_t there = bytesPerRow(dispatch.getTokens()) + bytesPerRow(dispatch.getExperts()), back = sumBytes(layer);
    if (dispatch.getWeights())
      there += bytesPerRow(dispatch.getWeights());
    for (moe::CombineOp combine : layer.combines)
      there += combine.getWeights() ? bytesPerRow(combine.getWeights()) : 0;
    int64_t k = cast<ShapedType>(dispatch.getExperts().getType()).getDimSize(1);
    const int64_t rows = ShapedType::isDynamic(k) ? spec.ranks : std::min(k, spec.ranks);
    if (exchanges)
      text += "a token has at most " + std::to_string(rows) + " rows, each with " + std::to_string(there) +
              " bytes there and " + std::to_string(back) + " back" +
              (spec.isNested() ? "; it goes to each of " + std::to_string(spec.nodes) + " nodes once" : "");
    else
      text += "all have all tokens, and add " + std::to_string(back) + " bytes per token";
    startRemark(dispatch.getLoc(), func, "layer")
        << text << remark::metric("experts", experts) << remark::metric("ranks", spec.ranks)
        << remark::metric("groups", layer.groups);
  }

  ParallelSpec spec;
  std::string suffix; ///< of the grids of a variant but the first one
  llvm::StringMap<FlatSymbolRefAttr> grids;
  SmallVector<FlatSymbolRefAttr> ordered; ///< the slowest first
  SmallVector<std::string> names; ///< of layers
  bool hasLayers = false, dividesTensors = false;
};
} // namespace
} // namespace moe_mlir
