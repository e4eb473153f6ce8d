//===- GuardSamples.cpp - sizes to try expressions with -----------------------------------------------------------===//

#include "GuardSamples.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace moe_mlir::pt2;

void SampleDraws::addNumbersOf(const GuardTerm &term) {
  const double number = term.kind == GuardTerm::Real ? term.real : static_cast<double>(term.number);
  const bool isNumber = term.kind == GuardTerm::Real || term.kind == GuardTerm::Number;
  if (isNumber && std::abs(number) >= 2 && !llvm::is_contained(numbers, std::abs(number)))
    numbers.push_back(std::abs(number));
  for (const GuardTerm &operand : term.operands)
    addNumbersOf(operand);
}

double SampleDraws::draw() {
  auto below = [&](unsigned end) { return static_cast<double>(random() % end); };
  // Each symbol has a magnitude of its own in every other sample.
  switch (kind % 16 < 8 ? kind % 8 : random() % 8) {
  case 0:
  case 1:
    return 2 + below(8);
  case 2:
    return 2 + below(40);
  case 3:
    return 2 + below(200);
  case 4:
    return 2 + below(2000);
  case 5:
    return 2 + below(2u << (random() % 24));
  default: {
    if (numbers.empty())
      return 2 + below(40);
    const double number = numbers[random() % numbers.size()], times = 1 + below(4);
    return std::max(2.0, std::floor(number * times / (1 + below(4))) + below(4) - 1);
  }
  }
}
