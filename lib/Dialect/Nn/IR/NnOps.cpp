//===- NnOps.cpp - verifiers of the nn ops --------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::nn;

#define GET_OP_CLASSES
#include "moe-mlir/Dialect/Nn/IR/NnOps.cpp.inc"

LogicalResult EmbeddingOp::verify() { return success(); }
LogicalResult LinearOp::verify() { return success(); }
LogicalResult RmsNormOp::verify() { return success(); }
LogicalResult RopeOp::verify() { return success(); }
LogicalResult CacheUpdateOp::verify() { return success(); }
LogicalResult AttentionOp::verify() { return success(); }
