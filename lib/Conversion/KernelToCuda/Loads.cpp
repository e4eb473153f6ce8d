//===- Loads.cpp - products: the role that loads ------------------------------------------------------------------===//
//
// Per stage, a step of K or, of few rows, several, when it is empty: thread 0 lets TMA bring the weights, and the rows of `a` where they are
// neighbours in memory. Other rows are copied by all threads, 8 neighbouring ones to a row of 128 bytes. Several stages
// are in flight: by the plan's `arrival`, such copies are on their way for some steps (`lag`) before the warp announces
// them, or each thread's arrive by themselves when they have landed (`noinc`).
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "RoleBuilder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::kernel;

/// The role's threads share the iterations of a loop of waits; each knows behind the meeting what any of them has seen.
void LoadBuilder::writeWaits(ArrayRef<Operation *> waits) {
  Code code(b, waits.front()->getLoc());
  for (Operation *wait : waits) {
    if (auto loop = dyn_cast<scf::ForOp>(wait)) {
      Value step = get(loop.getStep()), first = code.mul(code.toIndex(ownThread(code)), step);
      first = code.add(get(loop.getLowerBound()), first);
      Value stride = code.mul(step, kLoadingThreads);
      auto copy = cast<scf::ForOp>(b.clone(*loop, mapping));
      copy.setLowerBound(first);
      copy.setStep(stride);
    } else {
      code.ifThen(code.compare(arith::CmpIPredicate::eq, ownThread(code), code.i32(0)),
                  [&] { b.clone(*wait, mapping); });
    }
  }
  code.make<cuda::MeetOp>(kLoadingBarrier, kLoadingThreads);
}

static constexpr int64_t kRowsPerPass = kLoadingThreads / kChunks;

void LoadBuilder::finish(Location loc) {
  if (plan.arrivesLater())
    Code(b, loc).make<cuda::DrainOp>(parts.ring, plan.proxyFence());
  else if (plan.arrivesByThread())
    Code(b, loc).make<cuda::EndCopiesOp>();
}

SmallVector<Value> LoadBuilder::rowsOfThread(MmaOp mma, RowTileOp tile) {
  Code code(b, mma.getLoc());
  // The row beyond the last one is the last one; it is not used.
  Value count = get(tile.getCount()), last = code.add(count, -1);
  auto type = cast<MemRefType>(mma.getA().getType());
  auto rowType = MemRefType::get(type.getShape().take_back(), type.getElementType());
  SmallVector<Value> rows;
  for (int64_t first = 0; first < tileRows; first += kRowsPerPass) {
    Value inTile = code.toIndex(code.add(code.div(ownThread(code), kChunks), first));
    Value row = rowIndex(mma.getRows(), code.select(code.isLess(inTile, count), inTile, last));
    rows.push_back(code.make<cuda::RowOp>(rowType, get(mma.getA()), row));
  }
  return rows;
}

void LoadBuilder::writeCopies(MmaOp mma, RowTileOp tile, ArrayRef<Value> rows, Value stage, Value k) {
  Code code(b, mma.getLoc());
  Value depth = code.toI32(sizeOf(code, mma.getA(), 1)), count = code.toI32(get(tile.getCount()));
  bool copies = rowSource(mma, tileRows) == RowSource::Copies;
  Value chunk = code.rem(ownThread(code), kChunks);
  Value column = code.add(code.toI32(k), code.mul(chunk, plan.depth / kChunks)), zero = code.i32(0);
  for (auto [pass, row] : llvm::enumerate(rows)) {
    Value inTile = code.add(code.div(ownThread(code), kChunks), static_cast<int64_t>(pass) * kRowsPerPass);
    Value place = code.add(code.add(stage, code.mul(inTile, kRowBytes)), code.mul(chunk, 16));
    Value to = code.make<cuda::SwizzleOp>(b.getI32Type(), place);
    Value isRow = code.isLess(inTile, count);
    if (copies) {
      Value exists = code.areBoth(isRow, code.isLess(column, depth));
      Value from = code.toIndex(code.select(exists, column, zero));
      code.make<cuda::CopyAsyncOp>(to, row, from, code.select(exists, code.i32(16), zero));
      continue;
    }
    // Of a row that does not exist all is behind the end.
    Value from = code.select(isRow, column, depth);
    Type type = cuda::ChunkType::get(b.getContext());
    Value loaded = plan.element.isF32() ? code.make<cuda::LoadFourOp>(type, row, from, depth).getResult()
                                        : code.make<cuda::LoadEightOp>(type, row, from, depth).getResult();
    code.make<cuda::StoreSharedOp>(to, loaded);
  }
}

