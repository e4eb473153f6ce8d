//===- HostUtils.cpp - buffers and sizes of the host function at the kernel level ---------------------------------===//

#include "moe-mlir/Dialect/Kernel/Transforms/HostUtils.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

Value kernel::getViewRoot(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  return memref;
}

ValueRange kernel::getWindowSizes(Value window) {
  if (auto op = window.getDefiningOp<kernel::WindowOp>())
    return op.getSizes();
  if (auto op = window.getDefiningOp<kernel::WindowAtOp>())
    return op.getSizes();
  return {};
}

Value kernel::getMemrefSize(OpBuilder &b, Location loc, Value memref, int64_t dim) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(dim))
    return arith::ConstantIndexOp::create(b, loc, type.getDimSize(dim));
  Operation *def = memref.getDefiningOp();
  unsigned dynamic = type.getDynamicDimIndex(dim);
  if (auto alloc = dyn_cast_or_null<memref::AllocOp>(def))
    return alloc.getDynamicSizes()[dynamic];
  if (auto view = dyn_cast_or_null<memref::ViewOp>(def))
    return view.getSizes()[dynamic];
  if (auto part = dyn_cast_or_null<kernel::PartOp>(def))
    if (ValueRange sizes = getWindowSizes(part.getWindow()); !sizes.empty())
      return sizes.front(); // only the first dimension is dynamic
  if (auto cast = dyn_cast_or_null<memref::CastOp>(def))
    return getMemrefSize(b, loc, cast.getSource(), dim);
  if (auto cast = dyn_cast_or_null<memref::ReinterpretCastOp>(def))
    return getValueOrCreateConstantIndexOp(b, loc, cast.getMixedSizes()[dim]);
  if (auto expand = dyn_cast_or_null<memref::ExpandShapeOp>(def))
    return getValueOrCreateConstantIndexOp(b, loc, expand.getMixedOutputShape()[dim]);
  if (auto collapse = dyn_cast_or_null<memref::CollapseShapeOp>(def)) {
    Value size;
    ReassociationIndices group = collapse.getReassociationIndices()[dim];
    for (int64_t source : group) {
      Value next = getMemrefSize(b, loc, collapse.getSrc(), source);
      size = size ? arith::MulIOp::create(b, loc, size, next) : next;
    }
    return size;
  }
  return memref::DimOp::create(b, loc, memref, dim);
}

/// Of a number without sign: constants, and the larger one of two numbers of which one is so.
static bool isNeverZero(Value value) {
  if (auto larger = value.getDefiningOp<arith::MaxUIOp>())
    return isNeverZero(larger.getLhs()) || isNeverZero(larger.getRhs());
  std::optional<int64_t> constant = getConstantIntValue(value);
  return constant && *constant != 0;
}

/// A quotient is, too, if nothing is divided by zero.
static bool mayMove(Operation *op) {
  if (isPure(op))
    return true;
  return isa<arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp>(op) && isNeverZero(op->getOperand(1));
}

LogicalResult kernel::hoistScalar(Value value, Operation *op) {
  Operation *def = value.getDefiningOp();
  if (!def || def->getBlock() != op->getBlock() || def->isBeforeInBlock(op))
    return success();
  if (!mayMove(def) || def->getNumRegions())
    return failure();
  for (Value operand : def->getOperands())
    if (failed(hoistScalar(operand, op)))
      return failure();
  def->moveBefore(op);
  return success();
}
