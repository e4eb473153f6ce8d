//===- Passes.h - the decisions and contracts between levels --------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_PIPELINES_PASSES_H
#define MOE_MLIR_PIPELINES_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace moe_mlir {

#define GEN_PASS_DECL
#include "moe-mlir/Pipelines/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "moe-mlir/Pipelines/Passes.h.inc"

} // namespace moe_mlir

#endif // MOE_MLIR_PIPELINES_PASSES_H
