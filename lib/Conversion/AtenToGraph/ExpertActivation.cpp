//===- ExpertActivation.cpp - recognising what experts do between their two products ------------------------------===//

#include "ExpertActivation.h"
#include "Patterns.h"

using namespace mlir;
using namespace mlir::aten;

/// The call if it takes a tensor `self` of two dimensions.
static CallOp getCall(Value value, StringRef base) {
  CallOp call = getDefiningCall(value, {base});
  auto type = call ? getTensorType(call.getValue("self")) : RankedTensorType();
  return type && type.getRank() == 2 ? call : CallOp();
}

/// f(x) by name; `x` becomes the operand.
static StringRef matchPointwise(Value &x) {
  for (StringRef name : {"silu", "relu"})
    if (CallOp call = getCall(x, ("aten." + name).str())) {
      x = call.getValue("self");
      return name;
    }
  if (CallOp call = getCall(x, "aten.gelu")) {
    x = call.getValue("self");
    return call.getString("approximate").value_or("none") == "tanh" ? "gelu_tanh" : "gelu";
  }
  CallOp square = getCall(x, "aten.square"), power = getCall(x, "aten.pow");
  if (power && power.getInt("exponent") == 2)
    square = power;
  CallOp relu = square ? getCall(square.getValue("self"), "aten.relu") : CallOp();
  if (!relu)
    return "";
  x = relu.getValue("self");
  return "relu2";
}

/// Half `number` of the columns of a tensor.
static Value matchHalf(Value value, unsigned number) {
  CallOp chunk = getCall(value, "aten.chunk");
  if (!chunk || chunk.getInt("chunks") != 2 || chunk.getDim("dim", 2) != 1 || chunk.getNumResults() != 2)
    return {};
  return chunk.getResult(number) == value ? chunk.getValue("self") : Value();
}

/// Every second column of a tensor, from `number` on.
static Value matchEverySecond(Value value, int64_t number) {
  CallOp slice = getCall(value, "aten.slice");
  if (!slice || slice.getDim("dim", 2) != 1 || slice.getInt("step") != 2 || slice.getInt("start").value_or(0) != number)
    return {};
  auto type = getTensorType(slice.getValue("self"));
  return !type.isDynamicDim(1) && slice.getInt("end").value_or(type.getDimSize(1)) >= type.getDimSize(1)
             ? slice.getValue("self")
             : Value();
}

/// clamp(x, lo, hi) with these bounds.
static Value matchClamp(Value value, std::optional<double> lo, std::optional<double> hi) {
  CallOp clamp = getCall(value, "aten.clamp");
  return clamp && clamp.getFloat("min") == lo && clamp.getFloat("max") == hi && !clamp.getValue("min") &&
                 !clamp.getValue("max")
             ? clamp.getValue("self")
             : Value();
}

/// The two operands of a product, in both orders.
template <typename Match> static bool matchProduct(Value value, Match match) {
  CallOp mul = getCall(value, "aten.mul");
  Value left = mul ? mul.getValue("self") : Value(), right = mul ? mul.getValue("other") : Value();
  return left && right && (match(left, right) || match(right, left));
}

/// (up + 1) * gate * sigmoid(1.702 gate), both clamped, from even and odd columns.
static std::optional<ExpertActivation> matchSwigluOai(Value value) {
  ExpertActivation result{{}, "swigluoai", true, true};
  auto swish = [&](Value gate, Value power) {
    CallOp sigmoid = getCall(power, "aten.sigmoid");
    CallOp scaled = sigmoid ? getCall(sigmoid.getValue("self"), "aten.mul") : CallOp();
    if (!scaled || scaled.getValue("self") != gate || scaled.getFloat("other") != 1.702)
      return false;
    Value clamped = matchClamp(gate, std::nullopt, 7.0);
    result.input = clamped ? matchEverySecond(clamped, 0) : Value();
    return bool(result.input);
  };
  auto both = [&](Value up, Value gate) {
    CallOp add = getCall(up, "aten.add");
    if (!add || add.getFloat("other") != 1.0 || add.getArgument("alpha"))
      return false;
    Value clamped = matchClamp(add.getValue("self"), -7.0, 7.0);
    Value columns = clamped ? matchEverySecond(clamped, 1) : Value();
    return columns && matchProduct(gate, swish) && result.input == columns;
  };
  return matchProduct(value, both) ? std::optional(result) : std::nullopt;
}

std::optional<ExpertActivation> mlir::aten::matchExpertActivation(Value value) {
  if (std::optional<ExpertActivation> swiglu = matchSwigluOai(value))
    return swiglu;
  ExpertActivation result;
  auto gated = [&](Value gate, Value up) {
    result.name = matchPointwise(gate);
    result.input = matchHalf(gate, 0);
    return !result.name.empty() && result.input && result.input == matchHalf(up, 1);
  };
  if (matchProduct(value, gated)) {
    result.gated = true;
    return result;
  }
  result.input = value;
  result.name = matchPointwise(result.input);
  return result.name.empty() ? std::nullopt : std::optional(result);
}
