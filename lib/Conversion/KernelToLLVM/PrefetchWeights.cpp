//===- PrefetchWeights.cpp - weights arrive before they are needed ------------------------------------------------===//
//
// An expert with many rows passes its weights (a column block of 64 columns x K, or a chunk of one) through the
// registers once per row tile: first from memory, then from the second-level cache. The first pass waits for memory
// while the others leave it idle. So the row tiles after the first ask for what the thread takes next, a cache line per
// step of K, or less where there are many tiles: slow enough to leave the lines of this block their way.
//
// The first tile is a stream, and with few rows per expert it is the only one. Most processors read a stream best
// alone; for those that do not (`stream_ahead`) it asks for its own lines ahead, into the second-level cache, and the
// other tiles half as far ahead, from there into the first-level cache.
//
// A row tile that passes its column block in strips (16 columns at a time on AVX2) stays as it is: many processors
// without AVX-512 have 256 or 512 KiB of second-level cache, where the next block would push this one out.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "FollowingWeights.h"
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h"
#include "moe-mlir/Dialect/X86/IR/X86.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/IR/ProductLoop.h"
#include "moe-mlir/Support/FixedStrides.h"

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
};
} // namespace

/// The product in `tile`, if its column block is made of whole cache lines.
static std::optional<Product> findProduct(RowTileOp tile) {
  std::optional<Product> product;
  tile.walk([&](MmaOp mma) {
    scf::ForOp loop = ProductLoop::around(mma);
    auto weight = cast<MemRefType>(mma.getB().getType());
    if (product || !loop || loop->getParentOp() != tile || mma.getIndices().empty() ||
        !moe_mlir::isContiguousFrom(weight, mma.getIndices().size()) || !weight.getElementType().isIntOrFloat())
      return;
    SmallVector<Value> outside(mma.getIndices());
    outside.push_back(mma.getB());
    if (!llvm::all_of(outside, [&](Value value) { return loop.isDefinedOutsideOfLoop(value); }))
      return;
    int64_t depth = mma.getStep(), rank = mma.getIndices().size();
    if (weight.isDynamicDim(rank - 1) || weight.isDynamicDim(rank + 1))
      return;
    int64_t stepBits = weight.getDimSize(rank + 1) * depth * weight.getElementTypeBitWidth(), stepBytes = stepBits / 8;
    if (stepBits % (8 * kLineBytes) == 0)
      product = Product{loop, mma, weight, depth, stepBytes / kLineBytes};
  });
  return product;
}

namespace {
enum class CacheLevel { First, Second };

/// Puts fetches into the loop of a product.
class Fetcher {
public:
  explicit Fetcher(Product from) : product(from), loc(product.mma.getLoc()), b(product.loop) {
    // A column block as one line of memory: steps * columns (* pairs) elements.
    int64_t rank = product.mma.getIndices().size();
    SmallVector<ReassociationIndices> groups;
    for (int64_t dim = 0; dim < rank; ++dim)
      groups.push_back({dim});
    groups.push_back(llvm::to_vector(llvm::seq<int64_t>(rank, product.weight.getRank())));
    blocks = memref::CollapseShapeOp::create(b, loc, product.mma.getB(), groups);
    depth = constant(product.depth);
  }

  /// Each step fetches the lines that a step needs `bytes` later. Behind the last column block of all this asks for
  /// memory that is not there, which a prefetch may.
  void fetchAhead(int64_t bytes, CacheLevel level) {
    int64_t lines = product.linesPerStep;
    int64_t steps = llvm::divideCeil(bytes, lines * kLineBytes);
    SmallVector<Value> block(product.mma.getIndices());
    b.setInsertionPointToStart(product.loop.getBody());
    Value step =
        arith::AddIOp::create(b, loc, arith::DivUIOp::create(b, loc, product.mma.getK(), depth), constant(steps));
    Value line = arith::MulIOp::create(b, loc, step, constant(lines));
    for (int64_t i = 0; i < lines; ++i)
      fetch(block, arith::AddIOp::create(b, loc, line, constant(i)), level);
  }

  /// Step `s` fetches line `(turn * steps + s) >> shift` of the weights that follow the loop's part of K.
  void fetchNext(Value turn, Value shift) {
    FollowingWeights following = FollowingWeights::emit(b, product.loop, product.mma);
    Value length = arith::SubIOp::create(b, loc, product.loop.getUpperBound(), product.loop.getLowerBound());
    Value steps = arith::DivUIOp::create(b, loc, length, depth);
    // If a shorter part follows, the end of this one is asked for again, and nothing behind the block.
    Value all = memref::DimOp::create(b, loc, product.mma.getB(), product.mma.getIndices().size());
    Value most = arith::SubIOp::create(b, loc, all, steps);
    Value start = arith::MinUIOp::create(b, loc, following.step, most);
    SmallVector<Value> block(product.mma.getIndices().drop_back());
    block.push_back(following.block);
    Value first = arith::MulIOp::create(b, loc, start, constant(product.linesPerStep));
    Value share = arith::MulIOp::create(b, loc, turn, steps);

    b.setInsertionPointToStart(product.loop.getBody());
    Value k = arith::SubIOp::create(b, loc, product.mma.getK(), product.loop.getLowerBound());
    Value step = arith::AddIOp::create(b, loc, share, arith::DivUIOp::create(b, loc, k, depth));
    fetch(block, arith::AddIOp::create(b, loc, first, arith::ShRUIOp::create(b, loc, step, shift)), CacheLevel::Second);
  }

private:
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

