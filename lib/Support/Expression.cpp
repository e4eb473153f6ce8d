//===- Expression.cpp - arithmetic on single elements, read from text ---------------------------------------------===//

#include "moe-mlir/Support/Expression.h"

#include "moe-mlir/Support/UntrustedJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

#include <cmath>

using namespace llvm;
using namespace moe_mlir;

/// Bounds of what is read, the same as the exporter's.
static constexpr size_t maxLength = 4096;
static constexpr unsigned maxNesting = 64;

ArrayRef<StringLiteral> moe_mlir::unaryOperators() {
  static constexpr StringLiteral names[] = {"neg",  "abs",    "exp",  "expm1", "log",     "log1p", "sqrt",
                                            "rsqrt", "square", "sin",  "cos",   "sigmoid", "tanh",  "erf",
                                            "relu", "silu",   "gelu", "gelu_tanh", "softplus"};
  return names;
}

ArrayRef<StringLiteral> moe_mlir::binaryOperators() {
  static constexpr StringLiteral names[] = {"add", "sub", "mul", "div", "pow", "min", "max"};
  return names;
}

namespace {
class ExpressionReader {
public:
  ExpressionReader(StringRef text, bool gated) : text(text), rest(text), gated(gated) {}

  Error readAll();

  Expression result;

private:
  Error read(unsigned nesting);
  Error readNumber(StringRef token);
  StringRef take();
  Error fail(StringRef token, const Twine &what) {
    size_t place = token.empty() ? text.size() : token.begin() - text.begin();
    return createStringError("character " + Twine(place) + ": " + what);
  }

  StringRef text, rest;
  bool gated;
};
} // namespace

/// The next parenthesis or word; empty at the end.
StringRef ExpressionReader::take() {
  rest = rest.ltrim();
  size_t size = rest.find_first_of("() \t\n\v\f\r");
  StringRef token = rest.take_front(size == 0 ? 1 : size);
  rest = rest.drop_front(token.size());
  return token;
}

Error ExpressionReader::readNumber(StringRef token) {
  double number = 0;
  bool begins = !token.empty() && (isDigit(token[0]) || token[0] == '-' || token[0] == '.');
  if (token.empty())
    return fail(token, "the expression ends here");
  if (!begins || token.getAsDouble(number) || !std::isfinite(static_cast<float>(number)))
    return fail(token, "'" + printable(token) + "' is neither " + (gated ? "gate, up" : "up") +
                           ", a finite number nor (");
  result.push_back({ExpressionStep::Number, number});
  return Error::success();
}

Error ExpressionReader::read(unsigned nesting) {
  StringRef token = take();
  if (token == "up" || (token == "gate" && gated)) {
    result.push_back({token == "up" ? ExpressionStep::Up : ExpressionStep::Gate});
    return Error::success();
  }
  if (token != "(")
    return readNumber(token);
  if (nesting == maxNesting)
    return fail(token, "more than " + Twine(maxNesting) + " nested parentheses");
  StringRef name = take();
  const auto *one = find(unaryOperators(), name), *two = find(binaryOperators(), name);
  bool isUnary = one != unaryOperators().end();
  if (!isUnary && two == binaryOperators().end())
    return fail(name, "there is no operator '" + printable(name) + "'");
  for (unsigned operand = 0; operand < (isUnary ? 1u : 2u); ++operand)
    if (Error error = read(nesting + 1))
      return error;
  StringRef end = take();
  if (end != ")")
    return fail(end, "expected ) behind " + Twine(isUnary ? 1 : 2) + " operand(s) of " + name + ", got '" +
                         printable(end) + "'");
  result.push_back({isUnary ? ExpressionStep::Unary : ExpressionStep::Binary, 0, isUnary ? *one : *two});
  return Error::success();
}

Error ExpressionReader::readAll() {
  if (text.size() > maxLength)
    return createStringError("more than " + Twine(maxLength) + " characters");
  if (Error error = read(0))
    return error;
  StringRef more = take();
  return more.empty() ? Error::success() : fail(more, "expected the end, got '" + printable(more) + "'");
}

Expected<Expression> moe_mlir::parseExpression(StringRef text, bool gated) {
  ExpressionReader reader(text, gated);
  if (Error error = reader.readAll())
    return std::move(error);
  return std::move(reader.result);
}
