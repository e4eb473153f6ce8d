//===- CallRules.h - whether a call fits the types that the graph gives it ------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_IMPORT_PT2_CALLRULES_H
#define MOE_MLIR_LIB_IMPORT_PT2_CALLRULES_H

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

#include "llvm/Support/Error.h"

namespace moe_mlir::pt2 {

/// The graph gives every value a type, and nothing in the file makes sure that an operator can have such operands and
/// results. Checks of the operators that are known that arguments which must be tensors are, that dimensions exist, and
/// that the ranks and the static sizes of results follow from the operands: the passes rely on it. An operator that is
/// not known is left to the report of those. Errors are `ImportError`s that say what is wrong with the call.
llvm::Error checkCall(mlir::aten::CallOp call);

} // namespace moe_mlir::pt2

#endif // MOE_MLIR_LIB_IMPORT_PT2_CALLRULES_H
