//===- TileSums.cpp - sums of a tile that wait in memory ----------------------------------------------------------===//
//
// Matrix registers load their first sums from memory, and store the last ones there, in the middle of the product. So
// nothing that the program says to happen between a product and its load or store may touch that memory.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "TileSums.h"
#include "TileLowering.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::kernel;

/// The place of a tile of sums in `memory`, if it is whole rows that follow each other.
static std::optional<TileSums> findSums(Value memory, Value rows, Value column, AccType acc) {
  auto type = cast<MemRefType>(memory.getType());
  auto indices = rows.getDefiningOp<RowIndicesOp>();
  if (type.getRank() != 2 || !type.getElementType().isF32() || !type.getLayout().isIdentity() ||
      type.getDimSize(1) != acc.getColumns() || !isConstantIntValue(column, 0) || !indices || !isIdentity(indices))
    return std::nullopt;
  return TileSums{memory, indices.getBase()};
}

std::optional<TileSums> TileSums::of(LoadTileOp load) {
  for (Operation *user : load->getUsers()) {
    if (!isa<StoreTileOp, scf::ForOp>(user) || user->getBlock() != load->getBlock())
      return std::nullopt;
    auto store = dyn_cast<StoreTileOp>(user);
    Value source = rootOf(load.getSource());
    if (store && (!source || rootOf(store.getDest()) == source))
      return std::nullopt;
    for (Operation *op = load->getNextNode(); op != user; op = op->getNextNode())
      if (mayWrite(op))
        return std::nullopt;
  }
  return findSums(load.getSource(), load.getRows(), load.getColumn(), load.getType());
}

static std::optional<TileSums> findPlace(StoreTileOp store) {
  return findSums(store.getDest(), store.getRows(), store.getColumn(), cast<AccType>(store.getAccs()[0].getType()));
}

TileSums kernel::placeOf(StoreTileOp waiting) { return *findPlace(waiting); }

/// The epilogue that puts `sums` into memory as they are, if nothing else reads them.
static StoreTileOp findIdentityStore(Value sums) {
  auto store = sums.hasOneUse() ? dyn_cast<StoreTileOp>(*sums.user_begin()) : StoreTileOp();
  if (!store || store.getAccs().size() != 1 || store.getLimit() || !findPlace(store))
    return {};
  Block &body = store.getBody().front();
  bool isIdentity = body.getTerminator()->getOperand(0) == body.getArgument(2) && llvm::hasSingleElement(body);
  return isIdentity ? store : StoreTileOp();
}

SmallVector<StoreTileOp> kernel::findWaitingStores(scf::ForOp loop) {
  SmallVector<StoreTileOp> stores = llvm::map_to_vector(loop.getResults(), findIdentityStore);
  // Memory that the loop reads, or that two sums share, is not written before the loop's end.
  llvm::SmallDenseMap<Value, int> uses;
  for (auto [store, init] : llvm::zip(stores, loop.getInitArgs())) {
    if (store)
      ++uses[rootOf(store.getDest())];
    // A sum may go back to where it came from.
    if (auto load = init.getDefiningOp<LoadTileOp>())
      if (!store || load.getSource() != store.getDest())
        ++uses[rootOf(load.getSource())];
  }
  loop.walk([&](MmaOp mma) {
    for (Value read : {mma.getA(), mma.getB()})
      ++uses[rootOf(read)];
  });
  auto isAbove = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return !op || op->getBlock() != loop->getBlock() || op->isBeforeInBlock(loop);
  };
  auto canBeEarlier = [&](StoreTileOp store) {
    TileSums place = placeOf(store);
    Value root = rootOf(place.memory);
    if (store->getBlock() != loop->getBlock() || !root || uses[root] != 1 || uses.contains(Value()) ||
        !isAbove(place.memory) || !isAbove(place.row))
      return false;
    for (Operation *op = loop->getNextNode(); op != store; op = op->getNextNode())
      if (!isMemoryEffectFree(op) && !llvm::is_contained(stores, op))
        return false;
    return true;
  };
  // All or none: otherwise one of them would pass another that stays.
  if (!llvm::all_of(stores, [&](StoreTileOp store) { return store && canBeEarlier(store); }))
    stores.assign(stores.size(), StoreTileOp());
  return stores;
}
