//===- Memrefs.cpp - memrefs from addresses, and back -------------------------------------------------------------===//

#include "Memrefs.h"

#include "moe-mlir/Support/FixedStrides.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

Value kernel::castTo(OpBuilder &b, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return UnrealizedConversionCastOp::create(b, loc, type, value).getResult(0);
}

Value kernel::makeMemref(OpBuilder &b, Location loc, const LLVMTypeConverter &converter, MemRefType type, Value data,
                         ValueRange dynamicSizes) {
  auto constant = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(value));
  };
  auto descriptor = MemRefDescriptor::poison(b, loc, converter.convertType(type));
  descriptor.setAllocatedPtr(b, loc, data);
  descriptor.setAlignedPtr(b, loc, data);
  descriptor.setOffset(b, loc, constant(0));
  SmallVector<Value> sizes;
  for (int64_t size : type.getShape()) {
    if (!ShapedType::isDynamic(size)) {
      sizes.push_back(constant(size));
      continue;
    }
    sizes.push_back(dynamicSizes.front());
    dynamicSizes = dynamicSizes.drop_front();
  }
  std::optional<SmallVector<int64_t>> strides;
  if (!type.getLayout().isIdentity())
    strides = moe_mlir::fixedStrides(type);
  Value stride = constant(1);
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    descriptor.setSize(b, loc, d, sizes[d]);
    descriptor.setStride(b, loc, d, strides ? constant((*strides)[d]) : stride);
    if (d && !strides)
      stride = LLVM::MulOp::create(b, loc, stride, sizes[d]);
  }
  return castTo(b, loc, descriptor, type);
}

Value kernel::addressOf(OpBuilder &b, Location loc, const LLVMTypeConverter &converter, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  MemRefDescriptor descriptor(castTo(b, loc, memref, converter.convertType(type)));
  return descriptor.bufferPtr(b, loc, converter, type);
}
