//===- Graph.cpp - the graph of a .pt2 file as aten.call ops ------------------------------------------------------===//

#include "Graph.h"
#include "Location.h"
#include "Support.h"

#include "moe-mlir/Dialect/Aten/IR/Aten.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace mlir;
using namespace moe_mlir;
using namespace moe_mlir::pt2;

static constexpr int64_t schemaMajor = 8;

/// The name in `{"name": ...}`, or in `{"as_tensor": {"name": ...}}`.
static std::optional<StringRef> getName(const json::Object *object) {
  if (!object)
    return std::nullopt;
  if (const json::Object *tensor = object->getObject("as_tensor"))
    object = tensor;
  if (const json::Object *symbol = object->getObject("as_sym_int"))
    return symbol->getString("as_name");
  return object->getString("name");
}

/// Unions are objects with one field.
static std::pair<StringRef, const json::Value *> getAlternative(const json::Object &object) {
  for (const auto &entry : object)
    if (entry.second.kind() != json::Value::Null)
      return {entry.first, &entry.second};
  return {};
}

//===--------------------------------------------------------------------------------------------------------------===//
// Types and dimensions
//===--------------------------------------------------------------------------------------------------------------===//

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

std::string GraphReader::getDimName(const json::Object &expression) {
  StringRef symbol = getSymbol(expression.getString("expr_str").value_or("?"));
  auto it = dimNames.find(symbol);
  return it == dimNames.end() ? symbol.str() : it->second;
}

