//===- Passes.h - what no pattern raised, as linalg --------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_CONVERSION_ATENTOLINALG_PASSES_H
#define MOE_MLIR_CONVERSION_ATENTOLINALG_PASSES_H

#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"

namespace mlir::aten {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "moe-mlir/Conversion/AtenToLinalg/Passes.h.inc"
} // namespace mlir::aten

#endif // MOE_MLIR_CONVERSION_ATENTOLINALG_PASSES_H