void LoadBuilder::announceCopies(MmaOp mma) {
  Code code(b, mma.getLoc());
  if (!plan.arrivesByThread())
    code.make<cuda::AnnounceOp>(parts.ring, plan.proxyFence());
  else if (rowSource(mma, tileRows) == RowSource::Copies)
    code.make<cuda::ArriveCopiedOp>(parts.ring);
  else
    code.make<cuda::ArriveThreadOp>(parts.ring);
}

void LoadBuilder::writeBoxes(ArrayRef<MmaOp> products, Value stage, Value k, Value firstWeight, Value firstRow) {
  MmaOp mma = products[0];
  Code code(b, mma.getLoc());
  int64_t loaded =
      areFew() ? plan.stripColumns * static_cast<int64_t>(products.size()) : blockColumnsOf(mma.getB());
  code.make<cuda::ExpectOp>(parts.ring, stepsOfStage() * loaded * kRowBytes + (firstRow ? plan.aBytes() : 0));
  auto load = [&](Value matrix, int64_t to, Value x, Value y) {
    code.make<cuda::TmaLoadOp>(parts.ring, code.add(stage, to), parts.maps.lookup(matrix), x, y);
  };
  if (firstRow)
    load(mma.getA(), 0, code.toI32(k), code.toI32(firstRow));
  int64_t columns = blockColumnsOf(mma.getB());
  Value row = code.toI32(code.add(firstWeight, code.mul(code.div(k, plan.depth), columns)));
  for (int64_t step = 0; step < stepsOfStage(); ++step)
    for (int64_t first = 0; first < loaded; first += boxRowsOf(mma.getB())) {
      Value from = code.add(row, step * columns);
      if (areFew()) {
        MmaOp product = products[first / plan.stripColumns];
        from = plusStrip(code, code.add(from, code.toI32(get(product.getColumn()))));
      }
      load(mma.getB(), weightsPlace(step, products.size()) + first * kRowBytes, code.i32(0),
           code.add(from, areFew() ? first % plan.stripColumns : first));
    }
}

LogicalResult LoadBuilder::writeProducts(const Steps &steps, ArrayRef<MmaOp> products, RowTileOp tile) {
  MmaOp mma = products[0];
  if (failed(checkSteps(mma.getLoc(), steps)))
    return failure();
  Code code(b, mma.getLoc());
  bool byTile = rowSource(mma, tileRows) == RowSource::Tile;
  Value firstRow;
  SmallVector<Value> rows;
  if (byTile) {
    if (plan.arrivesLater())
      code.make<cuda::DrainOp>(parts.ring, plan.proxyFence());
    firstRow = rowIndex(mma.getRows(), code.index(0));
  } else {
    rows = rowsOfThread(mma, tile);
  }

  // The weight is a matrix of [blocks * steps * columns, depth] to TMA.
  Value block = code.index(0);
  int64_t leading = mma.getIndices().size();
  for (auto [d, index] : llvm::enumerate(mma.getIndices()))
    block = code.add(code.mul(block, sizeOf(code, mma.getB(), d)), get(index));
  Value firstStep = code.mul(block, sizeOf(code, mma.getB(), leading));
  Value firstWeight = code.mul(firstStep, sizeOf(code, mma.getB(), leading + 1));

  writeSteps(mma.getLoc(), steps, [&](Value k) {
    Value stage = code.make<cuda::AcquireOp>(b.getI32Type(), parts.ring);
    code.ifThen(code.compare(arith::CmpIPredicate::eq, ownThread(code), code.i32(0)),
                [&] { writeBoxes(products, stage, k, firstWeight, firstRow); });
    if (!byTile) {
      for (int64_t step = 0; step < stepsOfStage(); ++step)
        writeCopies(mma, tile, rows, code.add(stage, rowsPlace(step)), code.add(k, step * plan.depth));
      announceCopies(mma);
    } else if (plan.arrivesByThread())
      code.make<cuda::ArriveThreadOp>(parts.ring);
    else
      code.make<cuda::ArriveOp>(parts.ring);
    code.make<cuda::AdvanceOp>(parts.ring);
  });
  return success();
}
