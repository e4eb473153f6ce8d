//===- TileChoice.cpp - tile sizes per weight ---------------------------------------------------------------------===//
//
// The target chooses: the tile of registers for all products, or one for each weight.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::kernel;

static std::string microseconds(double seconds) { return llvm::formatv("{0:F1} us", 1e6 * seconds).str(); }

ProductTiles mlir::kernel::tilesFor(const GraphLowering &lowering, RankedTensorType weight, bool halves) {
  if (TargetAttrInterface target = lowering.target)
    return target.getTilesOf(weight, halves);
  return plainTiles(weight.getElementType());
}

void mlir::kernel::remarkTiles(const GraphLowering &lowering, Location loc, RankedTensorType weight, bool halves) {
  // What is said need not be put together if nobody listens.
  TargetAttrInterface target = lowering.target;
  if (!target || !loc->getContext()->getRemarkEngine())
    return;
  int64_t columns = target.getTilesOf(weight, halves).columns;
  for (const TileEstimate &estimate : target.estimateTiles(weight, halves)) {
    std::string text =
        llvm::formatv("{0} rows by {1}, tiles of {2} columns: about {3}, at least {4} on {5}", estimate.rows,
                      shapeName(weight.getShape()), columns, microseconds(estimate.seconds),
                      microseconds(estimate.floor), estimate.device);
    remark::analysis(loc, remark::RemarkOpts::name("tiles").category("convert-graph-to-kernel")) << text;
  }
}
