//===- Memory.cpp - memrefs as pointers and sizes -----------------------------------------------------------------===//

#include "Emitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::kernel;

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
    return set(op,
               call(op, convert(load.getType()), "moe::loadGlobal", address(op, load.getMemRef(), load.getIndices())));
  if (auto store = dyn_cast<memref::StoreOp>(op)) {
    Value to = address(op, store.getMemRef(), store.getIndices());
    emitc::CallOpaqueOp::create(b, op->getLoc(), TypeRange(), "moe::storeGlobal",
                                ValueRange{to, get(store.getValueToStore())});
    return success();
  }
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    std::optional<int64_t> number = getConstantIntValue(dim.getIndex());
    if (!number)
      return failure();
    return set(op, buffers.at(dim.getSource()).sizes[*number]);
  }
  return failure();
}
