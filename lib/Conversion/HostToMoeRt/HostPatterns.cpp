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
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ScopedPrinter.h"

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

/// What stands in the object file is where kernels of a GPU cannot read it.
struct LowerConstant : ConvertOpToLLVMPattern<memref::GetGlobalOp> {
  LowerConstant(const LLVMTypeConverter &converter, HostState &state)
      : ConvertOpToLLVMPattern(converter, /*benefit=*/10), state(state) {}

  LogicalResult matchAndRewrite(memref::GetGlobalOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!kernel::isOffloaded(op->getParentOfType<ModuleOp>()))
      return failure();
    Location loc = op.getLoc();
    MemRefType type = op.getType();
    Type element = getTypeConverter()->convertType(type.getElementType());
    const int64_t bytes = type.getNumElements() * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
    Value address = LLVM::AddressOfOp::create(rewriter, loc, state.context.getType(), op.getName());
    Value data = ConstantOp::create(rewriter, loc, state.context, address, rewriter.getI64IntegerAttr(bytes));
    Value memref = MemRefDescriptor::fromStaticShape(rewriter, loc, *getTypeConverter(), type, data);
    rewriter.replaceOp(op, memref);
    return success();
  }

  HostState &state;
};

/// Elements of buffers in the memory of a GPU are not there to be loaded.
struct LowerLoad : ConvertOpToLLVMPattern<memref::LoadOp> {
  LowerLoad(const LLVMTypeConverter &converter, HostState &state)
      : ConvertOpToLLVMPattern(converter, /*benefit=*/10), state(state) {}

  LogicalResult matchAndRewrite(memref::LoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!kernel::isOffloaded(op->getParentOfType<ModuleOp>()))
      return failure();
    Value address = getStridedElementPtr(rewriter, op.getLoc(), op.getMemRefType(), adaptor.getMemref(),
                                         adaptor.getIndices());
    rewriter.replaceOpWithNewOp<ReadOp>(op, getTypeConverter()->convertType(op.getType()), state.context, address);
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

/// Whether a value of the type has the same bytes here and on a GPU, and the runtime knows how many.
static bool isWord(Type type) {
  return type.isIndex() || type.isF32() || type.isF64() || type.isF16() || type.isBF16() || type.isInteger(1) ||
         type.isInteger(8) || type.isInteger(16) || type.isInteger(32) || type.isInteger(64);
}

static LogicalResult checkConstant(memref::GetGlobalOp op) {
  MemRefType type = op.getType();
  if (!isWord(type.getElementType()) || !type.getLayout().isIdentity() || type.getMemorySpace())
    return op.emitOpError() << "of " << type << " cannot be copied to a GPU";
  auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(op, op.getNameAttr());
  if (!global.getConstant() || !isa_and_present<ElementsAttr>(global.getInitialValueAttr()))
    return op.emitOpError() << "names " << op.getNameAttr() << ", which is no constant: programs for a GPU have no others";
  return success();
}

/// Says that the host waits for the GPU here.
static LogicalResult checkRead(memref::LoadOp op) {
  if (!isWord(op.getType()))
    return op.emitOpError() << "of a value of type " << op.getType() << " cannot be read from a GPU";
  remark::missed(op.getLoc(), remark::RemarkOpts::name("HostRead").category("convert-host-to-moert"))
      << remark::add("the host waits for the GPU and reads an element of {0}", llvm::to_string(op.getMemRefType()))
      << remark::reason("a size, a position or a check of indices depends on it");
  return success();
}

LogicalResult moert::checkDeviceValues(LLVM::LLVMFuncOp function) {
  if (!kernel::isOffloaded(function->getParentOfType<ModuleOp>()))
    return success();
  auto found = function.walk([](Operation *op) -> WalkResult {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([](memref::GetGlobalOp constant) { return checkConstant(constant); })
        .Case([](memref::LoadOp load) { return checkRead(load); })
        .Default([](Operation *) { return success(); });
  });
  return failure(found.wasInterrupted());
}

void moert::populateHostPatterns(const LLVMTypeConverter &converter, HostState &state, RewritePatternSet &patterns) {
  patterns.add<LowerParameter, LowerBlocks, LowerArena, LowerConstant, LowerLoad, LowerAssert, LowerCheck>(converter,
                                                                                                          state);
}
