//===- GraphArguments.cpp - arguments of the nodes of a .pt2 file -------------------------------------------------===//

#include "Graph.h"
#include "Support.h"

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace mlir;
using namespace moe_mlir;
using namespace moe_mlir::pt2;

Expected<Attribute> GraphReader::getOperandAttr(const Scope &scope, StringRef name, Operands &operands) {
  Expected<Value> value = getValue(scope, name);
  if (!value)
    return value.takeError();
  auto [it, isNew] = operands.index.try_emplace(*value, operands.values.size());
  if (isNew)
    operands.values.push_back(*value);
  return aten::ArgAttr::get(builder.getContext(), it->second);
}

/// Infinities and NaN are strings in this JSON.
static std::optional<double> getDouble(const JsonValue &value) {
  if (std::optional<double> number = value.getAsNumber())
    return number;
  return llvm::StringSwitch<std::optional<double>>(value.getAsString().value_or(""))
      .CasesLower({"inf", "infinity"}, std::numeric_limits<double>::infinity())
      .CasesLower({"-inf", "-infinity"}, -std::numeric_limits<double>::infinity())
      .CaseLower("nan", std::numeric_limits<double>::quiet_NaN())
      .Default(std::nullopt);
}

Expected<Attribute> GraphReader::getArgument(const Scope &scope, const JsonObject &argument, Operands &operands) {
  auto [kind, value] = getAlternative(argument);
  if (kind.empty() || kind == "as_none" || kind == "as_device" || kind == "as_layout" || kind == "as_memory_format")
    return Attribute();
  auto scalar = [&, kind = kind](const JsonValue &value, StringRef kind2) -> Expected<Attribute> {
    if (const JsonObject *object = value.getAsObject()) {
      if (const JsonObject *tensor = object->getObject("as_tensor"))
        object = tensor;
      if (object->get("as_none"))
        return builder.getUnitAttr();
      for (StringRef field : {"name", "as_name"})
        if (std::optional<StringRef> name = object->getString(field))
          return getOperandAttr(scope, *name, operands);
      auto [inner, payload] = getAlternative(*object);
      if (payload && inner == "as_int" && payload->getAsInteger())
        return builder.getI64IntegerAttr(*payload->getAsInteger());
      if (payload && inner == "as_float" && getDouble(*payload))
        return builder.getF64FloatAttr(*getDouble(*payload));
      if (payload && inner == "as_bool" && payload->getAsBoolean())
        return builder.getBoolAttr(*payload->getAsBoolean());
    } else if (std::optional<bool> boolean = value.getAsBoolean()) {
      return builder.getBoolAttr(*boolean);
    } else if (kind2.contains("float") && getDouble(value)) {
      return builder.getF64FloatAttr(*getDouble(value));
    } else if (kind2.contains("int") && value.getAsInteger()) {
      return builder.getI64IntegerAttr(*value.getAsInteger());
    } else if (kind2.contains("string") || kind2 == "as_operator") {
      if (std::optional<StringRef> text = value.getAsString())
        return builder.getStringAttr(*text);
    }
    return inputError("unreadable argument of kind '" + printable(kind) + "'");
  };
  if (kind == "as_scalar_type") {
    auto dtype = static_cast<Pt2ScalarType>(value->getAsInteger().value_or(0));
    Type element = getGraphElementType(dtype, builder.getContext());
    if (!element)
      return unsupportedError(describe(dtype) + " is not supported");
    return TypeAttr::get(element);
  }
  static const llvm::StringSet<> lists{"as_tensors",   "as_ints",  "as_floats",    "as_strings",
                                       "as_sym_ints",  "as_bools", "as_sym_bools", "as_optional_tensors",
                                       "as_sym_floats"};
  static const llvm::StringSet<> scalars{
      "as_tensor", "as_int",      "as_float",    "as_string",    "as_sym_int",
      "as_bool",   "as_sym_bool", "as_operator", "as_sym_float", "as_optional_tensor"};
  if (scalars.contains(kind))
    return scalar(*value, kind);
  const JsonArray *array = value->getAsArray();
  if (!lists.contains(kind) || !array)
    return unsupportedError("arguments of kind '" + printable(kind) + "' are not supported");
  SmallVector<Attribute> elements;
  for (const JsonValue &element : *array) {
    Expected<Attribute> attribute = scalar(element, kind);
    if (!attribute)
      return attribute.takeError();
    elements.push_back(*attribute);
  }
  return builder.getArrayAttr(elements);
}
