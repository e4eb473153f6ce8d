//===- UntrustedJson.cpp - values of JSON documents from outside ------------------------------------------------===//

#include "moe-mlir/Support/UntrustedJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace llvm;
using namespace moe_mlir;

std::string moe_mlir::printablePath(StringRef path) {
  std::string result;
  raw_string_ostream os(result);
  printEscapedString(path, os);
  return result;
}

std::string moe_mlir::printable(StringRef text) {
  return printablePath(text.take_front(80)) + (text.size() > 80 ? "..." : "");
}

std::optional<bool> JsonValue::getAsBoolean() const {
  return kind == Boolean ? std::optional<bool>(boolean) : std::nullopt;
}

std::optional<int64_t> JsonValue::getAsInteger() const {
  if (kind == Integer)
    return integer;
  double whole;
  if (kind == Double && std::modf(real, &whole) == 0.0 && real >= -0x1p63 && real < 0x1p63)
    return static_cast<int64_t>(real);
  return std::nullopt;
}

std::optional<uint64_t> JsonValue::getAsUINT64() const {
  if (kind == Unsigned)
    return natural;
  return kind == Integer && integer >= 0 ? std::optional<uint64_t>(integer) : std::nullopt;
}

std::optional<double> JsonValue::getAsNumber() const {
  switch (kind) {
  case Double:
    return real;
  case Integer:
    return static_cast<double>(integer);
  case Unsigned:
    return static_cast<double>(natural);
  default:
    return std::nullopt;
  }
}

std::optional<StringRef> JsonValue::getAsString() const {
  return kind == String ? std::optional<StringRef>(string) : std::nullopt;
}

const JsonValue *JsonObject::get(StringRef key) const {
  const JsonMember *it =
      llvm::lower_bound(members, key, [](const JsonMember &member, StringRef key) { return member.first < key; });
  return it != members.end() && it->first == key ? &it->second : nullptr;
}

const JsonObject *JsonObject::getObject(StringRef key) const {
  const JsonValue *value = get(key);
  return value ? value->getAsObject() : nullptr;
}

const JsonArray *JsonObject::getArray(StringRef key) const {
  const JsonValue *value = get(key);
  return value ? value->getAsArray() : nullptr;
}

std::optional<StringRef> JsonObject::getString(StringRef key) const {
  const JsonValue *value = get(key);
  return value ? value->getAsString() : std::nullopt;
}

std::optional<int64_t> JsonObject::getInteger(StringRef key) const {
  const JsonValue *value = get(key);
  return value ? value->getAsInteger() : std::nullopt;
}

std::optional<bool> JsonObject::getBoolean(StringRef key) const {
  const JsonValue *value = get(key);
  return value ? value->getAsBoolean() : std::nullopt;
}
