//===- Support.cpp - errors and JSON of the .pt2 reader -----------------------------------------------------------===//

#include "Support.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;
using namespace moe_mlir;

char ImportError::ID = 0;

std::string pt2::printable(StringRef text) {
  std::string result;
  raw_string_ostream os(result);
  printEscapedString(text.take_front(80), os);
  if (text.size() > 80)
    os << "...";
  return result;
}

static constexpr size_t maxNesting = 200;

/// One pass over the text: strings are skipped, brackets counted, the keys of each open object collected.
static Error scan(StringRef text, StringRef what) {
  std::vector<StringSet<>> open;
  StringRef lastString;
  auto fail = [&](const Twine &message, size_t at) {
    return pt2::inputError(what + ": " + message + " at byte " + Twine(at));
  };
  for (size_t i = 0, e = text.size(); i < e; ++i) {
    switch (text[i]) {
    case '"': {
      size_t start = ++i;
      while (i < e && text[i] != '"')
        i += text[i] == '\\' ? 2 : 1;
      if (i >= e)
        return fail("a string does not end", start - 1);
      lastString = text.slice(start, i);
      break;
    }
    case ':':
      if (!open.empty() && !open.back().insert(lastString).second)
        return fail("the key '" + pt2::printable(lastString) + "' occurs twice in one object", i);
      break;
    case '{':
    case '[':
      if (open.size() == maxNesting)
        return fail("more than " + Twine(maxNesting) + " nested levels", i);
      open.emplace_back();
      break;
    case '}':
    case ']':
      if (open.empty())
        return fail("unbalanced bracket", i);
      open.pop_back();
      break;
    case 'N':
    case 'I':
      return fail("NaN and Infinity are not JSON", i);
    default:
      break;
    }
  }
  return Error::success();
}

Expected<json::Value> pt2::parseJson(StringRef text, StringRef what) {
  if (Error error = scan(text, what))
    return std::move(error);
  Expected<json::Value> value = json::parse(text);
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
