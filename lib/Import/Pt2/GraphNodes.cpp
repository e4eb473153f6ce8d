//===- GraphNodes.cpp - nodes of a .pt2 file as aten.call ops -----------------------------------------------------===//

#include "CallRules.h"
#include "DtypeRules.h"
#include "Graph.h"
#include "Location.h"
#include "Support.h"

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

using namespace llvm;
using namespace mlir;
using namespace moe_mlir;
using namespace moe_mlir::pt2;

Error GraphReader::getResults(const Scope &scope, const JsonObject &node, SmallVectorImpl<std::string> &names,
                              SmallVectorImpl<Type> &types) {
  const JsonArray *outputs = node.getArray("outputs");
  if (!outputs)
    return inputError("no outputs");
  auto addTensor = [&](const JsonObject *object) -> Error {
    std::optional<StringRef> name = getName(object);
    if (!name)
      return inputError("an output has no name");
    Expected<RankedTensorType> type = getTensorType(scope, *name);
    if (!type)
      return type.takeError();
    names.push_back(name->str());
    types.push_back(*type);
    return Error::success();
  };
  for (const JsonValue &value : *outputs) {
    const JsonObject *object = value.getAsObject();
    auto [kind, body] = object ? getAlternative(*object) : std::pair<StringRef, const JsonValue *>();
    if (!body || kind == "as_none")
      continue;
    if (kind == "as_tensor") {
      if (Error error = addTensor(body->getAsObject()))
        return error;
    } else if (const JsonArray *list = kind == "as_tensors" ? body->getAsArray() : nullptr) {
      for (const JsonValue &element : *list)
        if (Error error = addTensor(element.getAsObject()))
          return error;
    } else if (kind == "as_sym_int" || kind == "as_sym_bool" || kind == "as_sym_float") {
      const JsonObject *symbol = body->getAsObject();
      std::optional<StringRef> name = symbol ? symbol->getString("as_name") : std::nullopt;
      if (!name)
        return inputError("an output has no name");
      names.push_back(name->str());
      types.push_back(kind == "as_sym_int"    ? Type(builder.getI64Type())
                      : kind == "as_sym_bool" ? Type(builder.getI1Type())
                                              : Type(builder.getF64Type()));
    } else {
      return unsupportedError("outputs of kind '" + printable(kind) + "' are not supported");
    }
  }
  return Error::success();
}

/// Puts the node's name and source line before an error about it.
static Error atNode(Error error, const JsonObject &node, Location loc) {
  std::string where = "graph: node '" + printable(node.getString("name").value_or("?")) + "' (" +
                      printable(node.getString("target").value_or("?")) + ")";
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    where += " at " + file.getFilename().str() + ":" + std::to_string(file.getLine());
  return handleErrors(std::move(error), [&](const ImportError &e) -> Error {
    std::string text;
    raw_string_ostream os(text);
    e.log(os);
    StringRef message = text;
    if (message.starts_with("graph: node ")) // one of a subgraph
      return make_error<ImportError>(e.getKind(), text);
    message.consume_front("graph: ");
    return make_error<ImportError>(e.getKind(), where + ": " + message.str());
  });
}

/// `torch.ops.aten.add.Tensor` is `aten.add.Tensor`; functions of Python keep their names.
static StringRef getTarget(const JsonObject &node) {
  StringRef target = node.getString("target").value_or("");
  target.consume_front("torch.ops.");
  return target;
}

/// `cat` takes tensors of shape [0] together with those of any rank, and joins the others.
static Attribute dropEmptyVectors(Attribute tensors, ArrayRef<Value> operands) {
  auto list = dyn_cast<ArrayAttr>(tensors);
  if (!list)
    return tensors;
  SmallVector<Attribute> others;
  for (Attribute element : list) {
    auto arg = dyn_cast<aten::ArgAttr>(element);
    auto type = arg ? dyn_cast<RankedTensorType>(operands[arg.getIndex()].getType()) : RankedTensorType();
    if (!type || type.getShape() != ArrayRef<int64_t>{0})
      others.push_back(element);
  }
  return others.empty() ? tensors : ArrayAttr::get(tensors.getContext(), others);
}

