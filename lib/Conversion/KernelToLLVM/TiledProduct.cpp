//===- TiledProduct.cpp - a loop over row tiles with one product --------------------------------------------------===//

#include "TiledProduct.h"
#include "AmxBuilder.h"
#include "TileLowering.h"

#include "moe-mlir/Dialect/Kernel/IR/ProductLoop.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::kernel;

/// Elements of K whose weights in `mma` are a chunk; none if the product is short or of unknown size.
static std::optional<int64_t> chunkOf(MmaOp mma, x86::TargetAttr target, x86::PlanAttr plan) {
  auto weight = cast<MemRefType>(mma.getB().getType());
  int64_t rank = mma.getIndices().size(), steps = weight.getDimSize(rank), columns = weight.getDimSize(rank + 1);
  if (ShapedType::isDynamic(steps) || ShapedType::isDynamic(columns) || !weight.getElementType().isIntOrFloat())
    return std::nullopt;
  int64_t stepBytes = columns * mma.getStep() * weight.getElementTypeBitWidth() / 8;
  if (stepBytes == 0 || steps * stepBytes <= plan.getBlockAbove())
    return std::nullopt;
  int64_t chunk = plan.getBlockBytes() / stepBytes * mma.getStep();
  // A product that may run on matrix registers is added up in the same steps with and without chunks.
  if (target.getMatrixRows() && mma.getStep() == 2)
    chunk -= chunk % AmxBuilder::depth;
  return chunk ? std::optional(chunk) : std::nullopt;
}

/// The loop over K whose sums `store` writes and nothing else reads, from zero on.
static std::optional<ProductLoop> findDepth(StoreTileOp store) {
  auto depth = store.getAccs().front().getDefiningOp<scf::ForOp>();
  if (!depth || depth.getResults() != store.getAccs() ||
      !llvm::all_of(depth.getResults(), [](Value sums) { return sums.hasOneUse(); }) ||
      !llvm::all_of(depth.getInitArgs(), [](Value init) { return init.getDefiningOp<ZeroOp>() != nullptr; }))
    return std::nullopt;
  return ProductLoop::match(depth);
}

/// True if `op` can be done again: it writes nothing. What it reads is added to `memory`.
static bool onlyReads(Operation &op, llvm::SmallDenseSet<Value> &memory) {
  if (mayWrite(&op))
    return false;
  SmallVector<MemoryEffects::EffectInstance> effects = *getEffectsRecursively(&op);
  for (const MemoryEffects::EffectInstance &effect : effects)
    memory.insert(effect.getValue() ? rootOf(effect.getValue()) : Value());
  return true;
}

std::optional<TiledProduct> TiledProduct::match(RowTileOp tile, x86::TargetAttr target, x86::PlanAttr plan) {
  auto rows = dyn_cast<scf::ForOp>(tile->getParentOp());
  int64_t max = tile.getMax();
  if (!rows || rows.getNumResults() || !rows.getInductionVar().getType().isIndex() || rows.getUnsignedCmp() ||
      getConstantIntValue(rows.getStep()) != max || max > plan.getBlockRows())
    return std::nullopt;
  // Everything beside the product is computed once more for each chunk, and for the epilogue.
  for (Operation &op : rows.getBody()->without_terminator())
    if (&op != tile && !isPure(&op))
      return std::nullopt;
  StoreTileOp store;
  for (Operation &op : tile.getBody().front())
    if (auto found = dyn_cast<StoreTileOp>(op)) {
      if (store)
        return std::nullopt;
      store = found;
    }
  std::optional<ProductLoop> product = store ? findDepth(store) : std::nullopt;
  scf::ForOp depth = product ? product->loop : scf::ForOp();
  if (!depth || depth->getParentOp() != tile || !rows.isDefinedOutsideOfLoop(depth.getLowerBound()) ||
      !rows.isDefinedOutsideOfLoop(depth.getUpperBound()))
    return std::nullopt;
  llvm::SmallDenseSet<Value> memory;
  for (Operation &op : tile.getBody().front())
    if (&op != store && &op != depth && !onlyReads(op, memory))
      return std::nullopt;
  for (MmaOp mma : product->mmas)
    memory.insert_range(ArrayRef<Value>{rootOf(mma.getA()), rootOf(mma.getB())});
  // Products of later tiles come before the epilogues of earlier ones.
  Value dest = rootOf(store.getDest());
  if (!dest || memory.contains(dest) || memory.contains(Value()))
    return std::nullopt;
  for (Operation &op : store.getBody().front())
    if (mayWrite(&op))
      return std::nullopt;
  MmaOp mma = product->mmas.front();
  bool isBf16Pairs = mma.getStep() == 2 && cast<MemRefType>(mma.getB().getType()).getElementType().isBF16();
  bool matrix = target.getMatrixRows() && isBf16Pairs && max > target.getRows();
  std::optional<int64_t> chunk = chunkOf(mma, target, plan);
  return chunk ? std::optional(TiledProduct{rows, tile, depth, store, *chunk, plan.getBlockRows(), matrix}) : std::nullopt;
}
