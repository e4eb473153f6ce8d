//===- GraphToKernel.cpp - the pass convert-graph-to-kernel -----------------------------------------------------===//
//
// Check that every op has a lowering and that what level scheduled has decided can be done, then convert op by op.
// Patterns create kernels on the side (KernelBuilder); the conversion itself only sees the host function.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Layout.h"
#include "PassLoop.h"

#include "moe-mlir/Conversion/GraphToKernel/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_CONVERTGRAPHTOKERNEL
#include "moe-mlir/Conversion/GraphToKernel/Passes.h.inc"
} // namespace mlir::kernel

/// Tensors become memrefs one to one; a layout becomes offsets, tokens, rows of pairs, tile records, their count.
static void addConversions(TypeConverter &converter) {
  converter.addConversion([](Type type) { return type; });
  converter.addConversion([](RankedTensorType type) -> Type {
    if (auto encoding = dyn_cast_if_present<StringAttr>(type.getEncoding()))
      return encodedCacheType(type, encoding);
    return MemRefType::get(type.getShape(), type.getElementType());
  });
  converter.addConversion([](moe::LayoutType type, SmallVectorImpl<Type> &types) -> std::optional<LogicalResult> {
    llvm::append_range(types, LayoutBuffers::types(type));
    return success();
  });
}

/// Erases what the conversion left without use: buffers whose sizes alone were read, parameters that were packed.
static void eraseDead(func::FuncOp func) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(func.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

namespace {
struct ConvertGraphToKernel : kernel::impl::ConvertGraphToKernelBase<ConvertGraphToKernel> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    dropUnusedGrids(module);
    dropPoison(module);
    if (failed(checkSupported(module)) || failed(verifyDecisions(module)))
      return signalPassFailure();
    GraphLowering lowering(module);

    TypeConverter converter;
    addConversions(converter);
    ConversionTarget target(getContext());
    target.addLegalDialect<KernelDialect, memref::MemRefDialect, scf::SCFDialect>();
    target.addDynamicallyLegalDialect<arith::ArithDialect, math::MathDialect, func::FuncDialect, moe::MoeDialect>(
        [&](Operation *op) { return converter.isLegal(op); });
    target.addDynamicallyLegalOp<func::FuncOp>(
        [&](func::FuncOp op) { return converter.isSignatureLegal(op.getFunctionType()); });
    target.addLegalOp<ModuleOp, cf::AssertOp>();
    target.markUnknownOpDynamicallyLegal([](Operation *op) { return isa<SymbolOpInterface>(op); });

    RewritePatternSet patterns(&getContext());
    for (PopulateFn *populate :
         {populateFunctionPatterns, populateTensorPatterns, populateCopyPatterns, populateConstantPatterns,
          populateGenericPatterns, populateLinearPatterns, populateNormPatterns, populateRopePatterns,
          populateEmbeddingPatterns, populateGatePatterns, populateDispatchPatterns, populateExpertPatterns,
          populateCombinePatterns, populateExchangePatterns, populateRankSumPatterns, populateCachePatterns,
          populateAttentionPatterns, populateAttentionRowsPatterns, populateCausalConvPatterns, populateScanPatterns, populateTopKPatterns})
      populate(converter, lowering, patterns);
    if (failed(applyFullConversion(module, target, std::move(patterns))))
      return signalPassFailure();
    for (auto func : module.getOps<func::FuncOp>())
      if (!func.isExternal()) {
        hoistFromPasses(func);
        eraseDead(func);
      }
  }
};
} // namespace
