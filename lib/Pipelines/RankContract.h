//===- RankContract.h - what ops of one rank's program must keep ----------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_PIPELINES_RANKCONTRACT_H
#define MOE_MLIR_LIB_PIPELINES_RANKCONTRACT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace moe_mlir {

/// What an op at level spmd or scheduled breaks, as a text that follows its name; empty if nothing. Its verifier has
/// looked at what it sees of the op alone.
llvm::StringRef whyNotOfRank(mlir::Operation *op);

/// The same of a product or a table.
llvm::StringRef whyNotShared(mlir::Operation *op);

/// Whether all that is made of summands is added over their grid before anything else reads it.
bool isAddedOver(mlir::FlatSymbolRefAttr grid, mlir::Value summand);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_PIPELINES_RANKCONTRACT_H
