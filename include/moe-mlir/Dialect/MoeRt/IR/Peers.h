//===- Peers.h - moert_peers of moert.h, in LLVM -------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_MOERT_IR_PEERS_H
#define MOE_MLIR_DIALECT_MOERT_IR_PEERS_H

#include "mlir/IR/Builders.h"

namespace mlir::moert {

/// Reads the struct that a pointer leads to; all values are of the LLVM dialect, made at the builder's position.
class Peers {
public:
  Peers(OpBuilder &builder, Location loc, Value pointer) : b(builder), loc(loc), pointer(pointer) {}

  /// The address `offset` bytes (i64) into the windows of rank `peer` (i64), or of this rank if that is null.
  Value address(Value offset, Value peer);
  /// The number of this rank on the axis, i64.
  Value rank();
  /// The address of the epoch, which changes from exchange to exchange.
  Value epoch();
  /// What stores to ranks of other hosts are told to; null if there are none.
  Value hosts();

private:
  /// A field that stays as it is while a program runs.
  Value field(int32_t index, Type type);

  OpBuilder &b;
  Location loc;
  Value pointer;
};

} // namespace mlir::moert

#endif // MOE_MLIR_DIALECT_MOERT_IR_PEERS_H
