//===- BoundsOfTensors.cpp - views, slices, single elements and counts --------------------------------------------===//

#include "Bounds.h"

#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kernel;

namespace {
class TensorBounds {
public:
  TensorBounds(Bounds &bounds, Operation *op) : bounds(bounds), sizes(bounds.sizes), op(op) {}

  void visit() {
    llvm::TypeSwitch<Operation *>(op)
        .Case<tensor::CastOp, tensor::EmptyOp, tensor::SplatOp>([&](auto) { result(); })
        .Case<tensor::PadOp, tensor::ExpandShapeOp, tensor::ReshapeOp, tensor::ConcatOp, tensor::ExtractOp,
              tensor::DimOp>([&](auto typed) { visit(typed); })
        .Case([&](tensor::ExtractSliceOp slice) { box(slice, slice.getSource()); })
        .Case([&](tensor::InsertSliceOp slice) { insert(slice); })
        .Case([&](nn::TopKOp choice) {
          if (choice.getCount())
            bounds.notNegative(op, sizes.scalar(choice.getCount()), "takes {1} elements of each row");
        })
        .Case<arith::DivSIOp, arith::RemSIOp, arith::CeilDivSIOp, arith::FloorDivSIOp>(
            [&](auto division) { divide(division.getLhs(), division.getRhs(), /*isSigned=*/true); })
        .Case<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(
            [&](auto division) { divide(division.getLhs(), division.getRhs(), /*isSigned=*/false); });
  }

private:
  static int64_t rankOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getRank(); }
  static std::string dimension(int64_t dim) { return "dimension " + std::to_string(dim); }

  /// What the type says and what the operands make; nothing has less than no elements.
  void result() {
    auto tensor = cast<OpResult>(op->getResult(0));
    auto type = cast<RankedTensorType>(tensor.getType());
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      std::optional<SizeExpr> made = sizes.derived(tensor, dim);
      if (!made)
        continue;
      bounds.notNegative(op, *made, dimension(dim) + " of the result would be {1}");
      if (!type.isDynamicDim(dim))
        bounds.equal(op, *made, type.getDimSize(dim), dimension(dim) + " is {0}, but the result's type says {1}");
    }
  }

  void visit(tensor::PadOp pad) {
    result();
    for (auto [dim, low, high] : llvm::enumerate(pad.getMixedLowPad(), pad.getMixedHighPad())) {
      bounds.notNegative(op, sizes.scalar(low), dimension(dim) + " is padded by {1} elements in front");
      bounds.notNegative(op, sizes.scalar(high), dimension(dim) + " is padded by {1} elements behind");
      bounds.fits(op, sizes.size(pad.getSource(), dim) + sizes.scalar(low) + sizes.scalar(high));
    }
  }

  void visit(tensor::ExpandShapeOp expand) {
    result();
    for (auto [dim, group] : llvm::enumerate(expand.getReassociationIndices())) {
      SizeExpr product = 1;
      for (int64_t inner : group)
        product = product * sizes.size(expand.getResult(), inner);
      bounds.equal(op, sizes.size(expand.getSrc(), dim), product,
                   dimension(dim) + " is {0}, but the sizes that it is expanded to make {1}");
    }
  }

  void visit(tensor::ReshapeOp reshape) {
    result();
    SizeExpr from = 1, to = 1;
    for (int64_t dim = 0; dim < rankOf(reshape.getSource()); ++dim)
      from = from * sizes.size(reshape.getSource(), dim);
    for (int64_t dim = 0; dim < rankOf(reshape.getResult()); ++dim)
      to = to * sizes.size(reshape.getResult(), dim);
    bounds.equal(op, from, to, "{0} elements are reshaped to {1}");
  }

  void visit(tensor::ConcatOp concat) {
    result();
    Value first = concat.getInputs().front();
    for (auto [i, input] : llvm::enumerate(concat.getInputs()))
      for (int64_t dim = 0; dim < rankOf(input); ++dim)
        if (dim != static_cast<int64_t>(concat.getDim()))
          bounds.equal(op, sizes.size(first, dim), sizes.size(input, dim),
                       dimension(dim) + " is {0} in input 0 but {1} in input " + Twine(i));
  }

  void visit(tensor::ExtractOp extract) {
    for (auto [dim, index] : llvm::enumerate(extract.getIndices())) {
      SizeExpr at = sizes.scalar(index);
      bounds.notNegative(op, at, "index {1} is negative");
      bounds.atMost(op, at, sizes.size(extract.getTensor(), dim) - 1,
                    "index {0} in " + dimension(dim) + " is beyond the last, {1}");
    }
  }

  void visit(tensor::DimOp dim) {
    SizeExpr index = sizes.scalar(dim.getIndex());
    bounds.notNegative(op, index, "there is no dimension {1}");
    bounds.atMost(op, index, rankOf(dim.getSource()) - 1, "there is no dimension {0}, the last is {1}");
  }

  /// First and last element of a slice stand inside of `tensor`.
  template <typename SliceOp> void box(SliceOp slice, Value tensor) {
    for (auto [dim, offset, size, stride] :
         llvm::enumerate(slice.getMixedOffsets(), slice.getMixedSizes(), slice.getMixedStrides())) {
      SizeExpr first = sizes.scalar(offset), count = sizes.scalar(size), step = sizes.scalar(stride);
      SizeExpr last = first + (count - 1) * step, whole = sizes.size(tensor, dim);
      bounds.notNegative(op, count, "the slice has {1} elements in " + dimension(dim));
      // Of a slice without elements neither exists.
      bool oneWay = step.getConstant().value_or(0) > 0;
      std::optional<SizeExpr> some = step == SizeExpr(1) ? std::nullopt : std::optional(count);
      bounds.notNegative(op, first, "the slice starts at {1} in " + dimension(dim), some);
      bounds.atMost(op, last + 1, whole, dimension(dim) + " must be at least {0} for the slice, but is {1}", some);
      if (oneWay)
        continue;
      bounds.notNegative(op, last, "the slice ends at {1} in " + dimension(dim), some);
      bounds.atMost(op, first + 1, whole, dimension(dim) + " must be at least {0} for the slice, but is {1}", some);
    }
  }

  void insert(tensor::InsertSliceOp slice) {
    box(slice, slice.getDest());
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    int64_t from = 0;
    for (auto [dim, size] : llvm::enumerate(slice.getMixedSizes()))
      if (!dropped.test(dim)) {
        bounds.equal(op, sizes.size(slice.getSource(), from), sizes.scalar(size),
                     dimension(from) + " is {0}, but the slice that it fills has {1}");
        ++from;
      }
  }

  /// The processor stops a program that divides by 0, or the least number by -1.
  void divide(Value dividend, Value divisor, bool isSigned) {
    Type type = divisor.getType();
    if (!isa<IntegerType, IndexType>(type))
      return;
    SizeExpr by = sizes.scalar(divisor);
    bounds.notZero(op, by, "divides by {1}");
    if (!isSigned || by.getConstant().value_or(-1) != -1 || sizes.isNonNegative(by))
      return;
    int64_t least = llvm::minIntN(type.isIndex() ? 64 : type.getIntOrFloatBitWidth());
    bounds.atMost(op, least + 1, sizes.scalar(dividend), "divides {1}, which must be at least {0}");
  }

  Bounds &bounds;
  GraphSizes &sizes;
  Operation *op;
};
} // namespace

void mlir::kernel::boundTensors(Bounds &bounds, Operation *op) { TensorBounds(bounds, op).visit(); }
