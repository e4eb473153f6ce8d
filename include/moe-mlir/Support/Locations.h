//===- Locations.h - locations for people -------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SUPPORT_LOCATIONS_H
#define MOE_MLIR_SUPPORT_LOCATIONS_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/SetVector.h"

#include <string>

namespace moe_mlir {

/// What a location says, in order and without repetitions.
struct LocationParts {
  std::string place;                      ///< the first place in a file, "file.py:12"; empty without one
  llvm::SetVector<llvm::StringRef> names; ///< modules of the model, arguments, nodes of its graph
};
LocationParts partsOf(mlir::Location location);

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_LOCATIONS_H
