//===- GraphInputs.cpp - inputs, buffers and weights of a .pt2 file -----------------------------------------------===//

#include "Graph.h"
#include "Support.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace mlir;
using namespace moe_mlir;
using namespace moe_mlir::pt2;

Error GraphReader::readInputs(const JsonObject &signature) {
  const JsonArray *specs = signature.getArray("input_specs");
  if (!specs)
    return inputError("graph: the signature has no input_specs");
  llvm::StringSet<> names;
  for (const JsonValue &value : *specs) {
    const JsonObject *object = value.getAsObject();
    auto [kind, body] = object ? getAlternative(*object) : std::pair<StringRef, const JsonValue *>();
    const JsonObject *spec = body ? body->getAsObject() : nullptr;
    if (!spec)
      return inputError("graph: unreadable input spec");
    std::optional<StringRef> name = getName(spec->getObject("arg"));
    if (kind == "constant_input" || kind == "user_input")
      flatInputs.push_back(name.value_or("").str());
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
    if (!names.insert(*name).second)
      return inputError("graph: two inputs are named '" + printable(*name) + "'");
    inputs.push_back({found->first, name->str(), found->second->str()});
    inputsOf[found->first].try_emplace(*found->second, name->str());
  }
  return Error::success();
}

/// A weight that nothing reads is a sign that graph and weights do not belong together. Strict export leaves unused
/// parameters behind, so of files that the exporter of this project did not write nothing is asked.
Error GraphReader::checkLeftOver() {
  if (!metadata.present)
    return Error::success();
  llvm::StringSet<> used;
  llvm::DenseSet<uint64_t> usedBlobs;
  for (const InputSpec &input : inputs)
    if (const Pt2Tensor *stored = input.kind == InputSpec::User ? nullptr : archive.lookup(input.key)) {
      used.insert(input.key);
      usedBlobs.insert(stored->fileOffset);
    }
  for (const Pt2Tensor &tensor : archive.getTensors())
    if (tensor.isParameter && !used.contains(tensor.key) && !usedBlobs.contains(tensor.fileOffset))
      return inputError("tensor '" + printable(tensor.key) +
                        "' is left over: no input of the graph has it, so graph and weights do not belong together");
  return Error::success();
}

DictionaryAttr GraphReader::getArgumentAttrs(const Scope &scope, StringRef name, Type type) {
  SmallVector<NamedAttribute> attrs{builder.getNamedAttr("moe.name", builder.getStringAttr(name))};
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return builder.getDictionaryAttr(attrs);
  if (!tensor.hasStaticShape())
    attrs.push_back(builder.getNamedAttr("moe.dims", getDimNames(scope, name, tensor)));
  if (metadata.states.contains(name))
    attrs.push_back(builder.getNamedAttr("moe.state", builder.getUnitAttr()));
  else if (ArrayAttr ranges = getDimRanges(scope, name, tensor))
    attrs.push_back(builder.getNamedAttr("moe.dim_ranges", ranges));
  if (name == metadata.tokens && metadata.vocabSize > 0)
    attrs.push_back(builder.getNamedAttr("moe.range", builder.getI64ArrayAttr({0, metadata.vocabSize - 1})));
  if (name == metadata.position && metadata.cacheLength > 0) {
    // A fixed number of tokens has no name.
    Expected<RankedTensorType> tokens = getTensorType(scope, metadata.tokens);
    if (!tokens)
      consumeError(tokens.takeError());
    const bool isFixed = tokens && tokens->getRank() > 1 && !tokens->isDynamicDim(1);
    const int64_t last = metadata.cacheLength - (isFixed ? tokens->getDimSize(1) : 1);
    attrs.push_back(builder.getNamedAttr("moe.range", builder.getI64ArrayAttr({0, std::max<int64_t>(last, 0)})));
    if (!isFixed)
      attrs.push_back(builder.getNamedAttr("moe.range_plus", builder.getStringAttr("seq")));
    attrs.push_back(builder.getNamedAttr("moe.uniform", builder.getUnitAttr()));
  }
  return builder.getDictionaryAttr(attrs);
}

