//===- DtypeRules.h - the element types of a call's results, from its operands --------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_IMPORT_PT2_DTYPERULES_H
#define MOE_MLIR_LIB_IMPORT_PT2_DTYPERULES_H

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

#include "llvm/Support/Error.h"

namespace moe_mlir::pt2 {

/// PyTorch's name of an element type: "float32", "bool".
std::string dtypeName(mlir::Type element);

/// Checks that the element types of results are those which the operator makes of its operands, numbers and arguments
/// (PyTorch's promotion of types), and that operands which must have one type, a whole number's or a truth value's do.
/// Patterns and lowerings compute in what the graph declares, so a false declaration would change results in silence.
/// Nothing is said of operators without a rule. Errors are `ImportError`s that say what is wrong with the call.
llvm::Error checkDtypes(mlir::aten::CallOp call);

} // namespace moe_mlir::pt2

#endif // MOE_MLIR_LIB_IMPORT_PT2_DTYPERULES_H
