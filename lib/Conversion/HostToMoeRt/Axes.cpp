//===- Axes.cpp - the ranks of a program, and what is divided among them ------------------------------------------===//

#include "Axes.h"

#include "moe-mlir/Dialect/Kernel/IR/Ranks.h"
#include "moe-mlir/Dialect/Moe/IR/Groups.h"
#include "moe-mlir/Support/FixedStrides.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
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
    if (*ranks > 1 || !SymbolTable::symbolKnownUseEmpty(grid, module)) {
      auto grouped = moe::groupsOf(module, FlatSymbolRefAttr::get(grid.getSymNameAttr()));
      axes.ranks.insert({grid.getSymNameAttr(), {*ranks, 1, moe::axisOf(grid), grouped}});
    }
  }
  axes.setStrides(llvm::map_to_vector(axes.wholeGrids(), [&](int64_t i) { return axes.ranks.begin()[i].first; }));
  for (auto function : module.getOps<func::FuncOp>())
    if (auto variant = moe::variantOf(function))
      axes.setStrides(llvm::map_to_vector(variant.getGrids(), [](FlatSymbolRefAttr grid) { return grid.getAttr(); }));
  for (auto &[name, axis] : axes.ranks)
    if (axis.part)
      axis.stride = axes.ranks.find(axis.part->grid.getAttr())->second.stride * axis.part->behind;
  for (auto &[name, axis] : axes.ranks)
    if (axis.grouped) {
      auto found = axes.ranks.find(axis.grouped.getAttr()); // Groups of one rank are not there.
      const Axis all = found == axes.ranks.end() ? Axis{1} : found->second;
      axis.stride = all.stride * (all.ranks / axis.ranks);
    }
  return axes;
}

SmallVector<int64_t> Axes::wholeGrids() const {
  SmallVector<int64_t> numbers;
  for (auto [number, entry] : llvm::enumerate(ranks))
    if (!entry.second.part && !entry.second.grouped)
      numbers.push_back(number);
  return numbers;
}

void Axes::setStrides(ArrayRef<StringAttr> grids) {
  int64_t stride = 1;
  for (StringAttr grid : llvm::reverse(grids)) {
    Axis &axis = ranks.find(grid)->second;
    axis.stride = stride;
    // A job of so many ranks is refused when it is opened.
    stride = std::min<int64_t>(stride * axis.ranks, std::numeric_limits<int32_t>::max());
  }
}

ArrayAttr Axes::toAttr(MLIRContext *context) const {
  Builder b(context);
  SmallVector<Attribute> entries;
  for (auto [name, axis] : ranks)
    entries.push_back(b.getDictionaryAttr({b.getNamedAttr("name", name),
                                           b.getNamedAttr("ranks", b.getI64IntegerAttr(axis.ranks)),
                                           b.getNamedAttr("stride", b.getI64IntegerAttr(axis.stride))}));
  return b.getArrayAttr(entries);
}

namespace {
/// The steps of a recipe, by what they are for.
struct Steps {
  explicit Steps(ArrayAttr recipe) {
    for (Attribute step : recipe ? recipe.getValue() : ArrayRef<Attribute>()) {
      auto shard = dyn_cast<moe::ShardAttr>(step);
      if (auto found = dyn_cast<moe::PackAttr>(step))
        pack = found;
      else if (isa<moe::OnceAttr>(step) || (shard && (shard.getDim() > 0 || shard.getHalves())))
        slices.push_back(step);
      else if (shard)
        parts = shard;
      else
        others.push_back(step);
    }
  }

  SmallVector<Attribute> others, slices;
  moe::ShardAttr parts; ///< of dimension 0
  moe::PackAttr pack;
};
} // namespace

static constexpr llvm::StringLiteral kTooManyElements = "has more elements on all ranks than an integer holds";

/// Makes a size that of all ranks. False if no integer holds it.
static bool grow(int64_t &size, int64_t ranks) { return !llvm::MulOverflow(size, ranks, size); }

/// Whether an integer holds the number of elements.
static bool isCounted(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  return llvm::all_of(sizes, [&](int64_t size) { return grow(count, size); });
}

/// `sizes` on all ranks: with the parts of dimension 0, and behind the number of slices. Nothing if no integer holds
/// it.
static std::optional<SmallVector<int64_t>> multiply(ArrayRef<int64_t> sizes, int64_t parts, int64_t slices) {
  SmallVector<int64_t> whole(sizes);
  int64_t count;
  if (llvm::MulOverflow(whole.front(), parts, whole.front()) || llvm::MulOverflow(whole.front(), slices, count))
    return std::nullopt;
  if (slices > 1)
    whole.insert(whole.begin(), slices);
  return whole;
}

/// Of a matrix the pack makes blocks of rows, and a block must not belong to two ranks.
static bool isPackedByRank(const Steps &steps, MemRefType type, DenseI64ArrayAttr shape) {
  if (!steps.parts || !steps.pack)
    return true;
  if (type.getRank() - 1 - (steps.pack.getPairs() > 1) > 2)
    return true;
  return !steps.pack.getHalves() && shape && shape[0] % steps.pack.getColumns() == 0;
}

