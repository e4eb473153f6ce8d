//===- HostValues.cpp - sizes, buffers and views of the host program ------------------------------------------===//

#include "KernelBuilder.h"

using namespace mlir;
using namespace mlir::kernel;

OpFoldResult mlir::kernel::sizeOf(OpBuilder &b, Location loc, Value memref, int64_t dim) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(dim))
    return b.getIndexAttr(type.getDimSize(dim));
  if (auto alloc = memref.getDefiningOp<memref::AllocOp>())
    return getAsOpFoldResult(alloc.getDynamicSizes()[type.getDynamicDimIndex(dim)]);
  if (auto part = memref.getDefiningOp<PartOp>())
    if (auto window = part.getWindow().getDefiningOp<WindowOp>())
      return window.getSizes()[0]; // only the first dimension of a window can be dynamic
  return memref::DimOp::create(b, loc, memref, dim).getResult();
}

SmallVector<OpFoldResult> mlir::kernel::sizesOf(OpBuilder &b, Location loc, Value memref) {
  SmallVector<OpFoldResult> sizes;
  for (int64_t i = 0, e = cast<MemRefType>(memref.getType()).getRank(); i < e; ++i)
    sizes.push_back(sizeOf(b, loc, memref, i));
  return sizes;
}

OpFoldResult mlir::kernel::mulSizes(OpBuilder &b, Location loc, ArrayRef<OpFoldResult> sizes) {
  int64_t factor = 1;
  Value product;
  for (OpFoldResult size : sizes) {
    if (std::optional<int64_t> value = getConstantIntValue(size))
      factor *= *value;
    else
      product = product ? arith::MulIOp::create(b, loc, product, cast<Value>(size)).getResult() : cast<Value>(size);
  }
  if (!product || factor == 0)
    return b.getIndexAttr(factor);
  if (factor == 1)
    return product;
  return arith::MulIOp::create(b, loc, product, arith::ConstantIndexOp::create(b, loc, factor)).getResult();
}

OpFoldResult mlir::kernel::addSizes(OpBuilder &b, Location loc, OpFoldResult x, OpFoldResult y) {
  auto u = getConstantIntValue(x), v = getConstantIntValue(y);
  if (u && v)
    return b.getIndexAttr(*u + *v);
  return arith::AddIOp::create(b, loc, getValueOrCreateConstantIndexOp(b, loc, x),
                               getValueOrCreateConstantIndexOp(b, loc, y))
      .getResult();
}

OpFoldResult mlir::kernel::subSizes(OpBuilder &b, Location loc, OpFoldResult x, OpFoldResult y) {
  auto u = getConstantIntValue(x), v = getConstantIntValue(y);
  if (u && v)
    return b.getIndexAttr(*u - *v);
  return arith::SubIOp::create(b, loc, getValueOrCreateConstantIndexOp(b, loc, x),
                               getValueOrCreateConstantIndexOp(b, loc, y))
      .getResult();
}

OpFoldResult mlir::kernel::ceilDivSize(OpBuilder &b, Location loc, OpFoldResult size, int64_t divisor) {
  if (divisor == 1)
    return size;
  if (std::optional<int64_t> value = getConstantIntValue(size))
    return b.getIndexAttr(llvm::divideCeil(*value, divisor));
  return arith::CeilDivUIOp::create(b, loc, cast<Value>(size), arith::ConstantIndexOp::create(b, loc, divisor))
      .getResult();
}

Value mlir::kernel::allocate(OpBuilder &b, Location loc, MemRefType type, ArrayRef<OpFoldResult> sizes) {
  SmallVector<Value> dynamic;
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    if (ShapedType::isDynamic(size))
      dynamic.push_back(getValueOrCreateConstantIndexOp(b, loc, sizes[i]));
  return memref::AllocOp::create(b, loc, type, dynamic);
}

Value mlir::kernel::allocate(OpBuilder &b, Location loc, Type element, ArrayRef<OpFoldResult> sizes) {
  SmallVector<int64_t> shape;
  for (OpFoldResult size : sizes)
    shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
  return allocate(b, loc, MemRefType::get(shape, element), sizes);
}

/// The inferred type says 0 for a group of a dynamic size and a size of 0, which the verifier wants dynamic.
static Value collapse(OpBuilder &b, Location loc, Value memref, ArrayRef<ReassociationIndices> groups) {
  auto type = cast<MemRefType>(memref.getType());
  MemRefType inferred = memref::CollapseShapeOp::computeCollapsedType(type, groups);
  SmallVector<int64_t> shape(inferred.getShape());
  for (auto [size, group] : llvm::zip_equal(shape, groups))
    if (llvm::any_of(group, [&](int64_t dim) { return type.isDynamicDim(dim); }))
      size = ShapedType::kDynamic;
  return memref::CollapseShapeOp::create(
      b, loc, MemRefType::get(shape, type.getElementType(), inferred.getLayout(), inferred.getMemorySpace()), memref,
      groups);
}

Value mlir::kernel::asMatrix(OpBuilder &b, Location loc, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  if (type.getRank() == 2)
    return memref;
  if (type.getRank() == 1) {
    SmallVector<OpFoldResult> shape = {b.getIndexAttr(1), sizeOf(b, loc, memref, 0)};
    return memref::ExpandShapeOp::create(b, loc, ArrayRef<int64_t>{1, type.getDimSize(0)}, memref,
                                         ArrayRef<ReassociationIndices>{{0, 1}}, shape);
  }
  SmallVector<ReassociationIndices> groups(2);
  for (int64_t i = 0; i < type.getRank() - 1; ++i)
    groups[0].push_back(i);
  groups[1].push_back(type.getRank() - 1);
  return collapse(b, loc, memref, groups);
}

Value mlir::kernel::asVector(OpBuilder &b, Location loc, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  if (type.getRank() == 1)
    return memref;
  if (type.getRank() == 0)
    return memref::ExpandShapeOp::create(b, loc, ArrayRef<int64_t>{1}, memref, ArrayRef<ReassociationIndices>{},
                                         ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
  SmallVector<ReassociationIndices> groups(1);
  for (int64_t i = 0; i < type.getRank(); ++i)
    groups[0].push_back(i);
  return collapse(b, loc, memref, groups);
}

std::string mlir::kernel::shapeName(ArrayRef<int64_t> shape) {
  std::string name;
  for (int64_t size : shape)
    if (!ShapedType::isDynamic(size))
      name += (name.empty() ? "" : "x") + std::to_string(size);
  return name.empty() ? "d" : name;
}

std::string mlir::kernel::typeName(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}
