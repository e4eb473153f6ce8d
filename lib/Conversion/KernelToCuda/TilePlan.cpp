//===- TilePlan.cpp - how a kernel with products uses threads and shared memory -----------------------------------===//

#include "Tiles.h"

using namespace mlir;
using namespace mlir::kernel;

int64_t mlir::kernel::boxRowsOf(Value weight) {
  int64_t columns = blockColumnsOf(weight);
  return columns % 64 ? columns : 64;
}

static bool areNeighbours(Value rows) {
  auto indices = rows.getDefiningOp<RowIndicesOp>();
  Block &body = indices.getBody().front();
  return body.getTerminator()->getOperand(0) == body.getArgument(0);
}

RowSource mlir::kernel::rowSource(MmaOp mma, int64_t rows) {
  auto type = cast<MemRefType>(mma.getA().getType());
  int64_t bits = type.getElementTypeBitWidth(), columns = type.getDimSize(1);
  if (ShapedType::isDynamic(columns) || columns * bits % 128)
    return RowSource::Elements;
  // Of a box, all rows are loaded; few rows are copied one by one. A map is of an argument.
  bool isBox = isa<BlockArgument>(mma.getA()) && areNeighbours(mma.getRows());
  return isBox && rows == mma.getAcc().getType().getRows() ? RowSource::Tile : RowSource::Copies;
}

/// Whether the kernel's memory is what the roles take it for: tiles of the plan's rows, of matrices that are arguments.
static LogicalResult checkForm(FuncOp func, int64_t rows) {
  auto isArgument = [&](Value matrix) {
    auto argument = dyn_cast<BlockArgument>(matrix);
    return argument && argument.getOwner() == &func.getBody().front();
  };
  auto isOwnPart = [&](Value matrix) {
    auto part = matrix.getDefiningOp<PartOp>();
    return part && !part.getPeer() && part->getBlock() == &func.getBody().front();
  };
  WalkResult result = func.walk([&](Operation *op) -> WalkResult {
    if (auto tile = dyn_cast<RowTileOp>(op); tile && tile.getMaxAttr().getInt() != rows)
      return op->emitOpError() << "has tiles of " << tile.getMaxAttr().getInt() << " rows; those of a GPU have " << rows;
    if (!isa<MmaOp, StoreTileOp>(op))
      return WalkResult::advance();
    if (!op->getParentOfType<RowTileOp>())
      return op->emitOpError("is in no kernel.row_tile, which says how many rows exist");
    auto mma = dyn_cast<MmaOp>(op);
    auto store = dyn_cast<StoreTileOp>(op);
    SmallVector<Value> matrices =
        mma ? SmallVector<Value>{mma.getA(), mma.getB()} : SmallVector<Value>{store.getDest()};
    for (Value matrix : matrices)
      if (!isArgument(matrix) && !(mma && matrix == mma.getA() && isOwnPart(matrix)))
        return op->emitOpError("has a matrix that is no argument of the kernel");
    if (!(mma ? mma.getRows() : store.getRows()).getDefiningOp<RowIndicesOp>())
      return op->emitOpError("has rows that no kernel.row_indices says");
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

FailureOr<TilePlan> TilePlan::get(FuncOp func, cuda::TargetAttr target) {
  TilePlan plan;
  plan.plan = dyn_cast_or_null<cuda::PlanAttr>(func->getAttr(planAttrName));
  plan.rows = target.getRows();
  if (!plan.plan)
    return func.emitOpError() << "has products but no '" << planAttrName << "' for a GPU; run kernel-choose-plans";
  WalkResult result = func.walk([&](MmaOp mma) -> WalkResult {
    auto weight = cast<MemRefType>(mma.getB().getType());
    Type element = weight.getElementType();
    if (!element.isF32() && !element.isBF16() && !element.isF16())
      return mma.emitOpError() << "multiplies " << element << "; on a GPU, products are of f32, bf16 or f16";
    if (plan.element && plan.element != element)
      return mma.emitOpError() << "multiplies " << element << " where another product multiplies " << plan.element
                               << "; on a GPU, a kernel has products of one type";
    plan.element = element;
    plan.depth = target.getTiles(element).depth;
    if (!weight.hasStaticShape())
      return mma.emitOpError("has a weight of dynamic size, which has no tensor map");
    if (mma.getStep() != plan.depth)
      return mma.emitOpError() << "has a weight in steps of " << mma.getStep() << ", not of " << plan.depth;
    for (int64_t columns : {blockColumnsOf(mma.getB()), mma.getAcc().getType().getColumns()})
      if (columns < 8 || columns > 256 || columns % 8)
        return mma.emitOpError() << "has " << columns << " columns; on a GPU, products have multiples of 8 up to 256";
    plan.columns = std::max(plan.columns, blockColumnsOf(mma.getB()));
    return WalkResult::advance();
  });
  if (result.wasInterrupted() || failed(checkForm(func, plan.rows)))
    return failure();
  std::optional<cuda::Strips> strips = cuda::Strips::of(func, plan.plan.getFewColumns());
  if (strips && plan.usesTensorCores() && plan.fewRows()) {
    plan.stripColumns = strips->stripColumns;
    plan.strips = strips->columns / strips->stripColumns;
  }
  func.walk([&](MmaOp mma) {
    for (int64_t rows : {plan.rows, plan.strips ? plan.fewRows() : plan.rows})
      (rowSource(mma, rows) == RowSource::Tile ? plan.usesTiles : plan.usesCopies) = true;
  });
  return plan;
}
