//===- MoeOps.cpp - verifiers of the moe ops ------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::moe;

#define GET_OP_CLASSES
#include "moe-mlir/Dialect/Moe/IR/MoeOps.cpp.inc"

LogicalResult ParameterOp::verify() { return success(); }
LogicalResult GateOp::verify() { return success(); }
LogicalResult DispatchOp::verify() { return success(); }
LogicalResult ExpertOp::verify() { return success(); }
LogicalResult CombineOp::verify() { return success(); }
