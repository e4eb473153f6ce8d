//===- Metadata.cpp - extra/moe_mlir.json -------------------------------------------------------------------------===//

#include "Metadata.h"
#include "Support.h"

#include "mlir/IR/Builders.h"

using namespace llvm;
using namespace moe_mlir;
using namespace moe_mlir::pt2;

static constexpr StringLiteral fileName = "moe_mlir.json";
static constexpr int64_t version = 1;

mlir::DictionaryAttr Metadata::getGeneration(mlir::MLIRContext *context) const {
  mlir::Builder b(context);
  SmallVector<mlir::NamedAttribute> fields;
  for (auto [key, text] : {std::pair<StringRef, StringRef>("tokens", tokens),
                           {"position", position},
                           {"keep", keep},
                           {"logits", logits},
                           {"vocabulary", vocabulary}})
    if (!text.empty())
      fields.push_back(b.getNamedAttr(key, b.getStringAttr(text)));
  for (auto [key, number] : {std::pair<StringRef, int64_t>("cache_length", cacheLength), {"vocab_size", vocabSize}})
    if (number > 0)
      fields.push_back(b.getNamedAttr(key, b.getI64IntegerAttr(number)));
  if (!eos.empty())
    fields.push_back(b.getNamedAttr("eos", b.getI64ArrayAttr(eos)));
  return b.getDictionaryAttr(fields);
}

Expected<Metadata> moe_mlir::pt2::readMetadata(const Pt2Archive &archive) {
  Metadata metadata;
  Expected<std::optional<StringRef>> found = archive.getExtra(fileName);
  if (!found)
    return found.takeError();
  std::optional<StringRef> text = *found;
  if (!text)
    return metadata;
  std::string what = ("extra/" + fileName).str();
  Expected<JsonDocument> value = parseJson(*text, what);
  if (!value)
    return value.takeError();
  const JsonObject *object = value->root().getAsObject();
  if (!object)
    return inputError(what + " is not an object");
  if (object->getInteger("version").value_or(0) != version)
    return unsupportedError(what + " does not have version " + Twine(version) +
                            "; export again with the moe_mlir package of this release");
  metadata.present = true;
  for (StringRef key : {"cache_length", "vocab_size"})
    if (object->get(key) && object->getInteger(key).value_or(0) <= 0)
      return inputError(what + ": '" + key + "' must be an integer of at least 1");
  for (StringRef key : {"model", "tokens", "position", "keep", "logits", "vocabulary"})
    if (object->get(key) && !object->getString(key))
      return inputError(what + ": '" + key + "' must be a text");
  for (StringRef key : {"eos", "experts", "states"})
    if (object->get(key) && !object->getArray(key))
      return inputError(what + ": '" + key + "' must be a list");
  for (auto [key, field] : {std::pair<StringRef, std::string *>("model", &metadata.model),
                            {"tokens", &metadata.tokens},
                            {"position", &metadata.position},
                            {"keep", &metadata.keep},
                            {"logits", &metadata.logits},
                            {"vocabulary", &metadata.vocabulary}})
    *field = object->getString(key).value_or("").str();
  metadata.cacheLength = object->getInteger("cache_length").value_or(0);
  metadata.vocabSize = object->getInteger("vocab_size").value_or(0);
  if (const JsonArray *eos = object->getArray("eos"))
    for (const JsonValue &id : *eos) {
      if (!id.getAsInteger())
        return inputError(what + ": 'eos' is a list of token ids");
      if (metadata.vocabSize && (*id.getAsInteger() < 0 || *id.getAsInteger() >= metadata.vocabSize))
        return inputError(what + ": 'eos' has " + Twine(*id.getAsInteger()) + ", outside the vocabulary 0.." +
                          Twine(metadata.vocabSize - 1));
      metadata.eos.push_back(*id.getAsInteger());
    }
  if (const JsonArray *experts = object->getArray("experts"))
    for (const JsonValue &name : *experts) {
      if (!name.getAsString())
        return inputError(what + ": 'experts' is a list of result names");
      metadata.experts.push_back(name.getAsString()->str());
    }
  if (const JsonArray *states = object->getArray("states"))
    for (const JsonValue &name : *states) {
      if (!name.getAsString())
        return inputError(what + ": 'states' is a list of input names");
      metadata.states.insert(*name.getAsString());
    }
  return metadata;
}
