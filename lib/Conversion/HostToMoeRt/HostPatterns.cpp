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
    if (!type || !type.hasStaticShape() || !type.getLayout().isIdentity())
      return op.emitOpError() << "must be a static, contiguous memref at this level, got " << op.getType();
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

struct LowerLaunch : ConvertOpToLLVMPattern<kernel::LaunchOp> {
  LowerLaunch(const LLVMTypeConverter &converter, HostState &state) : ConvertOpToLLVMPattern(converter), state(state) {}

  LogicalResult matchAndRewrite(kernel::LaunchOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type i64 = rewriter.getI64Type();
    SmallVector<Value> slots;
    for (auto [original, value] : llvm::zip(op.getOperands_(), adaptor.getOperands_())) {
      if (auto type = dyn_cast<MemRefType>(original.getType())) {
        MemRefDescriptor descriptor(value);
        slots.push_back(descriptor.bufferPtr(rewriter, loc, *getTypeConverter(), type));
        for (int64_t d = 0; d < type.getRank(); ++d)
          if (type.isDynamicDim(d))
            slots.push_back(descriptor.size(rewriter, loc, d));
        continue;
      }
      if (isa<kernel::WindowType>(original.getType())) {
        llvm::append_range(slots, unpackWindow(rewriter, loc, value));
        continue;
      }
      if (isa<FloatType>(value.getType())) // a float's bits lie in the low part of its slot
        value = LLVM::BitcastOp::create(rewriter, loc, rewriter.getIntegerType(value.getType().getIntOrFloatBitWidth()),
                                        value);
      if (value.getType() != i64)
        value = LLVM::ZExtOp::create(rewriter, loc, i64, value);
      slots.push_back(value);
    }
    Value blocks;
    if (op.getSingle())
      blocks = LLVM::ConstantOp::create(rewriter, loc, i64, rewriter.getI64IntegerAttr(1));
    else
      blocks = BlocksOp::create(rewriter, loc, i64, state.context);
    LaunchOp::create(rewriter, loc, state.context, op.getKernelAttr(), slots, blocks, adaptor.getRows(),
                     adaptor.getWork());
    if (Attribute load = op->getAttr("moe.expert_load"))
      if (failed(reportExperts(op, adaptor, load, rewriter)))
        return failure();
    if (failed(reportTraffic(op, adaptor.getOperands_(), *getTypeConverter(), state, rewriter)))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }

  LogicalResult reportExperts(kernel::LaunchOp op, OpAdaptor adaptor, Attribute attr,
                              ConversionPatternRewriter &rewriter) const {
    auto dict = dyn_cast<DictionaryAttr>(attr);
    auto layer = dict ? dict.getAs<StringAttr>("layer") : StringAttr();
    auto number = dict ? dict.getAs<IntegerAttr>("offsets") : IntegerAttr();
    MemRefType type;
    if (number && number.getInt() >= 0 && number.getInt() < static_cast<int64_t>(op.getOperands_().size()))
      type = dyn_cast<MemRefType>(op.getOperands_()[number.getInt()].getType());
    if (!layer || !type || type.getRank() != 1 || !type.hasStaticShape() || !type.getElementType().isInteger(32) ||
        type.getDimSize(0) < 1)
      return op.emitOpError() << "'moe.expert_load' must be {layer = \"name\", offsets = <number of an operand of type "
                                 "memref<experts + 1 x i32>>}, got "
                              << attr;
    MemRefDescriptor offsets(adaptor.getOperands_()[number.getInt()]);
    ExpertLoadOp::create(rewriter, op.getLoc(), state.context, layer,
                         offsets.bufferPtr(rewriter, op.getLoc(), *getTypeConverter(), type),
                         rewriter.getI32IntegerAttr(type.getDimSize(0) - 1));
    return success();
  }

  HostState &state;
};

struct LowerAssert : ConvertOpToLLVMPattern<cf::AssertOp> {
  LowerAssert(const LLVMTypeConverter &converter, HostState &state) : ConvertOpToLLVMPattern(converter), state(state) {}

  LogicalResult matchAndRewrite(cf::AssertOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<CheckOp>(op, state.context, adaptor.getArg(), op.getMsgAttr(), ValueRange());
    return success();
  }

  HostState &state;
};

struct LowerCheck : ConvertOpToLLVMPattern<kernel::CheckOp> {
  LowerCheck(const LLVMTypeConverter &converter, HostState &state) : ConvertOpToLLVMPattern(converter), state(state) {}

  LogicalResult matchAndRewrite(kernel::CheckOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<CheckOp>(op, state.context, adaptor.getHolds(), op.getMessageAttr(),
                                         adaptor.getValues());
    return success();
  }

  HostState &state;
};

} // namespace

void moert::populateHostPatterns(const LLVMTypeConverter &converter, HostState &state, RewritePatternSet &patterns) {
  patterns.add<LowerParameter, LowerBlocks, LowerArena, LowerLaunch, LowerAssert, LowerCheck>(converter, state);
}
