//===- GenerationContract.h - what generates text, and the program ---------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_PIPELINES_GENERATIONCONTRACT_H
#define MOE_MLIR_LIB_PIPELINES_GENERATIONCONTRACT_H

#include "mlir/IR/BuiltinOps.h"

namespace moe_mlir {

/// Refuses a module whose `moe.generation` contradicts a function that it describes, with one message about the first.
mlir::LogicalResult verifyGeneration(mlir::ModuleOp module, llvm::StringRef level);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_PIPELINES_GENERATIONCONTRACT_H
