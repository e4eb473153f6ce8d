//===- HostToMoeRt.cpp - host functions to calls of the runtime ---------------------------------------------------===//
//
// The grids of the module are the axes of its programs. For each host function:
//
// 1. Read the interface from its attributes.
// 2. Prepare on memrefs: returned allocations become `moert.output` buffers; whatever else is returned is copied.
// 3. Move the body into an llvm.func of the context, where arguments are memrefs made of runtime calls.
// 4. One dialect conversion: launches, parameters and the arena here, everything else by upstream patterns.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "ExpandShape.h"
#include "HostPatterns.h"
#include "Interface.h"
#include "moe-mlir/Conversion/HostToMoeRt/Passes.h"
#include "moe-mlir/Dialect/Kernel/IR/Arena.h"
#include "moe-mlir/Dialect/Kernel/IR/Target.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/Transforms/HostUtils.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/MoeRt/IR/MoeRt.h"
#include "moe-mlir/Support/Greedy.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;
using namespace mlir::moert;

namespace mlir::moert {
#define GEN_PASS_DEF_CONVERTHOSTTOMOERT
#include "moe-mlir/Conversion/HostToMoeRt/Passes.h.inc"
} // namespace mlir::moert

std::string moert::hostFunctionName(StringRef entry) {
  return entry == "main" ? "moe_run" : ("moe_run_" + entry).str();
}

StringRef moert::entryOf(StringRef hostFunctionName) {
  return hostFunctionName.consume_front("moe_run_") ? hostFunctionName : "main";
}

namespace {

class HostLowering {
public:
  HostLowering(func::FuncOp main, const Interface &interface, ParameterTable &parameters, const Axes &axes)
      : main(main), interface(interface), parameters(parameters), axes(axes), b(main), loc(main.getLoc()),
        converter(main.getContext()) {}

  LogicalResult run() {
    if (!llvm::hasSingleElement(main.getBody()))
      return main.emitOpError("must have a body of one block");
    openFunction();
    if (failed(lowerResults()) || failed(checkAllocations()))
      return failure();
    moveBody();
    return convert();
  }

private:
  /// Makes the llvm.func with values for the context and the sizes behind the symbols.
  void openFunction() {
    MLIRContext *context = main.getContext();
    Type ptr = LLVM::LLVMPointerType::get(context);
    function = LLVM::LLVMFuncOp::create(b, loc, hostFunctionName(main.getName()),
                                        LLVM::LLVMFunctionType::get(b.getI32Type(), {ptr}));
    function->setAttr(programAttrName, interface.toAttr(context));
    // The function stores thousands of sizes and pointers for launches. LLVM's search for vectors among such stores takes
    // time that grows with the square of their number.
    function.setPassthroughAttr(b.getStrArrayAttr({"noimplicitfloat"}));
    Block *entry = function.addEntryBlock(b);
    state = {entry->getArgument(0), &parameters, &axes};
    b.setInsertionPointToStart(entry);
    symbolSizes.resize(interface.symbolCount());
    for (unsigned symbol = 0; symbol < interface.symbolCount(); ++symbol)
      if (auto source = interface.sourceOf(symbol))
        symbolSizes[symbol] = InputSizeOp::create(b, loc, b.getI64Type(), state.context, source->first, source->second);
    for (auto [argument, place] : llvm::zip(main.getArguments(), interface.arguments())) {
      const Interface::Value &value = (place.state ? interface.states() : interface.inputs())[place.index];
      Value data = place.state ? StateOp::create(b, loc, ptr, state.context, place.index).getResult()
                               : InputOp::create(b, loc, ptr, state.context, place.index).getResult();
      SmallVector<Value> sizes = llvm::map_to_vector(value.dims, [&](int64_t s) { return symbolSizes[s]; });
      arguments.push_back(makeMemref(b, loc, converter, value.type, data, sizes));
    }
  }

  /// Gives each result its output buffer: the allocation that is returned, or a copy of anything else.
  LogicalResult lowerResults() {
    auto ret = cast<func::ReturnOp>(main.getBody().front().getTerminator());
    for (auto [i, result] : llvm::enumerate(ret.getOperands())) {
      auto alloc = kernel::getViewRoot(result).getDefiningOp<memref::AllocOp>();
      bool direct = alloc && alloc->getBlock() == ret->getBlock() && !alloc->hasAttr(kernel::arenaAttrName) &&
                    isWholeView(result);
      if (failed(makeOutput(i, result, ret, direct ? alloc : memref::AllocOp())))
        return failure();
    }
    OpBuilder builder(ret);
    Value zero = LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(0));
    LLVM::ReturnOp::create(builder, loc, zero);
    ret.erase();
    return success();
  }

  /// What is left after the results must be the arena.
  LogicalResult checkAllocations() {
    auto unplanned = [](memref::AllocOp alloc) {
      if (alloc->hasAttr(kernel::arenaAttrName))
        return WalkResult::advance();
      alloc.emitOpError("is neither returned nor planned; run kernel-plan-memory first");
      return WalkResult::interrupt();
    };
    return failure(main.walk(unplanned).wasInterrupted());
  }

  /// True if `memref` holds all elements of its root in order.
  static bool isWholeView(Value memref) {
    while (Operation *view = memref.getDefiningOp<ViewLikeOpInterface>()) {
      if (!isa<memref::CastOp, memref::ExpandShapeOp, memref::CollapseShapeOp>(view))
        return false;
      memref = view->getOperand(0);
    }
    return true;
  }

