//===- LayerName.h - what a layer is called in reports, traces and tables -------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_MOE_IR_LAYERNAME_H
#define MOE_MLIR_DIALECT_MOE_IR_LAYERNAME_H

#include "mlir/IR/Operation.h"

#include <string>

namespace mlir::moe {

/// The layer's name ("model.layers.0.mlp"), by the weights of the experts that an op's results lead to; "moe" without.
std::string layerName(Operation *op);

} // namespace mlir::moe

#endif // MOE_MLIR_DIALECT_MOE_IR_LAYERNAME_H
