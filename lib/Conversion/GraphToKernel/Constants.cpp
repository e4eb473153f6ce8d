//===- Constants.cpp - dense constants --------------------------------------------------------------------------===//

#include "Lowering.h"

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
    if (SplatValue splat = splatOf(op.getResult()); splat && type.getNumElements() > 16) {
      // Cheaper to write than to keep in the object file; kernels take the scalar itself.
      Value result = memref::AllocOp::create(rewriter, loc, type);
      if (llvm::any_of(op->getUsers(), [](Operation *user) { return !isa<linalg::GenericOp>(user); }))
        emitFill(lowering, rewriter, loc, arith::ConstantOp::create(rewriter, loc, splat.constant), result);
      rewriter.replaceOp(op, result);
      return success();
    }
    rewriter.replaceOpWithNewOp<memref::GetGlobalOp>(op, type, globalFor(lowering, elements, type, loc));
    return success();
  }
};
} // namespace

void mlir::kernel::populateConstantPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                            RewritePatternSet &patterns) {
  patterns.add<ConstantLowering>(converter, lowering);
}
