//===- ValueNames.cpp - values that are used outside of the region that defines them ------------------------------===//

#include "moe-mlir/Support/UntrustedIr.h"
#include "moe-mlir/Support/UntrustedJson.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <utility>

using namespace llvm;
using namespace moe_mlir;

namespace {
/// One pass over the names of values. Only its parser knows what an op gives to its regions: a name counts as used where
/// it is neither a result, nor a block's argument, nor looks like a gift (`@f(%x: T)`, `%i = 0 to`, `(%i, %j) in`,
/// `-> %x`), which lasts until a region ends.
class Names {
public:
  explicit Names(StringRef text) : text(text) {}
  Error run();

  unsigned line = 1;

private:
  struct Group {
    bool isParameters; ///< a name with a colon is an argument
    bool isFunction;   ///< of a function
    SmallVector<StringRef, 0> names;
  };
  /// What stands in braces, with what is open in it.
  struct Level {
    explicit Level(unsigned number, size_t firstUse = 0) : number(number), firstUse(firstUse) {}
    unsigned number; ///< in the order of the text
    size_t firstUse; ///< the number of uses before it
    bool hasValues = false;
    bool isFunction = false; ///< the next region in it is one that other names do not reach
    SmallVector<StringRef, 0> results, arguments;
    SmallVector<Group, 0> groups;
  };

  Error readToken();
  Error readValues();
  Error readBlock();
  Error define(StringRef name);
  void give(StringRef name);
  void use(StringRef name);
  void close();
  void closeGroup();
  void skipBlanks();
  void skipString();
  StringRef readName();
  char peek() const { return at < text.size() ? text[at] : 0; }
  Level &level() { return levels.back(); }

  StringRef text;
  size_t at = 0;
  char before = 0;   ///< the end of the last token; '@' of a symbol
  StringRef keyword; ///< the last token, if it was a word
  unsigned opened = 0;
  SmallVector<Level, 0> levels{Level(0)};
  StringMap<unsigned> defined; ///< how many open levels define a name
  StringMap<unsigned> used;    ///< the outermost level that uses a name which nothing has defined
  SmallVector<StringRef, 0> inOrder; ///< those uses
};
} // namespace

void Names::skipBlanks() {
  for (; at < text.size(); ++at) {
    if (text.substr(at).starts_with("//"))
      at = std::min(text.find('\n', at), text.size());
    if (!isSpace(peek()))
      return;
    line += text[at] == '\n';
  }
}

void Names::skipString() {
  for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
    at += text[at] == '\\' && at + 1 < text.size() && text[at + 1] != '\n';
  at += peek() == '"';
}

StringRef Names::readName() {
  const bool isNumber = isDigit(peek());
  StringRef name = text.substr(at).take_while(
      [&](char c) { return isNumber ? isDigit(c) : isAlnum(c) || StringRef("_$.-").contains(c); });
  at += name.size();
  return name;
}

Error Names::define(StringRef name) {
  if (auto found = used.find(name); found != used.end()) {
    if (found->second < level().number)
      return createStringError("'%" + printable(name) + "' is used further up, outside of the region that defines it");
    used.erase(found);
  }
  ++defined[name];
  level().results.push_back(name);
  return Error::success();
}

void Names::give(StringRef name) {
  ++defined[name];
  level().arguments.push_back(name);
}

void Names::use(StringRef name) {
  if (auto found = defined.find(name); found != defined.end() && found->second)
    return;
  auto [place, isNew] = used.try_emplace(name, level().number);
  place->second = std::min(place->second, level().number);
  inOrder.push_back(name);
}

void Names::close() {
  if (levels.size() == 1)
    return;
  Level closed = levels.pop_back_val();
  auto forget = [&](SmallVectorImpl<StringRef> &names) {
    for (StringRef name : names)
      --defined[name];
    names.clear();
  };
  forget(closed.results);
  forget(closed.arguments);
  if (!closed.hasValues)
    return; // a dictionary, as far as one can tell
  level().hasValues = true;
  forget(level().arguments);
  if (!std::exchange(level().isFunction, false))
    return;
  for (StringRef name : ArrayRef(inOrder).drop_front(closed.firstUse))
    if (auto found = used.find(name); found != used.end() && found->second >= closed.number)
      used.erase(found);
  inOrder.truncate(closed.firstUse);
}

