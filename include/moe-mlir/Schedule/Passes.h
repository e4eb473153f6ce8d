//===- Passes.h - decisions of level scheduled --------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SCHEDULE_PASSES_H
#define MOE_MLIR_SCHEDULE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::kernel {

#define GEN_PASS_DECL
#include "moe-mlir/Schedule/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "moe-mlir/Schedule/Passes.h.inc"

} // namespace mlir::kernel

#endif // MOE_MLIR_SCHEDULE_PASSES_H
