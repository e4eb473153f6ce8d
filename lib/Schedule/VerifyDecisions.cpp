//===- VerifyDecisions.cpp - whether decisions can be carried out -------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Schedule/Decisions.h"
#include "moe-mlir/Schedule/Epilogues.h"
#include "moe-mlir/Schedule/ExchangeChain.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::kernel;

/// Keys of an attention stand in blocks whose size is its program's.
static std::string whyNotForAttention(const ProductTiles &tiles) {
  if (tiles.blockColumns != keysPerBlock)
    return "has blocks of " + std::to_string(tiles.blockColumns) + " columns; those of keys have " +
           std::to_string(keysPerBlock);
  return "";
}

static std::string whyNotTiles(Operation *op, TargetAttrInterface target) {
  if (isByRows(op) && op->hasAttr(KernelDialect::getTilesAttrName()))
    return "has 'kernel.tiles' and 'kernel.by_rows'; leave one of them out";
  if (isa<nn::AttentionOp>(op) && !isByRows(op) && target && target.attendsByRows())
    return "has no 'kernel.by_rows', without which attention has no form for " + target.describe();
  if (!hasTiles(op))
    return "has no 'kernel.tiles'; run graph-choose-tiles";
  for (auto [i, product] : llvm::enumerate(productsOf(op))) {
    ProductTiles tiles = tilesOf(op, i);
    if (product.halves && (tiles.columns % 2 || tiles.blockColumns % 2))
      return "has tiles of an odd number of columns; gate and up have half of them each";
    if (!isa<moe::ExpertOp>(op) && !tiles.chunkRows)
      return "has tiles without 'chunk_rows'; a block takes so many rows at a time";
    if (isa<moe::ExpertOp>(op) && tiles.chunkRows)
      return "has tiles with 'chunk_rows', which only a linear and an attention use; routing gives an expert its rows";
    if (isa<nn::AttentionOp>(op))
      if (std::string why = whyNotForAttention(tiles); !why.empty())
        return why;
    if (target)
      if (std::string why = target.whyNotTiles(tiles, product.weight.getElementType(), product.halves); !why.empty())
        return why;
  }
  return "";
}

namespace {
/// Collects what cannot be carried out, one message per kind of op and reason: a module may hold thousands of the same.
class DecisionCheck {
public:
  explicit DecisionCheck(ModuleOp module) : module(module), target(targetOf(module)) {}

  LogicalResult run() {
    module.walk([&](func::FuncOp func) { collectStates(func); });
    module.walk([&](Operation *op) {
      if (std::string why = whyNot(op); !why.empty() && known.insert((op->getName().getStringRef() + why).str()).second)
        op->emitOpError() << why;
    });
    return success(known.empty());
  }

private:
  std::string whyNot(Operation *op) {
    if (std::string why = whyNotTiles(op, target); !why.empty())
      return why;
    if (isInPlace(op))
      if (std::string why = whyNotInPlace(op); !why.empty())
        return "in place " + why;
    if (auto expert = dyn_cast<moe::ExpertOp>(op))
      if (std::string why = whyNotOverlapped(expert); !why.empty())
        return why;
    if (std::string why = whyNotInPasses(op); !why.empty())
      return why;
    if (auto dispatch = dyn_cast<moe::DispatchOp>(op))
      if (std::string why = whyNotPlaced(dispatch, placementOf(dispatch)); !why.empty())
        return why;
    if (auto input = op->getAttrOfType<IntegerAttr>(KernelDialect::getEpilogueAttrName()))
      if (std::string why = epilogues.whyNot(cast<linalg::GenericOp>(op), input.getInt()); !why.empty())
        return why;
    return whyNotEncoded(op);
  }

  /// The encodings that attention can read, by value.
  void collectStates(func::FuncOp func) {
    if (func.isExternal() || !func.getBody().hasOneBlock())
      return;
    for (BlockArgument arg : func.getArguments()) {
      StringRef encoding;
      for (Value value : stateChain(arg, encoding))
        encodings[value] = encoding;
    }
  }

  std::string whyNotEncoded(Operation *op) {
    auto func = dyn_cast<func::FuncOp>(op);
    if (func && func.isExternal())
      return "";
    for (Value value : func ? ValueRange(func.getArguments()) : ValueRange(op->getResults())) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type || !type.getEncoding())
        continue;
      auto encoding = dyn_cast<StringAttr>(type.getEncoding());
      auto it = encodings.find(value);
      if (it == encodings.end())
        return "has a value of an encoded type; only states that nothing but nn.cache_update and nn.attention, not by "
               "rows ('kernel.by_rows'), uses have encodings";
      if (!encoding || encoding.getValue() != it->second)
        return ("has a value of an encoded type; attention reads it as \"" + it->second + "\"").str();
    }
    return "";
  }

  ModuleOp module;
  TargetAttrInterface target;
  EpilogueAnalysis epilogues;
  DenseMap<Value, StringRef> encodings;
  llvm::StringSet<> known;
};
} // namespace

LogicalResult mlir::kernel::verifyDecisions(ModuleOp module) { return DecisionCheck(module).run(); }
