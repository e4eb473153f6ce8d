//===- InitAll.h - registration of everything, for the tools ------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_INITALL_H
#define MOE_MLIR_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace moe_mlir {

/// Registers the project's dialects and the upstream ones that its levels use.
void registerAllDialects(mlir::DialectRegistry &registry);
/// Registers the project's passes and pipelines and the upstream passes that help when working with them.
void registerAllPasses();

} // namespace moe_mlir

#endif // MOE_MLIR_INITALL_H
