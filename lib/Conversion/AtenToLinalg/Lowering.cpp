//===- Lowering.cpp - builders that all lowerings of operators use ------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::aten;

Value Lowering::getTensor(StringRef name) {
  Value value = call.getValue(name);
  return value && isa<RankedTensorType>(value.getType()) ? value : Value();
}

Value Lowering::getScalar(StringRef name) {
  if (Value value = call.getValue(name))
    return isa<RankedTensorType>(value.getType()) ? Value() : value;
  auto attr = dyn_cast_or_null<TypedAttr>(call.getArgument(name));
  if (!attr || !attr.getType().isIntOrFloat())
    return {};
  return arith::ConstantOp::create(b, loc, attr);
}

std::optional<SmallVector<OpFoldResult>> Lowering::getSizes(StringRef name) {
  SmallVector<Attribute> elements;
  if (auto array = dyn_cast_or_null<ArrayAttr>(call.getArgument(name)))
    elements.assign(array.begin(), array.end());
  else if (Attribute single = call.getArgument(name))
    elements.push_back(single);
  else
    return std::nullopt;
  SmallVector<OpFoldResult> sizes;
  for (Attribute element : elements) {
    if (Value value = call.getOperandOf(element))
      sizes.push_back(arith::IndexCastOp::create(b, loc, b.getIndexType(), value).getResult());
    else if (auto integer = dyn_cast<IntegerAttr>(element))
      sizes.push_back(b.getIndexAttr(integer.getInt()));
    else
      return std::nullopt;
  }
  return sizes;
}

Value Lowering::misfit(RankedTensorType type) {
  fits = false;
  SmallVector<Value> dynamic(type.getNumDynamicDims(), arith::ConstantIndexOp::create(b, loc, 0));
  return tensor::EmptyOp::create(b, loc, type, dynamic);
}

OpFoldResult Lowering::getSize(Value tensor, int64_t dim) {
  auto type = llvm::cast<RankedTensorType>(tensor.getType());
  if (dim >= 0 && dim < type.getRank())
    return tensor::getMixedSize(b, loc, tensor, dim);
  fits = false;
  return b.getIndexAttr(1);
}

SmallVector<OpFoldResult> Lowering::getSizes(Value tensor) { return tensor::getMixedSizes(b, loc, tensor); }

SmallVector<OpFoldResult> Lowering::getBroadcastSizes(RankedTensorType result, ValueRange operands) {
  SmallVector<OpFoldResult> sizes;
  for (int64_t dim = 0; dim < result.getRank(); ++dim) {
    OpFoldResult size = b.getIndexAttr(result.getDimSize(dim));
    for (Value operand : operands) {
      if (!result.isDynamicDim(dim))
        break;
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      int64_t own = type ? dim - (result.getRank() - type.getRank()) : -1;
      if (own < 0)
        continue;
      // torch.export may not have simplified the result's size, which then is that of an operand that is known.
      if (type.getDimSize(own) != 1 || getConstantIntValue(size) == ShapedType::kDynamic)
        size = getSize(operand, own);
      if (type.isDynamicDim(own))
        break;
    }
    sizes.push_back(size);
  }
  return sizes;
}

Value Lowering::getIndex(OpFoldResult size) { return getValueOrCreateConstantIndexOp(b, loc, size); }

OpFoldResult Lowering::multiply(ArrayRef<OpFoldResult> sizes) {
  int64_t constant = 1;
  Value product;
  for (OpFoldResult size : sizes) {
    if (std::optional<int64_t> known = getConstantIntValue(size)) {
      constant *= *known;
      continue;
    }
    Value factor = llvm::cast<Value>(size);
    product = product ? arith::MulIOp::create(b, loc, product, factor).getResult() : factor;
  }
  if (!product)
    return b.getIndexAttr(constant);
  if (constant != 1)
    product = arith::MulIOp::create(b, loc, product, arith::ConstantIndexOp::create(b, loc, constant));
  return product;
}

Value Lowering::empty(RankedTensorType type, ArrayRef<OpFoldResult> sizes) {
  if (static_cast<int64_t>(sizes.size()) != type.getRank())
    return misfit(type);
  SmallVector<Value> dynamic;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      dynamic.push_back(getIndex(sizes[dim]));
  return tensor::EmptyOp::create(b, loc, type, dynamic);
}

Value Lowering::map(RankedTensorType type, ArrayRef<OpFoldResult> sizes, ValueRange operands, Body body) {
  SmallVector<AffineMap> maps;
  for (Value operand : operands) {
    auto from = dyn_cast<RankedTensorType>(operand.getType());
    SmallVector<AffineExpr> exprs;
    int64_t offset = from ? type.getRank() - from.getRank() : -1;
    if (offset < 0)
      return misfit(type);
    for (int64_t dim = 0; dim < from.getRank(); ++dim)
      exprs.push_back(from.getDimSize(dim) == 1 && type.getDimSize(dim + offset) != 1
                          ? b.getAffineConstantExpr(0)
                          : b.getAffineDimExpr(dim + offset));
    maps.push_back(AffineMap::get(type.getRank(), 0, exprs, b.getContext()));
  }
  return map(type, sizes, operands, maps, body);
}

