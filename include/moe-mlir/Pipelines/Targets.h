//===- Targets.h - targets by their names ---------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_PIPELINES_TARGETS_H
#define MOE_MLIR_PIPELINES_TARGETS_H

#include "moe-mlir/Dialect/Kernel/IR/Target.h"

namespace moe_mlir {

/// The target "KIND:DEVICE", as "cpu:znver4", "cuda:h200" or "cuda:sm_90a"; "cpu" is the machine this runs on. Null with
/// a message in `error` if there is none of that name.
mlir::kernel::TargetAttrInterface makeTarget(mlir::MLIRContext *context, llvm::StringRef name, std::string &error);

/// All of them, for messages: "cpu, cuda:h200, ..., cuda:sm_90a".
std::string targetNames();

} // namespace moe_mlir

#endif // MOE_MLIR_PIPELINES_TARGETS_H
