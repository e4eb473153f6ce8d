//===- ScalarOps.cpp - scalar regions inside of kernels ---------------------------------------------------------===//
//
// What a region may hold is said in Support/ScalarRegion.h. Ops without a form on some target become ones that all
// targets have.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace mlir::kernel;

Value mlir::kernel::emitSilu(KernelBuilder &kernel, Value x, arith::FastMathFlags flags) {
  using Flags = arith::FastMathFlags;
  Value exp = math::ExpOp::create(kernel, arith::NegFOp::create(kernel, x), flags & Flags::afn);
  return arith::DivFOp::create(kernel, x, arith::AddFOp::create(kernel, exp, kernel.f32(1.0)),
                               flags & (Flags::afn | Flags::arcp));
}

static Value compare(KernelBuilder &kernel, arith::CmpFPredicate predicate, Value x, Value y) {
  return arith::CmpFOp::create(kernel, predicate, x, y);
}

/// Division by 0 gives 0, and of the least number by -1 the least number (quotient) and 0 (remainder), as NumPy does
/// it; the processor would stop the program.
static Value divide(KernelBuilder &kernel, Operation &op, IRMapping &mapping) {
  Value x = mapping.lookupOrDefault(op.getOperand(0)), y = mapping.lookupOrDefault(op.getOperand(1));
  Type type = y.getType();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(kernel, kernel.getIntegerAttr(type, value));
  };
  auto equals = [&](int64_t value) -> Value {
    return arith::CmpIOp::create(kernel, arith::CmpIPredicate::eq, y, number(value));
  };
  bool isSigned = isa<arith::DivSIOp, arith::RemSIOp, arith::CeilDivSIOp, arith::FloorDivSIOp>(op);
  bool isRemainder = isa<arith::RemSIOp, arith::RemUIOp>(op);
  Value isZero = equals(0), isSpecial = isZero, isMinusOne;
  if (isSigned) {
    isMinusOne = equals(-1);
    isSpecial = arith::OrIOp::create(kernel, isZero, isMinusOne);
  }
  IRMapping safe(mapping);
  safe.map(op.getOperand(1), arith::SelectOp::create(kernel, isSpecial, number(1), y).getResult());
  Value result = kernel.clone(op, safe)->getResult(0);
  if (isSigned && !isRemainder) {
    Value negative = arith::SubIOp::create(kernel, number(0), x);
    result = arith::SelectOp::create(kernel, isMinusOne, negative, result);
  }
  return arith::SelectOp::create(kernel, isRemainder ? isSpecial : isZero, number(0), result);
}

/// Whether a division may meet 0 or -1. Sizes from outside of the region are no 0: graph-check-bounds sees to it.
static bool mayStop(Operation &op) {
  if (!isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::CeilDivSIOp, arith::CeilDivUIOp,
           arith::FloorDivSIOp>(op))
    return false;
  Value divisor = op.getOperand(1);
  APInt constant;
  if (matchPattern(divisor, m_ConstantInt(&constant)))
    return constant.isZero() || constant.isAllOnes();
  bool isOutside = !op.getBlock()->getParentOp()->isAncestor(divisor.getParentRegion()->getParentOp());
  return !(divisor.getType().isIndex() && isOutside);
}

