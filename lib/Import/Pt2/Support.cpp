//===- Support.cpp - errors and JSON of the .pt2 reader -----------------------------------------------------------===//

#include "Support.h"

using namespace llvm;
using namespace moe_mlir;

char ImportError::ID = 0;

Expected<JsonDocument> pt2::parseJson(StringRef text, StringRef what) {
  Expected<JsonDocument> value = parseUntrustedJson(text);
  if (!value)
    return inputError(what + ": " + toString(value.takeError()));
  return value;
}

std::optional<StringRef> pt2::getName(const JsonObject *object) {
  if (!object)
    return std::nullopt;
  if (const JsonObject *tensor = object->getObject("as_tensor"))
    object = tensor;
  if (const JsonObject *symbol = object->getObject("as_sym_int"))
    return symbol->getString("as_name");
  return object->getString("name");
}

std::pair<StringRef, const JsonValue *> pt2::getAlternative(const JsonObject &object) {
  for (const auto &entry : object)
    if (!entry.second.isNull())
      return {entry.first, &entry.second};
  return {};
}
