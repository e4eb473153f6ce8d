//===- IrText.cpp - nesting, expressions and aliases of IR from outside -----------------------------------------===//

#include "moe-mlir/Support/UntrustedIr.h"
#include "moe-mlir/Support/UntrustedJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace moe_mlir;

static constexpr size_t maxNesting = 200, maxOperators = 1000, maxDimensions = 64; // a tensor of PyTorch has no more
static constexpr uint64_t maxGrowth = 64, alwaysAllowed = 1 << 20;

namespace {
/// One pass over the text, token by token as far as they matter.
class Scanner {
public:
  explicit Scanner(StringRef text) : text(text) {}
  Error run();

  unsigned line = 1;

private:
  struct Level {
    char bracket;
    unsigned operators;
  };
  /// What an alias stands for when all aliases in it are written out.
  struct Alias {
    uint64_t size = 0;
    size_t depth = 0;  ///< of brackets, with those of the aliases in it
    uint64_t uses = 0; ///< outside of other aliases
  };

  Error readToken();
  Error open(char bracket);
  void close(char bracket);
  Error countOperator();
  Error countDimension();
  Error readCross(StringRef word);
  Error readAlias();
  Error checkArray();
  Error checkIteratorTypes();
  Error checkDimensions();
  Error checkGroups(bool isNamed);
  Error readQuoted(StringRef name);
  void endDefinition();
  Error checkGrowth();
  std::optional<StringRef> skipString();
  StringRef afterBlanks(StringRef text);
  StringRef readWord() {
    StringRef word = text.substr(at).take_while([](char c) { return isAlnum(c) || c == '_' || c == '$' || c == '.'; });
    at += word.size();
    return word;
  }

  StringRef text;
  StringRef operation; ///< the last one of linalg
  size_t at = 0;
  /// The last token of a list of dimensions such as `4x?x[8]xf32`, and the dimensions of the list so far.
  enum class Last { Other, Size, Cross } last = Last::Other;
  unsigned dimensions = 0;
  SmallVector<Level> levels{{0, 0}};
  StringMap<Alias> aliases;
  /// The alias that is being defined, and the place behind its name.
  std::string defined;
  size_t definitionBegin = 0;
  Alias current;
};
} // namespace

Error Scanner::open(char bracket) {
  if (levels.size() > maxNesting)
    return createStringError("more than " + Twine(maxNesting) + " brackets are nested");
  levels.push_back({bracket, 0});
  current.depth = std::max<size_t>(current.depth, levels.size());
  return Error::success();
}

/// Closes the innermost bracket of its kind and what was left open in it: `<` may also be a comparison. A bracket that
/// closes nothing is the parser's to report.
void Scanner::close(char bracket) {
  for (size_t i = levels.size(); i-- > 1;) {
    if (levels[i].bracket == bracket)
      return levels.truncate(i);
    if (levels[i].bracket != '<')
      return;
  }
}

Error Scanner::countOperator() {
  if (++levels.back().operators > maxOperators)
    return createStringError("an expression has more than " + Twine(maxOperators) + " operators");
  return Error::success();
}

/// Behind a size. MLIR's lexer reads what follows each `x` of a list of sizes again, up to its end.
Error Scanner::countDimension() {
  dimensions = last == Last::Cross ? dimensions + 1 : 1;
  last = Last::Size;
  return dimensions > maxDimensions ? createStringError("a shape has more than " + Twine(maxDimensions) + " dimensions")
                                    : Error::success();
}

/// `x8x4xf32` behind a size: one word, of which numbers are sizes. A size that is no number ends the word with its `x`.
Error Scanner::readCross(StringRef word) {
  while (last == Last::Size && word.consume_front("x")) {
    last = Last::Cross;
    StringRef number = word.take_while(isDigit);
    word = word.drop_front(number.size());
    if (!number.empty())
      if (Error error = countDimension())
        return error;
  }
  if (!word.empty())
    last = Last::Other;
  return Error::success();
}

/// Gives what stands between the quotes, with its escapes; none if the second quote is missing. MLIR's lines end at
/// vertical tabs and form feeds, too.
std::optional<StringRef> Scanner::skipString() {
  auto endsLine = [](char c) { return c == '\n' || c == '\v' || c == '\f'; };
  const size_t begin = ++at;
  for (; at < text.size() && text[at] != '"' && !endsLine(text[at]); ++at)
    at += text[at] == '\\' && at + 1 < text.size() && !endsLine(text[at + 1]);
  if (at >= text.size() || text[at] != '"')
    return std::nullopt;
  return text.slice(begin, at++);
}

/// What follows spaces, ends of lines and comments.
StringRef Scanner::afterBlanks(StringRef text) {
  for (text = text.ltrim(" \t\r\n"); text.starts_with("//"); text = text.ltrim(" \t\r\n"))
    text = text.drop_until([](char c) { return c == '\n'; });
  return text;
}