/// What generates text fills these inputs itself.
Error GraphReader::checkRoles(ArrayRef<Type> types) const {
  for (auto [role, name, rank, shape] :
       {std::tuple<StringRef, StringRef, int64_t, StringRef>("tokens", metadata.tokens, 2, "[batch, tokens]"),
        {"position", metadata.position, 1, "[batch]"},
        {"keep", metadata.keep, 1, "[kept tokens]"}}) {
    if (name.empty())
      continue;
    Type type = types[argumentOf.lookup(name)];
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && tensor.getRank() == rank && tensor.getElementType().isInteger(64))
      continue;
    std::string text;
    raw_string_ostream(text) << type;
    return inputError("extra/moe_mlir.json names '" + printable(name) + "' as " + role + ", which is " + text +
                      " instead of " + shape + " of i64");
  }
  if (!metadata.keep.empty() && metadata.keep == metadata.position)
    return inputError("extra/moe_mlir.json names '" + printable(metadata.keep) + "' as position and as keep");
  return Error::success();
}

/// Of the first result, whatever the graph calls it.
Error GraphReader::checkLogits(Type type) const {
  auto tensor = cast<RankedTensorType>(type);
  if (metadata.position.empty() || metadata.logits.empty() || metadata.vocabSize == 0 ||
      (tensor.getRank() == 3 && tensor.getDimSize(2) == metadata.vocabSize && isa<FloatType>(tensor.getElementType())))
    return Error::success();
  std::string text;
  raw_string_ostream(text) << type;
  return inputError("extra/moe_mlir.json says that the first result is logits of " + Twine(metadata.vocabSize) +
                    " ids, but it is " + text);
}

/// The graph and the archive say the same of a tensor.
static Error checkStored(StringRef key, const Pt2Tensor &stored, Type declared) {
  Type element = getElementType(stored.type, declared.getContext());
  if (!element)
    return unsupportedError("tensor '" + printable(key) + "' has " + notSupported(stored.type));
  auto held = RankedTensorType::get(stored.sizes, element);
  if (declared == held)
    return Error::success();
  std::string inGraph, inArchive;
  raw_string_ostream(inGraph) << declared;
  raw_string_ostream(inArchive) << held;
  return inputError("tensor '" + printable(key) + "' is declared as " + inGraph +
                    " in the graph, but the archive holds " + inArchive);
}

Error GraphReader::createFunction(Scope &scope, ModuleOp module, const JsonObject &signature) {
  nameDims(scope);
  if (const JsonArray *specs = signature.getArray("output_specs"))
    for (const JsonValue &value : *specs)
      if (const JsonObject *object = value.getAsObject())
        if (const JsonObject *mutation = object->getObject("buffer_mutation"))
          changedBuffers.insert(mutation->getString("buffer_name").value_or(""));

  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attrs;
  SmallVector<std::string> names;
  llvm::StringSet<> userNames;
  auto addArgument = [&](const InputSpec &input) -> Error {
    Type type = builder.getI64Type();
    const JsonObject *integers = scope.graph->getObject("sym_int_values");
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
      if (Error error = checkStored(input.key, *archive.lookup(input.key), type))
        return error;
      list.set("moe.state", builder.getUnitAttr());
      dictionary = list.getDictionary(builder.getContext());
    }
    if (input.kind == InputSpec::User)
      argumentOf[input.name] = types.size();
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
  // A changed buffer that starts as something else stays one of the archive: aten-functionalize makes a state of it.
  for (const InputSpec &input : inputs) {
    const bool isChanged = input.kind == InputSpec::Stored && changedBuffers.contains(input.key);
    const Pt2Tensor *stored = isChanged ? archive.lookup(input.key) : nullptr;
    if (stored && archive.isZero(*stored))
      if (Error error = addArgument(input))
        return error;
  }
  for (auto [role, name] : {std::pair<StringRef, StringRef>("tokens", metadata.tokens),
                            {"position", metadata.position},
                            {"keep", metadata.keep}})
    if (!name.empty() && !userNames.contains(name))
      return inputError("extra/moe_mlir.json names '" + printable(name) + "' as " + role +
                        ", but the graph has no such input");
  if (Error error = checkRoles(types))
    return error;
  for (const auto &state : metadata.states)
    if (!userNames.contains(state.getKey()))
      return inputError("extra/moe_mlir.json names the state '" + printable(state.getKey()) +
                        "', but the graph has no such input");

  builder.setInsertionPointToEnd(module.getBody());
  Location loc = builder.getUnknownLoc();
  function = func::FuncOp::create(builder, loc, "main", builder.getFunctionType(types, {}));
  function.setAllArgAttrs(attrs);
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
  if (Error error = checkStored(input.key, *stored, *type))
    return error;
  Type element = type->getElementType();
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
    parameter->setAttr("moe.initial", builder.getStringAttr(archive.isZero(*stored) ? "zero" : "given"));
  }
  scope.values[input.name] = parameter;
  return Error::success();
}
