//===- Copies.cpp - slices, concatenation, padding, filling: data movement by kernels ---------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::kernel;

/// Indices into the memref of a box for the element `ivs` of the box.
static SmallVector<Value> boxIndices(KernelBuilder &kernel, const Box &box, ValueRange ivs) {
  SmallVector<Value> indices;
  unsigned next = 0;
  for (int64_t i = 0, e = cast<MemRefType>(box.memref.getType()).getRank(); i < e; ++i) {
    Value index = !box.dropped.empty() && box.dropped.test(i) ? kernel.idx(0) : ivs[next++];
    if (!box.strides.empty())
      index = kernel.mul(index, kernel.indexArg(box.strides[i]));
    if (!box.offsets.empty())
      index = kernel.add(index, kernel.indexArg(box.offsets[i]));
    indices.push_back(index);
  }
  return indices;
}

void mlir::kernel::emitCopy(GraphLowering &lowering, OpBuilder &host, Location loc, Box source, Box dest,
                            ArrayRef<OpFoldResult> sizes) {
  bool whole = source.offsets.empty() && dest.offsets.empty() && source.dropped.none() && dest.dropped.none();
  OpFoldResult count = mulSizes(host, loc, sizes);
  SmallVector<OpFoldResult> bounds(sizes);
  if (whole) {
    source.memref = asVector(host, loc, source.memref);
    dest.memref = asVector(host, loc, dest.memref);
    bounds = {count};
  }
  auto destType = cast<MemRefType>(dest.memref.getType());
  KernelBuilder kernel(lowering.kernels, loc);
  Value from = kernel.arg(source.memref), to = kernel.arg(dest.memref);
  auto copy = [&](ValueRange ivs) {
    kernel.store(kernel.load(from, boxIndices(kernel, source, ivs)), to, boxIndices(kernel, dest, ivs));
  };
  SmallVector<Value> upper;
  for (OpFoldResult bound : bounds)
    upper.push_back(kernel.indexArg(bound));
  if (upper.empty()) {
    kernel.forall({kernel.idx(1)}, [&](ValueRange) { copy({}); });
  } else if (upper.size() == 1) {
    kernel.forallElements(upper[0], [&](Value i) { copy(i); });
  } else {
    kernel.forall(ArrayRef(upper).drop_back(), [&](ValueRange outer) {
      kernel.loop(kernel.idx(0), upper.back(), 1, [&](Value inner) {
        SmallVector<Value> ivs(outer.begin(), outer.end());
        ivs.push_back(inner);
        copy(ivs);
      });
    });
  }
  OpFoldResult rows = sizes.empty() ? OpFoldResult(host.getIndexAttr(1)) : sizes.front();
  kernel.launch(host, "copy_" + shapeName(destType.getShape()) + "_" + typeName(destType.getElementType()), rows,
                count);
}

void mlir::kernel::emitFill(GraphLowering &lowering, OpBuilder &host, Location loc, Value scalar, Value memref) {
  Value elements = asVector(host, loc, memref);
  auto type = cast<MemRefType>(elements.getType());
  KernelBuilder kernel(lowering.kernels, loc);
  Value value = kernel.arg(scalar), dest = kernel.arg(elements);
  kernel.forallElements(kernel.dim(dest, 0), [&](Value i) { kernel.store(value, dest, i); });
  OpFoldResult count = sizeOf(host, loc, elements, 0);
  kernel.launch(host, "fill_" + shapeName(type.getShape()) + "_" + typeName(type.getElementType()), count, count);
}

/// Sizes of a slice without the dimensions that its type drops.
template <typename SliceOp> static SmallVector<OpFoldResult> keptSizes(SliceOp op) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  SmallVector<OpFoldResult> sizes;
  for (auto [i, size] : llvm::enumerate(op.getMixedSizes()))
    if (!dropped.test(i))
      sizes.push_back(size);
  return sizes;
}