Value Lowering::map(RankedTensorType type, ArrayRef<OpFoldResult> sizes, ValueRange operands, ArrayRef<AffineMap> maps,
                    Body body) {
  for (auto [operand, map] : llvm::zip_equal(operands, maps)) {
    auto from = dyn_cast<RankedTensorType>(operand.getType());
    if (!from || map.getNumDims() != type.getRank() || map.getNumResults() != from.getRank())
      return misfit(type);
  }
  SmallVector<AffineMap> all(maps);
  all.push_back(b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  auto build = [&](OpBuilder &nested, Location nestedLoc, ValueRange args) {
    Value result = body(nested, nestedLoc, args.drop_back());
    linalg::YieldOp::create(nested, nestedLoc, result);
  };
  return linalg::GenericOp::create(b, loc, type, operands, empty(type, sizes), all, iterators, build).getResult(0);
}

Value Lowering::reduce(Value input, ArrayRef<int64_t> dims, bool keep, TypedAttr init, Body body) {
  auto from = llvm::cast<RankedTensorType>(input.getType());
  SmallVector<int64_t> shape, kept;
  SmallVector<OpFoldResult> sizes, keptSizes;
  SmallVector<AffineExpr> exprs;
  SmallVector<utils::IteratorType> iterators;
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    bool reduced = llvm::is_contained(dims, dim);
    iterators.push_back(reduced ? utils::IteratorType::reduction : utils::IteratorType::parallel);
    keptSizes.push_back(reduced ? OpFoldResult(b.getIndexAttr(1)) : getSize(input, dim));
    kept.push_back(reduced ? 1 : from.getDimSize(dim));
    if (reduced)
      continue;
    exprs.push_back(b.getAffineDimExpr(dim));
    shape.push_back(from.getDimSize(dim));
    sizes.push_back(keptSizes.back());
  }
  auto type = RankedTensorType::get(shape, init.getType());
  Value start = arith::ConstantOp::create(b, loc, init);
  Value filled = linalg::FillOp::create(b, loc, start, empty(type, sizes)).getResult(0);
  AffineMap maps[] = {b.getMultiDimIdentityMap(from.getRank()),
                      AffineMap::get(from.getRank(), 0, exprs, b.getContext())};
  auto build = [&](OpBuilder &nested, Location nestedLoc, ValueRange args) {
    linalg::YieldOp::create(nested, nestedLoc, body(nested, nestedLoc, args));
  };
  Value result = linalg::GenericOp::create(b, loc, type, input, filled, maps, iterators, build).getResult(0);
  return keep ? reshapeUnits(result, RankedTensorType::get(kept, init.getType()), keptSizes) : result;
}

Value Lowering::cast(Value tensor, Type element) {
  auto from = llvm::cast<RankedTensorType>(tensor.getType());
  if (from.getElementType() == element)
    return tensor;
  return map(from.clone(element), getSizes(tensor), tensor,
             [&](OpBuilder &nested, Location nestedLoc, ValueRange args) {
               return convertScalar(nested, nestedLoc, args[0], element);
             });
}

/// Drops the dimensions of size 1 of a shape and says to which group of a reassociation each dimension belongs.
static SmallVector<ReassociationIndices> groupUnitDims(ArrayRef<int64_t> large, ArrayRef<int64_t> small) {
  SmallVector<ReassociationIndices> groups;
  size_t next = 0;
  for (size_t dim = 0; dim < large.size(); ++dim) {
    bool matches = next < small.size() && large[dim] == small[next];
    // Units in front of the first kept dimension belong to it.
    if (matches && groups.size() == next) {
      groups.emplace_back();
      for (size_t unit = groups.size() == 1 ? 0 : dim; unit <= dim; ++unit)
        groups.back().push_back(unit);
      ++next;
    } else if (large[dim] != 1) {
      return {};
    } else if (!groups.empty()) {
      groups.back().push_back(dim);
    }
  }
  return next == small.size() ? groups : SmallVector<ReassociationIndices>();
}

Value Lowering::reshapeUnits(Value tensor, RankedTensorType type, ArrayRef<OpFoldResult> sizes) {
  auto from = llvm::cast<RankedTensorType>(tensor.getType());
  if (from == type)
    return tensor;
  if (static_cast<int64_t>(sizes.size()) != type.getRank())
    return misfit(type);
  if (type.getRank() == 0)
    return tensor::CollapseShapeOp::create(b, loc, type, tensor, ArrayRef<ReassociationIndices>());
  if (from.getRank() == 0)
    return tensor::ExpandShapeOp::create(b, loc, type, tensor, ArrayRef<ReassociationIndices>(), sizes);
  if (from.getRank() > type.getRank())
    if (SmallVector<ReassociationIndices> groups = groupUnitDims(from.getShape(), type.getShape()); !groups.empty())
      return tensor::CollapseShapeOp::create(b, loc, type, tensor, groups);
  if (from.getRank() < type.getRank())
    if (SmallVector<ReassociationIndices> groups = groupUnitDims(type.getShape(), from.getShape()); !groups.empty())
      return tensor::ExpandShapeOp::create(b, loc, type, tensor, groups, sizes);
  return reshape(tensor, type, sizes);
}

Value Lowering::reshape(Value tensor, RankedTensorType type, ArrayRef<OpFoldResult> sizes) {
  auto from = llvm::cast<RankedTensorType>(tensor.getType());
  if (from == type && type.hasStaticShape())
    return tensor;
  if (static_cast<int64_t>(sizes.size()) != type.getRank())
    return misfit(type);
  if (from.getRank() == 0 || type.getRank() == 0)
    return reshapeUnits(tensor, type, sizes);
  SmallVector<Value> elements;
  for (OpFoldResult size : sizes)
    elements.push_back(getIndex(size));
  Value shape = tensor::FromElementsOp::create(b, loc, elements);
  return tensor::ReshapeOp::create(b, loc, type, tensor, shape);
}
