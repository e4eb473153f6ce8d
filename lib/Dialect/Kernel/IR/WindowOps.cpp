//===- WindowOps.cpp - types and verifiers of windows -------------------------------------------------------------===//

#include "InKernel.h"

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/IR/Ranks.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kernel;

std::optional<int32_t> kernel::countRanks(shard::GridOp grid) {
  int64_t ranks = 1;
  for (int64_t size : grid.getShape()) {
    if (ShapedType::isDynamic(size) || size < 1 || size > INT32_MAX)
      return std::nullopt;
    ranks *= size;
    if (ranks > INT32_MAX)
      return std::nullopt;
  }
  return ranks;
}

//===----------------------------------------------------------------------===//
// WindowType
//===----------------------------------------------------------------------===//

LogicalResult WindowType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape, Type element) {
  if (shape.empty())
    return emitError() << "a window has at least one dimension";
  if (ShapedType::isDynamicShape(shape.drop_front()))
    return emitError() << "only the first dimension of a window may be dynamic";
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8)
    return emitError() << "a window holds numbers of whole bytes, got " << element;
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  for (int64_t size : shape)
    if (!ShapedType::isDynamic(size) && (size < 1 || llvm::MulOverflow(bytes, size, bytes)))
      return emitError() << "sizes of a window must be at least 1, and their bytes a number that an integer holds";
  return success();
}

int64_t WindowType::getRowBytes() const {
  int64_t bytes = getElement().getIntOrFloatBitWidth() / 8;
  for (int64_t size : getShape().drop_front())
    bytes *= size;
  return bytes;
}

MemRefType WindowType::getPart() const { return MemRefType::get(getShape(), getElement()); }

//===----------------------------------------------------------------------===//
// Where an op stands, and what it names
//===----------------------------------------------------------------------===//

static LogicalResult verifyOnHost(Operation *op) {
  if (op->getParentOfType<kernel::FuncOp>())
    return op->emitOpError("is an op of the host program; a kernel takes what it needs as arguments");
  return success();
}

LogicalResult mlir::kernel::verifyInKernel(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  if (function && function->getName().getStringRef() == "func.func")
    return op->emitOpError("is an op of kernels; a host function launches them");
  return success();
}

static LogicalResult verifyGrid(Operation *op, FlatSymbolRefAttr name, SymbolTableCollection &symbols) {
  auto grid = symbols.lookupNearestSymbolFrom<shard::GridOp>(op, name);
  if (!grid)
    return op->emitOpError() << "names no shard.grid: " << name;
  if (!countRanks(grid))
    return op->emitOpError() << "names a grid whose number of ranks is not known, or is none: " << name;
  if (grid->hasAttr("moe.groups_of")) // The dialect does not depend on theirs.
    return op->emitOpError() << "names a grid whose ranks are groups, which share weights only: " << name;
  return success();
}

static LogicalResult verifySizes(Operation *op, WindowType type, ValueRange sizes) {
  size_t wanted = type.isDynamic();
  if (sizes.size() != wanted)
    return op->emitOpError() << "has " << sizes.size() << " sizes for " << wanted << " dynamic dimensions of " << type;
  return success();
}

LogicalResult RankOp::verify() { return verifyOnHost(*this); }
LogicalResult RankOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyGrid(*this, getGridAttr(), symbols);
}

LogicalResult AgreeOp::verify() { return verifyOnHost(*this); }
LogicalResult AgreeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyGrid(*this, getGridAttr(), symbols);
}

LogicalResult WindowOp::verify() {
  if (getName().empty())
    return emitOpError("must have a name");
  if (failed(verifyOnHost(*this)))
    return failure();
  return verifySizes(*this, getWindow().getType(), getSizes());
}
LogicalResult WindowOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyGrid(*this, getGridAttr(), symbols);
}

LogicalResult WindowsOp::verify() { return verifyOnHost(*this); }
LogicalResult WindowsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyGrid(*this, getGridAttr(), symbols);
}

LogicalResult WindowAtOp::verify() {
  if (failed(verifyOnHost(*this)))
    return failure();
  return verifySizes(*this, getWindow().getType(), getSizes());
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

LogicalResult PartOp::verify() { return getPeer() ? verifyInKernel(*this) : success(); }

LogicalResult PutOp::verify() {
  if (failed(verifyInKernel(*this)))
    return failure();
  auto source = cast<MemRefType>(getSource().getType());
  WindowType window = getWindow().getType();
  if (!source.getLayout().isIdentity())
    return emitOpError() << "source must be a contiguous row-major memref, got " << source;
  if (source.getRank() != window.getRank() || source.getElementType() != window.getElement() ||
      source.getShape().drop_front() != window.getShape().drop_front())
    return emitOpError() << "a row of " << source << " is not one of " << window
                         << "; element type and all sizes but the first must be equal";
  return success();
}

LogicalResult EpochOp::verify() { return verifyInKernel(*this); }
LogicalResult SignalOp::verify() { return verifyInKernel(*this); }
LogicalResult AwaitOp::verify() { return verifyInKernel(*this); }
LogicalResult AdvanceOp::verify() { return verifyInKernel(*this); }
