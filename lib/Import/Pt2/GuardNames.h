//===- GuardNames.h - names of inputs in guards ---------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_IMPORT_PT2_GUARDNAMES_H
#define MOE_MLIR_LIB_IMPORT_PT2_GUARDNAMES_H

#include "GuardText.h"

namespace moe_mlir::pt2 {

/// A guard for a message: "x.size()[0] > 10".
std::string plainText(llvm::StringRef guard);

/// A size as people write it, without blanks, which stand between sizes: `s17+1` of `Add(Symbol('s17'), Integer(1))`.
/// Sizes of one text are equal. `nameOf` has the name of a symbol. What cannot be read as a term keeps its functions.
std::string plainSize(llvm::StringRef expression, llvm::function_ref<llvm::StringRef(llvm::StringRef)> nameOf);

} // namespace moe_mlir::pt2

#endif // MOE_MLIR_LIB_IMPORT_PT2_GUARDNAMES_H
