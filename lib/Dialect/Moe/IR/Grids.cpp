//===- Grids.cpp - the grids that moe ops name --------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Groups.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::moe;

/// Nothing if no integer holds it.
static std::optional<int64_t> product(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    if (llvm::MulOverflow(product, size, product))
      return std::nullopt;
  return product;
}

SmallVector<FlatSymbolRefAttr> mlir::moe::splitGrids(Attribute split) {
  if (auto grids = dyn_cast_if_present<ArrayAttr>(split))
    return llvm::to_vector(grids.getAsRange<FlatSymbolRefAttr>());
  auto grid = dyn_cast_if_present<FlatSymbolRefAttr>(split);
  return grid ? SmallVector<FlatSymbolRefAttr>{grid} : SmallVector<FlatSymbolRefAttr>();
}

FailureOr<int64_t> mlir::moe::verifyGrid(Operation *op, FlatSymbolRefAttr name, SymbolTableCollection &symbols) {
  auto grid = symbols.lookupNearestSymbolFrom<shard::GridOp>(op, name);
  if (!grid)
    return op->emitOpError() << "names no shard.grid: " << name;
  if (ShapedType::isDynamicShape(grid.getShape()))
    return op->emitOpError() << "names a grid whose size is not known: " << name;
  std::optional<int64_t> ranks = product(grid.getShape());
  if (!ranks)
    return op->emitOpError() << "names a grid of more ranks than an integer holds: " << name;
  if (*ranks < 1)
    return op->emitOpError() << "names a grid without ranks: " << name;
  return *ranks;
}

bool mlir::moe::hasRanks(shard::GridOp grid) {
  return !ShapedType::isDynamicShape(grid.getShape()) && product(grid.getShape()).value_or(0) > 0;
}

int64_t mlir::moe::ranksOf(Operation *op, FlatSymbolRefAttr name) {
  return *product(SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(op, name).getShape());
}

//===----------------------------------------------------------------------===//
// Dimensions of grids
//===----------------------------------------------------------------------===//

/// The dimension of a grid that has a name, or -1.
static int64_t dimensionOf(shard::GridOp grid, Attribute name) {
  auto names = grid->getAttrOfType<ArrayAttr>(kAxesAttr);
  const Attribute *found = names ? llvm::find(names, name) : nullptr;
  return names && found != names.end() ? found - names.begin() : -1;
}

static Attribute ownName(shard::GridOp grid) {
  auto names = grid->getAttrOfType<ArrayAttr>(kAxesAttr);
  return names && names.size() == 1 ? names[0] : Attribute();
}

LogicalResult mlir::moe::verifyAxisOf(Operation *op, Attribute value) {
  auto own = dyn_cast<shard::GridOp>(op);
  auto name = dyn_cast<FlatSymbolRefAttr>(value);
  if (!own || !name)
    return op->emitOpError() << "'" << kAxisOfAttr << "' is a grid, of which a shard.grid is a dimension, got " << value;
  auto whole = SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(op, name);
  if (!whole)
    return op->emitOpError() << "'" << kAxisOfAttr << "' names no shard.grid: " << name;
  const int64_t dim = ownName(own) ? dimensionOf(whole, ownName(own)) : -1;
  if (whole == own || whole->hasAttr(kAxisOfAttr) || dim < 0 || dim >= whole.getRank() || own.getRank() != 1 ||
      own.getShape()[0] != whole.getShape()[dim])
    return op->emitOpError() << "is no dimension of " << name << ": it needs one dimension, whose name in '" << kAxesAttr
                             << "' and size are those of one of that grid";
  return success();
}

// Asked by verifiers, too, which may come before that of the grid.
std::optional<GridAxis> mlir::moe::axisOf(shard::GridOp grid) {
  auto name = grid->getAttrOfType<FlatSymbolRefAttr>(kAxisOfAttr);
  if (!name)
    return std::nullopt;
  auto whole = SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(grid, name);
  const int64_t dim = whole && ownName(grid) ? dimensionOf(whole, ownName(grid)) : -1;
  if (dim < 0 || dim >= whole.getRank())
    return std::nullopt;
  std::optional<int64_t> behind = product(whole.getShape().drop_front(dim + 1));
  return behind ? std::optional(GridAxis{name, dim, *behind}) : std::nullopt;
}

std::optional<GridAxis> mlir::moe::axisOf(Operation *op, FlatSymbolRefAttr name) {
  auto grid = SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(op, name);
  return grid ? axisOf(grid) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Grids of groups
//===----------------------------------------------------------------------===//

FlatSymbolRefAttr mlir::moe::groupsOf(Operation *op, FlatSymbolRefAttr name) {
  auto grid = SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(op, name);
  return grid ? grid->getAttrOfType<FlatSymbolRefAttr>(kGroupsOfAttr) : FlatSymbolRefAttr();
}

LogicalResult mlir::moe::verifyGroupsOf(Operation *op, Attribute value) {
  auto own = dyn_cast<shard::GridOp>(op);
  if (!own)
    return op->emitOpError() << "'" << kGroupsOfAttr << "' belongs to a shard.grid";
  auto name = dyn_cast<FlatSymbolRefAttr>(value);
  auto grid = name ? SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(op, name) : shard::GridOp();
  if (!grid || grid == own || grid->hasAttr(kGroupsOfAttr))
    return op->emitOpError() << "'" << kGroupsOfAttr
                             << "' must name another shard.grid, whose ranks are no groups, got " << value;
  std::optional<int64_t> all = product(grid.getShape()), groups = product(own.getShape());
  if (ShapedType::isDynamicShape(grid.getShape()) || ShapedType::isDynamicShape(own.getShape()) || !all || !groups ||
      *groups < 1 || *all % *groups != 0)
    return op->emitOpError() << "'" << kGroupsOfAttr << "' needs groups of equally many ranks, but " << value
                             << " and this grid have no such numbers";
  return success();
}
