//===- Graph.cpp - the graph of a .pt2 file as aten.call ops ------------------------------------------------------===//

#include "Graph.h"
#include "Support.h"

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace mlir;
using namespace moe_mlir;
using namespace moe_mlir::pt2;

static constexpr int64_t schemaMajor = 8, schemaMinor = 20;

Expected<Value> GraphReader::getValue(const Scope &scope, StringRef name) {
  auto it = scope.values.find(name);
  if (it == scope.values.end())
    return inputError("graph: value '" + printable(name) + "' is used before it is defined");
  return it->second;
}

Error GraphReader::checkNew(const Scope &scope, StringRef name) {
  if (!scope.values.contains(name))
    return Error::success();
  return inputError("it defines '" + printable(name) + "', which an input or an earlier node defines");
}

Error GraphReader::define(Scope &scope, StringRef name, Value value) {
  Error error = checkNew(scope, name);
  scope.values.try_emplace(name, value);
  return error;
}

/// Sizes that are expressions of several symbols have no name.
static ArrayAttr getPlainNames(ArrayAttr names) {
  SmallVector<Attribute> plain;
  for (StringAttr name : names.getAsRange<StringAttr>()) {
    bool isPlain = all_of(name.getValue(), [](char c) { return isAlnum(c) || c == '_'; });
    plain.push_back(isPlain ? name : StringAttr::get(name.getContext(), ""));
  }
  return ArrayAttr::get(names.getContext(), plain);
}

Error GraphReader::readChange(const Scope &scope, StringRef kind, const JsonObject &fields, Value value,
                              Changes &changes) {
  auto [of, field] = kind == "buffer_mutation"      ? std::pair(InputSpec::Stored, "buffer_name")
                     : kind == "parameter_mutation" ? std::pair(InputSpec::Parameter, "parameter_name")
                                                    : std::pair(InputSpec::User, "user_input_name");
  StringRef target = fields.getString(field).value_or("?");
  auto input = inputsOf[of].find(target);
  if (input == inputsOf[of].end())
    return inputError("graph: the signature changes '" + printable(target) + "', which is no input");
  if (!changes.insert({scope.values.lookup(input->second), {target.str(), value}}).second)
    return inputError("graph: two outputs change '" + printable(target) + "'");
  return Error::success();
}

Error GraphReader::makeChanges(const Changes &changes, SmallVectorImpl<Value> &values,
                               SmallVectorImpl<DictionaryAttr> &attrs) {
  for (const auto &[before, change] : changes) {
    const auto &[target, value] = change;
    if (auto argument = dyn_cast<BlockArgument>(before);
        argument && function.getArgAttr(argument.getArgNumber(), "moe.state")) {
      auto number = builder.getI64IntegerAttr(argument.getArgNumber());
      values.push_back(value);
      attrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr("moe.state_of", number)));
      continue;
    }
    if (before.getType() != value.getType()) {
      std::string types;
      raw_string_ostream(types) << before.getType() << " to " << value.getType();
      return inputError("graph: the signature changes '" + printable(target) + "' from " + types);
    }
    // As the model wrote it: aten-functionalize knows what becomes of buffers and inputs that are written.
    function->setAttr(aten::AtenDialect::MutableAttrHelper::getNameStr(), builder.getUnitAttr());
    auto number = [&](int64_t i) { return aten::ArgAttr::get(builder.getContext(), i); };
    aten::CallOp::create(
        builder, before.getLoc(), TypeRange(before.getType()), builder.getStringAttr("aten.copy_.default"),
        ValueRange{before, value},
        builder.getDictionaryAttr({builder.getNamedAttr("self", number(0)), builder.getNamedAttr("src", number(1))}));
  }
  return Error::success();
}

