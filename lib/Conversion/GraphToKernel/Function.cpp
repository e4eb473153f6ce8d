//===- Function.cpp - functions, states and results -------------------------------------------------------------===//

#include "PassLoop.h"

#include "moe-mlir/Dialect/Kernel/IR/TokenPasses.h"
#include "moe-mlir/Schedule/ExchangeChain.h"

#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::kernel;

static bool isState(func::FuncOp func, unsigned result) { return bool(func.getResultAttr(result, "moe.state_of")); }

// The function is converted before its body, which takes attributes and parents away: note them now.
GraphLowering::GraphLowering(ModuleOp module) : module(module), kernels(module) {
  if (TargetAttrInterface target = targetOf(module))
    routing = target.getRouting();
  module.walk([&](Operation *op) {
    if (auto input = op->getAttrOfType<IntegerAttr>(KernelDialect::getEpilogueAttrName())) {
      auto consumer = cast<linalg::GenericOp>(op);
      unsigned number = input.getInt();
      epilogues[EpilogueAnalysis::producerOf(consumer, number)] = {consumer, number,
                                                                   EpilogueAnalysis::shapeOf(consumer, number)};
    }
    auto there = dyn_cast<moe::AllToAllOp>(op);
    if (std::optional<int64_t> tokens = there ? passTokensOf(op) : std::nullopt) {
      std::string why;
      std::optional<ExchangeChain> chain = ExchangeChain::around(there, why); // verifyDecisions has seen it
      auto exchange = std::make_shared<TokenPasses>(TokenPasses{*tokens, chain->to, there, chain->sum, {}});
      for (Operation *each : chain->ops)
        passes[each] = exchange;
    }
    auto exit = dyn_cast<func::ReturnOp>(op);
    for (unsigned i = 0, e = exit ? exit.getNumOperands() : 0; i < e; ++i) {
      auto func = op->getParentOfType<func::FuncOp>();
      if (auto state = func.getResultAttrOfType<IntegerAttr>(i, "moe.state_of"))
        stateResults[{op, i}] = func.getArgument(state.getInt());
    }
  });
}

namespace {
struct FuncLowering : GraphPattern<func::FuncOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(func::FuncOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    FunctionType type = op.getFunctionType();
    TypeConverter::SignatureConversion signature(type.getNumInputs());
    SmallVector<Type> results;
    if (failed(getTypeConverter()->convertSignatureArgs(type.getInputs(), signature)))
      return failure();
    SmallVector<Attribute> resultAttrs;
    for (auto [i, result] : llvm::enumerate(type.getResults())) {
      if (isState(op, i))
        continue;
      results.push_back(getTypeConverter()->convertType(result));
      resultAttrs.push_back(DictionaryAttr::get(op.getContext(), op.getResultAttrs(i)));
    }
    if (failed(rewriter.convertRegionTypes(&op.getBody(), *getTypeConverter(), &signature)))
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      for (auto [i, input] : llvm::enumerate(type.getInputs()))
        recordEncoding(op, i, input);
      op.setType(rewriter.getFunctionType(signature.getConvertedTypes(), results));
      if (op.getResAttrsAttr())
        op.setResAttrsAttr(rewriter.getArrayAttr(resultAttrs));
    });
    return success();
  }

private:
  /// The host lowering sizes a hidden state from its encoded shape; only the batch may be dynamic.
  static void recordEncoding(func::FuncOp op, unsigned i, Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    auto encoding = tensor ? dyn_cast_if_present<StringAttr>(tensor.getEncoding()) : StringAttr();
    if (!encoding)
      return;
    op.setArgAttr(i, "moe.encoding", encoding);
    if (auto dims = op.getArgAttrOfType<ArrayAttr>(i, "moe.dims")) {
      SmallVector<Attribute> names = {dims[0]};
      names.resize(encodedCacheType(tensor, encoding).getRank(), StringAttr::get(op.getContext(), ""));
      op.setArgAttr(i, "moe.dims", ArrayAttr::get(op.getContext(), names));
    }
  }
};

} // namespace

/// Whether the program sees by its type that `memref` is all of its buffer, which can then be the caller's.
static bool isWholeView(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>()) {
    if (!isa<memref::CastOp, memref::ExpandShapeOp, memref::CollapseShapeOp>(view))
      return false;
    memref = view.getViewSource();
  }
  return true;
}

namespace {
/// Results leave in buffers of their own, made before a state is written; states must stand in their argument.
struct ReturnLowering : GraphPattern<func::ReturnOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(func::ReturnOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<Value> results;
    SmallVector<StateUpdate> updates;
    llvm::SmallDenseSet<Value> roots;
    for (auto [i, value] : llvm::enumerate(adaptor.getOperands())) {
      if (Value state = lowering.stateResults.lookup({op, static_cast<unsigned>(i)})) {
        updates.push_back({value, rewriter.getRemappedValue(state)});
        continue;
      }
      if (isa<MemRefType>(value.getType())) {
        Value root = bufferBehind(value);
        if (!root.getDefiningOp<memref::AllocOp>() || !isWholeView(value) || !roots.insert(root).second) {
          SmallVector<OpFoldResult> sizes = sizesOf(rewriter, loc, value);
          Value copy = allocate(rewriter, loc, cast<MemRefType>(value.getType()), sizes);
          emitCopy(lowering, rewriter, loc, {value, {}, {}, {}}, {copy, {}, {}, {}}, sizes);
          value = copy;
        }
      }
      results.push_back(value);
    }
    emitStateUpdates(lowering, rewriter, loc, updates);
    rewriter.replaceOpWithNewOp<func::ReturnOp>(op, results);
    return success();
  }
};
} // namespace

void mlir::kernel::populateFunctionPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                            RewritePatternSet &patterns) {
  patterns.add<FuncLowering, ReturnLowering>(converter, lowering);
}
