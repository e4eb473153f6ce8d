//===- LowerMatrixTiles.cpp - tiles of rows on matrix registers ---------------------------------------------------===//
//
// A register tile holds its sums from the first step of K through the epilogue, and needs a copy of the program for
// each number of rows. Matrix registers take their number of rows from a value, and no instruction computes on them but
// the product: the sums go through the first-level cache, and the epilogue reads them a row at a time.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "MatrixProduct.h"
#include "TileLowering.h"
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELLOWERMATRIXTILES
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h.inc"
} // namespace mlir::kernel

/// The products in `tile`; none if one of them, or what reads it, has another form. Warns if that leaves a tile of more
/// rows than vector registers hold.
static std::optional<SmallVector<MatrixProduct>> findProducts(RowTileOp tile, x86::TargetAttr target) {
  SmallVector<MatrixProduct> products;
  llvm::DenseSet<Value> sums;
  // The epilogue becomes single rows, which are no tile of an outer row_tile.
  bool complete = tile.getMax() <= x86::TargetAttr::maxMatrixRows && !tile->getParentOfType<RowTileOp>(), hasPairs = false;
  tile.getBody().walk([&](RowTileOp) { complete = false; });
  tile.walk([&](MmaOp mma) {
    auto loop = dyn_cast<scf::ForOp>(mma->getParentOp());
    std::optional<MatrixProduct> product = loop ? MatrixProduct::match(loop) : std::nullopt;
    complete &= product.has_value();
    hasPairs |= mma.getStep() == 2;
    if (product && mma == product->mmas.front()) {
      sums.insert_range(loop.getResults());
      products.push_back(*product);
    }
  });
  // The tile that ends chunks of K only reads sums.
  bool isTall = static_cast<int64_t>(tile.getMax()) > target.getRows();
  tile.walk([&](LoadTileOp load) {
    complete &=
        TileSums::of(load) && llvm::all_of(load->getUsers(), [&](Operation *user) {
          auto store = dyn_cast<StoreTileOp>(user);
          return store ? store.getRows().getDefiningOp<RowIndicesOp>() != nullptr
                       : llvm::any_of(products, [&](const MatrixProduct &product) { return product.loop == user; });
        });
    if (isTall)
      sums.insert(load);
  });
  tile.walk([&](StoreTileOp store) {
    complete &= llvm::all_of(store.getAccs(), [&](Value acc) { return sums.contains(acc); });
  });
  if (complete && !sums.empty())
    return products;
  if (hasPairs && isTall)
    tile.emitWarning()
        << "a tile of up to " << tile.getMax() << " rows stays on vector registers, which hold " << target.getRows()
        << " of them; matrix registers need at most " << x86::TargetAttr::maxMatrixRows
        << " rows, whole multiples of 16 columns, no tile inside of another, and sums that go to store_tile and "
           "start with zero or load_tile";
  return std::nullopt;
}

/// The epilogue: `store` for one row after the other, with sums from memory.
static void storeRows(StoreTileOp store, const llvm::DenseMap<Value, TileSums> &sumsOf, x86::TargetAttr target,
                      Value count) {
  OpBuilder b(store);
  Location loc = store.getLoc();
  auto indices = store.getRows().getDefiningOp<RowIndicesOp>();
  Value zero = arith::ConstantIndexOp::create(b, loc, 0), one = arith::ConstantIndexOp::create(b, loc, 1);
  auto loop = scf::ForOp::create(b, loc, zero, count, one);
  b.setInsertionPointToStart(loop.getBody());
  Value row = loop.getInductionVar();
  IRMapping mapping;
  for (Value acc : store.getAccs()) {
    auto type = cast<AccType>(acc.getType());
    auto single = AccType::get(b.getContext(), 1, type.getColumns(), type.getElement());
    TileShape shape(single, target);
    TileSums sums = sumsOf.lookup(acc);
    Value from = isConstantIntValue(sums.row, 0) ? row : arith::AddIOp::create(b, loc, sums.row, row).getResult();
    SmallVector<Value> vectors;
    for (int64_t v = 0; v < shape.vectors; ++v) {
      Value column = arith::ConstantIndexOp::create(b, loc, v * shape.width);
      vectors.push_back(
          vector::LoadOp::create(b, loc, shape.vectorType(type.getElement()), sums.memory, ValueRange{from, column}));
    }
    // Meets its counterpart in kernel-lower-tiles.
    mapping.map(acc, UnrealizedConversionCastOp::create(b, loc, single, vectors).getResult(0));
  }
  auto place = RowIndicesOp::create(b, loc, RowsType::get(b.getContext(), 1),
                                    arith::AddIOp::create(b, loc, indices.getBase(), row));
  indices.getBody().cloneInto(&place.getBody(), mapping);
  mapping.map(store.getRows(), place);
  b.clone(*store, mapping);
}

