//===- Creation.cpp - tensors from nothing: arange, full, zeros, ... ----------------------------------------------===//

#include "Lowering.h"

#include <limits>

using namespace mlir;
using namespace mlir::aten;

/// Every element is `value`.
static Values fill(Lowering &l, Value value, ArrayRef<OpFoldResult> sizes) {
  RankedTensorType type = l.getType();
  Value element = convertScalar(l.b, l.loc, value, type.getElementType());
  return {{linalg::FillOp::create(l.b, l.loc, element, l.empty(type, sizes)).getResult(0)}};
}

/// Sizes from `size`, or from the tensor `self` for the `_like` forms.
static std::optional<SmallVector<OpFoldResult>> getResultSizes(Lowering &l) {
  std::optional<SmallVector<OpFoldResult>> sizes = l.getSizes("size");
  if (!sizes && l.getTensor("self"))
    sizes = l.getSizes(l.getTensor("self"));
  if (!sizes && l.getType().getRank() == 0)
    sizes.emplace();
  if (sizes && static_cast<int64_t>(sizes->size()) != l.getType().getRank())
    return std::nullopt;
  return sizes;
}

template <int value> static Values lowerConstant(Lowering &l) {
  std::optional<SmallVector<OpFoldResult>> sizes = getResultSizes(l);
  if (!sizes)
    return std::nullopt;
  return fill(l, arith::ConstantOp::create(l.b, l.loc, l.b.getI64IntegerAttr(value)), *sizes);
}

/// full, full_like, new_full, fill, scalar_tensor.
static Values lowerFull(Lowering &l) {
  Value value;
  for (StringRef name : {"fill_value", "value", "s"})
    if (!value)
      value = l.getScalar(name);
  if (Value tensor = l.getTensor("value"))
    value = tensor::ExtractOp::create(l.b, l.loc, tensor, ValueRange());
  std::optional<SmallVector<OpFoldResult>> sizes = getResultSizes(l);
  if (!value || !sizes)
    return std::nullopt;
  return fill(l, value, *sizes);
}

/// arange(start, end, step): start + i * step in the result's type.
static Values lowerArange(Lowering &l) {
  Value start = l.getScalar("start"), end = l.getScalar("end"), step = l.getScalar("step");
  RankedTensorType type = l.getType();
  if (!end || type.getRank() != 1)
    return std::nullopt;
  Type element = type.getElementType(), compute = getComputeType(element);
  OpFoldResult size = l.b.getIndexAttr(type.getDimSize(0));
  if (type.isDynamicDim(0)) {
    bool integers = end.getType().isInteger(64) && (!start || start.getType().isInteger(64)) &&
                    (!step || l.call.getInt("step") == 1);
    if (!integers)
      return std::nullopt;
    Value count = start ? arith::SubIOp::create(l.b, l.loc, end, start).getResult() : end;
    size = arith::IndexCastOp::create(l.b, l.loc, l.b.getIndexType(), count).getResult();
  }
  return {{l.map(type, size, ValueRange(), ArrayRef<AffineMap>(), [&](OpBuilder &b, Location loc, ValueRange) {
    Value value = convertScalar(b, loc, linalg::IndexOp::create(b, loc, 0), compute);
    bool floats = isa<FloatType>(compute);
    if (step) {
      Value factor = convertScalar(b, loc, step, compute);
      value = floats ? arith::MulFOp::create(b, loc, value, factor).getResult()
                     : arith::MulIOp::create(b, loc, value, factor).getResult();
    }
    if (start) {
      Value offset = convertScalar(b, loc, start, compute);
      value = floats ? arith::AddFOp::create(b, loc, value, offset).getResult()
                     : arith::AddIOp::create(b, loc, value, offset).getResult();
    }
    return convertScalar(b, loc, value, element);
  })}};
}

void mlir::aten::addCreation(LoweringTable &table) {
  for (StringRef name : {"aten.zeros", "aten.zeros_like", "aten.new_zeros"})
    table[name] = lowerConstant<0>;
  // What an empty tensor holds is not defined; zeros are as good as anything, and the same in every run.
  for (StringRef name : {"aten.empty", "aten.empty_like", "aten.new_empty"})
    table[name] = lowerConstant<0>;
  for (StringRef name : {"aten.ones", "aten.ones_like", "aten.new_ones"})
    table[name] = lowerConstant<1>;
  for (StringRef name : {"aten.full", "aten.full_like", "aten.new_full", "aten.fill", "aten.scalar_tensor"})
    table[name] = lowerFull;
  table["aten.arange"] = lowerArange;
}