/// The same of slices that stand with gaps in the archive, which has the experts whole.
static FailureOr<WholeParameter> makeWholeOfGaps(moe::ParameterOp op, const Axes &axes, Steps &steps) {
  auto type = cast<MemRefType>(op.getType());
  auto own = op->getAttrOfType<DenseI64ArrayAttr>(moe::kShapeAttr);
  auto slice = steps.slices.size() == 1 ? dyn_cast<moe::ShardAttr>(steps.slices[0]) : moe::ShardAttr();
  SmallVector<int64_t> sizes(type.getShape()), shape(own ? own.asArrayRef() : ArrayRef<int64_t>());
  int64_t dim = slice ? slice.getDim() : 0;
  if (!steps.pack || shape.size() != 3 || sizes.size() < 4 || dim < 1 || dim > 2)
    return op.emitOpError("has strides, which are for slices of experts that are packed");
  const int64_t parts = steps.parts ? steps.parts.getRanks() : 1;
  if (!grow(sizes[dim], slice.getRanks()) || !grow(shape[dim], slice.getRanks()))
    return op.emitOpError(kTooManyElements);
  auto whole = MemRefType::get(sizes, type.getElementType());
  if (!grow(sizes[0], parts) || !grow(shape[0], parts) || !isCounted(sizes))
    return op.emitOpError(kTooManyElements);
  std::optional<SmallVector<int64_t>> strides = moe_mlir::fixedStrides(whole);
  if (moe_mlir::fixedStrides(type) != strides)
    return op.emitOpError("has other strides than ") << whole << ", of which it is a slice";
  WholeParameter result{{}, {}, {}, {}};
  result.sliceAxis = axes.number(slice.getGrid());
  result.sliceStep = (*strides)[dim] * type.getDimSize(dim);
  if (steps.parts)
    result.axes.push_back(axes.number(steps.parts.getGrid()));
  steps.others.push_back(steps.pack);
  result.recipe = ArrayAttr::get(op.getContext(), steps.others);
  result.type = MemRefType::get(sizes, type.getElementType());
  result.shape = DenseI64ArrayAttr::get(op.getContext(), shape);
  return result;
}

FailureOr<WholeParameter> moert::makeWhole(moe::ParameterOp op, const Axes &axes) {
  auto type = cast<MemRefType>(op.getType());
  WholeParameter whole{op.getRecipeAttr(), type, op->getAttrOfType<DenseI64ArrayAttr>(moe::kShapeAttr), {}};
  Steps steps(whole.recipe);
  if (!type.getLayout().isIdentity())
    return makeWholeOfGaps(op, axes, steps);
  if (!steps.parts && steps.slices.empty())
    return whole;
  // A rank packs its part of a matrix in blocks of its own where those of all rows would not end with it.
  if (steps.slices.empty() && !isPackedByRank(steps, type, whole.shape))
    steps.slices.push_back(std::exchange(steps.parts, {}));
  if (steps.slices.size() > 1)
    return op.emitOpError("has slices of two grids; the parts of ranks are one behind the other in the archive for one "
                          "grid beside that of dimension 0");
  if (!isPackedByRank(steps, type, whole.shape))
    return op.emitOpError() << "is divided among the ranks of " << steps.parts.getGrid()
                            << ", but packed in blocks that do not end where the part of a rank does";
  Builder b(op.getContext());
  int64_t slices = 1;
  for (Attribute slice : steps.slices) {
    auto shard = dyn_cast<moe::ShardAttr>(slice);
    FlatSymbolRefAttr grid = shard ? shard.getGrid() : cast<moe::OnceAttr>(slice).getGrid();
    slices = shard ? shard.getRanks() : cast<moe::OnceAttr>(slice).getRanks();
    if (slices == 1)
      continue;
    whole.axes.push_back(axes.number(grid));
    steps.others.push_back(
        shard ? Attribute(moe::CutAttr::get(op.getContext(), shard.getDim(), slices, shard.getHalves()))
              : Attribute(moe::FirstAttr::get(op.getContext(), slices)));
  }
  if (steps.parts)
    whole.axes.push_back(axes.number(steps.parts.getGrid()));
  if (steps.pack)
    steps.others.push_back(steps.pack);
  int64_t parts = steps.parts ? steps.parts.getRanks() : 1;
  std::optional<SmallVector<int64_t>> sizes = multiply(type.getShape(), parts, slices), own;
  if (whole.shape && sizes)
    own = multiply(whole.shape, parts, slices);
  if (!sizes || (whole.shape && !own))
    return op.emitOpError(kTooManyElements);
  whole.recipe = b.getArrayAttr(steps.others);
  whole.type = MemRefType::get(*sizes, type.getElementType());
  if (own)
    whole.shape = b.getDenseI64ArrayAttr(*own);
  return whole;
}
