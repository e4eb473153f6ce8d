//===- SizeValues.cpp - sizes as values of a program -------------------------------------------------------------===//
//
// A graph may say any sizes and indices, also those whose sum or product 64 bits do not hold. What is computed from
// them here says so, instead of becoming another, smaller number.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Analysis/GraphSizes.h"
#include "moe-mlir/Support/WholeProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <cmath>

using namespace mlir;
using namespace mlir::kernel;
using namespace moe_mlir;

Operation *GraphSizes::lastDefinition(const SizeExpr &size) const {
  Operation *last = nullptr;
  auto note = [&](Operation *op) {
    if (op && (!last || last->isBeforeInBlock(op)))
      last = op;
  };
  for (const auto &[factors, coefficient] : size.terms)
    for (unsigned factor : factors) {
      const Symbol &symbol = symbols[factor];
      if (symbol.value)
        note(symbol.value.getDefiningOp());
      for (const SizeExpr &operand : symbol.operands)
        note(lastDefinition(operand));
    }
  return last;
}

/// What 64 bits hold, and room for the rounding of what is compared with it.
static const double limit = std::ldexp(1.0, 62);

/// No absolute value of the symbol is larger.
double GraphSizes::mostOf(unsigned number) const {
  const Symbol &symbol = symbols[number];
  auto most = [&](unsigned i) {
    double sum = 0;
    for (const auto &[factors, coefficient] : symbol.operands[i].terms) {
      double product = std::abs(static_cast<double>(coefficient));
      for (unsigned factor : factors)
        product *= mostOf(factor);
      sum += product;
    }
    return sum;
  };
  switch (symbol.kind) {
  case Kind::Dim:
    return std::ldexp(1.0, 47);
  case Kind::Scalar: {
    Operation *op = symbol.value.getDefiningOp();
    auto from = isa_and_nonnull<arith::IndexCastOp, arith::IndexCastUIOp>(op)
                    ? dyn_cast<IntegerType>(op->getOperand(0).getType())
                    : IntegerType(); // or an index, which is cast to an integer
    bool isNarrow = from && from.getWidth() <= 32;
    return std::ldexp(1.0, isNarrow ? 32 : 63);
  }
  case Kind::FloorDiv:
    return most(0);
  case Kind::Rem:
    return most(1);
  case Kind::Min:
    return symbol.nonNegative ? std::min(most(0), most(1)) : std::max(most(0), most(1));
  case Kind::Max:
    return std::max(most(0), most(1));
  }
}

bool GraphSizes::fits(const SizeExpr &size) const {
  double sum = 0;
  for (const auto &[factors, coefficient] : size.terms) {
    double product = std::abs(static_cast<double>(coefficient));
    for (unsigned factor : factors) {
      product *= mostOf(factor);
      if (!llvm::all_of(symbols[factor].operands, [&](const SizeExpr &operand) { return fits(operand); }))
        return false;
    }
    sum += product;
  }
  // Nothing is computed for a symbol alone.
  const auto first = size.terms.begin();
  const bool isAlone = size.terms.size() == 1 && first->first.size() == 1 && first->second == 1;
  return isAlone || sum < limit;
}

namespace {
/// A value, and what its absolute value does not exceed.
struct Bounded {
  Value value;
  double most;
};

/// Writes sums and products, and whether 64 bits hold them, where they may not.
class WholeNumbers {
public:
  WholeNumbers(OpBuilder &b, Location loc, Value &whole) : b(b), loc(loc), whole(whole) {}

  Bounded constant(int64_t value) {
    return {arith::ConstantIndexOp::create(b, loc, value), std::abs(static_cast<double>(value))};
  }

  Bounded multiply(const Bounded &x, const Bounded &y) {
    if (x.most * y.most < limit)
      return {arith::MulIOp::create(b, loc, x.value, y.value), x.most * y.most};
    WholeProduct product = multiplyWhole(b, loc, x.value, y.value);
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    require(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, product.excess, zero));
    return {product.value, std::ldexp(1.0, 63)};
  }

  Bounded add(const Bounded &x, const Bounded &y) {
    Value sum = arith::AddIOp::create(b, loc, x.value, y.value);
    if (x.most + y.most < limit)
      return {sum, x.most + y.most};
    // It has another sign than both.
    Value one = arith::XOrIOp::create(b, loc, x.value, sum), other = arith::XOrIOp::create(b, loc, y.value, sum);
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    require(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, arith::AndIOp::create(b, loc, one, other), zero));
    return {sum, std::ldexp(1.0, 63)};
  }

private:
  void require(Value holds) { whole = whole ? arith::AndIOp::create(b, loc, whole, holds) : holds; }

  OpBuilder &b;
  Location loc;
  Value &whole;
};
} // namespace

Value GraphSizes::materialize(OpBuilder &b, Location loc, const SizeExpr &size, Value &whole) const {
  auto valueOf = [&](const Symbol &symbol) -> Value {
    if (symbol.kind == Kind::Dim)
      return tensor::DimOp::create(b, loc, symbol.value, symbol.dim);
    if (symbol.kind == Kind::Scalar) {
      if (symbol.value.getType().isIndex())
        return symbol.value;
      return arith::IndexCastOp::create(b, loc, b.getIndexType(), symbol.value);
    }
    Value x = materialize(b, loc, symbol.operands[0], whole), y = materialize(b, loc, symbol.operands[1], whole);
    switch (symbol.kind) {
    case Kind::FloorDiv:
      return arith::FloorDivSIOp::create(b, loc, x, y);
    case Kind::Rem:
      return arith::RemSIOp::create(b, loc, x, y);
    case Kind::Min:
      return arith::MinSIOp::create(b, loc, x, y);
    default:
      return arith::MaxSIOp::create(b, loc, x, y);
    }
  };
  WholeNumbers numbers(b, loc, whole);
  std::optional<Bounded> sum;
  for (const auto &[factors, coefficient] : size.terms) {
    std::optional<Bounded> product;
    for (unsigned number : factors) {
      Bounded factor{valueOf(symbols[number]), mostOf(number)};
      product = product ? numbers.multiply(*product, factor) : factor;
    }
    if (coefficient != 1 || !product)
      product = product ? numbers.multiply(*product, numbers.constant(coefficient)) : numbers.constant(coefficient);
    sum = sum ? numbers.add(*sum, *product) : *product;
  }
  return sum ? sum->value : numbers.constant(0).value;
}
