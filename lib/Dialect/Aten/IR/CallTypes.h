//===- CallTypes.h - what values an operator can take and give ------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DIALECT_ATEN_IR_CALLTYPES_H
#define MOE_MLIR_LIB_DIALECT_ATEN_IR_CALLTYPES_H

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

namespace mlir::aten {

/// Emits an error if the types of operands and results are none that the call's operator can have.
LogicalResult verifyTypes(CallOp call);

} // namespace mlir::aten

#endif // MOE_MLIR_LIB_DIALECT_ATEN_IR_CALLTYPES_H
