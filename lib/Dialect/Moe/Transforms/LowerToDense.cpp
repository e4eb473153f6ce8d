//===- LowerToDense.cpp - moe-lower-to-dense ----------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Moe/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::moe {
#define GEN_PASS_DEF_MOELOWERTODENSE
#include "moe-mlir/Dialect/Moe/Transforms/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

LogicalResult moe::lowerToDense(ModuleOp module) {
  WalkResult ranks = module.walk([](Operation *op) -> WalkResult {
    auto dispatch = dyn_cast<DispatchOp>(op);
    if (isa<AllToAllOp>(op) || (dispatch && dispatch.getTo()))
      return op->emitOpError("exchanges rows between ranks; the dense lowering is for one rank");
    if (dispatch && dispatch.getAt())
      return op->emitOpError("is of one of several ranks; the dense lowering is for one rank");
    return WalkResult::advance();
  });
  if (ranks.wasInterrupted())
    return failure();

  MLIRContext *context = module.getContext();
  TypeConverter converter;
  converter.addConversion([](Type type) { return type; });
  converter.addConversion([](LayoutType type, SmallVectorImpl<Type> &types) {
    int64_t any[] = {ShapedType::kDynamic, ShapedType::kDynamic};
    types.push_back(RankedTensorType::get(any, IntegerType::get(type.getContext(), 32)));
    types.push_back(RankedTensorType::get(any, IndexType::get(type.getContext())));
    return success();
  });

  RewritePatternSet patterns(context);
  populateDenseGatePatterns(converter, patterns);
  populateDenseRowsPatterns(converter, patterns);
  populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns, converter);
  populateCallOpTypeConversionPattern(patterns, converter);
  populateReturnOpTypeConversionPattern(patterns, converter);

  ConversionTarget target(*context);
  target.markUnknownOpDynamicallyLegal([&](Operation *op) { return converter.isLegal(op); });
  target.addIllegalOp<GateOp, DispatchOp, ExpertOp, CombineOp>();
  target.addDynamicallyLegalOp<func::FuncOp>(
      [&](func::FuncOp op) { return converter.isSignatureLegal(op.getFunctionType()); });
  return applyFullConversion(module, target, std::move(patterns));
}

namespace {
struct LowerToDense : moe::impl::MoeLowerToDenseBase<LowerToDense> {
  void runOnOperation() override {
    if (failed(moe::lowerToDense(getOperation())))
      signalPassFailure();
  }
};
} // namespace