  LogicalResult makeOutput(int64_t index, Value result, func::ReturnOp ret, memref::AllocOp alloc) {
    OpBuilder builder(ret);
    auto type = cast<MemRefType>(result.getType());
    SmallVector<Value> sizes;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      sizes.push_back(kernel::getMemrefSize(builder, loc, result, d));
      if (alloc && failed(kernel::hoistScalar(sizes.back(), alloc)))
        return main.emitOpError() << "result " << index << " has a size that depends on another buffer's content";
    }
    if (alloc)
      builder.setInsertionPoint(alloc);
    for (Value &size : sizes)
      size = toI64(builder, size);
    Value data = OutputOp::create(builder, loc, LLVM::LLVMPointerType::get(main.getContext()), state.context,
                                  builder.getI32IntegerAttr(index), sizes);
    if (alloc) {
      SmallVector<Value> dynamic =
          llvm::map_to_vector(alloc.getDynamicSizes(), [&](Value size) { return toI64(builder, size); });
      alloc.replaceAllUsesWith(makeMemref(builder, loc, converter, alloc.getType(), data, dynamic));
      alloc.erase();
      return success();
    }
    // The copy is the host's.
    if (kernel::isOffloaded(main->getParentOfType<ModuleOp>()))
      return main.emitOpError() << "result " << index << " is no buffer of its own, which a program for a GPU needs";
    SmallVector<Value> dynamic;
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d))
        dynamic.push_back(sizes[d]);
    memref::CopyOp::create(builder, loc, result, makeMemref(builder, loc, converter, type, data, dynamic));
    return success();
  }

  Value toI64(OpBuilder &builder, Value index) {
    return UnrealizedConversionCastOp::create(builder, loc, builder.getI64Type(), index).getResult(0);
  }

  void moveBody() {
    Block &body = main.getBody().front(), &entry = function.getBody().front();
    for (auto [old, value] : llvm::zip(body.getArguments(), arguments))
      old.replaceAllUsesWith(value);
    entry.getOperations().splice(entry.end(), body.getOperations());
    main.erase();
  }

  /// Moves checks of the call's sizes in front of the first launch, where all ranks can refuse the call and go on. A
  /// check that depends on a launch stays, and loses its mark.
  void keepChecksOfCall() {
    Operation *first = nullptr; // the first launch, or the op around it
    for (Operation &op : llvm::make_early_inc_range(function.getBody().front())) {
      if (!first)
        first = op.walk([](kernel::LaunchOp) { return WalkResult::interrupt(); }).wasInterrupted() ? &op : nullptr;
      auto check = dyn_cast<cf::AssertOp>(op);
      if (!first || !check || !check->hasAttr(moe::kOfCallAttr))
        continue;
      if (succeeded(kernel::hoistScalar(check.getArg(), first)))
        check->moveBefore(first);
      else
        check->removeAttr(moe::kOfCallAttr);
    }
  }

  LogicalResult convert() {
    keepChecksOfCall();
    if (failed(checkDeviceValues(function)) || failed(insertPhases(function, state.context)))
      return failure();
    MLIRContext *context = function.getContext();
    RewritePatternSet simplify(context);
    populateExpandShapePatterns(simplify);
    memref::populateExpandStridedMetadataPatterns(simplify);
    arith::populateCeilFloorDivExpandOpsPatterns(simplify);
    if (failed(moe_mlir::applyPatternsToEnd(function, std::move(simplify))))
      return failure();

    LLVMConversionTarget target(*context);
    target.addLegalDialect<MoeRtDialect>();
    RewritePatternSet patterns(context);
    populateHostPatterns(converter, state, patterns);
    populateLaunchPatterns(converter, state, patterns);
    populateWindowPatterns(converter, state, patterns);
    populateAffineToStdConversionPatterns(patterns);
    populateSCFToControlFlowConversionPatterns(patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    index::populateIndexToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    // Constants of the host function become globals of the object.
    SmallVector<Operation *> roots{function};
    for (auto global : function->getParentOfType<ModuleOp>().getOps<memref::GlobalOp>())
      roots.push_back(global);
    if (failed(applyFullConversion(roots, target, std::move(patterns))))
      return failure();
    SmallVector<UnrealizedConversionCastOp> casts;
    function.walk([&](UnrealizedConversionCastOp cast) { casts.push_back(cast); });
    reconcileUnrealizedCasts(casts);
    return success();
  }

  func::FuncOp main;
  const Interface &interface;
  ParameterTable &parameters;
  const Axes &axes;
  OpBuilder b;
  Location loc;
  LLVMTypeConverter converter;
  LLVM::LLVMFuncOp function;
  HostState state;
  SmallVector<Value> symbolSizes; ///< of each dynamic dimension's name; null without a place that tells it
  SmallVector<Value> arguments;
};

struct ConvertHostToMoeRt : moert::impl::ConvertHostToMoeRtBase<ConvertHostToMoeRt> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    ParameterTable parameters;
    FailureOr<Axes> axes = Axes::read(module);
    if (failed(axes))
      return signalPassFailure();
    bool hasHost = false;
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (function.isExternal())
        continue;
      parameters.beginFunction(function);
      FailureOr<Interface> interface = Interface::read(function, *axes);
      if (failed(interface) || failed(HostLowering(function, *interface, parameters, *axes).run()))
        return signalPassFailure();
      hasHost = true;
    }
    if (!hasHost) {
      emitError(module.getLoc()) << "module has no host function @main, nor one of another name";
      return signalPassFailure();
    }
    if (failed(parameters.checkVariants()))
      return signalPassFailure();
    module->setAttr(parametersAttrName, parameters.toAttr(&getContext()));
    if (!axes->empty())
      module->setAttr(axesAttrName, axes->toAttr(&getContext()));
    for (auto grid : llvm::make_early_inc_range(module.getOps<shard::GridOp>()))
      grid.erase();
  }
};
} // namespace
