//===- Convolution.cpp - padding, and convolutions along one dimension --------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::aten;

/// Larger numbers of elements are no padding, stride or dilation, and sums of them could overflow.
static constexpr int64_t kMost = int64_t(1) << 31;

/// `count` more elements along `dim`, all of them `value`.
static Value fillBeside(Lowering &l, Value tensor, int64_t dim, int64_t count, Value value) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = count;
  SmallVector<OpFoldResult> sizes = l.getSizes(tensor);
  sizes[dim] = l.b.getIndexAttr(count);
  return linalg::FillOp::create(l.b, l.loc, value, l.empty(type.clone(shape), sizes)).getResult(0);
}

/// The tensor with `before` and `after` elements more along `dim`; negative numbers take elements away.
static std::optional<Value> padDim(Lowering &l, Value tensor, int64_t dim, int64_t before, int64_t after, Value value) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (before < 0 || after < 0) {
    // What is taken away must be there, which only a known size tells.
    int64_t cut = std::max<int64_t>(-before, 0) + std::max<int64_t>(-after, 0), size = type.getDimSize(dim);
    if (type.isDynamicDim(dim) || size < cut)
      return std::nullopt;
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = size - cut;
    SmallVector<OpFoldResult> offsets(type.getRank(), l.b.getIndexAttr(0)), sizes = l.getSizes(tensor),
        strides(type.getRank(), l.b.getIndexAttr(1));
    // A part without elements begins at the front: it has no place behind the last element.
    offsets[dim] = l.b.getIndexAttr(shape[dim] ? std::max<int64_t>(-before, 0) : 0);
    sizes[dim] = l.b.getIndexAttr(shape[dim]);
    tensor = tensor::ExtractSliceOp::create(l.b, l.loc, type.clone(shape), tensor, offsets, sizes, strides);
  }
  SmallVector<Value> parts;
  if (before > 0)
    parts.push_back(fillBeside(l, tensor, dim, before, value));
  // For the same reason, nothing is joined that has no elements.
  if (cast<RankedTensorType>(tensor.getType()).getDimSize(dim) != 0 || (before <= 0 && after <= 0))
    parts.push_back(tensor);
  if (after > 0)
    parts.push_back(fillBeside(l, tensor, dim, after, value));
  return parts.size() == 1 ? parts.front() : tensor::ConcatOp::create(l.b, l.loc, dim, parts).getResult();
}

/// pad(self, [before, after, ...], "constant", value), from the last dimension on; constant_pad_nd is the same.
static Values lowerPad(Lowering &l) {
  Value self = l.getTensor("self");
  std::optional<SmallVector<int64_t>> pad = l.call.getInts("pad");
  StringRef mode = l.call.getString("mode").value_or("constant");
  RankedTensorType type = l.getType();
  if (!self || !pad || pad->size() % 2 || int64_t(pad->size()) > 2 * type.getRank() || mode != "constant" ||
      cast<RankedTensorType>(self.getType()).getRank() != type.getRank())
    return std::nullopt;
  Value value = l.getScalar("value");
  if (!value)
    value = arith::ConstantOp::create(l.b, l.loc, l.b.getI64IntegerAttr(0));
  value = convertScalar(l.b, l.loc, value, type.getElementType());
  if (llvm::any_of(*pad, [](int64_t count) { return std::abs(count) > kMost; }))
    return std::nullopt;
  for (size_t i = 0; i < pad->size(); i += 2) {
    std::optional<Value> padded = padDim(l, self, type.getRank() - 1 - int64_t(i / 2), (*pad)[i], (*pad)[i + 1], value);
    if (!padded)
      return std::nullopt;
    self = *padded;
  }
  return {{self.getType() == type ? self : tensor::CastOp::create(l.b, l.loc, type, self).getResult()}};
}

/// One number of an argument that is a number or a list of one.
static std::optional<int64_t> getSingle(Lowering &l, StringRef name, int64_t absent) {
  if (!l.call.getArgument(name))
    return absent;
  std::optional<SmallVector<int64_t>> numbers = l.call.getInts(name);
  return numbers && numbers->size() == 1 && std::abs(numbers->front()) < kMost ? std::optional(numbers->front()) : std::nullopt;
}

/// How many places a window of `reach` elements has in `length` elements, `stride` apart.
static OpFoldResult countWindows(Lowering &l, OpFoldResult length, int64_t reach, int64_t stride) {
  if (std::optional<int64_t> known = getConstantIntValue(length))
    return l.b.getIndexAttr((*known - reach) / stride + 1);
  Value count = arith::SubIOp::create(l.b, l.loc, l.getIndex(length),
                                      arith::ConstantIndexOp::create(l.b, l.loc, reach - 1));
  if (stride == 1)
    return count;
  Value last = arith::SubIOp::create(l.b, l.loc, count, arith::ConstantIndexOp::create(l.b, l.loc, 1));
  Value steps = arith::FloorDivSIOp::create(l.b, l.loc, last, arith::ConstantIndexOp::create(l.b, l.loc, stride));
  return arith::AddIOp::create(l.b, l.loc, steps, arith::ConstantIndexOp::create(l.b, l.loc, 1)).getResult();
}

