//===- JsonParser.cpp - text of JSON from outside to a document -------------------------------------------------===//

#include "moe-mlir/Support/UntrustedJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace llvm;
using namespace moe_mlir;

static constexpr size_t maxNesting = 200;
/// Longer ones say nothing more, and converting takes time that grows with the square of their length.
static constexpr size_t maxNumber = 64;

namespace {
/// Recursive descent, of bounded depth. Children wait in `values` and `members` until their number is known.
class Parser {
public:
  Parser(StringRef text, BumpPtrAllocator &memory) : text(text), memory(memory) {}

  bool parseDocument(JsonValue &value) {
    if (!parseValue(value))
      return false;
    skipBlanks();
    if (at == text.size())
      return true;
    return StringRef("]}").contains(text[at]) ? refuse("unbalanced bracket", at) : fail("Text after end of document");
  }
  Error takeError() const { return createStringError(message); }

private:
  bool refuse(const Twine &what, size_t where) {
    message = (what + " at byte " + Twine(where)).str();
    return false;
  }
  bool fail(const Twine &what) {
    StringRef before = text.take_front(at);
    size_t line = before.rfind('\n');
    size_t column = line == StringRef::npos ? at : at - line - 1;
    message = ("[" + Twine(before.count('\n') + 1) + ":" + Twine(column) + ", byte=" + Twine(at) + "]: " + what).str();
    return false;
  }
  void skipBlanks() {
    while (at < text.size() && StringRef(" \t\r\n").contains(text[at]))
      ++at;
  }
  bool take(char c) {
    if (at == text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  /// What stood last in `pending` from `first` on, for good.
  template <typename T> ArrayRef<T> keep(std::vector<T> &pending, size_t first) {
    ArrayRef<T> found = ArrayRef<T>(pending).drop_front(first);
    T *copy = memory.Allocate<T>(found.size());
    std::uninitialized_copy(found.begin(), found.end(), copy);
    pending.resize(first);
    return ArrayRef<T>(copy, copy + found.size());
  }

  bool parseValue(JsonValue &value);
  bool parseNumber(JsonValue &value);
  bool parseString(StringRef &value);
  bool parseEscape(std::string &out);
  bool parseHex(uint32_t &unit);
  bool parseArray(JsonValue &value);
  bool parseObject(JsonValue &value);
  bool checkKeys(ArrayRef<JsonMember> sorted);

  StringRef text;
  BumpPtrAllocator &memory;
  size_t at = 0, depth = 0;
  std::string message;
  std::vector<JsonValue> values;
  std::vector<JsonMember> members;
};
} // namespace

bool Parser::parseValue(JsonValue &value) {
  skipBlanks();
  if (at == text.size())
    return fail("Unexpected EOF");
  if (text[at] == '[' || text[at] == '{') {
    if (depth == maxNesting)
      return refuse("more than " + Twine(maxNesting) + " nested levels", at);
    ++depth;
    bool parsed = take('[') ? parseArray(value) : take('{') && parseObject(value);
    --depth;
    return parsed;
  }
  if (take('"')) {
    StringRef string;
    if (!parseString(string))
      return false;
    value = JsonValue(string);
    return true;
  }
  for (auto [word, meaning] :
       {std::pair<StringRef, JsonValue>("null", JsonValue()), {"true", JsonValue(true)}, {"false", JsonValue(false)}})
    if (text.substr(at).starts_with(word)) {
      at += word.size();
      value = meaning;
      return true;
    }
  return parseNumber(value);
}

bool Parser::parseNumber(JsonValue &value) {
  size_t first = at + text.substr(at).starts_with("-");
  if (text.substr(first).starts_with("N") || text.substr(first).starts_with("I"))
    return refuse("NaN and Infinity are not JSON", first);
  StringRef number = text.substr(at).take_while([](char c) { return isDigit(c) || StringRef("+-.eE").contains(c); });
  int64_t integer;
  uint64_t natural;
  double real;
  if (number.empty() || number.size() > maxNumber || number.front() == '+')
    return fail("Invalid JSON value");
  if (!number.getAsInteger(10, integer))
    value = JsonValue(integer);
  else if (!number.getAsInteger(10, natural))
    value = JsonValue(natural);
  else if (!number.getAsDouble(real) && std::isfinite(real))
    value = JsonValue(real);
  else
    return fail("Invalid JSON value (number?)");
  at += number.size();
  return true;
}

bool Parser::parseArray(JsonValue &value) {
  size_t first = values.size();
  skipBlanks();
  if (!take(']'))
    while (true) {
      JsonValue element;
      if (!parseValue(element))
        return false;
      values.push_back(element);
      skipBlanks();
      if (take(']'))
        break;
      if (!take(','))
        return fail("Expected , or ] after array element");
    }
  value = JsonValue(keep(values, first));
  return true;
}

bool Parser::parseObject(JsonValue &value) {
  size_t first = members.size();
  skipBlanks();
  if (!take('}'))
    while (true) {
      JsonMember member;
      skipBlanks();
      if (!take('"'))
        return fail("Expected object key");
      if (!parseString(member.first))
        return false;
      skipBlanks();
      if (!take(':'))
        return fail("Expected : after object key");
      if (!parseValue(member.second))
        return false;
      members.push_back(member);
      skipBlanks();
      if (take('}'))
        break;
      if (!take(','))
        return fail("Expected , or } after object property");
    }
  std::sort(members.begin() + first, members.end(),
            [](const JsonMember &a, const JsonMember &b) { return a.first < b.first; });
  if (!checkKeys(ArrayRef<JsonMember>(members).drop_front(first)))
    return false;
  value = JsonValue(JsonObject(keep(members, first)));
  return true;
}

bool Parser::checkKeys(ArrayRef<JsonMember> sorted) {
  // A key with escapes does not stand in the text.
  auto inText = [&](StringRef key) { return key.begin() >= text.begin() && key.end() < text.end(); };
  for (size_t i = 1; i < sorted.size(); ++i)
    if (StringRef a = sorted[i - 1].first, b = sorted[i].first; a == b) {
      size_t where = at;
      if (inText(a) && inText(b))
        where = text.find(':', std::max(a.end(), b.end()) - text.begin());
      return refuse("the key '" + printable(a) + "' occurs twice in one object", where);
    }
  return true;
}

bool Parser::parseString(StringRef &value) {
  size_t start = at - 1;
  size_t end = text.find_first_of("\"\\", at);
  if (end != StringRef::npos && text[end] == '"') {
    value = text.slice(at, end);
    at = end + 1;
    return llvm::none_of(value, [](char c) { return static_cast<unsigned char>(c) < 0x20; }) ||
           fail("Control character in string");
  }
  std::string decoded;
  while (!take('"')) {
    if (at == text.size())
      return refuse("a string does not end", start);
    char c = text[at++];
    if (static_cast<unsigned char>(c) < 0x20)
      return fail("Control character in string");
    if (c != '\\')
      decoded += c;
    else if (!parseEscape(decoded))
      return false;
  }
  value = StringRef(decoded).copy(memory);
  return true;
}

bool Parser::parseHex(uint32_t &unit) {
  if (text.substr(at, 4).size() != 4 || text.substr(at, 4).getAsInteger(16, unit))
    return fail("Invalid \\u escape sequence");
  at += 4;
  return true;
}

bool Parser::parseEscape(std::string &out) {
  static constexpr StringLiteral names = "\"\\/bfnrt", bytes = "\"\\/\b\f\n\r\t";
  if (at == text.size())
    return true; // the string ends too, which its parser says
  char c = text[at++];
  if (size_t index = names.find(c); index != StringRef::npos) {
    out += bytes[index];
    return true;
  }
  uint32_t unit, second;
  if (c != 'u')
    return fail("Invalid escape sequence");
  if (!parseHex(unit))
    return false;
  if (unit >= 0xd800 && unit < 0xdc00 && text.substr(at).starts_with("\\u")) {
    at += 2;
    if (!parseHex(second))
      return false;
    bool pair = second >= 0xdc00 && second < 0xe000;
    unit = pair ? 0x10000 + ((unit - 0xd800) << 10) + (second - 0xdc00) : 0xfffd;
  }
  char buffer[UNI_MAX_UTF8_BYTES_PER_CODE_POINT], *last = buffer;
  if (!ConvertCodePointToUTF8(unit, last))
    return ConvertCodePointToUTF8(0xfffd, last = buffer) && (out.append(buffer, last), true);
  out.append(buffer, last);
  return true;
}

Expected<JsonDocument> moe_mlir::parseUntrustedJson(StringRef text) {
  size_t invalid;
  if (!json::isUTF8(text, &invalid))
    return createStringError("Invalid UTF-8 sequence at byte " + Twine(invalid));
  JsonDocument document;
  document.memory = std::make_unique<BumpPtrAllocator>();
  Parser parser(text, *document.memory);
  if (!parser.parseDocument(document.value))
    return parser.takeError();
  return std::move(document);
}
