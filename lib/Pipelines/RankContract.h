//===- RankContract.h - what ops of one rank's program must keep ----------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_PIPELINES_RANKCONTRACT_H
#define MOE_MLIR_LIB_PIPELINES_RANKCONTRACT_H

#include "mlir/IR/Operation.h"

namespace moe_mlir {

/// What an op at level spmd or scheduled breaks, as a text that follows its name; empty if nothing. Its verifier has
/// looked at what it sees of the op alone.
llvm::StringRef whyNotOfRank(mlir::Operation *op);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_PIPELINES_RANKCONTRACT_H
