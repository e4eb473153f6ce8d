//===- SplitTensors.cpp - ops of the tensor dialect on inputs that are divided among ranks ------------------------===//
//
// A range stays one where its dimension 0 stays the outermost one of its elements in memory: reshapes may split it or
// join it with those behind it.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "SplitTokens.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace moe_mlir;

/// A tensor of this shape, whose dimensions up to `outer` are made of the source's dimension 0.
LogicalResult SplitTokens::visitShape(Operation *op, Value source, ArrayRef<OpFoldResult> shape, int64_t outer) {
  if (source && !isRange(source))
    return refuse(op, "has a size that is made of the number of elements");
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (dim > 0 && kindOf(size) == Kind::Count)
      return refuse(op, "moves dimension 0");
    if (dim == 0 && outer > 0 && kindOf(size) != Kind::Count)
      return refuse(op, "gives dimension 0 a size that is not divided");
  }
  return set(op, Kind::Range);
}

/// A part of `whole` has all of its dimension 0.
LogicalResult SplitTokens::visitSlice(OffsetSizeAndStrideOpInterface op, Value whole) {
  SmallVector<OpFoldResult> offsets = op.getMixedOffsets(), strides = op.getMixedStrides(), kept = op.getMixedSizes();
  auto isCount = [&](OpFoldResult given) { return kindOf(given) == Kind::Count; };
  if (llvm::any_of(offsets, isCount) || llvm::any_of(strides, isCount))
    return refuse(op, "computes with the number of elements");
  if (llvm::any_of(ArrayRef(kept).drop_front(), isCount))
    return refuse(op, "moves dimension 0");
  if (!isConstantIntValue(offsets.front(), 0) || !isConstantIntValue(strides.front(), 1) ||
      sizes.reduce(sizes.scalar(kept.front()) - sizes.size(whole, 0)) != kernel::SizeExpr(0))
    return refuse(op, "takes a part of dimension 0");
  return set(op, Kind::Range);
}

std::optional<LogicalResult> SplitTokens::visitTensor(Operation *op) {
  using Result = std::optional<LogicalResult>;
  auto hasCount = [&](ArrayRef<OpFoldResult> given) {
    return llvm::any_of(given, [&](OpFoldResult size) { return kindOf(size) == Kind::Count; });
  };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](tensor::DimOp dim) -> Result {
        std::optional<int64_t> index = dim.getConstantIndex();
        if (!index || kindOf(dim.getSource()) == Kind::Count)
          return refuse(op, "computes with the number of elements");
        return set(op, *index == 0 ? Kind::Count : Kind::Whole);
      })
      .Case([&](tensor::EmptyOp empty) -> Result { return visitShape(op, Value(), empty.getMixedSizes(), 1); })
      .Case([&](tensor::SplatOp splat) -> Result {
        if (kindOf(splat.getInput()) == Kind::Count)
          return refuse(op, "computes with the number of elements");
        SmallVector<OpFoldResult> sizes =
            getMixedValues(splat.getType().getShape(), splat.getDynamicSizes(), splat.getContext());
        return visitShape(op, Value(), sizes, 1);
      })
      .Case([&](tensor::CastOp cast) -> Result {
        auto type = dyn_cast<RankedTensorType>(cast.getType());
        if (!isRange(cast.getSource()) || !type || !type.isDynamicDim(0))
          return refuse(op, "gives dimension 0 a size that is not divided");
        return set(op, Kind::Range);
      })
      .Case([&](tensor::ExpandShapeOp expand) -> Result {
        int64_t outer = expand.getReassociationIndices().empty() ? 0 : expand.getReassociationIndices()[0].size();
        return visitShape(op, expand.getSrc(), expand.getMixedOutputShape(), outer);
      })
      .Case([&](tensor::CollapseShapeOp) -> Result { return set(op, Kind::Range); })
      .Case([&](tensor::FromElementsOp elements) -> Result {
        bool isShape = llvm::all_of(op->getUsers(), llvm::IsaPred<tensor::ReshapeOp>) &&
                       llvm::none_of(elements.getElements(), [&](Value element) { return isRange(element); });
        return isShape ? set(op, Kind::Count) : refuse(op, "computes with the number of elements");
      })
      .Case([&](tensor::ReshapeOp reshape) -> Result {
        auto shape = reshape.getShape().getDefiningOp<tensor::FromElementsOp>();
        if (!shape)
          return refuse(op, "gives dimension 0 a size that is not divided");
        return visitShape(op, reshape.getSource(), getAsOpFoldResult(shape.getElements()), 1);
      })
      .Case([&](tensor::ExtractSliceOp slice) -> Result {
        if (!isRange(slice.getSource()) || slice.getDroppedDims().test(0))
          return refuse(op, "takes a part of dimension 0");
        return visitSlice(slice, slice.getSource());
      })
      .Case([&](tensor::InsertSliceOp slice) -> Result {
        if (!isRange(slice.getSource()) || !isRange(slice.getDest()) || slice.getDroppedDims().test(0))
          return refuse(op, "has another operand whose dimension 0 is not divided");
        return visitSlice(slice, slice.getDest());
      })
      .Case([&](tensor::ConcatOp concat) -> Result {
        if (concat.getDim() == 0)
          return refuse(op, "joins tensors along dimension 0");
        if (!llvm::all_of(concat.getInputs(), [&](Value input) { return isRange(input); }))
          return refuse(op, "has another operand whose dimension 0 is not divided");
        return set(op, Kind::Range);
      })
      .Case([&](tensor::PadOp pad) -> Result {
        SmallVector<OpFoldResult> low = pad.getMixedLowPad(), high = pad.getMixedHighPad();
        Value value = pad.getConstantPaddingValue();
        if (!isRange(pad.getSource()) || !value || kindOf(value) != Kind::Whole || hasCount(low) || hasCount(high) ||
            !isConstantIntValue(low.front(), 0) || !isConstantIntValue(high.front(), 0))
          return refuse(op, "pads dimension 0, or by the number of elements");
        return set(op, Kind::Range);
      })
      .Case([&](tensor::ExtractOp extract) -> Result {
        // Of a shape, its element is a number.
        if (kindOf(extract.getTensor()) == Kind::Count)
          return set(op, Kind::Count);
        return refuse(op, "takes single elements");
      })
      .Default([](Operation *) { return Result(); });
}
