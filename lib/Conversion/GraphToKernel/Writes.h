//===- Writes.h - reductions that write where an index says ---------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_WRITES_H
#define MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_WRITES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <optional>

namespace mlir::kernel {

/// A reduction over r that replaces an element at `dim` by `value` where `place` is its number:
///
///   yield select(cmpi eq, place, index(dim)), value, element
///
/// Neither `place` nor `value` depends on `dim`, so that r alone says what is written where.
struct IndexedWrite {
  unsigned dim;
  arith::CmpIOp isHere;
  arith::SelectOp choice;
  Value place, value;
};

std::optional<IndexedWrite> matchIndexedWrite(linalg::GenericOp op);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_WRITES_H
