//===- GuardText.cpp - what an exported program asks of the sizes of its inputs -----------------------------------===//

#include "GuardText.h"

#include "llvm/ADT/StringExtras.h"

#include <utility>

using namespace llvm;
using namespace moe_mlir::pt2;

namespace {
using Kind = GuardTerm::Kind;

/// Recursive descent, with the precedence of Python.
class Parser {
public:
  explicit Parser(StringRef text) : rest(text) {}

  std::optional<GuardTerm> parse(bool isTruth) {
    hasSymbols = !isTruth;
    std::optional<GuardTerm> term = parseOr();
    rest = rest.ltrim();
    return term && term->isTruth() == isTruth && rest.empty() ? term : std::nullopt;
  }

private:
  using Parse = std::optional<GuardTerm> (Parser::*)();

  /// Nobody vouches for the text; what torch.export writes is a tenth as deep and as long.
  static constexpr unsigned kMaxDepth = 100, kMaxTerms = 1000;

  bool accept(StringRef token) {
    rest = rest.ltrim();
    StringRef behind = rest;
    if (!behind.consume_front(token) || (isAlpha(token.back()) && !behind.empty() && isWordCharacter(behind.front())))
      return false;
    rest = behind;
    return true;
  }
  static bool isWordCharacter(char c) { return isAlnum(c) || c == '_' || c == '.'; }

  std::optional<GuardTerm> leaf(GuardTerm term) {
    return ++count > kMaxTerms ? std::nullopt : std::optional(std::move(term));
  }

  std::optional<GuardTerm> make(Kind kind, std::vector<GuardTerm> operands) {
    if (++count > kMaxTerms)
      return std::nullopt;
    const bool takesTruth = kind >= GuardTerm::And;
    for (const GuardTerm &operand : operands)
      if (operand.isTruth() != takesTruth)
        return std::nullopt;
    // Integers alone: `//` and `%` of others are seldom what somebody means.
    if (kind == GuardTerm::FloorDiv || kind == GuardTerm::Mod)
      for (const GuardTerm &operand : operands)
        if (operand.isReal())
          return std::nullopt;
    return GuardTerm{kind, 0, 0, "", std::move(operands)};
  }

  /// A chain of operators of one precedence, from the left.
  std::optional<GuardTerm> parseChain(Parse operand, ArrayRef<std::pair<StringRef, Kind>> operators) {
    std::optional<GuardTerm> term = (this->*operand)();
    for (bool goesOn = true; term && goesOn;) {
      goesOn = false;
      for (auto [token, kind] : operators) {
        if (!accept(token))
          continue;
        std::optional<GuardTerm> other = (this->*operand)();
        if (!other)
          return std::nullopt;
        term = make(kind, {std::move(*term), std::move(*other)});
        goesOn = true;
        break;
      }
    }
    return term;
  }

  std::optional<GuardTerm> parseOr() {
    if (++depth > kMaxDepth)
      return std::nullopt;
    std::optional<GuardTerm> term = parseChain(&Parser::parseAnd, {{"or", GuardTerm::Or}});
    --depth;
    return term;
  }
  std::optional<GuardTerm> parseAnd() { return parseChain(&Parser::parseNot, {{"and", GuardTerm::And}}); }

  std::optional<GuardTerm> parseNot() {
    bool isNegated = false;
    while (accept("not"))
      isNegated = !isNegated;
    std::optional<GuardTerm> term = parseComparison();
    return term && isNegated ? make(GuardTerm::Not, {std::move(*term)}) : std::move(term);
  }

  /// One comparison: `a < b < c` is none of two of them.
  std::optional<GuardTerm> parseComparison() {
    std::optional<GuardTerm> term = parseSum();
    if (!term)
      return term;
    for (auto [token, kind] : {std::pair("==", GuardTerm::Eq), {"!=", GuardTerm::Ne}, {"<=", GuardTerm::Le},
                               {">=", GuardTerm::Ge}, {"<", GuardTerm::Lt}, {">", GuardTerm::Gt}})
      if (accept(token)) {
        std::optional<GuardTerm> other = parseSum();
        return other ? make(kind, {std::move(*term), std::move(*other)}) : std::nullopt;
      }
    return term;
  }

  std::optional<GuardTerm> parseSum() {
    return parseChain(&Parser::parseProduct, {{"+", GuardTerm::Add}, {"-", GuardTerm::Sub}});
  }
  std::optional<GuardTerm> parseProduct() {
    // A power, `**`, ends the text for it: no operand begins so.
    return parseChain(&Parser::parseFactor,
                      {{"*", GuardTerm::Mul},
                       {"//", GuardTerm::FloorDiv},
                       {"/", GuardTerm::Div},
                       {"%", GuardTerm::Mod}});
  }

  std::optional<GuardTerm> parseFactor() {
    if (accept("-")) {
      std::optional<GuardTerm> term = parsePrimary();
      return term ? make(GuardTerm::Neg, {std::move(*term)}) : std::nullopt;
    }
    return parsePrimary();
  }

  std::optional<GuardTerm> parsePrimary() {
    if (accept("(")) {
      std::optional<GuardTerm> term = parseOr();
      return accept(")") ? std::move(term) : std::nullopt;
    }
    for (auto [token, kind] : {std::pair("min(", GuardTerm::Min),
                               {"max(", GuardTerm::Max},
                               {"abs(", GuardTerm::Abs},
                               {"math.floor(", GuardTerm::Floor},
                               {"math.ceil(", GuardTerm::Ceil},
                               {"math.trunc(", GuardTerm::Trunc},
                               {"torch.sym_float(", GuardTerm::ToReal}})
      if (accept(token))
        return parseList(kind);
    if (hasSymbols)
      return parseSymPy();
    if (accept("L["))
      return parseSize();
    return parseNumber();
  }

