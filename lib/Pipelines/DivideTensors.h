//===- DivideTensors.h - attention and dense layers divided among ranks ---------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_PIPELINES_DIVIDETENSORS_H
#define MOE_MLIR_LIB_PIPELINES_DIVIDETENSORS_H

#include "TensorAxes.h"

namespace moe_mlir {

/// Rewrites `func` for one of the `ranks` ranks of `grid`: each has some heads, hidden columns of dense layers and
/// rows of tables. What a product gives that sums over a part is added over the ranks, and travels as `sums`. Remarks say
/// what was divided, and what stopped the rest. Whether anything was; emits an error for heads that cannot be shared.
mlir::FailureOr<bool> divideTensors(mlir::func::FuncOp func, mlir::FlatSymbolRefAttr grid, int64_t ranks,
                                    mlir::Type sums);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_PIPELINES_DIVIDETENSORS_H