/// Behind the word `array`. The parser asks the type of a dense array's elements for its width, which `index` has not.
/// An alias may stand for it.
Error Scanner::checkArray() {
  StringRef rest = afterBlanks(text.substr(at));
  if (!rest.consume_front("<"))
    return Error::success();
  rest = afterBlanks(rest);
  StringRef word = rest.take_while([](char c) { return isAlnum(c) || c == '_' || c == '$'; });
  if (word != "index" && !rest.starts_with("!"))
    return Error::success();
  return createStringError("'array<' needs a type of integers or floats for its elements, such as i64");
}

/// Behind the name of an attribute. What linalg.generic's parser finds in its list it takes for texts, whatever it is. Properties
/// in `<{` are read by another one, which asks.
Error Scanner::checkIteratorTypes() {
  StringRef rest = afterBlanks(text.substr(at));
  if (!rest.consume_front("="))
    return Error::success();
  rest = afterBlanks(rest);
  const auto around = levels.rbegin();
  if (levels.size() > 2 && around[0].bracket == '{' && around[1].bracket == '<')
    return Error::success();
  bool isGood = rest.consume_front("[");
  for (rest = afterBlanks(rest); isGood && !rest.consume_front("]"); rest = afterBlanks(rest)) {
    isGood = rest.consume_front("\"");
    rest = afterBlanks(rest.drop_until([](char c) { return c == '"'; }).drop_front(isGood && rest.contains('"')));
    isGood = isGood && (rest.consume_front(",") || rest.starts_with("]"));
  }
  return isGood ? Error::success()
                : createStringError("'iterator_types' needs a list of texts, such as [\"parallel\", \"reduction\"]");
}

/// Behind the keyword of linalg's transposes, broadcasts and reductions. Their parser goes on with a list that it could
/// not read.
Error Scanner::checkDimensions() {
  StringRef rest = afterBlanks(text.substr(at));
  if (!rest.consume_front("="))
    return Error::success();
  rest = afterBlanks(rest);
  bool isGood = rest.consume_front("[");
  rest = afterBlanks(rest);
  for (bool isMore = isGood && !rest.starts_with("]"); isMore; rest = afterBlanks(rest)) {
    rest.consume_front("-");
    StringRef number = rest.take_while(isDigit);
    rest = afterBlanks(rest.drop_front(number.size()));
    isGood = !number.empty() && number.size() < 19; // a larger one is too large for the parser
    isMore = isGood && rest.consume_front(",");
  }
  isGood = isGood && rest.starts_with("]");
  return isGood ? Error::success()
                : createStringError("'" + operation + "' needs a list of dimensions, such as [1, 0]");
}

/// Behind the name of an op that joins or splits dimensions and its operand, or behind the name of the attribute. The
/// verifier makes a map of each group, and takes the context from its first dimension.
Error Scanner::checkGroups(bool isNamed) {
  StringRef rest = afterBlanks(text.substr(at));
  if (isNamed ? !rest.consume_front("=") : !rest.consume_front("%"))
    return Error::success();
  if (!isNamed)
    rest = rest.drop_while([](char c) { return isAlnum(c) || StringRef("_$.-#").contains(c); });
  rest = afterBlanks(rest);
  bool isGood = rest.consume_front("[") || !isNamed;
  for (rest = afterBlanks(rest); isGood && rest.consume_front("["); rest = afterBlanks(rest)) {
    isGood = !afterBlanks(rest).starts_with("]");
    rest = afterBlanks(rest.drop_until([](char c) { return c == ']'; }).drop_front(rest.contains(']')));
    rest.consume_front(",");
  }
  return isGood ? Error::success()
                : createStringError("'reassociation' needs a list of groups with dimensions, such as [[0, 1], [2]]");
}

/// Whether a name in quotes is this one, when its escapes are read.
static bool isName(StringRef quoted, StringRef name) {
  std::string read;
  for (size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\' || i + 1 == quoted.size()) {
      read += quoted[i];
      continue;
    }
    const bool isHex = i + 2 < quoted.size() && isHexDigit(quoted[i + 1]) && isHexDigit(quoted[i + 2]);
    read += isHex ? static_cast<char>(hexFromNibbles(quoted[i + 1], quoted[i + 2])) : quoted[i + 1];
    i += isHex ? 2 : 1;
  }
  return read == name;
}

Error Scanner::readQuoted(StringRef name) {
  if (isName(name, "reassociation"))
    return checkGroups(/*isNamed=*/true);
  return isName(name, "iterator_types") ? checkIteratorTypes() : Error::success();
}

