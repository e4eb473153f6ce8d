//===- ChooseTiles.cpp - the tiles of every product ---------------------------------------------------------------===//
//
// The target chooses: the tile of registers for all products, or one for each weight.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Schedule/Decisions.h"
#include "moe-mlir/Schedule/Passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_GRAPHCHOOSETILES
#include "moe-mlir/Schedule/Passes.h.inc"
} // namespace mlir::kernel

SmallVector<Product> mlir::kernel::productsOf(Operation *op) {
  auto typeOf = [](Value weight) { return cast<RankedTensorType>(weight.getType()); };
  if (auto linear = dyn_cast<nn::LinearOp>(op))
    return {{typeOf(linear.getWeight())}};
  if (auto linear = dyn_cast<nn::BatchLinearOp>(op))
    return {{typeOf(linear.getWeight())}};
  if (auto attention = dyn_cast<nn::AttentionOp>(op); attention && !isByRows(op))
    return {{typeOf(attention.getKey())}};
  if (auto expert = dyn_cast<moe::ExpertOp>(op))
    return {{typeOf(expert.getWIn()), expert.getGated()}, {typeOf(expert.getWOut())}};
  return {};
}

bool mlir::kernel::isByRows(Operation *op) { return op->hasAttr(KernelDialect::getByRowsAttrName()); }

bool mlir::kernel::hasTiles(Operation *op) {
  return productsOf(op).empty() || op->hasAttr(KernelDialect::getTilesAttrName());
}

ProductTiles mlir::kernel::tilesOf(Operation *op, unsigned product) {
  Attribute value = op->getAttr(KernelDialect::getTilesAttrName());
  auto list = dyn_cast<ArrayAttr>(value);
  auto tiles = cast<TilesAttr>(list ? list[product] : value);
  return {tiles.getRows(),  tiles.getColumns(),   tiles.getBlockColumns(),
          tiles.getDepth(), tiles.getChunkRows(), tiles.getMatrix()};
}

static std::string microseconds(double seconds) { return llvm::formatv("{0:F1} us", 1e6 * seconds).str(); }

static std::string shapeName(ArrayRef<int64_t> shape) {
  return llvm::join(llvm::map_range(shape, [](int64_t size) { return std::to_string(size); }), "x");
}

namespace {
struct GraphChooseTiles : kernel::impl::GraphChooseTilesBase<GraphChooseTiles> {
  void runOnOperation() override {
    target = targetOf(getOperation());
    getOperation().walk([&](Operation *op) {
      if (hasTiles(op))
        return;
      if (isa<nn::AttentionOp>(op) && target && target.attendsByRows()) {
        op->setAttr(KernelDialect::getByRowsAttrName(), UnitAttr::get(&getContext()));
        return;
      }
      SmallVector<Attribute> tiles;
      for (const Product &product : productsOf(op))
        tiles.push_back(choose(op, product));
      bool isList = isa<moe::ExpertOp>(op);
      op->setAttr(KernelDialect::getTilesAttrName(), isList ? ArrayAttr::get(&getContext(), tiles) : tiles.front());
    });
  }

private:
  Attribute choose(Operation *op, const Product &product) {
    // Attention packs its keys itself, in blocks of its own.
    const bool hasWeight = !isa<nn::AttentionOp>(op);
    Type element = product.weight.getElementType();
    ProductTiles tiles = !target     ? plainTiles(element)
                         : hasWeight ? target.getTilesOf(product.weight, product.halves)
                                     : target.getTiles(element);
    // Rows of experts come as routing has them.
    if (isa<moe::ExpertOp>(op))
      tiles.chunkRows = 0;
    if (hasWeight)
      remark(op, product, tiles);
    return TilesAttr::get(&getContext(), tiles.rows, tiles.columns, tiles.blockColumns, tiles.depth, tiles.chunkRows,
                          tiles.matrix);
  }

  /// Says what was chosen and what it is expected to cost.
  void remark(Operation *op, const Product &product, const ProductTiles &tiles) {
    // What is said need not be put together if nobody listens.
    if (!target || !getContext().getRemarkEngine())
      return;
    for (const TileEstimate &estimate : target.estimateTiles(product.weight, product.halves)) {
      std::string text =
          llvm::formatv("{0} rows by {1}, tiles of {2} columns: about {3}, at least {4} on {5}", estimate.rows,
                        shapeName(product.weight.getShape()), tiles.columns, microseconds(estimate.seconds),
                        microseconds(estimate.floor), estimate.device);
      remark::analysis(op->getLoc(), remark::RemarkOpts::name("tiles").category("graph-choose-tiles")) << text;
    }
  }

  TargetAttrInterface target; ///< null: sizes without a target
};
} // namespace
