//===- GuardNames.h - names of inputs in guards ---------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_IMPORT_PT2_GUARDNAMES_H
#define MOE_MLIR_LIB_IMPORT_PT2_GUARDNAMES_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace moe_mlir::pt2 {

/// A guard for a message: "x.size()[0] > 10".
std::string plainText(llvm::StringRef guard);

} // namespace moe_mlir::pt2

#endif // MOE_MLIR_LIB_IMPORT_PT2_GUARDNAMES_H
