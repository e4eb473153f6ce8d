//===- TextTable.cpp - aligned columns ----------------------------------------------------------------------------===//

#include "TextTable.h"

#include "moe-mlir/Support/TerminalText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

using namespace llvm;
using namespace moe_mlir;

void TextTable::add(const std::vector<std::string> &cells) {
  std::vector<std::string> &line = lines.emplace_back();
  for (const std::string &cell : cells)
    line.push_back(forTerminal(cell, /*isName=*/true));
}

void TextTable::print(raw_ostream &os) const {
  std::vector<size_t> widths;
  for (const std::vector<std::string> &line : lines)
    for (auto [column, cell] : enumerate(line)) {
      widths.resize(std::max(widths.size(), column + 1));
      widths[column] = std::max(widths[column], cell.size());
    }
  for (const std::vector<std::string> &line : lines) {
    std::string text;
    for (auto [column, cell] : enumerate(line)) {
      std::string space(widths[column] - cell.size(), ' ');
      text += (column ? "  " : "") + (column < textColumns ? cell + space : space + cell);
    }
    os << StringRef(text).rtrim() << "\n";
  }
}

std::string moe_mlir::threeDigits(double value) {
  int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::string text;
  raw_string_ostream(text) << format("%.*f", digits, value);
  return text;
}

std::string moe_mlir::prefixed(double value) {
  StringRef prefixes = "kMGTPE";
  // What rounds to 1000 has the next prefix.
  for (value /= 1000; value >= 999.5 && prefixes.size() > 1; value /= 1000)
    prefixes = prefixes.drop_front();
  return threeDigits(value) + prefixes[0];
}

std::string moe_mlir::durationText(std::optional<double> seconds) {
  if (!seconds)
    return "?";
  double value = *seconds * 1e9;
  const char *unit = " ns";
  for (const char *larger : {" us", " ms"})
    if (value >= 999.5) {
      value /= 1000;
      unit = larger;
    }
  return threeDigits(value) + unit;
}