/// `%x`, `%x, %y:2 = `: names up to what is no comma. The last of those before `=` may be one that an op gives to its
/// region.
Error Names::readValues() {
  SmallVector<std::pair<StringRef, bool>, 4> names; // and whether it is one of several results
  bool hasColon = false, isMore = true;
  const char previous = before;
  const StringRef word = keyword;
  while (isMore) {
    ++at;
    StringRef name = readName();
    bool isNumbered = peek() == '#';
    if (isNumbered) {
      ++at;
      readName();
    }
    skipBlanks();
    hasColon = peek() == ':';
    if (hasColon && at + 1 < text.size() && isDigit(text[at + 1])) {
      hasColon = false;
      ++at;
      readName();
      skipBlanks();
    }
    names.push_back({name, isNumbered});
    const size_t comma = at;
    const unsigned lineOfComma = line;
    isMore = peek() == ',';
    if (isMore) {
      ++at;
      skipBlanks();
      isMore = peek() == '%';
      if (!isMore) {
        at = comma;
        line = lineOfComma;
      }
    }
  }
  before = '%';
  keyword = {};
  level().hasValues = true;
  if (peek() == '=' && !text.substr(at).starts_with("==")) {
    ++at;
    skipBlanks();
    StringRef next = text.substr(at);
    const bool isBound = next.starts_with("max") || next.starts_with("min"); // of affine.for
    const bool isOp = !isBound && (isAlpha(peek()) || peek() == '_' || peek() == '"');
    before = '=';
    if (isOp && !names.back().second) {
      for (auto [name, isNumbered] : names)
        if (Error error = define(name))
          return error;
      return Error::success();
    }
    give(names.pop_back_val().first);
  } else if (hasColon && !level().groups.empty() && level().groups.back().isParameters) {
    level().isFunction |= level().groups.back().isFunction;
    give(names.pop_back_val().first);
  } else if (previous == '>' || word == "as" || text.substr(at).starts_with("in ")) {
    give(names.pop_back_val().first);
  }
  for (auto [name, isNumbered] : names) {
    if (level().groups.empty())
      use(name);
    else
      level().groups.back().names.push_back(name);
  }
  return Error::success();
}

/// `^bb0(%x: T):` defines; in a branch there is no colon.
Error Names::readBlock() {
  ++at;
  readName();
  level().hasValues = true;
  before = '^';
  keyword = {};
  if (peek() != '(')
    return Error::success();
  size_t end = at, depth = 0;
  bool isQuoted = false;
  for (; end < text.size() && text[end] != '^'; ++end) {
    isQuoted ^= text[end] == '"';
    depth += !isQuoted && text[end] == '(';
    depth -= !isQuoted && text[end] == ')';
    if (depth == 0)
      break;
  }
  if (!text.substr(end).starts_with(")") || !text.substr(end + 1).ltrim().starts_with(":"))
    return Error::success();
  for (; at < end; ++at) {
    line += text[at] == '\n';
    if (text[at] != '%')
      continue;
    ++at;
    if (Error error = define(readName()))
      return error;
    --at;
  }
  return Error::success();
}

void Names::closeGroup() {
  if (level().groups.empty())
    return;
  Group group = level().groups.pop_back_val();
  skipBlanks();
  StringRef rest = text.substr(at);
  const bool isGiven = rest.starts_with("=") || rest.starts_with("in ") || rest.starts_with("in(");
  for (StringRef name : group.names) {
    if (isGiven)
      give(name);
    else
      use(name);
  }
}

Error Names::readToken() {
  const char c = peek();
  if (c == '%')
    return readValues();
  if (c == '^')
    return readBlock();
  const char previous = std::exchange(before, c);
  StringRef word = std::exchange(keyword, {});
  if (c == '"') {
    skipString();
    before = previous == '@' ? '@' : c;
  } else if (c == '@') {
    ++at;
    readName();
  } else if (isAlnum(c) || c == '_') {
    keyword = readName();
    before = 'a';
  } else {
    ++at;
    if (c == '(') {
      const bool isFunction = previous == '@';
      const bool isOfRegion = previous == ')' || previous == ']' || word == "workgroup" || word == "private";
      level().groups.push_back({isFunction || isOfRegion, isFunction, {}});
    } else if (c == ')') {
      closeGroup();
    } else if (c == '{') {
      levels.emplace_back(++opened, inOrder.size());
    } else if (c == '}') {
      close();
    }
  }
  return Error::success();
}

Error Names::run() {
  for (skipBlanks(); at < text.size(); skipBlanks())
    if (Error error = readToken())
      return error;
  return Error::success();
}

Error moe_mlir::checkValueNames(StringRef text, unsigned &line) {
  Names names(text);
  Error error = names.run();
  line = names.line;
  return error;
}
