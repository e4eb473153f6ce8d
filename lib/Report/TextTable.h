//===- TextTable.h - aligned columns --------------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_REPORT_TEXTTABLE_H
#define MOE_MLIR_LIB_REPORT_TEXTTABLE_H

#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>
#include <vector>

namespace moe_mlir {

/// Lines of cells: the first columns are text, the others numbers.
class TextTable {
public:
  explicit TextTable(size_t textColumns) : textColumns(textColumns) {}

  /// Names in cells are shown as a terminal may have them.
  void add(const std::vector<std::string> &cells);
  void print(llvm::raw_ostream &os) const;

private:
  size_t textColumns;
  std::vector<std::vector<std::string>> lines;
};

/// "4.19", "41.9", "419".
std::string threeDigits(double value);
/// The same of a value of 1000 or more, with a decimal prefix: "4.19M".
std::string prefixed(double value);
/// "170 ns", "12.3 us", "1.23 ms"; "?" for none.
std::string durationText(std::optional<double> seconds);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_REPORT_TEXTTABLE_H
