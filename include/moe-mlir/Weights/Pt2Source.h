//===- Pt2Source.h - weights of a .pt2 file -------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_WEIGHTS_PT2SOURCE_H
#define MOE_MLIR_WEIGHTS_PT2SOURCE_H

#include "moe-mlir/Weights/Source.h"

#include <memory>

namespace moe_mlir {

/// Opens a .pt2 file for its weights only; the graph is not read. Errors are `ImportError`s.
llvm::Expected<std::unique_ptr<WeightSource>> openPt2Weights(llvm::StringRef path);

} // namespace moe_mlir

#endif // MOE_MLIR_WEIGHTS_PT2SOURCE_H
