//===- MoeDialect.cpp - registration of the moe dialect ------------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::moe;

#include "moe-mlir/Dialect/Moe/IR/MoeDialect.cpp.inc"
#include "moe-mlir/Dialect/Moe/IR/MoeEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "moe-mlir/Dialect/Moe/IR/MoeTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "moe-mlir/Dialect/Moe/IR/MoeAttrs.cpp.inc"

void MoeDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "moe-mlir/Dialect/Moe/IR/MoeTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "moe-mlir/Dialect/Moe/IR/MoeAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "moe-mlir/Dialect/Moe/IR/MoeOps.cpp.inc"
      >();
}

LogicalResult LayoutType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t experts) {
  if (experts < 1)
    return emitError() << "number of experts must be at least 1, got " << experts;
  return success();
}

Attribute CapacityAttr::parse(AsmParser &parser, Type) {
  double factor;
  std::string keyword;
  SMLoc loc;
  if (parser.parseLess() || parser.parseFloat(factor) || parser.parseComma() ||
      parser.getCurrentLocation(&loc) || parser.parseKeywordOrString(&keyword) || parser.parseGreater())
    return {};
  std::optional<Rounding> rounding = symbolizeRounding(keyword);
  if (!rounding) {
    parser.emitError(loc, "unknown rounding '") << keyword << "'; one of tutel, deepspeed, megablocks";
    return {};
  }
  return get(parser.getContext(), APFloat(factor), *rounding);
}

void CapacityAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printFloat(getFactor());
  printer << ", " << stringifyRounding(getRounding()) << ">";
}
