//===- TileChoice.cpp - tile sizes per weight ---------------------------------------------------------------------===//
//
// On a CPU all products have the same tile, that of registers. On a GPU its width depends on the weight: wide tiles use
// the tensor cores best, narrow ones spread a narrow product over all multiprocessors.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Lowering.h"

#include "moe-mlir/Analysis/CudaCost.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::kernel;

static std::string microseconds(double seconds) { return llvm::formatv("{0:F1} us", 1e6 * seconds).str(); }

static moe_mlir::CudaProduct productOf(RankedTensorType weight, int64_t rows) {
  ArrayRef<int64_t> shape = weight.getShape();
  return {ShapedType::getNumElements(shape.drop_back(2)), shape[shape.size() - 2], shape.back(), rows,
          weight.getElementTypeBitWidth() / 8};
}

TileTarget mlir::kernel::tilesFor(const GraphLowering &lowering, RankedTensorType weight, bool halves) {
  TileTarget tiles = lowering.tiles;
  tiles.rows = tiles.rowsOf(weight.getElementType());
  if (!lowering.device || !weight.hasStaticShape())
    return tiles;
  // A piece of weights for few rows has 64 columns of each half.
  int64_t least = halves ? 128 : 64;
  tiles.columns = moe_mlir::chooseColumns(*lowering.device, productOf(weight, 0), least, tiles.blockColumns);
  tiles.blockColumns = tiles.columns;
  return tiles;
}

void mlir::kernel::remarkTiles(const GraphLowering &lowering, Location loc, RankedTensorType weight, bool halves) {
  // What is said need not be put together if nobody listens.
  if (!lowering.device || !weight.hasStaticShape() || !loc->getContext()->getRemarkEngine())
    return;
  TileTarget tiles = tilesFor(lowering, weight, halves);
  for (bool few : {false, true}) {
    moe_mlir::CudaProduct product = productOf(weight, 0);
    product.rows = moe_mlir::nominalRows(product.groups, few);
    moe_mlir::CudaEstimate estimate = moe_mlir::estimateProduct(*lowering.device, product, tiles.blockColumns);
    std::string text =
        llvm::formatv("{0} rows by {1}, tiles of {2} columns: about {3}, at least {4} on {5}", product.rows,
                      shapeName(weight.getShape()), tiles.columns, microseconds(estimate.seconds),
                      microseconds(estimate.floor), lowering.device->name);
    remark::analysis(loc, remark::RemarkOpts::name("tiles").category("convert-graph-to-kernel")) << text;
  }
}
