//===- HostPatterns.cpp - ops of the host program to calls of the runtime -----------------------------------------===//
//
// One pattern per op that only this conversion knows; memrefs, arithmetic and control flow have upstream's.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "HostPatterns.h"

#include "moe-mlir/Dialect/Kernel/IR/Arena.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/IR/Target.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/MoeRt/IR/MoeRt.h"
#include "moe-mlir/Support/FixedStrides.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::moert;

Value moert::makeMemref(OpBuilder &b, Location loc, const LLVMTypeConverter &converter, MemRefType type, Value data,
                        ValueRange dynamicSizes) {
  auto constant = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(value));
  };
  SmallVector<Value> sizes;
  for (int64_t size : type.getShape()) {
    sizes.push_back(ShapedType::isDynamic(size) ? dynamicSizes.front() : constant(size));
    if (ShapedType::isDynamic(size))
      dynamicSizes = dynamicSizes.drop_front();
  }
  SmallVector<Value> strides(sizes.size());
  Value stride = constant(1);
  for (int64_t d = sizes.size() - 1; d >= 0; --d) {
    strides[d] = stride;
    if (d)
      stride = LLVM::MulOp::create(b, loc, stride, sizes[d]);
  }
  auto descriptor = MemRefDescriptor::poison(b, loc, converter.convertType(type));
  descriptor.setAllocatedPtr(b, loc, data);
  descriptor.setAlignedPtr(b, loc, data);
  descriptor.setOffset(b, loc, constant(0));
  for (size_t d = 0; d < sizes.size(); ++d) {
    descriptor.setSize(b, loc, d, sizes[d]);
    descriptor.setStride(b, loc, d, strides[d]);
  }
  return UnrealizedConversionCastOp::create(b, loc, type, Value(descriptor)).getResult(0);
}

namespace {

struct LowerParameter : ConvertOpToLLVMPattern<moe::ParameterOp> {
  LowerParameter(const LLVMTypeConverter &converter, HostState &state)
      : ConvertOpToLLVMPattern(converter), state(state) {}

  LogicalResult matchAndRewrite(moe::ParameterOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    auto type = dyn_cast<MemRefType>(op.getType());
    if (!type || !moe_mlir::fixedStrides(type))
      return op.emitOpError() << "must be a static memref at this level, got " << op.getType();
    FailureOr<WholeParameter> whole = makeWhole(op, *state.axes);
    if (failed(whole))
      return failure();
    int32_t index = state.parameters->number(op.getSources(), *whole);
    Value data = ParameterOp::create(rewriter, op.getLoc(), state.context, rewriter.getI32IntegerAttr(index));
    Value memref = MemRefDescriptor::fromStaticShape(rewriter, op.getLoc(), *getTypeConverter(), type, data);
    rewriter.replaceOp(op, memref);
    return success();
  }

  HostState &state;
};

struct LowerBlocks : ConvertOpToLLVMPattern<kernel::BlocksOp> {
  LowerBlocks(const LLVMTypeConverter &converter, HostState &state) : ConvertOpToLLVMPattern(converter), state(state) {}

  LogicalResult matchAndRewrite(kernel::BlocksOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<BlocksOp>(op, rewriter.getI64Type(), state.context);
    return success();
  }

  HostState &state;
};

struct LowerArena : ConvertOpToLLVMPattern<memref::AllocOp> {
  LowerArena(const LLVMTypeConverter &converter, HostState &state)
      : ConvertOpToLLVMPattern(converter, /*benefit=*/10), state(state) {}

  LogicalResult matchAndRewrite(memref::AllocOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value bytes = adaptor.getDynamicSizes()[0];
    Value data = ArenaOp::create(rewriter, op.getLoc(), state.context, bytes);
    Value memref = makeMemref(rewriter, op.getLoc(), *getTypeConverter(), op.getType(), data, bytes);
    rewriter.replaceOp(op, memref);
    return success();
  }

  HostState &state;
};

struct LowerAssert : ConvertOpToLLVMPattern<cf::AssertOp> {
  LowerAssert(const LLVMTypeConverter &converter, HostState &state) : ConvertOpToLLVMPattern(converter), state(state) {}

  LogicalResult matchAndRewrite(cf::AssertOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const bool isOfCall = op->hasAttr(moe::kOfCallAttr);
    auto check = rewriter.replaceOpWithNewOp<CheckOp>(op, state.context, adaptor.getArg(), op.getMsg(), ValueRange());
    if (isOfCall)
      check->setAttr(kOfCallAttr, rewriter.getUnitAttr());
    return success();
  }

  HostState &state;
};

struct LowerCheck : ConvertOpToLLVMPattern<kernel::CheckOp> {
  LowerCheck(const LLVMTypeConverter &converter, HostState &state) : ConvertOpToLLVMPattern(converter), state(state) {}

  LogicalResult matchAndRewrite(kernel::CheckOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<CheckOp>(op, state.context, adaptor.getHolds(), op.getMessage(), adaptor.getValues());
    return success();
  }

  HostState &state;
};

} // namespace

void moert::populateHostPatterns(const LLVMTypeConverter &converter, HostState &state, RewritePatternSet &patterns) {
  patterns.add<LowerParameter, LowerBlocks, LowerArena, LowerAssert, LowerCheck>(converter, state);
}
