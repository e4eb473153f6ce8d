//===- Graph.cpp - the graph of a .pt2 file as aten.call ops ------------------------------------------------------===//

#include "Graph.h"
#include "Support.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace mlir;
using namespace moe_mlir;
using namespace moe_mlir::pt2;

static constexpr int64_t schemaMajor = 8;

Expected<Value> GraphReader::getValue(const Scope &scope, StringRef name) {
  auto it = scope.values.find(name);
  if (it == scope.values.end())
    return inputError("graph: value '" + printable(name) + "' is used before it is defined");
  return it->second;
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

Error GraphReader::readReturn(Scope &scope, const JsonObject &signature) {
  const JsonArray *specs = signature.getArray("output_specs");
  if (!specs)
    return inputError("graph: the signature has no output_specs");
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attrs;
  bool first = true;
  for (const JsonValue &spec : *specs) {
    const JsonObject *object = spec.getAsObject();
    auto [kind, body] = object ? getAlternative(*object) : std::pair<StringRef, const JsonValue *>();
    const JsonObject *fields = body ? body->getAsObject() : nullptr;
    const JsonObject *arg = fields ? fields->getObject("arg") : nullptr;
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
      if (auto type = dyn_cast<RankedTensorType>(value->getType()); type && !type.hasStaticShape())
        list.set("moe.dims", getPlainNames(getDimNames(scope, *name, type)));
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
  // All at once: one by one, each would make the list of all of them anew.
  function.setAllResultAttrs(attrs);
  return Error::success();
}

Error GraphReader::read(const JsonObject &program, ModuleOp module) {
  const JsonObject *version = program.getObject("schema_version");
  int64_t major = version ? version->getInteger("major").value_or(0) : 0;
  if (major != schemaMajor)
    return unsupportedError("graph: schema version " + Twine(major) + " is not supported; version " +
                            Twine(schemaMajor) +
                            " is (torch 2.9 to 2.13 write it; the release is tested with torch 2.13)");
  const JsonObject *graphModule = program.getObject("graph_module");
  const JsonObject *graph = graphModule ? graphModule->getObject("graph") : nullptr;
  const JsonObject *signature = graphModule ? graphModule->getObject("signature") : nullptr;
  if (!graph || !signature)
    return inputError("graph: no graph or signature");
  Scope scope{graph, {}};
  if (Error error = readInputs(*signature))
    return error;
  if (Error error = checkLeftOver())
    return error;
  if (Error error = createFunction(scope, module, *signature))
    return error;
  if (Error error = readNodes(scope))
    return error;
  return readReturn(scope, *signature);
}
