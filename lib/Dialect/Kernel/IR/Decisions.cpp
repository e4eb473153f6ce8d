//===- Decisions.cpp - attributes of level scheduled --------------------------------------------------------------===//

#include "Decisions.h"

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kernel;

#define GET_ATTRDEF_CLASSES
#include "moe-mlir/Dialect/Kernel/IR/KernelAttrs.cpp.inc"

void KernelDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "moe-mlir/Dialect/Kernel/IR/KernelAttrs.cpp.inc"
      >();
}

LogicalResult TilesAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows, int64_t columns,
                                int64_t blockColumns, int64_t depth, int64_t chunkRows, bool) {
  for (auto [name, value, least] : {std::tuple<StringRef, int64_t, int64_t>{"rows", rows, 1},
                                    {"columns", columns, 1},
                                    {"block_columns", blockColumns, 1},
                                    {"depth", depth, 1},
                                    {"chunk_rows", chunkRows, 0}})
    if (value < least || value > (1 << 16))
      return emitError() << "'" << name << "' is " << value << "; it must be in " << least << "..65536";
  if (blockColumns % columns)
    return emitError() << "'columns' is " << columns << "; those of a tile divide the " << blockColumns
                       << " of a weight block";
  if (chunkRows % rows)
    return emitError() << "'chunk_rows' is " << chunkRows << "; it must be whole tiles of " << rows << " rows";
  return success();
}

/// Products of an op that a decision may be about. The dialect does not depend on theirs.
static unsigned countProducts(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (name == "moe.expert")
    return 2;
  return name == "nn.linear" || name == "nn.batch_linear" || name == "nn.attention" ? 1 : 0;
}

static LogicalResult verifyTiles(Operation *op, Attribute value) {
  auto list = dyn_cast<ArrayAttr>(value);
  switch (countProducts(op)) {
  case 1:
    if (isa<TilesAttr>(value))
      return success();
    break;
  case 2:
    if (list && list.size() == 2 && llvm::all_of(list, llvm::IsaPred<TilesAttr>))
      return success();
    break;
  }
  return op->emitOpError() << "'" << KernelDialect::getTilesAttrName()
                           << "' is a #kernel.tiles of an nn.linear, nn.batch_linear or nn.attention, or a list of two "
                              "of a moe.expert, got "
                           << value;
}

LogicalResult kernel::verifyDecision(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == KernelDialect::getTilesAttrName())
    return verifyTiles(op, attribute.getValue());
  auto input = dyn_cast<IntegerAttr>(attribute.getValue());
  if (op->getName().getStringRef() == "linalg.generic" && input && input.getType().isInteger(64) &&
      input.getInt() >= 0 && input.getInt() <= INT32_MAX)
    return success();
  return op->emitOpError() << "'" << KernelDialect::getEpilogueAttrName()
                           << "' is the number of an operand of a linalg.generic, got " << attribute.getValue();
}
