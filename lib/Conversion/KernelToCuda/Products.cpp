//===- Products.cpp - products: the role that multiplies --------------------------------------------------------------===//
//
// Two forms. Many rows: a warpgroup has 64 rows of the tile and all columns. Few rows: the weights are the left
// operand, in pieces of 64 columns, and the rows the right one, so that no product is wasted and weights come as fast
// as memory gives them. A warpgroup then has every second piece and all rows, or, where there is one piece, half of the
// rows.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "RoleBuilder.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::kernel;

/// Whether the products' columns are neighbours in the weight block: then they are one product.
static bool areNeighbours(ArrayRef<MmaOp> products) {
  std::optional<int64_t> next = getConstantIntValue(MmaOp(products[0]).getColumn());
  for (MmaOp mma : products) {
    std::optional<int64_t> column = getConstantIntValue(mma.getColumn());
    if (!column || column != next)
      return false;
    *next += mma.getAcc().getType().getColumns();
  }
  return true;
}

Value MultiplyBuilder::addressOf(Code &code, Value stage, const Operand &operand) {
  Value address = code.add(stage, operand.offset);
  if (operand.row)
    address = code.add(address, code.mul(code.toI32(operand.row), kRowBytes));
  if (operand.rowsPerWarpgroup)
    address = code.add(address, code.mul(warpgroup(code), operand.rowsPerWarpgroup * kRowBytes));
  return address;
}

SmallVector<MultiplyBuilder::Multiplication> MultiplyBuilder::shareProducts(const Steps &steps,
                                                                            ArrayRef<MmaOp> products) {
  SmallVector<Multiplication> list;
  Code code(b, MmaOp(products[0]).getLoc());
  auto add = [&](int64_t width, Operand left, Operand right) {
    Value accumulators = code.make<cuda::AccumulatorsOp>(cuda::AccumulatorsType::get(b.getContext(), width));
    list.push_back({accumulators, width, left, right});
  };
  int64_t width = MmaOp(products[0]).getAcc().getType().getColumns(), weights = weightsPlace(0, products.size());
  if (areFew()) {
    bool halves = plan.stripColumns == 64;
    for (auto [i, value] : llvm::enumerate(steps.results)) {
      int64_t rows = halves ? tileRows / 2 : tileRows, offset = static_cast<int64_t>(i) * plan.stripColumns * kRowBytes;
      add(rows, {weights + offset, halves ? 0 : 64, {}}, {0, halves ? rows : 0, {}});
      tiles[value] = {list.back().accumulators, rows, 0};
    }
    return list;
  }
  bool merged = areNeighbours(products);
  int64_t all = merged ? width * static_cast<int64_t>(products.size()) : width;
  for (auto [i, product] : llvm::enumerate(products)) {
    if (!merged || i == 0)
      add(all, {0, 64, {}}, {weights, 0, get(MmaOp(product).getColumn())});
    tiles[steps.results[i]] = {list.back().accumulators, all, merged ? static_cast<int64_t>(i) * width / 2 : 0};
  }
  return list;
}

void MultiplyBuilder::writeTensorProducts(Location loc, const Steps &steps, ArrayRef<Multiplication> list,
                                          bool needsFence) {
  Code code(b, loc);
  writeSteps(loc, steps, [&](Value k) {
    Value stage = code.make<cuda::AwaitOp>(b.getI32Type(), parts.ring);
    if (needsFence)
      code.make<cuda::FenceProxyOp>(plan.proxyFence());
    // Of few rows, what follows in a stage is the next step of K: strips of weights on the left, rows on the right.
    const int64_t strips = weightsPlace(1, list.size()) - weightsPlace(0, list.size());
    SmallVector<std::pair<Value, Value>> operands;
    for (int64_t step = 0; step < stepsOfStage(); ++step)
      for (Multiplication each : list) {
        each.left.offset += step * strips;
        each.right.offset += rowsPlace(step);
        Value left = code.make<cuda::DescriptorOp>(b.getI64Type(), addressOf(code, stage, each.left));
        operands.push_back({left, code.make<cuda::DescriptorOp>(b.getI64Type(), addressOf(code, stage, each.right))});
      }
    // The first product ignores what the accumulators hold.
    Value isLater = code.compare(arith::CmpIPredicate::ne, k, steps.lower);
    Value always = code.make<arith::ConstantIntOp>(b.getI1Type(), 1);
    code.make<cuda::WgmmaFenceOp>();
    for (int64_t byte = 0; byte < stepsOfStage() * kRowBytes; byte += 32)
      for (auto [i, each] : llvm::enumerate(list)) {
        auto [leftStep, rightStep] = operands[byte / kRowBytes * list.size() + i];
        Value left = code.make<cuda::AdvanceKOp>(b.getI64Type(), leftStep, byte % kRowBytes);
        Value right = code.make<cuda::AdvanceKOp>(b.getI64Type(), rightStep, byte % kRowBytes);
        Value accumulate = byte == 0 ? isLater : always;
        if (plan.element.isBF16())
          code.make<cuda::WgmmaBf16Op>(each.accumulators, left, right, accumulate);
        else
          code.make<cuda::WgmmaF16Op>(each.accumulators, left, right, accumulate);
      }
    code.make<cuda::WgmmaCommitOp>();
    // The step before is done: its stage may be loaded again.
    code.make<cuda::WgmmaWaitOp>(/*pending=*/1, /*accumulators=*/Value());
    if (!steps.isSingle)
      code.ifThen(isLater, [&] { code.make<cuda::ReleaseOp>(parts.ring, /*back=*/1); });
    code.make<cuda::AdvanceOp>(parts.ring);
  });
  for (const Multiplication &each : list)
    code.make<cuda::WgmmaWaitOp>(/*pending=*/0, each.accumulators);
  code.make<cuda::ReleaseOp>(parts.ring, /*back=*/1);
}

/// Behind the last of the role's stores.
void MultiplyBuilder::writeArrivals(ArrayRef<ArriveOp> arrivals, Value part, Value parts) {
  Code code(b, ArriveOp(arrivals.front()).getLoc());
  code.make<cuda::MeetOp>(kMultiplyingBarrier, 32 * kMultiplyingWarps);
  code.ifThen(code.compare(arith::CmpIPredicate::eq, ownThread(code), code.i32(0)), [&] {
    for (ArriveOp arrive : arrivals)
      code.make<cuda::CountArrivalOp>(get(arrive.getCounters()), get(arrive.getIndex()), part, parts);
  });
}

LogicalResult MultiplyBuilder::writeProducts(const Steps &steps, ArrayRef<MmaOp> products, RowTileOp tile) {
  Location loc = MmaOp(products[0]).getLoc();
  SmallVector<Multiplication> list = shareProducts(steps, products);
  // Rows that threads have written and not fenced.
  bool needsFence = plan.arrivesByThread() && rowSource(products[0], tileRows) != RowSource::Tile;
  if (plan.usesTensorCores())
    writeTensorProducts(loc, steps, list, needsFence);
  else
    writeThreadProducts(loc, steps, list, tile);
  return success();
}
