//===- UntrustedJson.cpp - JSON that nobody vouches for ---------------------------------------------------------===//

#include "moe-mlir/Support/UntrustedJson.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;
using namespace moe_mlir;

std::string moe_mlir::printable(StringRef text) {
  std::string result;
  raw_string_ostream os(result);
  printEscapedString(text.take_front(80), os);
  if (text.size() > 80)
    os << "...";
  return result;
}

static constexpr size_t maxNesting = 200;

/// One pass over the text: strings are skipped, brackets counted, the keys of each open object collected.
static Error scan(StringRef text) {
  std::vector<StringSet<>> open;
  StringRef lastString;
  auto fail = [&](const Twine &message, size_t at) { return createStringError(message + " at byte " + Twine(at)); };
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
        return fail("the key '" + printable(lastString) + "' occurs twice in one object", i);
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

Expected<json::Value> moe_mlir::parseUntrustedJson(StringRef text) {
  if (Error error = scan(text))
    return std::move(error);
  return json::parse(text);
}
