//===- Elementwise.cpp - operators on single elements, with broadcasting ------------------------------------------===//

#include "Elementwise.h"

using namespace mlir;
using namespace mlir::aten;

Value mlir::aten::getOperand(Lowering &l, StringRef name) {
  Value tensor = l.getTensor(name);
  return tensor ? tensor : l.getScalar(name);
}

Values mlir::aten::lowerTogether(Lowering &l, ArrayRef<Value> operands, ArrayRef<Type> computeTypes,
                                 Lowering::Body body) {
  RankedTensorType type = l.getType();
  SmallVector<Value> tensors;
  for (Value operand : operands)
    if (isa<RankedTensorType>(operand.getType()))
      tensors.push_back(operand);
  return {{l.map(type, l.getBroadcastSizes(type, tensors), tensors, [&](OpBuilder &b, Location loc, ValueRange args) {
    SmallVector<Value> scalars;
    size_t next = 0;
    for (auto [operand, in] : llvm::zip(operands, computeTypes)) {
      Value element = isa<RankedTensorType>(operand.getType()) ? args[next++] : operand;
      scalars.push_back(convertScalar(b, loc, element, in));
    }
    return convertScalar(b, loc, body(b, loc, scalars), type.getElementType());
  })}};
}

static Value selectElement(OpBuilder &b, Location loc, ValueRange args) {
  return arith::SelectOp::create(b, loc, args[0], args[1], args[2]);
}

static Values lowerWhere(Lowering &l) {
  Value condition = l.getTensor("condition"), self = getOperand(l, "self"), other = getOperand(l, "other");
  if (!condition || !self || !other)
    return std::nullopt;
  Type in = l.getType().getElementType();
  return lowerTogether(l, {condition, self, other}, {l.b.getI1Type(), in, in}, selectElement);
}

static Values lowerMaskedFill(Lowering &l) {
  Value self = l.getTensor("self"), mask = l.getTensor("mask"), value = getOperand(l, "value");
  if (!self || !mask || !value)
    return std::nullopt;
  Type in = l.getType().getElementType();
  return lowerTogether(l, {mask, value, self}, {l.b.getI1Type(), in, in}, selectElement);
}

/// clamp, clamp_min, clamp_max. NaN stays NaN.
static Values lowerClamp(Lowering &l) {
  Value self = l.getTensor("self"), low = getOperand(l, "min"), high = getOperand(l, "max");
  if (!self || (!low && !high))
    return std::nullopt;
  Type in = getComputeType(l.getType().getElementType());
  SmallVector<Value> operands{self};
  if (low)
    operands.push_back(low);
  if (high)
    operands.push_back(high);
  SmallVector<Type> types(operands.size(), in);
  return lowerTogether(l, operands, types, [&](OpBuilder &b, Location loc, ValueRange args) {
    Scalar s{b, loc};
    Value result = args[0];
    if (low)
      result = s.either<arith::MaximumFOp, arith::MaxSIOp>({result, args[1]});
    if (high)
      result = s.either<arith::MinimumFOp, arith::MinSIOp>({result, args.back()});
    return result;
  });
}

Values mlir::aten::lowerCast(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self)
    self = l.getTensor("input");
  if (!self || l.call.getBool("train").value_or(false))
    return std::nullopt;
  return {{l.cast(self, l.getType().getElementType())}};
}

void mlir::aten::addElementwise(LoweringTable &table) {
  addUnary(table);
  addActivations(table);
  addArithmetic(table);
  addPredicates(table);
  table["aten.where"] = lowerWhere;
  table["aten.masked_fill"] = lowerMaskedFill;
  for (StringRef name : {"aten.clamp", "aten.clamp_min", "aten.clamp_max"})
    table[name] = lowerClamp;
  for (StringRef name : {"aten.to", "aten._to_copy", "aten.type_as", "aten.clone", "aten.contiguous", "aten.alias",
                         "aten.detach", "aten.lift_fresh_copy", "aten.lift_fresh", "aten.dropout", "aten.float"})
    table[name] = lowerCast;
}
