//===- Support.cpp - errors and JSON of the .pt2 reader -----------------------------------------------------------===//

#include "Support.h"
#include "moe-mlir/Support/UntrustedJson.h"

using namespace llvm;
using namespace moe_mlir;

char ImportError::ID = 0;

std::string pt2::printable(StringRef text) { return moe_mlir::printable(text); }

Expected<json::Value> pt2::parseJson(StringRef text, StringRef what) {
  Expected<json::Value> value = parseUntrustedJson(text);
  if (!value)
    return inputError(what + ": " + toString(value.takeError()));
  return value;
}

std::optional<StringRef> pt2::getName(const json::Object *object) {
  if (!object)
    return std::nullopt;
  if (const json::Object *tensor = object->getObject("as_tensor"))
    object = tensor;
  if (const json::Object *symbol = object->getObject("as_sym_int"))
    return symbol->getString("as_name");
  return object->getString("name");
}

std::pair<StringRef, const json::Value *> pt2::getAlternative(const json::Object &object) {
  for (const auto &entry : object)
    if (entry.second.kind() != json::Value::Null)
      return {entry.first, &entry.second};
  return {};
}
