//===- GuardStrides.h - guards that are not the model's -------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_IMPORT_PT2_GUARDSTRIDES_H
#define MOE_MLIR_LIB_IMPORT_PT2_GUARDSTRIDES_H

#include "GuardSizes.h"

namespace moe_mlir::pt2 {

/// Whether tracing only assumes it of a size that it has computed: that it is neither 0 nor 1. It is the guard of
/// that number.
bool isAssumption(const GuardTerm &guard, size_t place, const GuardSizes &sizes);

/// Whether it is about strides, of which a size of 0 asks nothing.
bool isOfStrides(const GuardTerm &guard, const GuardSizes &sizes);

} // namespace moe_mlir::pt2

#endif // MOE_MLIR_LIB_IMPORT_PT2_GUARDSTRIDES_H
