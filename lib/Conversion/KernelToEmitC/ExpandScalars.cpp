//===- ExpandScalars.cpp - arithmetic that C++ lacks, in what it has ---------------------------------------------===//

#include "ExpandScalars.h"

#include "moe-mlir/Support/Greedy.h"

#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;
using namespace mlir::kernel;

/// Numbers of Python are of f64, which no kernel computes in: what a region rounds to f32 is written as it is then.
static void roundConstants(FuncOp func) {
  func.walk([](arith::TruncFOp trunc) {
    FloatAttr number;
    if (!trunc.getType().isF32() || !matchPattern(trunc.getIn(), m_Constant(&number)) || !number.getType().isF64())
      return;
    llvm::APFloat value = number.getValue();
    bool losesInfo;
    value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    OpBuilder b(trunc);
    trunc.getResult().replaceAllUsesWith(arith::ConstantFloatOp::create(b, trunc.getLoc(), b.getF32Type(), value));
    Operation *constant = trunc.getIn().getDefiningOp();
    trunc.erase();
    if (constant->use_empty())
      constant->erase();
  });
}

static bool hasAny(FuncOp func, llvm::function_ref<bool(Operation *)> is) {
  return func.walk([&](Operation *op) { return is(op) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

/// Quotients that are rounded down or up, by those of C++, which rounds them towards zero.
static LogicalResult expandQuotients(FuncOp func) {
  if (!hasAny(func, llvm::IsaPred<arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp>))
    return success();
  RewritePatternSet patterns(func.getContext());
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  return moe_mlir::applyPatternsToEnd(func, std::move(patterns));
}

static bool isHalf(Type type) { return type.isBF16() || type.isF16(); }

/// Floats of 16 bits are storage in C++: what is computed in them is computed in f32 and rounded. For a sum, a product, a
/// quotient and a root that is the same number, as f32 has more than twice their digits.
static LogicalResult widenHalves(FuncOp func) {
  auto computes = [](Operation *op) {
    return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
           !isa<arith::ConstantOp, arith::SelectOp, arith::ExtFOp, arith::TruncFOp, arith::BitcastOp>(op) &&
           (llvm::any_of(op->getOperandTypes(), isHalf) || llvm::any_of(op->getResultTypes(), isHalf));
  };
  if (!hasAny(func, computes))
    return success();
  MLIRContext *context = func.getContext();
  const Type f32 = Float32Type::get(context), f64 = Float64Type::get(context);
  const Type halves[] = {BFloat16Type::get(context), Float16Type::get(context)}, wide[] = {f32, f64};
  TypeConverter arithmetic, functions;
  RewritePatternSet patterns(context), widened(context);
  ConversionTarget target(*context), supported(*context);
  arith::populateEmulateUnsupportedFloatsConversions(arithmetic, halves, f32);
  arith::populateEmulateUnsupportedFloatsPatterns(patterns, arithmetic);
  arith::populateEmulateUnsupportedFloatsLegality(target, arithmetic);
  math::populateExtendToSupportedTypesTypeConverter(functions, SetVector<Type>(std::begin(wide), std::end(wide)), f32);
  math::populateExtendToSupportedTypesPatterns(widened, functions);
  math::populateExtendToSupportedTypesConversionTarget(supported, functions);
  supported.addDynamicallyLegalOp<math::FmaOp>([&](Operation *op) { return functions.isLegal(op); });
  return success(succeeded(applyPartialConversion(func, target, std::move(patterns))) &&
                 succeeded(applyPartialConversion(func, supported, std::move(widened))));
}

LogicalResult mlir::kernel::expandScalars(FuncOp func) {
  roundConstants(func);
  return success(succeeded(expandQuotients(func)) && succeeded(widenHalves(func)));
}
