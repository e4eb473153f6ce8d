//===- Tables.cpp - buffers of constant numbers ------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::kernel;

/// Name of the global with this content; equal constants share one.
static StringRef globalFor(GraphLowering &lowering, ElementsAttr elements, MemRefType type, Location loc) {
  unsigned number = 0;
  for (auto global : lowering.module.getOps<memref::GlobalOp>()) {
    if (global.getInitialValue() == Attribute(elements) && global.getType() == type)
      return global.getSymName();
    ++number;
  }
  OpBuilder b = OpBuilder::atBlockBegin(lowering.module.getBody());
  std::string name = "constant_" + shapeName(type.getShape()) + "_" + typeName(type.getElementType());
  while (lowering.module.lookupSymbol(name))
    name = "constant_" + std::to_string(number++);
  auto global = memref::GlobalOp::create(b, loc, name, b.getStringAttr("private"), type, elements,
                                         /*constant=*/true, /*alignment=*/b.getI64IntegerAttr(64));
  return global.getSymName();
}

Value mlir::kernel::emitTable(GraphLowering &lowering, OpBuilder &host, Location loc, ElementsAttr elements,
                              MemRefType type) {
  return memref::GetGlobalOp::create(host, loc, type, globalFor(lowering, elements, type, loc));
}

Value mlir::kernel::emitTable(GraphLowering &lowering, OpBuilder &host, Location loc, ArrayRef<int32_t> values) {
  const int64_t size = values.size();
  auto elements = DenseElementsAttr::get(RankedTensorType::get(size, host.getI32Type()), values);
  return emitTable(lowering, host, loc, elements, MemRefType::get(size, host.getI32Type()));
}
