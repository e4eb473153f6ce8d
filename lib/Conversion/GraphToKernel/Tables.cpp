//===- Tables.cpp - buffers of constant numbers ------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

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

/// Elements of a table that a kernel writes one by one.
static constexpr int64_t kMostWritten = 256;

/// A buffer into which a kernel writes `elements`.
static Value emitNumbers(GraphLowering &lowering, OpBuilder &host, Location loc, DenseElementsAttr elements,
                         MemRefType type) {
  Value result = allocate(host, loc, type, {});
  KernelBuilder b(lowering.kernels, loc);
  Value to = b.arg(result);
  SmallVector<int64_t> strides = computeStrides(type.getShape());
  for (auto [i, number] : llvm::enumerate(elements.getValues<TypedAttr>())) {
    SmallVector<Value> place =
        llvm::map_to_vector(delinearize(i, strides), [&](int64_t index) { return b.idx(index); });
    b.store(arith::ConstantOp::create(b, number), to, place);
  }
  OpFoldResult size = host.getIndexAttr(type.getNumElements());
  b.launch(host, "numbers_" + shapeName(type.getShape()) + "_" + typeName(type.getElementType()), size, size,
           /*single=*/true);
  return result;
}

Value mlir::kernel::emitTable(GraphLowering &lowering, OpBuilder &host, Location loc, ElementsAttr elements,
                              MemRefType type) {
  // Kernels of a GPU cannot read what stands in the object file.
  auto numbers = dyn_cast<DenseElementsAttr>(elements);
  if (isOffloaded(lowering.module) && numbers && type.getNumElements() <= kMostWritten)
    return emitNumbers(lowering, host, loc, numbers, type);
  return memref::GetGlobalOp::create(host, loc, type, globalFor(lowering, elements, type, loc));
}

Value mlir::kernel::emitTable(GraphLowering &lowering, OpBuilder &host, Location loc, ArrayRef<int32_t> values) {
  const int64_t size = values.size();
  auto elements = DenseElementsAttr::get(RankedTensorType::get(size, host.getI32Type()), values);
  return emitTable(lowering, host, loc, elements, MemRefType::get(size, host.getI32Type()));
}