/// The op in terms of others; nothing if it can be cloned.
static SmallVector<Value> expand(KernelBuilder &kernel, Operation &op, IRMapping &mapping) {
  auto x = [&](unsigned i) { return mapping.lookupOrDefault(op.getOperand(i)); };
  auto constant = [&](APFloat value) -> Value {
    return arith::ConstantOp::create(kernel, FloatAttr::get(op.getOperand(0).getType(), value));
  };
  auto semantics = [&]() -> const llvm::fltSemantics & {
    return cast<FloatType>(op.getOperand(0).getType()).getFloatSemantics();
  };
  auto magnitude = [&]() -> Value { return math::AbsFOp::create(kernel, x(0)); };
  auto infinity = [&]() -> Value { return constant(APFloat::getInf(semantics())); };
  using Values = SmallVector<Value>;
  // LLVM leaves open what becomes of a float that does not fit, and two kernels did disagree on narrow integers. The
  // processors' conversion to 32 bits is one instruction with one result; PyTorch takes its low bits, too.
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op) && op.getResult(0).getType().getIntOrFloatBitWidth() < 32) {
    Value wide = arith::FPToSIOp::create(kernel, kernel.getI32Type(), x(0));
    return {arith::TruncIOp::create(kernel, op.getResult(0).getType(), wide)};
  }
  return llvm::TypeSwitch<Operation *, Values>(&op)
      .Case([&](nn::SiluOp silu) {
        return Values{kernel.convert(emitSilu(kernel, kernel.toF32(x(0)), silu.getFastmath()), silu.getType())};
      })
      .Case([&](tensor::ExtractOp extract) {
        auto indices = llvm::map_to_vector(extract.getIndices(), [&](Value at) { return mapping.lookupOrDefault(at); });
        return Values{kernel.load(mapping.lookup(extract.getTensor()), indices)};
      })
      .Case([&](tensor::DimOp dim) {
        return Values{memref::DimOp::create(kernel, mapping.lookup(dim.getSource()), x(1))};
      })
      .Case([&](math::ClampFOp) {
        return Values{arith::MinimumFOp::create(kernel, arith::MaximumFOp::create(kernel, x(0), x(1)), x(2))};
      })
      .Case(
          [&](math::SincosOp) { return Values{math::SinOp::create(kernel, x(0)), math::CosOp::create(kernel, x(0))}; })
      .Case([&](math::FPowIOp) {
        Value exponent = arith::SIToFPOp::create(kernel, x(0).getType(), x(1));
        return Values{math::PowFOp::create(kernel, x(0), exponent)};
      })
      .Case([&](math::IsNaNOp) { return Values{compare(kernel, arith::CmpFPredicate::UNO, x(0), x(0))}; })
      .Case([&](math::IsInfOp) { return Values{compare(kernel, arith::CmpFPredicate::OEQ, magnitude(), infinity())}; })
      .Case(
          [&](math::IsFiniteOp) { return Values{compare(kernel, arith::CmpFPredicate::OLT, magnitude(), infinity())}; })
      .Case([&](math::IsNormalOp) {
        Value size = magnitude(), least = constant(APFloat::getSmallestNormalized(semantics()));
        return Values{arith::AndIOp::create(kernel, compare(kernel, arith::CmpFPredicate::OGE, size, least),
                                            compare(kernel, arith::CmpFPredicate::OLT, size, infinity()))};
      })
      .Default([&](Operation *) { return mayStop(op) ? Values{divide(kernel, op, mapping)} : Values{}; });
}

void mlir::kernel::cloneScalarOp(KernelBuilder &kernel, Operation &op, IRMapping &mapping) {
  // Indices of loops, and what was computed outside of them, are there already.
  if (op.getNumResults() && llvm::all_of(op.getResults(), [&](Value result) { return mapping.contains(result); }))
    return;
  if (SmallVector<Value> values = expand(kernel, op, mapping); !values.empty()) {
    mapping.map(op.getResults(), values);
    return;
  }
  if (!op.getNumRegions()) {
    kernel.clone(op, mapping);
    return;
  }
  Operation *copy = kernel.insert(op.cloneWithoutRegions(mapping));
  OpBuilder::InsertionGuard guard(kernel);
  for (auto [from, to] : llvm::zip(op.getRegions(), copy->getRegions()))
    for (Block &block : from) {
      SmallVector<Location> locations(block.getNumArguments(), kernel.getLoc());
      Block *target = kernel.createBlock(&to, to.end(), block.getArgumentTypes(), locations);
      mapping.map(block.getArguments(), target->getArguments());
      for (Operation &nested : block)
        cloneScalarOp(kernel, nested, mapping);
    }
}

void mlir::kernel::mapCaptures(KernelBuilder &kernel, Region &region, IRMapping &mapping,
                               ConversionPatternRewriter &rewriter) {
  region.walk([&](Operation *nested) {
    for (Value operand : nested->getOperands()) {
      // Arguments of a function that is converted already have no parent.
      Region *parent = operand.getParentRegion();
      if (!(parent && region.isAncestor(parent)) && !mapping.contains(operand))
        mapping.map(operand, kernel.arg(rewriter.getRemappedValue(operand)));
    }
  });
}

void mlir::kernel::cloneReads(KernelBuilder &kernel, Region &region, IRMapping &mapping,
                              ConversionPatternRewriter &rewriter) {
  region.walk([&](Operation *nested) {
    if (!isa<tensor::ExtractOp, tensor::DimOp>(nested))
      return;
    for (Value operand : nested->getOperands()) {
      if (mapping.contains(operand))
        continue;
      Attribute constant;
      if (matchPattern(operand, m_Constant(&constant)))
        mapping.map(operand, kernel.idx(cast<IntegerAttr>(constant).getInt()));
      else
        mapping.map(operand, kernel.arg(rewriter.getRemappedValue(operand)));
    }
    cloneScalarOp(kernel, *nested, mapping);
  });
}
