//===- ScalarRegion.h - what the body of a linalg op or an activation may hold --------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SUPPORT_SCALARREGION_H
#define MOE_MLIR_SUPPORT_SCALARREGION_H

#include "mlir/IR/Operation.h"

namespace moe_mlir {

/// Why `op` cannot stand in a scalar region (the body of a linalg op, the activation of moe.expert); empty if it can.
/// What it may hold is computed by every kernel on a CPU:
///   - arith, math and scf on i1, i8, i16, i32, i64, index, f16, bf16, f32 and f64, and nn.silu;
///   - tensor.extract and tensor.dim of tensors from outside, and linalg.index.
llvm::StringRef whyNotScalar(mlir::Operation *op);

/// Why the loops of `op` give no results; empty if they do, or it is no linalg op: what a reduction makes has no index of
/// the dimension that it reduces.
llvm::StringRef whyNoResult(mlir::Operation *op);

/// Whether `op` rounds its first operand and does nothing else: arith.truncf on tensors, or the linalg op made of it.
bool roundsOnly(mlir::Operation *op);

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_SCALARREGION_H