/// out[b, g, o, t] = sum over i, k of x[b, g, i, t * stride + k * dilation] * weight[g, o, i, k].
static Value convolve(Lowering &l, Value x, Value weight, RankedTensorType type, ArrayRef<OpFoldResult> sizes,
                      int64_t stride, int64_t dilation) {
  SmallVector<AffineExpr> d;
  for (unsigned dim = 0; dim < 6; ++dim)
    d.push_back(l.b.getAffineDimExpr(dim));
  MLIRContext *context = l.b.getContext();
  AffineMap maps[] = {AffineMap::get(6, 0, {d[0], d[1], d[4], d[3] * stride + d[5] * dilation}, context),
                      AffineMap::get(6, 0, {d[1], d[2], d[4], d[5]}, context),
                      AffineMap::get(6, 0, {d[0], d[1], d[2], d[3]}, context)};
  SmallVector<utils::IteratorType> iterators(4, utils::IteratorType::parallel);
  iterators.append(2, utils::IteratorType::reduction);
  Type compute = type.getElementType();
  Value zero = arith::ConstantOp::create(l.b, l.loc, l.b.getZeroAttr(compute));
  Value init = linalg::FillOp::create(l.b, l.loc, zero, l.empty(type, sizes)).getResult(0);
  auto build = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value product = arith::MulFOp::create(b, loc, convertScalar(b, loc, args[0], compute),
                                          convertScalar(b, loc, args[1], compute));
    linalg::YieldOp::create(b, loc, arith::AddFOp::create(b, loc, args[2], product).getResult());
  };
  return linalg::GenericOp::create(l.b, l.loc, type, ValueRange{x, weight}, init, maps, iterators, build).getResult(0);
}

/// conv1d(input [B, C, L], weight [O, C / groups, K], bias [O], stride, padding, dilation, groups) -> [B, O, T].
static Values lowerConv1d(Lowering &l) {
  Value x = l.getTensor("input"), weight = l.getTensor("weight"), bias = l.getTensor("bias");
  RankedTensorType type = l.getType();
  if (!x || !weight || type.getRank() != 3 || !isa<FloatType>(type.getElementType()))
    return std::nullopt;
  auto from = cast<RankedTensorType>(x.getType()), kernel = cast<RankedTensorType>(weight.getType());
  std::optional<int64_t> stride = getSingle(l, "stride", 1), padding = getSingle(l, "padding", 0),
                         dilation = getSingle(l, "dilation", 1), groups = getSingle(l, "groups", 1);
  if (from.getRank() != 3 || kernel.getRank() != 3 || !kernel.hasStaticShape() || from.isDynamicDim(1) || !stride ||
      !padding || !dilation || !groups || *stride < 1 || *padding < 0 || *dilation < 1 || *groups < 1)
    return std::nullopt;
  int64_t outputs = kernel.getDimSize(0), inputs = kernel.getDimSize(1), taps = kernel.getDimSize(2);
  if (outputs % *groups || from.getDimSize(1) != inputs * *groups || type.getDimSize(1) != outputs || taps < 1)
    return std::nullopt;
  int64_t reach = *dilation * (taps - 1) + 1;
  if (!from.isDynamicDim(2) && from.getDimSize(2) + 2 * *padding < reach)
    return std::nullopt;
  Value zero = arith::ConstantOp::create(l.b, l.loc, l.b.getZeroAttr(from.getElementType()));
  x = *padDim(l, x, 2, *padding, *padding, zero);

  from = cast<RankedTensorType>(x.getType());
  SmallVector<OpFoldResult> own = l.getSizes(x);
  OpFoldResult group = l.b.getIndexAttr(*groups);
  Type element = from.getElementType(), compute = getComputeType(type.getElementType());
  ReassociationIndices channels{1, 2}, last{3};
  Value grouped = tensor::ExpandShapeOp::create(
      l.b, l.loc, RankedTensorType::get({from.getDimSize(0), *groups, inputs, from.getDimSize(2)}, element), x,
      ArrayRef<ReassociationIndices>{{0}, channels, last},
      SmallVector<OpFoldResult>{own[0], group, l.b.getIndexAttr(inputs), own[2]});
  auto wide = RankedTensorType::get({*groups, outputs / *groups, inputs, taps}, kernel.getElementType());
  weight = tensor::ExpandShapeOp::create(l.b, l.loc, wide, weight, ArrayRef<ReassociationIndices>{{0, 1}, {2}, {3}});
  SmallVector<OpFoldResult> sizes{own[0], group, l.b.getIndexAttr(outputs / *groups),
                                  countWindows(l, own[2], reach, *stride)};
  auto shape = RankedTensorType::get({type.getDimSize(0), *groups, outputs / *groups, type.getDimSize(2)}, compute);
  Value sum = convolve(l, grouped, weight, shape, sizes, *stride, *dilation);
  sum = tensor::CollapseShapeOp::create(l.b, l.loc, type.clone(compute), sum,
                                        ArrayRef<ReassociationIndices>{{0}, channels, last});
  if (!bias)
    return {{l.cast(sum, type.getElementType())}};
  AffineMap row = AffineMap::get(3, 0, l.b.getAffineDimExpr(1), l.b.getContext());
  AffineMap maps[] = {l.b.getMultiDimIdentityMap(3), row};
  return {{l.map(type, l.getSizes(sum), {sum, bias}, maps, [&](OpBuilder &b, Location loc, ValueRange args) {
    Value result = arith::AddFOp::create(b, loc, args[0], convertScalar(b, loc, args[1], compute));
    return convertScalar(b, loc, result, type.getElementType());
  })}};
}

void mlir::aten::addConvolutions(LoweringTable &table) {
  for (StringRef name : {"aten.pad", "aten.constant_pad_nd"})
    table[name] = lowerPad;
  table["aten.conv1d"] = lowerConv1d;
}