  void fetch(SmallVector<Value> place, Value line, CacheLevel level) {
    int64_t elements = kLineBytes * 8 / product.weight.getElementTypeBitWidth();
    place.push_back(arith::MulIOp::create(b, loc, line, constant(elements)));
    uint32_t locality = level == CacheLevel::First ? 3 : 2;
    memref::PrefetchOp::create(b, loc, blocks, place, /*isWrite=*/false, locality, /*isDataCache=*/true);
  }

  Product product;
  Location loc;
  OpBuilder b;
  Value blocks, depth;
};
} // namespace

/// Gives a tile in a loop over rows a copy for the first one, which fetches the column block ahead of its use, and one
/// for the next `linesPerStep` (with many tiles up to `spread` times as many), which fetch what follows it. These and
/// the others take the block out of the second-level cache ahead of its use. A tile without such a loop is the first
/// one. What a target or a kernel has no use for is left out.
static void prefetchIn(RowTileOp tile, int64_t streamAhead, int64_t spread) {
  std::optional<Product> product = findProduct(tile);
  if (!product)
    return;
  auto rows = dyn_cast<scf::ForOp>(tile->getParentOp());
  if (rows && !rows.getInductionVar().getType().isIndex())
    return;
  bool hasNext = spread && static_cast<bool>(findRowsOfColumnBlocks(tile, product->mma));
  bool isStream = streamAhead && product->weight.hasStaticShape();
  if (isStream && !rows)
    return Fetcher(*product).fetchAhead(streamAhead, CacheLevel::Second);
  if (!isStream && !hasNext)
    return;

  OpBuilder b(tile);
  Location loc = tile.getLoc();
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, loc, value); };
  // Goes on in the else branch of `condition`; `tile` ends up in the last one.
  auto branchIf = [&](Value condition, llvm::function_ref<void(Fetcher)> fetch) {
    auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    auto copy = cast<RowTileOp>(b.clone(*tile));
    tile->moveBefore(branch.elseBlock(), branch.elseBlock()->begin());
    fetch(Fetcher(*findProduct(copy)));
    b.setInsertionPoint(tile);
  };
  Value distance = arith::SubIOp::create(b, loc, rows.getInductionVar(), rows.getLowerBound());
  if (isStream) {
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, distance, constant(0));
    branchIf(isFirst, [&](Fetcher fetcher) { fetcher.fetchAhead(streamAhead, CacheLevel::Second); });
    Fetcher(*product).fetchAhead(streamAhead / 2, CacheLevel::First);
  }
  if (!hasNext)
    return;
  Value number = arith::DivUIOp::create(b, loc, distance, rows.getStep());
  Value turn = arith::SubIOp::create(b, loc, number, constant(1)); // the first tile's is beyond all
  // With more tiles than a line per step needs, twice or four times as many ask for a line in every second or fourth
  // step (each line as often): a core has few requests on their way, and those that take long leave the others none.
  Value height = arith::SubIOp::create(b, loc, rows.getUpperBound(), rows.getLowerBound()), shift = constant(0);
  for (int64_t more = 1; int64_t(1) << more <= spread; ++more) {
    Value needed = arith::MulIOp::create(b, loc, rows.getStep(), constant(product->linesPerStep << more));
    Value isEnough = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, height, needed);
    shift = arith::SelectOp::create(b, loc, isEnough, constant(more), shift);
  }
  Value turns = arith::ShLIOp::create(b, loc, constant(product->linesPerStep), shift);
  Value fetches = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, turn, turns);
  branchIf(fetches, [&](Fetcher fetcher) { fetcher.fetchNext(turn, shift); });
}

namespace {
struct KernelPrefetchWeights : kernel::impl::KernelPrefetchWeightsBase<KernelPrefetchWeights> {
  void runOnOperation() override {
    FailureOr<x86::TargetAttr> target = x86::TargetAttr::get(getOperation()->getParentOfType<ModuleOp>());
    if (failed(target))
      return signalPassFailure();
    FailureOr<x86::PlanAttr> plan = x86::PlanAttr::of(getOperation(), *target);
    if (failed(plan))
      return signalPassFailure();
    if (!*plan)
      return;
    SmallVector<RowTileOp> tiles;
    getOperation().walk([&](RowTileOp tile) { tiles.push_back(tile); });
    for (RowTileOp tile : tiles)
      prefetchIn(tile, plan->getStreamAhead(), plan->getSpread());
  }
};
} // namespace