Error GraphReader::readNode(Scope &scope, const JsonObject &node) {
  StringRef target = getTarget(node);
  Location loc = getNodeLocation(builder.getContext(), node.getObject("metadata"), node.getString("name").value_or(""));
  if (target.starts_with("higher_order.")) {
    Error error = inlineGraph(scope, node, target);
    return error ? atNode(std::move(error), node, loc) : Error::success();
  }
  Operands operands;
  SmallVector<NamedAttribute> arguments;
  llvm::StringSet<> keys;
  const JsonArray *list = node.getArray("inputs");
  if (target.empty() || !list)
    return atNode(inputError("no target or inputs"), node, loc);
  for (const JsonValue &input : *list) {
    const JsonObject *object = input.getAsObject();
    const JsonObject *argument = object ? object->getObject("arg") : nullptr;
    std::optional<StringRef> name = object ? object->getString("name") : std::nullopt;
    if (!argument || !name)
      return atNode(inputError("an argument has no name or value"), node, loc);
    if (*name == "pin_memory" || *name == "requires_grad")
      continue;
    Expected<Attribute> attribute = getArgument(scope, *argument, operands);
    if (!attribute)
      return atNode(attribute.takeError(), node, loc);
    if (*attribute && *name == "tensors" && StringRef(target).starts_with("aten.cat."))
      attribute = dropEmptyVectors(*attribute, operands.values);
    // Python functions (`_operator.add`) have positional arguments without names.
    std::string key = name->empty() ? "arg" + std::to_string(arguments.size()) : name->str();
    if (*attribute ? !keys.insert(key).second : keys.contains(key))
      return atNode(inputError("argument '" + printable(key) + "' occurs twice"), node, loc);
    if (*attribute)
      arguments.push_back(builder.getNamedAttr(key, *attribute));
  }
  SmallVector<std::string> names;
  SmallVector<Type> types;
  if (Error error = getResults(scope, node, names, types))
    return atNode(std::move(error), node, loc);
  for (const std::string &name : names)
    if (Error error = checkNew(scope, name))
      return atNode(std::move(error), node, loc);
  if (aten::isInPlace(target))
    function->setAttr(aten::AtenDialect::MutableAttrHelper::getNameStr(), builder.getUnitAttr());
  auto call = aten::CallOp::create(builder, loc, types, builder.getStringAttr(target), operands.values,
                                   builder.getDictionaryAttr(arguments));
  if (Error error = checkCall(call))
    return atNode(std::move(error), node, loc);
  for (auto [name, result] : zip(names, call.getResults()))
    if (Error error = define(scope, name, result))
      return atNode(std::move(error), node, loc);
  return Error::success();
}

Error GraphReader::readNodes(Scope &scope) {
  const JsonArray *nodes = scope.graph->getArray("nodes");
  if (!nodes)
    return inputError("graph: no nodes");
  for (const JsonValue &value : *nodes) {
    const JsonObject *node = value.getAsObject();
    if (!node)
      return inputError("graph: a node is not an object");
    if (Error error = readNode(scope, *node))
      return error;
  }
  return Error::success();
}

/// Values keep their types where they pass into a nested graph and out of it.
static Error checkPassed(StringRef name, Type declared, Value value) {
  Type element = getElementTypeOrSelf(declared), own = getElementTypeOrSelf(value.getType());
  return element == own ? Error::success()
                        : inputError("value '" + printable(name) + "' has dtype " + dtypeName(element) +
                                     ", but what the nested graph has for it, " + dtypeName(own));
}

/// `wrap_with_set_grad_enabled(flag, graph, args...)` calls a nested graph; gradients mean nothing here, so its nodes
/// join the caller's.
Error GraphReader::inlineGraph(Scope &scope, const JsonObject &node, StringRef target) {
  if (target != "higher_order.wrap_with_set_grad_enabled")
    return unsupportedError("the higher-order operator is not supported");
  const JsonArray *list = node.getArray("inputs");
  const JsonObject *graph = nullptr;
  SmallVector<Value> operands;
  for (size_t i = 0; list && i < list->size(); ++i) {
    const JsonObject *input = (*list)[i].getAsObject();
    const JsonObject *argument = input ? input->getObject("arg") : nullptr;
    if (!argument)
      return inputError("unreadable argument");
    if (const JsonObject *nested = argument->getObject("as_graph")) {
      graph = nested->getObject("graph");
      continue;
    }
    if (!graph)
      continue; // the flag
    std::optional<StringRef> name = getName(argument);
    if (!name)
      return unsupportedError("arguments of nested graphs must be tensors or symbolic integers");
    Expected<Value> value = getValue(scope, *name);
    if (!value)
      return value.takeError();
    operands.push_back(*value);
  }
  const JsonArray *formals = graph ? graph->getArray("inputs") : nullptr;
  const JsonArray *results = graph ? graph->getArray("outputs") : nullptr;
  if (!formals || !results || formals->size() != operands.size())
    return inputError("the nested graph does not fit its call");
  Scope inner{graph, {}};
  for (auto [formal, operand] : zip(*formals, operands)) {
    std::optional<StringRef> name = getName(formal.getAsObject());
    if (!name)
      return inputError("an input of the nested graph has no name");
    if (isa<RankedTensorType>(operand.getType())) {
      Expected<RankedTensorType> type = getTensorType(inner, *name);
      if (Error error = type ? checkPassed(*name, *type, operand) : type.takeError())
        return error;
    }
    if (Error error = define(inner, *name, operand))
      return error;
  }
  if (Error error = readNodes(inner))
    return error;
  SmallVector<std::string> names;
  SmallVector<Type> types;
  if (Error error = getResults(scope, node, names, types))
    return error;
  if (names.size() != results->size())
    return inputError("the nested graph does not fit its call");
  for (auto [name, type, result] : zip(names, types, *results)) {
    Expected<Value> value = getValue(inner, getName(result.getAsObject()).value_or(""));
    if (!value)
      return value.takeError();
    if (Error error = checkPassed(name, type, *value))
      return error;
    if (Error error = define(scope, name, *value))
      return error;
  }
  return Error::success();
}