/// `#name` and `!name`; with `=` behind it and outside of all brackets it is a definition, which lasts to the next.
Error Scanner::readAlias() {
  std::string name(1, text[at++]);
  name += readWord().str();
  StringRef rest = text.substr(at).ltrim(" \t\r\n");
  if (levels.size() == 1 && rest.starts_with("=") && !rest.starts_with("==")) {
    endDefinition();
    defined = name;
    definitionBegin = at;
    current = {};
    return Error::success();
  }
  if (name == defined)
    endDefinition();
  auto known = aliases.find(name);
  if (defined.empty()) {
    // A location may be used before it is defined.
    ++aliases[name].uses;
    return Error::success();
  }
  if (known == aliases.end())
    return Error::success();
  current.size = SaturatingAdd(current.size, known->second.size);
  current.depth = std::max<size_t>(current.depth, levels.size() + known->second.depth);
  if (current.depth > maxNesting)
    return createStringError("with the aliases that it names, '" + printable(defined) + "' is nested more than " +
                             Twine(maxNesting) + " deep");
  return Error::success();
}

void Scanner::endDefinition() {
  if (defined.empty())
    return;
  Alias &alias = aliases[defined];
  alias.size = SaturatingAdd<uint64_t>(current.size, at - definitionBegin);
  alias.depth = current.depth;
  defined.clear();
}

Error Scanner::checkGrowth() {
  uint64_t total = 0, limit = text.size() * maxGrowth + alwaysAllowed;
  for (const auto &entry : aliases)
    total = SaturatingAdd(total, SaturatingMultiply(entry.second.uses, entry.second.size));
  if (total > limit || any_of(aliases, [&](const auto &entry) { return entry.second.size > limit; }))
    return createStringError("its aliases, written out, would be more than " + Twine(maxGrowth) + " times the text");
  return Error::success();
}

Error Scanner::readToken() {
  char c = text[at];
  StringRef rest = text.substr(at);
  if (isAlpha(c) || c == '_') {
    // Operations end a definition: nothing else at this depth begins with a word and a point.
    StringRef word = readWord();
    if (Error error = readCross(word))
      return error;
    if (levels.size() == 1 && !defined.empty() && (word.contains('.') || word == "module"))
      endDefinition();
    if (word == "array")
      return checkArray();
    if (word == "iterator_types")
      return checkIteratorTypes();
    if (word == "reassociation" || word.ends_with(".expand_shape") || word.ends_with(".collapse_shape"))
      return checkGroups(word == "reassociation");
    if (word.starts_with("linalg."))
      operation = word;
    if (word == "permutation" || word == "dimensions")
      return llvm::is_contained({"linalg.transpose", "linalg.broadcast", "linalg.reduce"}, operation)
                 ? checkDimensions()
                 : Error::success();
    return word == "mod" || word == "floordiv" || word == "ceildiv" ? countOperator() : Error::success();
  }
  if (isDigit(c)) {
    at += rest.take_while(isDigit).size();
    return countDimension();
  }
  // What stands between a size and its `x`, or what follows that.
  if (!StringRef(" \t\r\n[]?*/").contains(c))
    last = Last::Other;
  if (c == '#' || c == '!')
    return readAlias();
  if (rest.starts_with("->")) {
    at += 2;
    return Error::success();
  }
  ++at;
  switch (c) {
  case '\n':
    ++line;
    break;
  case '/':
    if (rest.starts_with("//"))
      at = std::min(text.find('\n', at), text.size());
    break;
  case '"':
    --at;
    levels.back().operators = 0;
    operation = ""; // in the generic form dimensions are an attribute like any other
    if (std::optional<StringRef> quoted = skipString())
      return readQuoted(*quoted);
    return createStringError("a text has no second quote in its line");
  case ',':
  case ':':
  case '=':
    levels.back().operators = 0;
    break;
  case '?':
    return countDimension();
  case '*':
    if (Error error = countDimension())
      return error;
    return countOperator();
  case '+':
  case '-':
    return countOperator();
  case '<':
    return rest.starts_with("<=") ? Error::success() : open('<');
  case '(':
  case '[':
  case '{':
    levels.back().operators *= c != '{';
    return open(c);
  case '>':
    close('<');
    break;
  case ')':
    close('(');
    break;
  case ']':
    close('[');
    break;
  case '}':
    close('{');
    levels.back().operators = 0;
    break;
  default:
    break;
  }
  return Error::success();
}

Error Scanner::run() {
  while (at < text.size())
    if (Error error = readToken())
      return error;
  endDefinition();
  return checkGrowth();
}

Error moe_mlir::checkIrText(StringRef text, unsigned &line) {
  line = 1;
  if (text.starts_with("ML\xefR"))
    return createStringError("is MLIR bytecode; only its text is read: print it with moe-opt");
  if (text.starts_with("PK\3\4"))
    return createStringError("is an exported model, not text: moe-compile --to=graph makes text of it");
  Scanner scanner(text);
  Error error = scanner.run();
  line = scanner.line;
  return error ? std::move(error) : checkValueNames(text, line);
}
