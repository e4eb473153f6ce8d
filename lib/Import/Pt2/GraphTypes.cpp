//===- GraphTypes.cpp - types and names of dimensions in the graph of a .pt2 file ---------------------------------===//

#include "Graph.h"
#include "GuardNames.h"
#include "GuardSizes.h"
#include "Support.h"
#include "moe-mlir/Support/UntrustedIr.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace mlir;
using namespace moe_mlir;
using namespace moe_mlir::pt2;

/// `Symbol('s70', positive=True)` and `s70` give s70; other expressions stand for themselves.
static StringRef getSymbol(StringRef expression) {
  StringRef text = expression;
  if (text.consume_front("Symbol('") && text.ends_with(")") && text.count('(') == 0)
    return text.split('\'').first;
  return expression;
}

static bool isSymbol(StringRef expression) {
  return all_of(expression, [](char c) { return isAlnum(c) || c == '_'; });
}

static std::optional<int64_t> getConstantSize(StringRef expression) {
  int64_t value;
  if (expression.consume_front("Integer("))
    expression.consume_back(")");
  return expression.getAsInteger(10, value) ? std::nullopt : std::optional(value);
}

SmallVector<StringRef> GraphReader::getSymbols(const Scope &scope, StringRef name, RankedTensorType type) {
  // A result of a nested graph may have another type than its call declares.
  const JsonObject *values = scope.graph->getObject("tensor_values");
  const JsonObject *meta = values ? values->getObject(name) : nullptr;
  const JsonArray *sizes = meta ? meta->getArray("sizes") : nullptr;
  SmallVector<StringRef> symbols;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    const JsonObject *size = sizes && dim < int64_t(sizes->size()) ? (*sizes)[dim].getAsObject() : nullptr;
    const JsonObject *expression = size ? size->getObject("as_expr") : nullptr;
    symbols.push_back(
        expression && type.isDynamicDim(dim) ? getSymbol(expression->getString("expr_str").value_or("?")) : "");
  }
  return symbols;
}

ArrayAttr GraphReader::getDimNames(const Scope &scope, StringRef name, RankedTensorType type) {
  auto nameOf = [&](StringRef symbol) {
    auto it = dimNames.find(symbol);
    return it == dimNames.end() ? symbol : StringRef(it->second);
  };
  SmallVector<Attribute> dims;
  for (StringRef symbol : getSymbols(scope, name, type))
    dims.push_back(builder.getStringAttr(isSymbol(symbol) ? nameOf(symbol).str() : plainSize(symbol, nameOf)));
  return builder.getArrayAttr(dims);
}

ArrayAttr GraphReader::getDimRanges(const Scope &scope, StringRef name, RankedTensorType type) {
  bool hasRange = false;
  SmallVector<Attribute> dims;
  for (StringRef symbol : getSymbols(scope, name, type)) {
    ArrayRef<int64_t> range;
    if (auto it = dimRanges.find(symbol); it != dimRanges.end())
      range = it->second;
    else if (std::optional<GuardTerm> size = parseSizeExpression(symbol); size && size->kind != GuardTerm::Symbol)
      for (const auto &[expression, its] : expressionRanges)
        if (areSame(*size, expression))
          range = its;
    dims.push_back(builder.getI64ArrayAttr(range));
    hasRange |= !range.empty();
  }
  return hasRange ? builder.getArrayAttr(dims) : ArrayAttr();
}

/// PyTorch takes every size to be 2 or more, and asks it of none: a program that it exports for 2 rows takes one.
static constexpr int64_t assumedLeastSize = 2;

/// Each is compared with each size of an input.
static constexpr size_t mostExpressionRanges = 200;

