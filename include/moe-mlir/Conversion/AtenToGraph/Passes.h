//===- Passes.h - from aten calls to the graph level -------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_CONVERSION_ATENTOGRAPH_PASSES_H
#define MOE_MLIR_CONVERSION_ATENTOGRAPH_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::aten {

#define GEN_PASS_DECL
#include "moe-mlir/Conversion/AtenToGraph/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "moe-mlir/Conversion/AtenToGraph/Passes.h.inc"

} // namespace mlir::aten

#endif // MOE_MLIR_CONVERSION_ATENTOGRAPH_PASSES_H
