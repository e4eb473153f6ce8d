//===- KernelDialect.cpp - registration and types of the kernel dialect -------------------------------------------===//

#include "Decisions.h"

#include "moe-mlir/Dialect/Kernel/IR/Arena.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/IR/Target.h"
#include "moe-mlir/Dialect/Kernel/IR/TokenPasses.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kernel;

/// `6x64xf32`
static ParseResult parseTileShape(AsmParser &parser, int64_t &rows, int64_t &columns, Type &element) {
  SmallVector<int64_t> shape;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(element))
    return failure();
  if (shape.size() != 2)
    return parser.emitError(loc, "expected <rows>x<columns>x<element type>");
  rows = shape[0];
  columns = shape[1];
  return success();
}

static void printTileShape(AsmPrinter &printer, int64_t rows, int64_t columns, Type element) {
  printer << rows << "x" << columns << "x" << element;
}

/// `?x256xbf16`
static ParseResult parseWindowShape(AsmParser &parser, SmallVectorImpl<int64_t> &shape, Type &element) {
  return failure(parser.parseDimensionList(shape, /*allowDynamic=*/true) || parser.parseType(element));
}

static void printWindowShape(AsmPrinter &printer, ArrayRef<int64_t> shape, Type element) {
  for (int64_t size : shape)
    (ShapedType::isDynamic(size) ? printer << "?" : printer << size) << "x";
  printer << element;
}

#include "moe-mlir/Dialect/Kernel/IR/KernelDialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "moe-mlir/Dialect/Kernel/IR/KernelTypes.cpp.inc"

void KernelDialect::initialize() {
  registerAttributes();
  registerOps();
  addTypes<
#define GET_TYPEDEF_LIST
#include "moe-mlir/Dialect/Kernel/IR/KernelTypes.cpp.inc"
      >();
}

LogicalResult KernelDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == getIndependentAttrName() &&
      !(isa<UnitAttr>(attribute.getValue()) && op->getName().getStringRef() == "scf.for"))
    return op->emitOpError() << "'" << getIndependentAttrName() << "' is a unit attribute of scf.for";
  if (attribute.getName() == targetAttrName &&
      !(isa<TargetAttrInterface>(attribute.getValue()) && isa<ModuleOp>(op)))
    return op->emitOpError() << "'" << targetAttrName << "' is a target of kernels, as kernel-set-target writes it into "
                             << "a module, got " << attribute.getValue();
  if (attribute.getName() == planAttrName) {
    auto plan = dyn_cast<PlanAttrInterface>(attribute.getValue());
    if (!plan || !isa<FuncOp>(op))
      return op->emitOpError() << "'" << planAttrName << "' is a plan of a kernel.func, as kernel-choose-plans writes it";
    return plan.verifyFor(op);
  }
  if (attribute.getName() == getTilesAttrName() || attribute.getName() == getEpilogueAttrName())
    return verifyDecision(op, attribute);
  if (attribute.getName() == getByRowsAttrName() &&
      !(isa<UnitAttr>(attribute.getValue()) && op->getName().getStringRef() == "nn.attention"))
    return op->emitOpError() << "'" << getByRowsAttrName() << "' is a unit attribute of nn.attention";
  if (attribute.getName() == passTokensAttrName)
    return verifyPassTokens(op, attribute.getValue());
  if (attribute.getName() == passesAttrName)
    return verifyPasses(op, attribute.getValue());
  if (attribute.getName() == arenaAttrName)
    return verifyArena(op, attribute.getValue());
  if (attribute.getName() == getColumnsInsideAttrName()) {
    auto forall = dyn_cast<scf::ForallOp>(op);
    if (!isa<UnitAttr>(attribute.getValue()) || !forall || forall.getRank() != 2)
      return op->emitOpError() << "'" << getColumnsInsideAttrName()
                               << "' is a unit attribute of an scf.forall over column blocks and tiles";
  }
  return success();
}

LogicalResult AccType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows, int64_t columns,
                              Type element) {
  if (rows < 1 || columns < 1)
    return emitError() << "a tile needs at least one row and one column";
  if (!element.isF32())
    return emitError() << "accumulators are f32, got " << element;
  return success();
}

LogicalResult RowsType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t count) {
  if (count < 1)
    return emitError() << "a tile needs at least one row";
  return success();
}
