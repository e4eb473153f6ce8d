//===- Memory.cpp - memrefs as pointers and sizes -----------------------------------------------------------------===//

#include "Emitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kernel;
using mlir::cuda::DeviceFunction;

Value Emitter::address(Operation *op, Value memref, ValueRange indices) {
  const Buffer &buffer = buffers.at(memref);
  Location loc = op->getLoc();
  Type integer64 = b.getI64Type();
  Value offset;
  for (auto [index, size] : llvm::zip(indices, buffer.sizes)) {
    Value value = get(index);
    if (offset)
      value = emitc::AddOp::create(b, loc, integer64, emitc::MulOp::create(b, loc, integer64, offset, size), value);
    offset = value;
  }
  if (!offset)
    return buffer.pointer;
  return emitc::AddOp::create(b, loc, buffer.pointer.getType(), buffer.pointer, offset);
}

LogicalResult Emitter::emitMemory(Operation *op) {
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return set(op, call(op, convert(load.getType()), DeviceFunction::LoadGlobal,
                        address(op, load.getMemRef(), load.getIndices())));
  if (auto store = dyn_cast<memref::StoreOp>(op)) {
    Value to = address(op, store.getMemRef(), store.getIndices());
    // A literal, and what C++ computes of narrow integers, is an `int`, which is not what the pointer points to.
    Type source = store.getValueToStore().getType(), element = convert(source);
    const bool isInt = source.isInteger(32) || source.isInteger(1);
    Attribute parameter = isa<IntegerType>(element) && !isInt ? TypeAttr::get(element) : Attribute();
    call(op, Type(), DeviceFunction::StoreGlobal, {to, get(store.getValueToStore())}, parameter);
    return success();
  }
  if (auto load = dyn_cast<vector::LoadOp>(op)) {
    Value from = address(op, load.getBase(), load.getIndices());
    Type type = convert(load.getVectorType());
    return set(op, call(op, type, DeviceFunction::LoadVector, from, TypeAttr::get(type)));
  }
  if (auto store = dyn_cast<vector::StoreOp>(op)) {
    Value to = address(op, store.getBase(), store.getIndices());
    call(op, Type(), DeviceFunction::StoreVector, {to, get(store.getValueToStore())});
    return success();
  }
  if (isa<ub::PoisonOp>(op) && isa<VectorType>(op->getResult(0).getType()))
    return set(op, emitc::ConstantOp::create(b, op->getLoc(), convert(op->getResult(0).getType()),
                                             emitc::OpaqueAttr::get(b.getContext(), "{}")));
  if (auto extract = dyn_cast<vector::ExtractOp>(op); extract && extract.getNumIndices() == 1) {
    Value at = extract.hasDynamicPosition()
                   ? get(extract.getDynamicPosition()[0])
                   : integer(op->getLoc(), b.getI64Type(), extract.getStaticPosition()[0]);
    return set(op, call(op, convert(extract.getType()), DeviceFunction::Element, {get(extract.getSource()), at}));
  }
  if (auto insert = dyn_cast<vector::InsertOp>(op); insert && insert.getDynamicPosition().size() == 1)
    return set(op, call(op, convert(insert.getType()), DeviceFunction::WithElement,
                        {get(insert.getDest()), get(insert.getDynamicPosition()[0]), get(insert.getValueToStore())}));
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    std::optional<int64_t> number = getConstantIntValue(dim.getIndex());
    if (!number)
      return failure();
    if (*number < 0 || *number >= cast<MemRefType>(dim.getSource().getType()).getRank())
      return report(op, "asks for a dimension that its memref does not have");
    return set(op, buffers.at(dim.getSource()).sizes[*number]);
  }
  return failure();
}
