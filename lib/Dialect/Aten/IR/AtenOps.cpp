//===- AtenOps.cpp - access to the arguments of aten.call ---------------------------------------------------------===//

#include "CallTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::aten;

#define GET_OP_CLASSES
#include "moe-mlir/Dialect/Aten/IR/AtenOps.cpp.inc"

/// "aten.add.Tensor" -> "aten.add"; "_operator.mul" has no overload.
static StringRef getBaseName(StringRef target) { return target.count('.') < 2 ? target : target.rsplit('.').first; }

bool mlir::aten::isInPlace(StringRef target) {
  StringRef base = getBaseName(target);
  return base.starts_with("aten.") && base.ends_with("_") && !base.ends_with("__");
}

CallOp mlir::aten::getDefiningCall(Value value, ArrayRef<StringRef> bases) {
  auto call = value ? value.getDefiningOp<CallOp>() : CallOp();
  return call && llvm::is_contained(bases, call.getBase()) ? call : CallOp();
}

StringRef CallOp::getBase() { return getBaseName(getTarget()); }

Value CallOp::getOperandOf(Attribute argument) {
  auto operand = dyn_cast_or_null<ArgAttr>(argument);
  return operand ? getInputs()[operand.getIndex()] : Value();
}

std::optional<int64_t> CallOp::getInt(StringRef name) {
  auto attr = dyn_cast_or_null<IntegerAttr>(getArgument(name));
  if (!attr || isa<BoolAttr>(attr))
    return std::nullopt;
  return attr.getInt();
}

std::optional<double> CallOp::getFloat(StringRef name) {
  if (auto attr = dyn_cast_or_null<FloatAttr>(getArgument(name)))
    return attr.getValueAsDouble();
  if (std::optional<int64_t> integer = getInt(name))
    return static_cast<double>(*integer);
  return std::nullopt;
}

std::optional<bool> CallOp::getBool(StringRef name) {
  auto attr = dyn_cast_or_null<BoolAttr>(getArgument(name));
  return attr ? std::optional(attr.getValue()) : std::nullopt;
}

std::optional<StringRef> CallOp::getString(StringRef name) {
  auto attr = dyn_cast_or_null<StringAttr>(getArgument(name));
  return attr ? std::optional(attr.getValue()) : std::nullopt;
}

std::optional<SmallVector<int64_t>> CallOp::getInts(StringRef name) {
  if (std::optional<int64_t> single = getInt(name))
    return SmallVector<int64_t>{*single};
  auto array = dyn_cast_or_null<ArrayAttr>(getArgument(name));
  if (!array)
    return std::nullopt;
  SmallVector<int64_t> result;
  for (Attribute element : array) {
    auto integer = dyn_cast<IntegerAttr>(element);
    if (!integer)
      return std::nullopt;
    result.push_back(integer.getInt());
  }
  return result;
}

std::optional<int64_t> CallOp::getDim(StringRef name, int64_t rank) {
  std::optional<int64_t> dim = getInt(name);
  if (!dim || *dim < -std::max<int64_t>(rank, 1) || *dim >= std::max<int64_t>(rank, 1))
    return std::nullopt;
  return *dim < 0 ? *dim + std::max<int64_t>(rank, 1) : *dim;
}

LogicalResult CallOp::verify() {
  auto check = [&](Attribute attr) -> LogicalResult {
    auto operand = dyn_cast<ArgAttr>(attr);
    int64_t count = getInputs().size();
    if (operand && (operand.getIndex() < 0 || operand.getIndex() >= count))
      return emitOpError("argument names operand ") << operand.getIndex() << ", but the call has " << count;
    return success();
  };
  for (NamedAttribute argument : getArguments()) {
    if (failed(check(argument.getValue())))
      return failure();
    if (auto array = dyn_cast<ArrayAttr>(argument.getValue()))
      for (Attribute element : array)
        if (failed(check(element)))
          return failure();
  }
  return verifyTypes(*this);
}

/// Before in-place calls are gone a value says nothing about its content at another point, and two equal calls may make
/// two tensors that are changed separately. So nothing is known about any call of such a function.
void CallOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  auto function = (*this)->getParentOfType<func::FuncOp>();
  const bool asserts = llvm::is_contained({"aten._assert_scalar", "aten._assert_async"}, getBase());
  if (!asserts && !isInPlace(getTarget()) && !(function && function->hasAttr(AtenDialect::MutableAttrHelper::getNameStr())))
    return;
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}
