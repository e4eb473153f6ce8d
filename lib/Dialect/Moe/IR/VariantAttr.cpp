//===- VariantAttr.cpp - one of several ways to run an entry ------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::moe;

/// It stands in command lines, in tables and in files.
static bool isLine(StringRef text) {
  return !text.empty() && text.trim() == text && llvm::all_of(text, [](char c) { return llvm::isPrint(c); });
}

LogicalResult VariantAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef entry, StringRef name,
                                  ArrayRef<FlatSymbolRefAttr> grids, ScheduleAttr) {
  if (!isLine(entry) || !isLine(name))
    return emitError() << "a variant needs names that can be printed, its entry's and its own, without blanks around "
                          "them";
  if (llvm::all_of(name, llvm::isDigit))
    return emitError() << "a variant's name is no number, by which command lines choose one as well, got '" << name
                       << "'";
  if (grids.empty())
    return emitError() << "a variant needs the grids of the ranks that run it";
  llvm::SmallDenseSet<Attribute> seen;
  for (FlatSymbolRefAttr grid : grids)
    if (!seen.insert(grid).second)
      return emitError() << "a variant has each grid once, but " << grid << " stands twice";
  return success();
}

VariantAttr mlir::moe::variantOf(Operation *function) { return function->getAttrOfType<VariantAttr>(kVariantAttr); }

LogicalResult mlir::moe::verifyVariant(Operation *op, Attribute value) {
  auto variant = dyn_cast<VariantAttr>(value);
  if (!isa<FunctionOpInterface>(op))
    return op->emitOpError() << "'" << kVariantAttr << "' belongs to a function";
  if (!variant)
    return op->emitOpError() << "'" << kVariantAttr << "' must be a #moe.variant, got " << value;
  SymbolTableCollection symbols;
  shard::GridOp before;
  for (FlatSymbolRefAttr name : variant.getGrids()) {
    if (failed(verifyGrid(op, name, symbols)))
      return failure();
    auto grid = symbols.lookupNearestSymbolFrom<shard::GridOp>(op, name);
    if (grid->hasAttr(kAxisOfAttr))
      return op->emitOpError() << "'" << kVariantAttr << "' must name whole grids, but " << name
                               << " is a dimension of another one";
    if (before && (before->getBlock() != grid->getBlock() || !before->isBeforeInBlock(grid)))
      return op->emitOpError() << "'" << kVariantAttr << "' must name grids in their order in the module, got " << name
                               << " behind @" << before.getSymName();
    before = grid;
  }
  return success();
}