Expected<RankedTensorType> GraphReader::getTensorType(const Scope &scope, StringRef name) {
  const json::Object *values = scope.graph->getObject("tensor_values");
  const json::Object *meta = values ? values->getObject(name) : nullptr;
  const json::Array *sizes = meta ? meta->getArray("sizes") : nullptr;
  if (!sizes)
    return inputError("graph: no type for value '" + printable(name) + "'");
  int64_t number = meta->getInteger("dtype").value_or(0);
  Type element = getElementType(static_cast<Pt2ScalarType>(number), builder.getContext());
  if (!element)
    return unsupportedError("graph: value '" + printable(name) + "' has dtype number " + Twine(number) +
                            ", which is not supported");
  SmallVector<int64_t> shape;
  for (const json::Value &size : *sizes) {
    const json::Object *object = size.getAsObject();
    std::optional<int64_t> constant = object ? object->getInteger("as_int") : std::nullopt;
    const json::Object *expression = object ? object->getObject("as_expr") : nullptr;
    if (!constant && expression)
      constant = getConstantSize(expression->getString("expr_str").value_or(""));
    if ((!constant && !expression) || (constant && *constant < 0))
      return inputError("graph: value '" + printable(name) + "' has a size that is no number");
    shape.push_back(constant ? *constant : ShapedType::kDynamic);
  }
  return RankedTensorType::get(shape, element);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Inputs
//===--------------------------------------------------------------------------------------------------------------===//

Error GraphReader::readInputs(const json::Object &signature) {
  const json::Array *specs = signature.getArray("input_specs");
  if (!specs)
    return inputError("graph: the signature has no input_specs");
  for (const json::Value &value : *specs) {
    const json::Object *object = value.getAsObject();
    auto [kind, body] = object ? getAlternative(*object) : std::pair<StringRef, const json::Value *>();
    const json::Object *spec = body ? body->getAsObject() : nullptr;
    if (!spec)
      return inputError("graph: unreadable input spec");
    std::optional<StringRef> name = getName(spec->getObject("arg"));
    if (kind == "constant_input")
      continue; // a Python constant that the graph has folded
    if (kind == "user_input" && !name)
      return unsupportedError("graph: an input is neither a tensor nor a symbolic integer");
    std::optional<std::pair<InputSpec::Kind, std::optional<StringRef>>> found;
    if (kind == "user_input")
      found = {InputSpec::User, name};
    else if (kind == "parameter")
      found = {InputSpec::Parameter, spec->getString("parameter_name")};
    else if (kind == "buffer")
      found = {InputSpec::Stored, spec->getString("buffer_name")};
    else if (kind == "tensor_constant")
      found = {InputSpec::Stored, spec->getString("tensor_constant_name")};
    else
      return unsupportedError("graph: inputs of kind '" + printable(kind) + "' are not supported");
    if (!name || !found->second)
      return inputError("graph: an input spec has no name");
    inputs.push_back({found->first, name->str(), found->second->str()});
  }
  return Error::success();
}

DictionaryAttr GraphReader::getArgumentAttrs(const Scope &scope, StringRef name, Type type) {
  SmallVector<NamedAttribute> attrs{builder.getNamedAttr("moe.name", builder.getStringAttr(name))};
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return builder.getDictionaryAttr(attrs);
  if (!tensor.hasStaticShape()) {
    SmallVector<Attribute> dims;
    const json::Array *sizes = scope.graph->getObject("tensor_values")->getObject(name)->getArray("sizes");
    for (auto [size, extent] : zip(*sizes, tensor.getShape())) {
      const json::Object *expression = size.getAsObject()->getObject("as_expr");
      dims.push_back(builder.getStringAttr(ShapedType::isDynamic(extent) ? getDimName(*expression) : ""));
    }
    attrs.push_back(builder.getNamedAttr("moe.dims", builder.getArrayAttr(dims)));
  }
  if (metadata.states.contains(name))
    attrs.push_back(builder.getNamedAttr("moe.state", builder.getUnitAttr()));
  if (name == metadata.tokens && metadata.vocabSize > 0)
    attrs.push_back(builder.getNamedAttr("moe.range", builder.getI64ArrayAttr({0, metadata.vocabSize - 1})));
  if (name == metadata.position && metadata.cacheLength > 0) {
    attrs.push_back(builder.getNamedAttr("moe.range", builder.getI64ArrayAttr({0, metadata.cacheLength - 1})));
    attrs.push_back(builder.getNamedAttr("moe.range_plus", builder.getStringAttr("seq")));
    attrs.push_back(builder.getNamedAttr("moe.uniform", builder.getUnitAttr()));
  }
  return builder.getDictionaryAttr(attrs);
}

Error GraphReader::createFunction(Scope &scope, ModuleOp module, const json::Object &signature) {
  // Dimensions get the names that users know where the metadata says what they are.
  auto nameDim = [&](StringRef input, size_t dim, StringRef dimName) {
    const json::Object *values = scope.graph->getObject("tensor_values");
    const json::Object *meta = values ? values->getObject(input) : nullptr;
    const json::Array *sizes = meta ? meta->getArray("sizes") : nullptr;
    if (!sizes || dim >= sizes->size())
      return;
    const json::Object *size = (*sizes)[dim].getAsObject();
    if (const json::Object *expression = size ? size->getObject("as_expr") : nullptr)
      dimNames.try_emplace(getSymbol(expression->getString("expr_str").value_or("")), dimName.str());
  };
  nameDim(metadata.tokens, 0, "batch");
  nameDim(metadata.tokens, 1, "seq");
  nameDim(metadata.keep, 0, "keep");

  if (const json::Array *specs = signature.getArray("output_specs"))
    for (const json::Value &value : *specs)
      if (const json::Object *object = value.getAsObject())
        if (const json::Object *mutation = object->getObject("buffer_mutation"))
          changedInputs.insert(mutation->getString("buffer_name").value_or(""));

  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attrs;
  SmallVector<std::string> names;
  llvm::StringSet<> userNames;
  auto addArgument = [&](const InputSpec &input) -> Error {
    Type type = builder.getI64Type();
    const json::Object *integers = scope.graph->getObject("sym_int_values");
    if (!integers || !integers->get(input.name)) {
      Expected<RankedTensorType> tensor = getTensorType(scope, input.name);
      if (!tensor)
        return tensor.takeError();
      type = *tensor;
    }
    DictionaryAttr dictionary = getArgumentAttrs(scope, input.name, type);
    if (input.kind != InputSpec::User) {
      NamedAttrList list(dictionary);
      list.set("moe.name", builder.getStringAttr(input.key));
      const Pt2Tensor *stored = archive.lookup(input.key);
      if (stored && all_of(archive.getBytes(*stored), [](char byte) { return byte == 0; }))
        list.set("moe.state", builder.getUnitAttr());
      dictionary = list.getDictionary(builder.getContext());
    }
    argumentOf[input.kind == InputSpec::User ? input.name : input.key] = types.size();
    names.push_back(input.name);
    types.push_back(type);
    attrs.push_back(dictionary);
    return Error::success();
  };
  for (const InputSpec &input : inputs) {
    if (input.kind != InputSpec::User)
      continue;
    userNames.insert(input.name);
    if (Error error = addArgument(input))
      return error;
  }
  for (const InputSpec &input : inputs)
    if (input.kind == InputSpec::Stored && changedInputs.contains(input.key))
      if (Error error = addArgument(input))
        return error;
  for (auto [role, name] : {std::pair<StringRef, StringRef>("tokens", metadata.tokens),
                            {"position", metadata.position},
                            {"keep", metadata.keep}})
    if (!name.empty() && !userNames.contains(name))
      return inputError("extra/moe_mlir.json names '" + printable(name) + "' as " + role +
                        ", but the graph has no such input");
  for (const auto &state : metadata.states)
    if (!userNames.contains(state.getKey()))
      return inputError("extra/moe_mlir.json names the state '" + printable(state.getKey()) +
                        "', but the graph has no such input");

  builder.setInsertionPointToEnd(module.getBody());
  Location loc = builder.getUnknownLoc();
  function = func::FuncOp::create(builder, loc, "main", builder.getFunctionType(types, {}));
  for (auto [i, dictionary] : enumerate(attrs))
    function.setArgAttrs(i, dictionary);
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  for (auto [name, argument] : zip(names, entry->getArguments())) {
    argument.setLoc(NameLoc::get(builder.getStringAttr(name)));
    scope.values[name] = argument;
  }
  for (const InputSpec &input : inputs)
    if (input.kind != InputSpec::User && !scope.values.contains(input.name))
      if (Error error = defineStored(scope, input))
        return error;
  return Error::success();
}

/// Weights stay in the file. Only single elements come into the IR, because as constants they fold into what uses them.
Error GraphReader::defineStored(Scope &scope, const InputSpec &input) {
  Expected<RankedTensorType> type = getTensorType(scope, input.name);
  if (!type)
    return type.takeError();
  const Pt2Tensor *stored = archive.lookup(input.key);
  if (!stored)
    return inputError("tensor '" + printable(input.key) + "' is missing (no table of the archive has it)");
  Type element = getElementType(stored->type, builder.getContext());
  if (element != type->getElementType() || type->getShape() != ArrayRef<int64_t>(stored->sizes)) {
    std::string declared, found;
    raw_string_ostream(declared) << *type;
    raw_string_ostream(found) << RankedTensorType::get(stored->sizes, element);
    return inputError("tensor '" + printable(input.key) + "' is declared as " + declared +
                      " in the graph, but the archive holds " + found);
  }
  Location loc = NameLoc::get(builder.getStringAttr(input.key));
  if (input.kind == InputSpec::Stored && type->getNumElements() == 1 && !element.isInteger(1) &&
      !element.isUnsignedInteger()) {
    unsigned bytes = *getByteSize(stored->type);
    ArrayRef<char> data = archive.getBytes(*stored).slice(stored->storageOffset * bytes, bytes);
    auto constant = arith::ConstantOp::create(builder, loc, DenseElementsAttr::getFromRawBuffer(*type, data));
    constant->setAttr("moe.key", builder.getStringAttr(input.key));
    scope.values[input.name] = constant;
    return Error::success();
  }
  auto parameter = moe::ParameterOp::create(builder, loc, *type, builder.getStrArrayAttr({input.key}), ArrayAttr());
  if (input.kind == InputSpec::Stored) {
    // Were it written by the graph, it would be state, and this says how it starts.
    bool zero = all_of(archive.getBytes(*stored), [](char byte) { return byte == 0; });
    parameter->setAttr("moe.initial", builder.getStringAttr(zero ? "zero" : "given"));
  }
  scope.values[input.name] = parameter;
  return Error::success();
}

//===--------------------------------------------------------------------------------------------------------------===//
// Nodes
//===--------------------------------------------------------------------------------------------------------------===//

Expected<Value> GraphReader::getValue(const Scope &scope, StringRef name) {
  auto it = scope.values.find(name);
  if (it == scope.values.end())
    return inputError("graph: value '" + printable(name) + "' is used before it is defined");
  return it->second;
}

Expected<Attribute> GraphReader::getOperandAttr(const Scope &scope, StringRef name, SmallVectorImpl<Value> &operands) {
  Expected<Value> value = getValue(scope, name);
  if (!value)
    return value.takeError();
  const auto *it = llvm::find(operands, *value);
  int64_t index = it - operands.begin();
  if (it == operands.end())
    operands.push_back(*value);
  return aten::ArgAttr::get(builder.getContext(), index);
}

/// Infinities and NaN are strings in this JSON.
static std::optional<double> getDouble(const json::Value &value) {
  if (std::optional<double> number = value.getAsNumber())
    return number;
  return llvm::StringSwitch<std::optional<double>>(value.getAsString().value_or(""))
      .CasesLower({"inf", "infinity"}, std::numeric_limits<double>::infinity())
      .CasesLower({"-inf", "-infinity"}, -std::numeric_limits<double>::infinity())
      .CaseLower("nan", std::numeric_limits<double>::quiet_NaN())
      .Default(std::nullopt);
}

Expected<Attribute> GraphReader::getArgument(const Scope &scope, const json::Object &argument,
                                             SmallVectorImpl<Value> &operands) {
  auto [kind, value] = getAlternative(argument);
  if (kind.empty() || kind == "as_none" || kind == "as_device" || kind == "as_layout" || kind == "as_memory_format")
    return Attribute();
  auto scalar = [&, kind = kind](const json::Value &value, StringRef kind2) -> Expected<Attribute> {
    if (const json::Object *object = value.getAsObject()) {
      if (const json::Object *tensor = object->getObject("as_tensor"))
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
    int64_t number = value->getAsInteger().value_or(0);
    Type element = getElementType(static_cast<Pt2ScalarType>(number), builder.getContext());
    if (!element)
      return unsupportedError("dtype number " + Twine(number) + " is not supported");
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
  const json::Array *array = value->getAsArray();
  if (!lists.contains(kind) || !array)
    return unsupportedError("arguments of kind '" + printable(kind) + "' are not supported");
  SmallVector<Attribute> elements;
  for (const json::Value &element : *array) {
    Expected<Attribute> attribute = scalar(element, kind);
    if (!attribute)
      return attribute.takeError();
    elements.push_back(*attribute);
  }
  return builder.getArrayAttr(elements);
}

Error GraphReader::getResults(const Scope &scope, const json::Object &node, SmallVectorImpl<std::string> &names,
                              SmallVectorImpl<Type> &types) {
  const json::Array *outputs = node.getArray("outputs");
  if (!outputs)
    return inputError("no outputs");
  auto addTensor = [&](const json::Object *object) -> Error {
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
  for (const json::Value &value : *outputs) {
    const json::Object *object = value.getAsObject();
    auto [kind, body] = object ? getAlternative(*object) : std::pair<StringRef, const json::Value *>();
    if (!body || kind == "as_none")
      continue;
    if (kind == "as_tensor") {
      if (Error error = addTensor(body->getAsObject()))
        return error;
    } else if (const json::Array *list = kind == "as_tensors" ? body->getAsArray() : nullptr) {
      for (const json::Value &element : *list)
        if (Error error = addTensor(element.getAsObject()))
          return error;
    } else if (kind == "as_sym_int" || kind == "as_sym_bool" || kind == "as_sym_float") {
      const json::Object *symbol = body->getAsObject();
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
static Error atNode(Error error, const json::Object &node, Location loc) {
  std::string where = "graph: node '" + printable(node.getString("name").value_or("?")) + "' (" +
                      printable(node.getString("target").value_or("?")) + ")";
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    where += " at " + file.getFilename().str() + ":" + std::to_string(file.getLine());
  return handleErrors(std::move(error), [&](const ImportError &e) -> Error {
    std::string message;
    raw_string_ostream os(message);
    e.log(os);
    return make_error<ImportError>(e.getKind(),
                                   StringRef(message).starts_with("graph: ") ? message : where + ": " + message);
  });
}

/// `torch.ops.aten.add.Tensor` is `aten.add.Tensor`; functions of Python keep their names.
static StringRef getTarget(const json::Object &node) {
  StringRef target = node.getString("target").value_or("");
  target.consume_front("torch.ops.");
  return target;
}

Error GraphReader::readNode(Scope &scope, const json::Object &node) {
  StringRef target = getTarget(node);
  Location loc = getNodeLocation(builder.getContext(), node.getObject("metadata"), node.getString("name").value_or(""));
  if (target.starts_with("higher_order.")) {
    Error error = inlineGraph(scope, node, target);
    return error ? atNode(std::move(error), node, loc) : Error::success();
  }
  SmallVector<Value> operands;
  SmallVector<NamedAttribute> arguments;
  const json::Array *list = node.getArray("inputs");
  if (target.empty() || !list)
    return atNode(inputError("no target or inputs"), node, loc);
  for (const json::Value &input : *list) {
    const json::Object *object = input.getAsObject();
    const json::Object *argument = object ? object->getObject("arg") : nullptr;
    std::optional<StringRef> name = object ? object->getString("name") : std::nullopt;
    if (!argument || !name)
      return atNode(inputError("an argument has no name or value"), node, loc);
    if (*name == "pin_memory" || *name == "requires_grad")
      continue;
    Expected<Attribute> attribute = getArgument(scope, *argument, operands);
    if (!attribute)
      return atNode(attribute.takeError(), node, loc);
    // Python functions (`_operator.add`) have positional arguments without names.
    std::string key = name->empty() ? "arg" + std::to_string(arguments.size()) : name->str();
    if (*attribute)
      arguments.push_back(builder.getNamedAttr(key, *attribute));
  }
  SmallVector<std::string> names;
  SmallVector<Type> types;
  if (Error error = getResults(scope, node, names, types))
    return atNode(std::move(error), node, loc);
  if (aten::isInPlace(target))
    function->setAttr(aten::AtenDialect::MutableAttrHelper::getNameStr(), builder.getUnitAttr());
  auto call = aten::CallOp::create(builder, loc, types, builder.getStringAttr(target), operands,
                                   builder.getDictionaryAttr(arguments));
  for (auto [name, result] : zip(names, call.getResults()))
    scope.values[name] = result;
  return Error::success();
}

Error GraphReader::readNodes(Scope &scope) {
  const json::Array *nodes = scope.graph->getArray("nodes");
  if (!nodes)
    return inputError("graph: no nodes");
  for (const json::Value &value : *nodes) {
    const json::Object *node = value.getAsObject();
    if (!node)
      return inputError("graph: a node is not an object");
    if (Error error = readNode(scope, *node))
      return error;
  }
  return Error::success();
}

/// `wrap_with_set_grad_enabled(flag, graph, args...)` calls a nested graph; gradients mean nothing here, so its nodes
/// join the caller's.
Error GraphReader::inlineGraph(Scope &scope, const json::Object &node, StringRef target) {
  if (target != "higher_order.wrap_with_set_grad_enabled")
    return unsupportedError("the higher-order operator is not supported");
  const json::Array *list = node.getArray("inputs");
  const json::Object *graph = nullptr;
  SmallVector<Value> operands;
  for (size_t i = 0; list && i < list->size(); ++i) {
    const json::Object *input = (*list)[i].getAsObject();
    const json::Object *argument = input ? input->getObject("arg") : nullptr;
    if (!argument)
      return inputError("unreadable argument");
    if (const json::Object *nested = argument->getObject("as_graph")) {
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
  const json::Array *formals = graph ? graph->getArray("inputs") : nullptr;
  const json::Array *results = graph ? graph->getArray("outputs") : nullptr;
  if (!formals || !results || formals->size() != operands.size())
    return inputError("the nested graph does not fit its call");
  Scope inner{graph, {}};
  for (auto [formal, operand] : zip(*formals, operands)) {
    std::optional<StringRef> name = getName(formal.getAsObject());
    if (!name)
      return inputError("an input of the nested graph has no name");
    inner.values[*name] = operand;
  }
  if (Error error = readNodes(inner))
    return error;
  SmallVector<std::string> names;
  SmallVector<Type> types;
  if (Error error = getResults(scope, node, names, types))
    return error;
  if (names.size() != results->size())
    return inputError("the nested graph does not fit its call");
  for (auto [name, result] : zip(names, *results)) {
    Expected<Value> value = getValue(inner, getName(result.getAsObject()).value_or(""));
    if (!value)
      return value.takeError();
    scope.values[name] = *value;
  }
  return Error::success();
}

//===--------------------------------------------------------------------------------------------------------------===//
// Results
//===--------------------------------------------------------------------------------------------------------------===//

Error GraphReader::readReturn(Scope &scope, const json::Object &signature) {
  const json::Array *specs = signature.getArray("output_specs");
  if (!specs)
    return inputError("graph: the signature has no output_specs");
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attrs;
  bool first = true;
  for (const json::Value &spec : *specs) {
    const json::Object *object = spec.getAsObject();
    auto [kind, body] = object ? getAlternative(*object) : std::pair<StringRef, const json::Value *>();
    const json::Object *fields = body ? body->getAsObject() : nullptr;
    const json::Object *arg = fields ? fields->getObject("arg") : nullptr;
    std::optional<StringRef> name = getName(arg);
    if (kind == "user_output" && arg && arg->get("as_none"))
      continue;
    if (!name || (kind != "user_output" && kind != "buffer_mutation" && kind != "user_input_mutation"))
      return unsupportedError("graph: outputs of kind '" + printable(kind) +
                              "' that are not tensors are not supported");
    Expected<Value> value = getValue(scope, *name);
    if (!value)
      return value.takeError();
    NamedAttrList list;
    if (kind == "user_output") {
      list.set("moe.name",
               builder.getStringAttr(first && !metadata.logits.empty() ? StringRef(metadata.logits) : *name));
      first = false;
    } else {
      std::optional<StringRef> target =
          fields->getString(kind == "buffer_mutation" ? "buffer_name" : "user_input_name");
      auto argument = argumentOf.find(target.value_or(""));
      if (argument == argumentOf.end())
        return inputError("graph: the signature changes '" + printable(target.value_or("?")) + "', which is no input");
      list.set("moe.state_of", builder.getI64IntegerAttr(argument->second));
    }
    values.push_back(*value);
    attrs.push_back(list.getDictionary(builder.getContext()));
  }
  func::ReturnOp::create(builder, builder.getUnknownLoc(), values);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), TypeRange(ValueRange(values))));
  for (auto [i, dictionary] : enumerate(attrs))
    function.setResultAttrs(i, dictionary);
  return Error::success();
}

Error GraphReader::read(const json::Object &program, ModuleOp module) {
  const json::Object *version = program.getObject("schema_version");
  int64_t major = version ? version->getInteger("major").value_or(0) : 0;
  if (major != schemaMajor)
    return unsupportedError("graph: schema version " + Twine(major) + " is not supported; version " +
                            Twine(schemaMajor) +
                            " is (torch 2.9 to 2.13 write it; the release is tested with torch 2.13)");
  const json::Object *graphModule = program.getObject("graph_module");
  const json::Object *graph = graphModule ? graphModule->getObject("graph") : nullptr;
  const json::Object *signature = graphModule ? graphModule->getObject("signature") : nullptr;
  if (!graph || !signature)
    return inputError("graph: no graph or signature");
  Scope scope{graph, {}};
  if (Error error = readInputs(*signature))
    return error;
  if (Error error = createFunction(scope, module, *signature))
    return error;
  if (Error error = readNodes(scope))
    return error;
  return readReturn(scope, *signature);
}
