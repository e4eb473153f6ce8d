//===- Predicates.cpp - comparisons and logic ---------------------------------------------------------------------===//

#include "Elementwise.h"

using namespace mlir;
using namespace mlir::aten;

/// Comparisons and logic: the operands are rounded to the type in which they meet, which is not that of the result.
template <Value (*compute)(const Scalar &, Value, Value)> static Values lowerPredicate(Lowering &l) {
  Value self = getOperand(l, "self"), other = getOperand(l, "other");
  if (!self || !other)
    return std::nullopt;
  Type in = getPromotedType(l.b, {self, other});
  return lowerTogether(l, {self, other}, {in, in}, [&](OpBuilder &b, Location loc, ValueRange args) {
    Type wide = getComputeType(in);
    return compute(Scalar{b, loc}, convertScalar(b, loc, args[0], wide), convertScalar(b, loc, args[1], wide));
  });
}

template <arith::CmpFPredicate floats, arith::CmpIPredicate integers>
static Value compare(const Scalar &s, Value lhs, Value rhs) {
  // Booleans order as 0 < 1, so they compare unsigned.
  if (lhs.getType().isInteger(1)) {
    lhs = convertScalar(s.b, s.loc, lhs, s.b.getI64Type());
    rhs = convertScalar(s.b, s.loc, rhs, s.b.getI64Type());
  }
  return s.compare(floats, integers, lhs, rhs);
}

template <typename Op> static Value logic(const Scalar &s, Value x, Value y) {
  Type i1 = s.b.getI1Type();
  return s.make<Op>({convertScalar(s.b, s.loc, x, i1), convertScalar(s.b, s.loc, y, i1)});
}
template <typename Op> static Value bits(const Scalar &s, Value x, Value y) { return s.make<Op>({x, y}); }

void mlir::aten::addPredicates(LoweringTable &table) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  table["aten.eq"] = lowerPredicate<compare<F::OEQ, I::eq>>;
  table["aten.ne"] = lowerPredicate<compare<F::UNE, I::ne>>;
  table["aten.lt"] = lowerPredicate<compare<F::OLT, I::slt>>;
  table["aten.le"] = lowerPredicate<compare<F::OLE, I::sle>>;
  table["aten.gt"] = lowerPredicate<compare<F::OGT, I::sgt>>;
  table["aten.ge"] = lowerPredicate<compare<F::OGE, I::sge>>;
  table["aten.logical_and"] = lowerPredicate<logic<arith::AndIOp>>;
  table["aten.logical_or"] = lowerPredicate<logic<arith::OrIOp>>;
  table["aten.logical_xor"] = lowerPredicate<logic<arith::XOrIOp>>;
  for (StringRef name : {"aten.__and__", "aten.bitwise_and"})
    table[name] = lowerPredicate<bits<arith::AndIOp>>;
  for (StringRef name : {"aten.__or__", "aten.bitwise_or"})
    table[name] = lowerPredicate<bits<arith::OrIOp>>;
  for (StringRef name : {"aten.__xor__", "aten.bitwise_xor"})
    table[name] = lowerPredicate<bits<arith::XOrIOp>>;
}
