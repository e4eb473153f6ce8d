//===- GuardNames.cpp - names of inputs in guards -----------------------------------------------------------------===//

#include "GuardNames.h"
#include "Graph.h"
#include "Support.h"

#include "llvm/ADT/StringExtras.h"

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
