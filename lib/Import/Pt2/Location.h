//===- Location.h - source locations of graph nodes -----------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_IMPORT_PT2_LOCATION_H
#define MOE_MLIR_LIB_IMPORT_PT2_LOCATION_H

#include "mlir/IR/Location.h"
#include "moe-mlir/Support/UntrustedJson.h"

namespace moe_mlir::pt2 {

/// Where the model's own code made the node: the innermost frame of the stack trace outside of torch, under the name of
/// the innermost module. Without a usable trace, the node's name.
mlir::Location getNodeLocation(mlir::MLIRContext *context, const JsonObject *metadata, llvm::StringRef nodeName);

} // namespace moe_mlir::pt2

#endif // MOE_MLIR_LIB_IMPORT_PT2_LOCATION_H
