//===- GraphTypes.cpp - types and names of dimensions in the graph of a .pt2 file ---------------------------------===//

#include "Graph.h"
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

static std::optional<int64_t> getConstantSize(StringRef expression) {
  int64_t value;
  if (expression.consume_front("Integer("))
    expression.consume_back(")");
  return expression.getAsInteger(10, value) ? std::nullopt : std::optional(value);
}

ArrayAttr GraphReader::getDimNames(const Scope &scope, StringRef name, RankedTensorType type) {
  // A result of a nested graph may have another type than its call declares.
  const JsonObject *values = scope.graph->getObject("tensor_values");
  const JsonObject *meta = values ? values->getObject(name) : nullptr;
  const JsonArray *sizes = meta ? meta->getArray("sizes") : nullptr;
  SmallVector<Attribute> dims;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    const JsonObject *size = sizes && dim < int64_t(sizes->size()) ? (*sizes)[dim].getAsObject() : nullptr;
    const JsonObject *expression = size ? size->getObject("as_expr") : nullptr;
    StringRef symbol =
        expression && type.isDynamicDim(dim) ? getSymbol(expression->getString("expr_str").value_or("?")) : "";
    auto it = dimNames.find(symbol);
    dims.push_back(builder.getStringAttr(it == dimNames.end() ? symbol : StringRef(it->second)));
  }
  return builder.getArrayAttr(dims);
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