Error GraphReader::readDimRanges(const JsonObject &program) {
  const JsonObject *ranges = program.getObject("range_constraints");
  if (!ranges)
    return program.get("range_constraints") ? inputError("graph: range_constraints is no object") : Error::success();
  for (const JsonMember &member : *ranges) {
    const JsonObject *fields = member.second.getAsObject();
    // A number that the graph computes (`u0`) may be negative, and is no size then.
    const bool isComputed = StringRef(member.first).starts_with("u");
    int64_t least = isComputed ? INT64_MIN : 0, most = INT64_MAX;
    for (auto [bound, key] : {std::pair(&least, "min_val"), {&most, "max_val"}}) {
      const JsonValue *value = fields ? fields->get(key) : nullptr;
      if (value && value->isNull())
        continue; // there is no such bound
      std::optional<int64_t> number = value ? value->getAsInteger() : std::nullopt;
      if (!number)
        return inputError("graph: in the range of size '" + printable(member.first) + "', " + key +
                          " is neither a number nor null");
      *bound = *number;
    }
    if (isComputed && least <= most && most < 0)
      continue;
    if (least > most || most < 0)
      return inputError("graph: size '" + printable(member.first) + "' can be no number: its range is " + Twine(least) +
                        " to " + Twine(most));
    SmallVector<int64_t, 2> range{least <= assumedLeastSize ? 0 : least};
    if (most != INT64_MAX)
      range.push_back(most);
    if (range.size() == 1 && range.front() == 0)
      continue;
    std::optional<GuardTerm> size = parseSizeExpression(member.first);
    if (expressionRanges.size() == mostExpressionRanges)
      return unsupportedError("graph: more than " + Twine(mostExpressionRanges) + " computed sizes have a range");
    if (size && size->kind != GuardTerm::Symbol)
      expressionRanges.emplace_back(std::move(*size), range);
    else
      dimRanges[member.first] = range;
  }
  return Error::success();
}

Type pt2::getGraphElementType(Pt2ScalarType type, MLIRContext *context) {
  if (type == Pt2ScalarType::Complex64)
    return ComplexType::get(Float32Type::get(context));
  if (type == Pt2ScalarType::Complex128)
    return ComplexType::get(Float64Type::get(context));
  return getElementType(type, context);
}

Expected<RankedTensorType> GraphReader::getTensorType(const Scope &scope, StringRef name) {
  const JsonObject *values = scope.graph->getObject("tensor_values");
  const JsonObject *meta = values ? values->getObject(name) : nullptr;
  const JsonArray *sizes = meta ? meta->getArray("sizes") : nullptr;
  if (!sizes)
    return inputError("graph: no type for value '" + printable(name) + "'");
  auto dtype = static_cast<Pt2ScalarType>(meta->getInteger("dtype").value_or(0));
  Type element = getGraphElementType(dtype, builder.getContext());
  if (!element)
    return unsupportedError("graph: value '" + printable(name) + "' has " + notSupported(dtype));
  SmallVector<int64_t> shape;
  for (const JsonValue &size : *sizes) {
    const JsonObject *object = size.getAsObject();
    std::optional<int64_t> constant = object ? object->getInteger("as_int") : std::nullopt;
    const JsonObject *expression = object ? object->getObject("as_expr") : nullptr;
    if (!constant && expression)
      constant = getConstantSize(expression->getString("expr_str").value_or(""));
    if ((!constant && !expression) || (constant && *constant < 0))
      return inputError("graph: value '" + printable(name) + "' has a size that is no number");
    shape.push_back(constant ? *constant : ShapedType::kDynamic);
  }
  if (hasTooManyElements(shape))
    return inputError("graph: value '" + printable(name) + "' has sizes that no machine can hold");
  return RankedTensorType::get(shape, element);
}

void GraphReader::nameDims(const Scope &scope) {
  auto nameDim = [&](StringRef input, size_t dim, StringRef dimName) {
    const JsonObject *values = scope.graph->getObject("tensor_values");
    const JsonObject *meta = values ? values->getObject(input) : nullptr;
    const JsonArray *sizes = meta ? meta->getArray("sizes") : nullptr;
    if (!sizes || dim >= sizes->size())
      return;
    const JsonObject *size = (*sizes)[dim].getAsObject();
    if (const JsonObject *expression = size ? size->getObject("as_expr") : nullptr)
      dimNames.try_emplace(getSymbol(expression->getString("expr_str").value_or("")), dimName.str());
  };
  nameDim(metadata.tokens, 0, "batch");
  nameDim(metadata.tokens, 1, "seq");
  nameDim(metadata.keep, 0, "keep");
}
