//===- GuardText.h - what an exported program asks of the sizes of its inputs ---------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_IMPORT_PT2_GUARDTEXT_H
#define MOE_MLIR_LIB_IMPORT_PT2_GUARDTEXT_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace moe_mlir::pt2 {

/// A guard as a tree: `(L['x'].size()[0] % 2) == 0`. Numbers are integers of Python, comparisons give truth values. The
/// sizes of tensors of the graph are trees of symbols: `Mul(Integer(2), Symbol('s60', positive=True, integer=True))`.
struct GuardTerm {
  enum Kind {
    Number,
    Real,
    Size,
    Symbol,
    ToReal,
    Floor,
    Ceil,
    Trunc,
    Abs,
    Neg,
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Min,
    Max,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    Not
  };

  Kind kind;
  int64_t number = 0;              ///< of a number; of a size its dimension
  double real = 0;                 ///< of a real number
  std::string input;               ///< of a size "x" for L['x'], "xs_0_y" for L['xs'][0]['y']; the name of a symbol
  std::vector<GuardTerm> operands; ///< one up to Neg and of Not, one or more of Min and Max, two of others

  bool isTruth() const { return kind >= Eq; }
  /// Whether it is a number with a fraction.
  bool isReal() const;
  /// Of how many terms it consists.
  size_t count() const;
  bool isDivision() const { return kind == Div || kind == FloorDiv || kind == Mod; }
  bool isComparison() const { return kind >= Eq && kind <= Ge; }
  bool isNumber(int64_t value) const { return kind == Number && number == value; }
  bool operator==(const GuardTerm &other) const {
    return kind == other.kind && number == other.number && real == other.real && input == other.input &&
           operands == other.operands;
  }
  bool isZero() const { return isNumber(0) || (kind == Real && real == 0); }
};

/// Reads the expressions that torch.export writes of sizes: `+ - * / // % == != < <= > >= and or not min max abs`,
/// `math.floor`, `ceil` and `trunc`, `torch.sym_float` and parentheses. Nothing for others.
std::optional<GuardTerm> parseGuard(llvm::StringRef text);

/// Reads the size of a tensor, as SymPy prints it for people (`2*s60`) or for itself (`Mul(Integer(2), Symbol('s60'))`).
std::optional<GuardTerm> parseSizeExpression(llvm::StringRef text);

/// The value of a number, or 1 and 0 for a truth value; `leaf` has those of sizes and symbols. NaN behind a division by 0.
double evaluate(const GuardTerm &term, llvm::function_ref<double(const GuardTerm &)> leaf);

} // namespace moe_mlir::pt2

#endif // MOE_MLIR_LIB_IMPORT_PT2_GUARDTEXT_H
