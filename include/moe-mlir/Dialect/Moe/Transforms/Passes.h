//===- Passes.h - passes over the moe dialect -----------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_MOE_TRANSFORMS_PASSES_H
#define MOE_MLIR_DIALECT_MOE_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
class RewritePatternSet;
class TypeConverter;

namespace moe {

#define GEN_PASS_DECL
#include "moe-mlir/Dialect/Moe/Transforms/Passes.h.inc"

/// moe.gate -> dense linalg.
void populateDenseGatePatterns(const TypeConverter &converter, RewritePatternSet &patterns);
/// moe.dispatch, moe.expert, moe.combine -> dense linalg; the converter turns a layout into (expert, row) of each
/// (token, slot).
void populateDenseRowsPatterns(const TypeConverter &converter, RewritePatternSet &patterns);

/// What moe-lower-to-dense does; what it creates must be loaded (its dependent dialects).
LogicalResult lowerToDense(ModuleOp module);

#define GEN_PASS_REGISTRATION
#include "moe-mlir/Dialect/Moe/Transforms/Passes.h.inc"

} // namespace moe
} // namespace mlir

#endif // MOE_MLIR_DIALECT_MOE_TRANSFORMS_PASSES_H
