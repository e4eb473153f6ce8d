//===- TokenPasses.h - exchanges of some of the tokens at a time ----------------------------------------*- C++ -*-===//
//
// Windows have room for as many tokens as an exchange sends at once. At level scheduled a number on the exchange says
// how many those are, at level kernel it is a loop of the host function around the exchange's launches.
//
//===----------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_KERNEL_IR_TOKENPASSES_H
#define MOE_MLIR_DIALECT_KERNEL_IR_TOKENPASSES_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Operation.h"

namespace mlir::kernel {

/// Integer attribute (i64) of a moe.all_to_all or shard.all_reduce at level scheduled: a pass exchanges so many tokens
/// of each rank, at most.
inline constexpr llvm::StringLiteral passTokensAttrName = "kernel.pass_tokens";
/// Unit attribute of the scf.for of a host function that runs passes. Memory that only its launches use holds nothing
/// from one pass to the next.
inline constexpr llvm::StringLiteral passesAttrName = "kernel.passes";

/// Check `op`, which carries one of them with the value `value`; emit an error.
LogicalResult verifyPassTokens(Operation *op, Attribute value);
LogicalResult verifyPasses(Operation *op, Attribute value);

/// The tokens of a pass, if `op` says so.
std::optional<int64_t> passTokensOf(Operation *op);

/// `op` as a loop over passes; null if it is something else.
scf::ForOp asPasses(Operation *op);
/// The loop over passes that `op` stands in, by itself or in a group of launches; null if it does not.
scf::ForOp passesAround(Operation *op);

} // namespace mlir::kernel

#endif // MOE_MLIR_DIALECT_KERNEL_IR_TOKENPASSES_H