Error GraphReader::readReturn(Scope &scope, const JsonObject &signature) {
  const JsonArray *specs = signature.getArray("output_specs");
  if (!specs)
    return inputError("graph: the signature has no output_specs");
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attrs;
  Changes changes;
  llvm::StringSet<> names;
  llvm::StringMap<unsigned> uses;
  bool first = true;
  StringMap<size_t> expertsOf;
  for (auto [layer, name] : enumerate(metadata.experts))
    expertsOf.try_emplace(name, layer);
  for (const JsonValue &spec : *specs) {
    const JsonObject *object = spec.getAsObject();
    auto [kind, body] = object ? getAlternative(*object) : std::pair<StringRef, const JsonValue *>();
    const JsonObject *fields = body ? body->getAsObject() : nullptr;
    const JsonObject *arg = fields ? fields->getObject("arg") : nullptr;
    std::optional<StringRef> name = getName(arg);
    if (kind == "user_output" && arg && arg->get("as_none"))
      continue;
    if (!is_contained({"user_output", "buffer_mutation", "parameter_mutation", "user_input_mutation"}, kind))
      return unsupportedError("graph: outputs of kind '" + printable(kind) + "' are not supported");
    auto value = name ? scope.values.find(*name) : scope.values.end();
    if (name && value == scope.values.end())
      return inputError("graph: no input and no node defines the output '" + printable(*name) + "'");
    if (!name || !isa<RankedTensorType>(value->second.getType()))
      return unsupportedError("graph: output " + Twine(&spec - specs->begin()) +
                              (name ? " ('" + printable(*name) + "')" : std::string()) +
                              " is a number; return a tensor in its place, or nothing");
    NamedAttrList list;
    if (kind == "user_output") {
      if (first)
        if (Error error = checkLogits(value->second.getType()))
          return error;
      std::string own = first && !metadata.logits.empty() ? metadata.logits : name->str();
      if (auto layer = expertsOf.find(*name); !first && layer != expertsOf.end()) {
        own = "experts_" + std::to_string(layer->second);
        expertsOf.erase(layer);
      }
      // A graph may return one value twice.
      while (!names.insert(own).second)
        own = (*name + "_" + Twine(++uses.try_emplace(*name, 1).first->second)).str();
      list.set("moe.name", builder.getStringAttr(own));
      first = false;
      if (auto type = cast<RankedTensorType>(value->second.getType()); !type.hasStaticShape())
        list.set("moe.dims", getPlainNames(getDimNames(scope, *name, type)));
    } else {
      if (Error error = readChange(scope, kind, *fields, value->second, changes))
        return error;
      continue;
    }
    values.push_back(value->second);
    attrs.push_back(list.getDictionary(builder.getContext()));
  }
  if (!expertsOf.empty())
    return inputError("extra/moe_mlir.json: 'experts' names '" + printable(expertsOf.begin()->getKey()) +
                      "', which is no further result of the graph");
  if (values.empty() && changes.empty())
    return inputError("graph: it has no output, so there is nothing to compute; export a module that returns a tensor");
  if (Error error = makeChanges(changes, values, attrs))
    return error;
  func::ReturnOp::create(builder, builder.getUnknownLoc(), values);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), TypeRange(ValueRange(values))));
  // All at once: one by one, each would make the list of all of them anew.
  function.setAllResultAttrs(attrs);
  return Error::success();
}

/// The graph lists its inputs and outputs, and the signature says what each is, in the same order.
static Error checkSignature(const JsonArray *values, const JsonArray *specs, StringRef what) {
  if (!values || !specs)
    return inputError(values ? "graph: the signature has no " + what.drop_back().str() + "_specs"
                             : "graph: no list of " + what);
  if (values->size() != specs->size())
    return inputError("graph: it has " + Twine(values->size()) + " " + what + ", its signature " +
                      Twine(specs->size()));
  for (auto [value, spec] : zip(*values, *specs)) {
    const JsonObject *object = spec.getAsObject();
    auto [kind, body] = object ? getAlternative(*object) : std::pair<StringRef, const JsonValue *>();
    const JsonObject *fields = body ? body->getAsObject() : nullptr;
    std::optional<StringRef> name = getName(value.getAsObject()),
                             named = getName(fields ? fields->getObject("arg") : nullptr);
    if (name && named && *name != *named)
      return inputError("graph: '" + printable(*name) + "' is one of its " + what + ", for which its signature has '" +
                        printable(*named) + "'");
  }
  return Error::success();
}

Error GraphReader::read(const JsonObject &program, ModuleOp module) {
  const JsonObject *version = program.getObject("schema_version");
  int64_t major = version ? version->getInteger("major").value_or(0) : 0;
  if (major != schemaMajor)
    return unsupportedError("graph: schema version " + Twine(major) + " is not supported; version " +
                            Twine(schemaMajor) +
                            " is (torch 2.9 to 2.13 write it; the release is tested with torch 2.13)");
  std::optional<int64_t> minor = version->getInteger("minor");
  if (!minor || *minor < 0)
    return inputError("graph: the schema version has no minor number");
  // A minor number only adds fields that may be left unread.
  if (*minor > schemaMinor)
    emitWarning(builder.getUnknownLoc()) << "graph: schema version " << schemaMajor << '.' << *minor
                                         << " is newer than " << schemaMajor << '.' << schemaMinor
                                         << ", which this release knows (torch 2.13); what it adds is not read";
  const JsonObject *graphModule = program.getObject("graph_module");
  const JsonObject *graph = graphModule ? graphModule->getObject("graph") : nullptr;
  const JsonObject *signature = graphModule ? graphModule->getObject("signature") : nullptr;
  if (!graph || !signature)
    return inputError("graph: no graph or signature");
  Scope scope{graph, {}};
  if (Error error = readInputs(*signature))
    return error;
  if (Error error = readDimRanges(program))
    return error;
  for (auto [names, specs] : {std::pair("inputs", "input_specs"), {"outputs", "output_specs"}})
    if (Error error = checkSignature(graph->getArray(names), signature->getArray(specs), names))
      return error;
  if (Error error = checkLeftOver())
    return error;
  if (Error error = createFunction(scope, module, *signature))
    return error;
  if (Error error = readGuards(scope, program))
    return error;
  if (Error error = readNodes(scope))
    return error;
  return readReturn(scope, *signature);
}