/// What the thread computes after the weights that `product` reads, if that is known.
static std::optional<NextWeights> findNext(RowTileOp tile, MatrixProduct &product, OpBuilder &b) {
  MmaOp mma = product.mmas.front();
  scf::ForOp rows = findRowsOfColumnBlocks(tile, mma);
  if (!rows)
    return std::nullopt;
  FollowingWeights following = FollowingWeights::emit(b, product.loop, mma);
  auto tiles = [&](Value end) -> Value {
    Value distance = arith::SubIOp::create(b, mma.getLoc(), end, rows.getLowerBound());
    return arith::CeilDivUIOp::create(b, mma.getLoc(), distance, rows.getStep());
  };
  return NextWeights{following, tiles(rows.getInductionVar()), tiles(rows.getUpperBound())};
}

static void lower(RowTileOp tile, ArrayRef<MatrixProduct> products, AmxBuilder &amx, OpBuilder &b,
                  x86::TargetAttr target) {
  b.setInsertionPoint(tile);
  Value max = arith::ConstantIndexOp::create(b, tile.getLoc(), tile.getMax());
  Value count = arith::MinUIOp::create(b, tile.getLoc(), tile.getCount(), max);
  llvm::DenseMap<Value, TileSums> sumsOf;
  SmallVector<LoadTileOp> loads;
  tile.walk([&](LoadTileOp load) { loads.push_back(load); });
  for (LoadTileOp load : loads)
    sumsOf[load] = *TileSums::of(load);
  for (MatrixProduct product : products) {
    b.setInsertionPoint(product.loop);
    SmallVector<TileSums> sums = emitMatrixProduct(b, amx, product, count, findNext(tile, product, b));
    for (auto [result, memory] : llvm::zip(product.loop.getResults(), sums))
      sumsOf[result] = memory;
  }
  SmallVector<StoreTileOp> stores;
  tile.walk([&](StoreTileOp store) { stores.push_back(store); });
  for (StoreTileOp store : stores) {
    storeRows(store, sumsOf, target, count);
    store.erase();
  }
  for (MatrixProduct product : products) {
    llvm::SmallSetVector<Value, 2> starts(llvm::from_range, product.loop.getInitArgs());
    product.loop->erase();
    for (Value start : starts)
      if (start.use_empty() && start.getDefiningOp<ZeroOp>())
        start.getDefiningOp()->erase();
  }
  for (LoadTileOp load : loads)
    load.erase();
  tile.walk([](RowIndicesOp indices) {
    if (indices->use_empty())
      indices->erase();
  });
  Block &body = tile.getBody().front();
  tile->getBlock()->getOperations().splice(tile->getIterator(), body.getOperations());
  tile.erase();
}

namespace {
struct KernelLowerMatrixTiles : kernel::impl::KernelLowerMatrixTilesBase<KernelLowerMatrixTiles> {
  void runOnOperation() override {
    FailureOr<x86::TargetAttr> target = x86::TargetAttr::get(getOperation()->getParentOfType<ModuleOp>());
    if (failed(target))
      return signalPassFailure();
    if (!target->getMatrixRows())
      return;
    SmallVector<std::pair<RowTileOp, SmallVector<MatrixProduct>>> tiles;
    getOperation().walk([&](RowTileOp tile) {
      if (std::optional<SmallVector<MatrixProduct>> products = findProducts(tile, *target))
        tiles.push_back({tile, std::move(*products)});
    });
    if (tiles.empty())
      return;
    OpBuilder b(&getContext());
    AmxBuilder amx(b, getOperation().getLoc(), getOperation());
    amx.begin();
    for (auto &[tile, products] : tiles)
      lower(tile, products, amx, b, *target);
  }
};
} // namespace