  /// What stands in the size of a tensor alone.
  std::optional<GuardTerm> parseSymPy() {
    for (auto [token, kind] : {std::pair("Add(", GuardTerm::Add),
                               {"Mul(", GuardTerm::Mul},
                               {"Max(", GuardTerm::Max},
                               {"Min(", GuardTerm::Min},
                               {"FloorDiv(", GuardTerm::FloorDiv},
                               {"CleanDiv(", GuardTerm::FloorDiv},
                               {"Mod(", GuardTerm::Mod},
                               {"PythonMod(", GuardTerm::Mod}})
      if (accept(token))
        return parseList(kind);
    if (accept("Integer(")) {
      if (++depth > kMaxDepth)
        return std::nullopt;
      std::optional<GuardTerm> term = parseFactor();
      --depth;
      return accept(")") ? std::move(term) : std::nullopt;
    }
    StringRef name = rest;
    if (accept("Symbol('")) {
      std::tie(name, rest) = rest.split('\'');
      rest = rest.split(')').second;
    } else if (!rest.empty() && isAlpha(rest.front())) {
      name = rest.take_while([](char c) { return isAlnum(c) || c == '_'; });
      rest = rest.drop_front(name.size());
    } else {
      return parseNumber();
    }
    return leaf(GuardTerm{GuardTerm::Symbol, 0, 0, name.str(), {}});
  }

  std::optional<GuardTerm> parseNumber() {
    StringRef word = rest.take_while(isWordCharacter), exponent = rest.drop_front(word.size());
    if (!word.empty() && isDigit(word.front()) && word.ends_with("e") && // 1e-05
        (exponent.consume_front("-") || exponent.consume_front("+")))
      word = rest.take_front(word.size() + 1 + exponent.take_while(isDigit).size());
    rest = rest.drop_front(word.size());
    const bool hasZero = word.size() > 1 && word.front() == '0' && isDigit(word[1]); // no number of Python
    if (int64_t number; !hasZero && !word.getAsInteger(10, number))
      return leaf(GuardTerm{GuardTerm::Number, number, 0, "", {}});
    const bool isReal = !hasZero && !word.empty() && isDigit(word.front()) &&
                        word.find_first_of(".e") != StringRef::npos &&
                        word.find_first_not_of("0123456789.e+-") == StringRef::npos;
    if (double number; isReal && !word.getAsDouble(number))
      return leaf(GuardTerm{GuardTerm::Real, 0, number, "", {}});
    return std::nullopt;
  }

  std::optional<GuardTerm> parseList(Kind kind) {
    std::vector<GuardTerm> operands;
    do {
      std::optional<GuardTerm> term = parseOr();
      if (!term)
        return std::nullopt;
      operands.push_back(std::move(*term));
    } while (accept(","));
    const bool isOne = kind == GuardTerm::ToReal || kind == GuardTerm::Abs || kind == GuardTerm::Floor ||
                       kind == GuardTerm::Ceil || kind == GuardTerm::Trunc;
    const bool isPair = kind == GuardTerm::FloorDiv || kind == GuardTerm::Mod;
    if (!accept(")") || (isOne && operands.size() != 1) || (isPair && operands.size() != 2))
      return std::nullopt;
    return make(kind, std::move(operands));
  }

  /// Behind `L[`. A list, a dictionary or a named tuple of inputs has `L['xs'][0]['y'].z`, which torch.export calls
  /// xs_0_y_z in the graph.
  std::optional<GuardTerm> parseSize() {
    std::string name;
    do {
      auto [key, behind] = rest.split(']');
      const bool isText = key.size() > 2 && key.front() == '\'' && key.back() == '\'';
      StringRef word = isText ? key.drop_front().drop_back() : key;
      if (word.empty() || (!isText && !all_of(word, isDigit)))
        return std::nullopt;
      name += name.empty() ? "" : "_";
      for (char c : word)
        name += isAlnum(c) ? toLower(c) : '_';
      rest = behind;
      while (!rest.starts_with(".size()[") && rest.consume_front(".")) { // a field of a named tuple
        StringRef field = rest.take_while([](char c) { return isAlnum(c) || c == '_'; });
        if (field.empty())
          return std::nullopt;
        name += "_" + field.lower();
        rest = rest.drop_front(field.size());
      }
    } while (rest.consume_front("["));
    int64_t dim;
    if (!rest.consume_front(".size()[") || rest.consumeInteger(10, dim) || dim < 0 || !rest.consume_front("]"))
      return std::nullopt;
    return leaf(GuardTerm{GuardTerm::Size, dim, 0, std::move(name), {}});
  }

  StringRef rest;
  bool hasSymbols = false;
  unsigned depth = 0, count = 0;
};
} // namespace

size_t GuardTerm::count() const {
  size_t count = 1;
  for (const GuardTerm &operand : operands)
    count += operand.count();
  return count;
}

bool GuardTerm::isReal() const {
  switch (kind) {
  case Real:
  case ToReal:
  case Div:
    return true;
  case Abs:
  case Neg:
  case Add:
  case Sub:
  case Mul:
  case Min:
  case Max:
    return any_of(operands, [](const GuardTerm &operand) { return operand.isReal(); });
  default:
    return false;
  }
}

std::optional<GuardTerm> moe_mlir::pt2::parseGuard(StringRef text) { return Parser(text).parse(/*isTruth=*/true); }

std::optional<GuardTerm> moe_mlir::pt2::parseSizeExpression(StringRef text) {
  return Parser(text).parse(/*isTruth=*/false);
}