namespace {
struct ExtractSliceLowering : GraphPattern<tensor::ExtractSliceOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<OpFoldResult> sizes = keptSizes(op);
    Value result = allocate(rewriter, loc, memrefOf(op.getResult()), sizes);
    emitCopy(lowering, rewriter, loc,
             {adaptor.getSource(), op.getMixedOffsets(), op.getMixedStrides(), op.getDroppedDims()},
             {result, {}, {}, {}}, sizes);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct InsertSliceLowering : GraphPattern<tensor::InsertSliceOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(tensor::InsertSliceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<OpFoldResult> all = sizesOf(rewriter, loc, adaptor.getDest());
    Value result = allocate(rewriter, loc, memrefOf(op.getResult()), all);
    if (!op.getDest().getDefiningOp<tensor::EmptyOp>())
      emitCopy(lowering, rewriter, loc, {adaptor.getDest(), {}, {}, {}}, {result, {}, {}, {}}, all);
    SmallVector<OpFoldResult> sizes = keptSizes(op);
    emitCopy(lowering, rewriter, loc, {adaptor.getSource(), {}, {}, {}},
             {result, op.getMixedOffsets(), op.getMixedStrides(), op.getDroppedDims()}, sizes);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct ConcatLowering : GraphPattern<tensor::ConcatOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(tensor::ConcatOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    int64_t dim = op.getDim();
    SmallVector<OpFoldResult> sizes = sizesOf(rewriter, loc, adaptor.getInputs().front());
    OpFoldResult total = rewriter.getIndexAttr(0);
    for (Value input : adaptor.getInputs())
      total = addSizes(rewriter, loc, total, sizeOf(rewriter, loc, input, dim));
    sizes[dim] = total;
    Value result = allocate(rewriter, loc, memrefOf(op.getResult()), sizes);
    SmallVector<OpFoldResult> offsets(sizes.size(), rewriter.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
    for (Value input : adaptor.getInputs()) {
      SmallVector<OpFoldResult> part = sizesOf(rewriter, loc, input);
      emitCopy(lowering, rewriter, loc, {input, {}, {}, {}}, {result, offsets, strides, {}}, part);
      offsets[dim] = addSizes(rewriter, loc, offsets[dim], part[dim]);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct PadLowering : GraphPattern<tensor::PadOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(tensor::PadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<OpFoldResult> inner = sizesOf(rewriter, loc, adaptor.getSource()), sizes;
    for (auto [size, low, high] : llvm::zip(inner, op.getMixedLowPad(), op.getMixedHighPad()))
      sizes.push_back(addSizes(rewriter, loc, addSizes(rewriter, loc, low, size), high));
    Value result = allocate(rewriter, loc, memrefOf(op.getResult()), sizes);
    emitFill(lowering, rewriter, loc, op.getConstantPaddingValue(), result);
    SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
    emitCopy(lowering, rewriter, loc, {adaptor.getSource(), {}, {}, {}}, {result, op.getMixedLowPad(), strides, {}},
             inner);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct FillLowering : GraphPattern<linalg::FillOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(linalg::FillOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value result = allocate(rewriter, loc, memrefOf(op.getResult(0)), sizesOf(rewriter, loc, adaptor.getOutputs()[0]));
    // Generic ops take the scalar itself; for them the buffer only carries its sizes.
    if (llvm::any_of(op.getResult(0).getUsers(), [](Operation *user) { return !isa<linalg::GenericOp>(user); }))
      emitFill(lowering, rewriter, loc, adaptor.getInputs()[0], result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct SplatLowering : GraphPattern<tensor::SplatOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(tensor::SplatOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    MemRefType type = memrefOf(op.getResult());
    Value result = memref::AllocOp::create(rewriter, loc, type, adaptor.getDynamicSizes());
    emitFill(lowering, rewriter, loc, adaptor.getInput(), result);
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void mlir::kernel::populateCopyPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                        RewritePatternSet &patterns) {
  patterns.add<ExtractSliceLowering, InsertSliceLowering, ConcatLowering, PadLowering, FillLowering, SplatLowering>(
      converter, lowering);
}
