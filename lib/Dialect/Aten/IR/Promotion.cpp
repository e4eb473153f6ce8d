//===- Promotion.cpp - the type in which operands meet ------------------------------------------------------------===//

#include "moe-mlir/Dialect/Aten/IR/Promotion.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::aten;

int mlir::aten::category(Element element) {
  if (!element.type || isa<FloatType>(element.type))
    return 2;
  return isa<ComplexType>(element.type) ? 3 : element.type.isInteger(1) ? 0 : 1;
}

static Type widerFloat(Type a, Type b) {
  unsigned first = a.getIntOrFloatBitWidth(), second = b.getIntOrFloatBitWidth();
  if (first == second && a != b) // bfloat16 and float16
    return Float32Type::get(a.getContext());
  return first < second ? b : a;
}

Type mlir::aten::realOf(Type type) {
  auto pair = dyn_cast_or_null<ComplexType>(type);
  return pair ? pair.getElementType() : type;
}

Element mlir::aten::promoteTwo(Element a, Element b) {
  if (category(a) < category(b))
    std::swap(a, b);
  if (category(a) == 3 && category(b) >= 2 && b.type)
    return {ComplexType::get(widerFloat(realOf(a.type), realOf(b.type)))};
  if (category(a) != category(b) || !a.type || !b.type)
    return a;
  if (category(a) == 2)
    return {widerFloat(a.type, b.type)};
  return a.type.getIntOrFloatBitWidth() < b.type.getIntOrFloatBitWidth() ? b : a;
}

void Promotion::add(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  Element element{tensor ? tensor.getElementType() : value.getType()};
  if (!tensor && isa<FloatType>(element.type))
    element = {};
  std::optional<Element> &kind = kinds[tensor ? (tensor.getRank() ? 0 : 1) : 2];
  kind = kind ? promoteTwo(*kind, element) : element;
}

void Promotion::add(CallOp call, Attribute argument) {
  if (Value value = call.getOperandOf(argument))
    return add(value);
  auto number = dyn_cast_or_null<TypedAttr>(argument);
  if (!number || !number.getType().isIntOrFloat())
    return;
  Element element{isa<FloatType>(number.getType()) ? Type() : number.getType()};
  kinds[2] = kinds[2] ? promoteTwo(*kinds[2], element) : element;
}

std::optional<Element> Promotion::get() const {
  std::optional<Element> result;
  for (const std::optional<Element> &kind : kinds) {
    if (!kind || (result && category(*kind) <= category(*result)))
      continue;
    // Of floats that meet complex numbers the width counts, whatever they are.
    bool widens = result && category(*kind) == 3 && category(*result) == 2;
    result = widens ? Element{promoteTwo(*kind, *result)} : *kind;
  }
  return result;
}
