//===- Axes.cpp - the ranks of a program, and what is divided among them ------------------------------------------===//

#include "Axes.h"

#include "moe-mlir/Dialect/Kernel/IR/Ranks.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::moert;

FailureOr<Axes> Axes::read(ModuleOp module) {
  Axes axes;
  for (auto grid : module.getOps<shard::GridOp>()) {
    std::optional<int32_t> ranks = kernel::countRanks(grid);
    if (!ranks)
      return grid.emitOpError("has a number of ranks that is not known, or none; give the size of each dimension");
    if (*ranks > 1 || !SymbolTable::symbolKnownUseEmpty(grid, module))
      axes.ranks.insert({grid.getSymNameAttr(), *ranks});
  }
  return axes;
}

ArrayAttr Axes::toAttr(MLIRContext *context) const {
  Builder b(context);
  SmallVector<Attribute> entries;
  for (auto [name, count] : ranks)
    entries.push_back(
        b.getDictionaryAttr({b.getNamedAttr("name", name), b.getNamedAttr("ranks", b.getI64IntegerAttr(count))}));
  return b.getArrayAttr(entries);
}

/// `sizes` with the parts of all ranks in dimension 0; nothing if no integer holds it.
static std::optional<SmallVector<int64_t>> multiply(ArrayRef<int64_t> sizes, int64_t ranks) {
  SmallVector<int64_t> whole(sizes);
  if (llvm::MulOverflow(whole.front(), ranks, whole.front()))
    return std::nullopt;
  return whole;
}

FailureOr<WholeParameter> moert::makeWhole(moe::ParameterOp op, const Axes &axes) {
  auto type = cast<MemRefType>(op.getType());
  WholeParameter whole{op.getRecipeAttr(), type, op->getAttrOfType<DenseI64ArrayAttr>(moe::kShapeAttr)};
  moe::ShardAttr shard;
  moe::PackAttr pack;
  SmallVector<Attribute> steps;
  for (Attribute step : whole.recipe ? whole.recipe.getValue() : ArrayRef<Attribute>()) {
    if (auto found = dyn_cast<moe::ShardAttr>(step)) {
      shard = found;
      continue;
    }
    if (auto found = dyn_cast<moe::PackAttr>(step))
      pack = found;
    steps.push_back(step);
  }
  if (!shard)
    return whole;
  // Of a matrix the pack makes blocks of rows, and a block must not belong to two ranks.
  int64_t rank = type.getRank() - (pack ? 1 + (pack.getPairs() > 1) : 0);
  bool isDivided = rank > 2 || !pack;
  if (pack && rank == 2)
    isDivided = !pack.getHalves() && whole.shape && whole.shape[0] % pack.getColumns() == 0;
  if (!isDivided)
    return op.emitOpError() << "is divided among the ranks of " << shard.getGrid()
                            << ", but packed in blocks that do not end where the part of a rank does";
  std::optional<SmallVector<int64_t>> sizes = multiply(type.getShape(), shard.getRanks()), own;
  if (whole.shape && sizes)
    own = multiply(whole.shape, shard.getRanks());
  if (!sizes || (whole.shape && !own))
    return op.emitOpError("has more elements on all ranks than an integer holds");
  Builder b(op.getContext());
  whole.recipe = b.getArrayAttr(steps);
  whole.type = MemRefType::get(*sizes, type.getElementType());
  if (own)
    whole.shape = b.getDenseI64ArrayAttr(*own);
  whole.axis = axes.number(shard.getGrid());
  return whole;
}
