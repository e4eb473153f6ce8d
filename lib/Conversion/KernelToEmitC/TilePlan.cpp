//===- TilePlan.cpp - how a kernel with products uses threads and shared memory -----------------------------------===//

#include "Tiles.h"

using namespace mlir;
using namespace mlir::kernel;

int64_t mlir::kernel::blockColumnsOf(Value weight) {
  ArrayRef<int64_t> shape = cast<MemRefType>(weight.getType()).getShape();
  return shape[shape.size() - 2];
}

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
  // Of a box, all rows are loaded; few rows are copied one by one.
  return areNeighbours(mma.getRows()) && rows > kFewRows ? RowSource::Tile : RowSource::Copies;
}

/// Products with few rows multiply 64 columns of weights at a time. All tiles of a kernel must agree.
static void chooseStrips(FuncOp func, TilePlan &plan) {
  DenseSet<std::pair<int64_t, int64_t>> forms; // products of a tile, columns of each
  func.walk([&](RowTileOp tile) {
    int64_t products = 0, columns = 0;
    tile.walk([&](MmaOp mma) {
      columns = products++ && columns != mma.getAcc().getType().getColumns() ? 0 : mma.getAcc().getType().getColumns();
    });
    forms.insert({products, columns});
  });
  auto [products, columns] = *forms.begin();
  if (forms.size() != 1 || columns == 0 || columns % 64)
    return;
  // A warpgroup has 64 columns and all rows, or, as both of gate and up must be in the same registers, half of the
  // rows.
  plan.stripColumns = products == 1 && columns % 128 == 0 ? 128 : 64;
  plan.strips = columns / plan.stripColumns;
}

FailureOr<TilePlan> TilePlan::get(FuncOp func, const CudaTarget &target) {
  TilePlan plan{target.rows, 0, 0, Type()};
  WalkResult result = func.walk([&](MmaOp mma) -> WalkResult {
    auto weight = cast<MemRefType>(mma.getB().getType());
    Type element = weight.getElementType();
    if (!element.isF32() && !element.isBF16() && !element.isF16())
      return mma.emitOpError() << "multiplies " << element << "; on a GPU, products are of f32, bf16 or f16";
    if (plan.element && plan.element != element)
      return mma.emitOpError() << "multiplies " << element << " where another product multiplies " << plan.element
                               << "; on a GPU, a kernel has products of one type";
    plan.element = element;
    if (!weight.hasStaticShape())
      return mma.emitOpError("has a weight of dynamic size, which has no tensor map");
    if (mma.getStep() != plan.depth())
      return mma.emitOpError() << "has a weight in steps of " << mma.getStep() << ", not of " << plan.depth();
    plan.columns = std::max(plan.columns, blockColumnsOf(mma.getB()));
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (plan.usesTensorCores())
    chooseStrips(func, plan);
  func.walk([&](MmaOp mma) {
    for (int64_t rows : {plan.rows, plan.strips ? kFewRows : plan.rows})
      (rowSource(mma, rows) == RowSource::Tile ? plan.usesTiles : plan.usesCopies) = true;
  });
  plan.stages = std::min(target.stages, kStagesBytes / plan.stageBytes());
  return plan;
}
