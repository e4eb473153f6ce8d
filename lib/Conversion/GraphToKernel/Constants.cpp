//===- Constants.cpp - dense constants --------------------------------------------------------------------------===//

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

Value mlir::kernel::emitTable(GraphLowering &lowering, OpBuilder &host, Location loc, ArrayRef<int32_t> values) {
  const int64_t size = values.size();
  auto type = MemRefType::get(size, host.getI32Type());
  auto elements = DenseElementsAttr::get(RankedTensorType::get(size, host.getI32Type()), values);
  return memref::GetGlobalOp::create(host, loc, type, globalFor(lowering, elements, type, loc));
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

namespace {
struct ConstantLowering : GraphPattern<arith::ConstantOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(arith::ConstantOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto elements = dyn_cast<ElementsAttr>(op.getValue());
    if (!elements)
      return failure();
    Location loc = op.getLoc();
    MemRefType type = memrefOf(op.getResult());
    // On a GPU, kernels cannot read what stands in the object file.
    const bool isOnDevice = isOffloaded(lowering.module);
    if (SplatValue splat = splatOf(op.getResult()); splat && (type.getNumElements() > 16 || isOnDevice)) {
      // Cheaper to write than to keep in the object file; kernels take the scalar itself.
      Value result = memref::AllocOp::create(rewriter, loc, type);
      if (llvm::any_of(op->getUsers(), [](Operation *user) { return !isa<linalg::GenericOp>(user); }))
        emitFill(lowering, rewriter, loc, arith::ConstantOp::create(rewriter, loc, splat.constant), result);
      rewriter.replaceOp(op, result);
      return success();
    }
    if (isOnDevice && isa<DenseElementsAttr>(elements) && type.getNumElements() <= kMostWritten)
      rewriter.replaceOp(op, emitNumbers(lowering, rewriter, loc, cast<DenseElementsAttr>(elements), type));
    else
      rewriter.replaceOpWithNewOp<memref::GetGlobalOp>(op, type, globalFor(lowering, elements, type, loc));
    return success();
  }
};
} // namespace

void mlir::kernel::populateConstantPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                            RewritePatternSet &patterns) {
  patterns.add<ConstantLowering>(converter, lowering);
}
