//===- PrefetchWeights.cpp - the next column block arrives while this one is computed -----------------------------===//
//
// An expert with many rows passes its column block of weights (64 columns x K, 256 KiB at K = 2048 in bf16) through the
// registers once per row tile: first from memory, then from the second-level cache. The first pass waits for memory
// while the others leave it idle. So the row tiles after the first ask for the column block that the thread takes next,
// a cache line per step of K: slow enough to leave the lines of this block their way, and done after a few tiles. The
// first tile asks for nothing: with few rows per expert it is the only one, and the hardware streams better alone.
//
// A row tile that passes its column block in strips (16 columns at a time on AVX2) stays as it is: many processors
// without AVX-512 have 256 or 512 KiB of second-level cache, where the next block would push this one out.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Conversion/KernelToLLVM/Passes.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELPREFETCHWEIGHTS
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h.inc"
} // namespace mlir::kernel

static constexpr int64_t kLineBytes = 64;

namespace {
/// A product over one column block: its loop over K and the weights [.., column blocks, steps, columns(, pairs)].
struct Product {
  scf::ForOp loop;
  MmaOp mma;
  MemRefType weight;
  int64_t depth;        // elements of K per step
  int64_t linesPerStep; // cache lines per step of K: as many row tiles fetch a block, a line per step
  int64_t lineColumns;  // columns per cache line
};
} // namespace

/// The product in `tile` whose column block is the first index of `forall`, if its block is made of whole cache lines.
static std::optional<Product> findProduct(RowTileOp tile, scf::ForallOp forall) {
  std::optional<Product> product;
  tile.walk([&](MmaOp mma) {
    auto k = dyn_cast<BlockArgument>(mma.getK());
    auto loop = k ? dyn_cast<scf::ForOp>(k.getOwner()->getParentOp()) : scf::ForOp();
    auto weight = cast<MemRefType>(mma.getB().getType());
    if (product || !loop || k != loop.getInductionVar() || loop->getParentOp() != tile || mma.getIndices().empty() ||
        mma.getIndices().back() != forall.getInductionVar(0))
      return;
    int64_t depth = mma.getStep(), rank = mma.getIndices().size();
    if (getConstantIntValue(loop.getStep()) != depth || weight.isDynamicDim(rank - 1) || weight.isDynamicDim(rank + 1))
      return;
    int64_t bytes = weight.getElementTypeBitWidth() / 8 * depth, stepBytes = weight.getDimSize(rank + 1) * bytes;
    if (stepBytes % kLineBytes == 0 && kLineBytes % bytes == 0)
      product = Product{loop, mma, weight, depth, stepBytes / kLineBytes, kLineBytes / bytes};
  });
  return product;
}

/// At the start of the product's loop: fetches line `turn * steps + step` of the next column block.
static void fetchNext(const Product &product, Value turn, Value nextBlock) {
  scf::ForOp loop = product.loop;
  MmaOp mma = product.mma;
  Location loc = mma.getLoc();
  OpBuilder b(loop);
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, loc, value); };
  Value depth = constant(product.depth), lines = constant(product.linesPerStep);
  Value length = arith::SubIOp::create(b, loc, loop.getUpperBound(), loop.getLowerBound());
  Value first = arith::MulIOp::create(b, loc, turn, arith::DivUIOp::create(b, loc, length, depth));

  b.setInsertionPointToStart(loop.getBody());
  Value line = arith::AddIOp::create(b, loc, first, arith::DivUIOp::create(b, loc, mma.getK(), depth));
  Value column =
      arith::MulIOp::create(b, loc, arith::RemUIOp::create(b, loc, line, lines), constant(product.lineColumns));
  SmallVector<Value> at(mma.getIndices().drop_back());
  at.append({nextBlock, arith::DivUIOp::create(b, loc, line, lines), column});
  while (static_cast<int64_t>(at.size()) < product.weight.getRank())
    at.push_back(constant(0));
  memref::PrefetchOp::create(b, loc, mma.getB(), at, /*isWrite=*/false, /*localityHint=*/2, /*isDataCache=*/true);
}

/// Gives the row tiles 1 to `linesPerStep` of the loop around `tile` a copy of the tile that fetches.
static void prefetchIn(RowTileOp tile, scf::ForallOp forall) {
  auto rows = dyn_cast<scf::ForOp>(tile->getParentOp());
  std::optional<Product> product = rows && rows.getNumResults() == 0 ? findProduct(tile, forall) : std::nullopt;
  if (!product)
    return;
  OpBuilder b(tile);
  Location loc = tile.getLoc();
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, loc, value); };
  Value distance = arith::SubIOp::create(b, loc, rows.getInductionVar(), rows.getLowerBound());
  Value number = arith::DivUIOp::create(b, loc, distance, rows.getStep()), one = constant(1);
  Value turn = arith::SubIOp::create(b, loc, number, one); // the first tile's is beyond all
  Value fetches = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, turn, constant(product->linesPerStep));
  auto branch = scf::IfOp::create(b, loc, fetches, /*withElseRegion=*/true);

  b.setInsertionPointToStart(branch.thenBlock());
  Value last = constant(product->weight.getDimSize(product->mma.getIndices().size() - 1) - 1);
  Value next = arith::MinUIOp::create(b, loc, arith::AddIOp::create(b, loc, forall.getInductionVar(0), one), last);
  auto copy = cast<RowTileOp>(b.clone(*tile));
  tile->moveBefore(branch.elseBlock(), branch.elseBlock()->begin());
  fetchNext(*findProduct(copy, forall), turn, next);
}

namespace {
struct KernelPrefetchWeights : kernel::impl::KernelPrefetchWeightsBase<KernelPrefetchWeights> {
  void runOnOperation() override {
    SmallVector<std::pair<RowTileOp, scf::ForallOp>> tiles;
    getOperation().walk([&](RowTileOp tile) {
      auto forall = tile->getParentOfType<scf::ForallOp>();
      if (forall && forall->hasAttr(KernelDialect::getColumnsInsideAttrName()))
        tiles.push_back({tile, forall});
    });
    for (auto [tile, forall] : tiles)
      prefetchIn(tile, forall);
  }
};
} // namespace
