//===- GuardNames.cpp - names of inputs in guards -----------------------------------------------------------------===//

#include "GuardNames.h"
#include "Graph.h"
#include "Support.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace moe_mlir;
using namespace moe_mlir::pt2;

std::string moe_mlir::pt2::plainText(StringRef guard) {
  std::string text;
  while (!guard.empty()) {
    auto [before, name] = guard.split("L['");
    text += before;
    guard = name;
    auto [inside, behind] = guard.split("']");
    text += inside;
    guard = behind;
  }
  return printable(text);
}

namespace {
/// Writes a term with as few parentheses as its reader needs.
class SizeText {
public:
  using NameOf = llvm::function_ref<StringRef(StringRef)>;

  explicit SizeText(NameOf nameOf) : nameOf(nameOf) {}

  /// In parentheses if it binds less than `least`: 1 for a sum, 2 for a product, 3 for an operand of one, 4 behind a
  /// sign.
  std::string write(const GuardTerm &term, int least = 1) const {
    auto [text, binds] = writeBare(term);
    return binds < least ? "(" + text + ")" : text;
  }

private:
  std::pair<std::string, int> writeBare(const GuardTerm &term) const {
    ArrayRef<GuardTerm> operands = term.operands;
    switch (term.kind) {
    case GuardTerm::Symbol:
      return {nameOf(term.input).str(), 4};
    case GuardTerm::Number:
      return {std::to_string(term.number), term.number < 0 ? 3 : 4};
    case GuardTerm::Real:
      return {formatv("{0}", term.real).str(), 3};
    case GuardTerm::Neg:
      return {"-" + write(operands[0], 4), 3};
    case GuardTerm::Mul:
      if (isMinusOne(operands[0]) && operands.size() == 2) // so SymPy writes a sign
        return {"-" + write(operands[1], 4), 3};
      break;
    default:
      break;
    }
    for (auto [kind, sign, binds] : {std::tuple(GuardTerm::Add, "+", 1),
                                     {GuardTerm::Sub, "-", 1},
                                     {GuardTerm::Mul, "*", 2},
                                     {GuardTerm::Div, "/", 2},
                                     {GuardTerm::FloorDiv, "//", 2},
                                     {GuardTerm::Mod, "%", 2}})
      if (term.kind == kind)
        return {chain(operands, sign, binds), binds};
    for (auto [kind, name] : {std::pair(GuardTerm::Min, "min"),
                              {GuardTerm::Max, "max"},
                              {GuardTerm::Abs, "abs"},
                              {GuardTerm::Floor, "floor"},
                              {GuardTerm::Ceil, "ceil"},
                              {GuardTerm::Trunc, "trunc"},
                              {GuardTerm::ToReal, "float"}})
      if (term.kind == kind)
        return {call(name, operands), 4};
    llvm_unreachable("a size is no truth value");
  }

  static bool isMinusOne(const GuardTerm &term) {
    return term.isNumber(-1) || (term.kind == GuardTerm::Neg && term.operands[0].isNumber(1));
  }

  /// From the left, as it is read.
  std::string chain(ArrayRef<GuardTerm> operands, StringRef sign, int binds) const {
    std::string text = write(operands[0], binds);
    if (binds == 2 && sign != "*" && StringRef(text).starts_with("-")) // (-a)//b is another number than -(a//b)
      text = "(" + text + ")";
    for (const GuardTerm &operand : operands.drop_front()) {
      std::string next = write(operand, binds + 1);
      text += sign == "+" && StringRef(next).starts_with("-") ? next : sign.str() + next;
    }
    return text;
  }

  std::string call(StringRef name, ArrayRef<GuardTerm> operands) const {
    auto texts = map_range(operands, [&](const GuardTerm &term) { return write(term); });
    return (name + "(" + join(texts.begin(), texts.end(), ",") + ")").str();
  }

  NameOf nameOf;
};
} // namespace

std::string moe_mlir::pt2::plainSize(StringRef expression, llvm::function_ref<StringRef(StringRef)> nameOf) {
  if (std::optional<GuardTerm> term = parseSizeExpression(expression))
    return SizeText(nameOf).write(*term);
  std::string text;
  for (StringRef rest = expression; !rest.empty();) {
    StringRef behind = rest;
    if (behind.consume_front("Symbol('") && behind.contains('\'') && behind.contains(')')) {
      text += nameOf(behind.split('\'').first);
      rest = behind.split(')').second;
    } else if (behind = rest; behind.consume_front("Integer(") && behind.contains(')')) {
      text += behind.split(')').first;
      rest = behind.split(')').second;
    } else {
      text += rest.front() == ' ' ? "" : rest.take_front();
      rest = rest.drop_front();
    }
  }
  return text;
}

Expected<std::string> GraphReader::findInput(const GuardTerm &size, StringRef guard) const {
  if (StringRef number = size.input; !argumentOf.contains(number) && number.consume_front("flat_args_")) {
    // So strict export calls the inputs, in their order.
    size_t place;
    if (!number.getAsInteger(10, place) && place < flatInputs.size())
      return flatInputs[place];
  }
  // torch.export tells two inputs whose names became one from each other by a number, and the guard does not say which
  // of them it means.
  for (const auto &argument : argumentOf) {
    StringRef number = argument.getKey();
    if (argumentOf.contains(size.input) && number.consume_front(size.input) && number.consume_front("_") &&
        !number.empty() && all_of(number, isDigit))
      return unsupportedError("graph: it was exported for inputs with " + plainText(guard) +
                              ", and the names of inputs '" + size.input + "' and '" + argument.getKey() +
                              "' do not say which one that is; give them other names");
  }
  return size.input;
}

Error GraphReader::findInputs(GuardTerm &guard, StringRef text) const {
  if (guard.kind == GuardTerm::Size) {
    Expected<std::string> name = findInput(guard, text);
    if (!name)
      return name.takeError();
    guard.input = *name;
  }
  for (GuardTerm &operand : guard.operands)
    if (Error error = findInputs(operand, text))
      return error;
  return Error::success();
}
