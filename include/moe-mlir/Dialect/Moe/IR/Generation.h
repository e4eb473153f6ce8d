//===- Generation.h - what generates text, and what the program says itself ------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_MOE_IR_GENERATION_H
#define MOE_MLIR_DIALECT_MOE_IR_GENERATION_H

#include "mlir/IR/BuiltinAttributes.h"

#include <optional>
#include <string>

namespace mlir::moe {

constexpr llvm::StringLiteral kGenerationAttr = "moe.generation";

/// An input or output that `moe.generation` names, as the program itself has it.
struct GenerationValue {
  llvm::StringRef name;
  llvm::ArrayRef<int64_t> shape;
  std::optional<int64_t> last; ///< end of its range

  static GenerationValue of(StringAttr name, Type type, IntegerAttr last);
  /// Of an entry of `moert.program`.
  static GenerationValue ofEntry(DictionaryAttr entry);
};

/// How numbers of `moe.generation` contradict the program, which goes by its types and ranges whatever they say; empty
/// if they do not.
std::string contradictionOf(DictionaryAttr generation, const GenerationValue &tokens, const GenerationValue &position,
                            const GenerationValue &logits);

/// The same of a cache of so many positions that holds keys or values of every position.
std::string contradictionOfCache(DictionaryAttr generation, llvm::StringRef cache, int64_t positions);

} // namespace mlir::moe

#endif // MOE_MLIR_DIALECT_MOE_IR_GENERATION_H
