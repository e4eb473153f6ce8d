//===- SumLoops.cpp - rows added up in memory, by the lanes of a warp ---------------------------------------------===//
//
//   scf.for %c = ... {
//     scf.for %e = ... {
//       store m[%e] = m[%e] + x[%c, %e]
//     }
//   }
//
// As written, the inner loop is that of a vector machine. A lane takes columns: the loops change places, and the sum
// stays in a register until the last row is added.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "LoopClasses.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::kernel;

/// Rows whose loads are under way at a time.
static constexpr int64_t kRows = 16;

/// The only loop in `outer`, if only arithmetic stands beside it.
static scf::ForOp onlyLoop(scf::ForOp outer) {
  scf::ForOp inner;
  for (Operation &op : outer.getBody()->without_terminator()) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (loop && !inner)
      inner = loop;
    else if (op.getNumRegions() > 0 || !isMemoryEffectFree(&op))
      return {};
  }
  return inner;
}

/// The only store of `inner`, if what it stores was read from there first and nothing else touches that memory.
static memref::StoreOp onlyUpdate(scf::ForOp outer, scf::ForOp inner, memref::LoadOp &read) {
  memref::StoreOp update;
  for (Operation &op : inner.getBody()->without_terminator()) {
    if (auto store = dyn_cast<memref::StoreOp>(op); store && !update)
      update = store;
    else if (!isa<memref::LoadOp>(op) && (op.getNumRegions() > 0 || !isMemoryEffectFree(&op)))
      return {};
  }
  if (!update || !llvm::is_contained(update.getIndices(), inner.getInductionVar()))
    return {};
  for (Value index : update.getIndices())
    if (index != inner.getInductionVar() && !outer.isDefinedOutsideOfLoop(index))
      return {};
  for (auto load : inner.getBody()->getOps<memref::LoadOp>()) {
    if (load.getMemRef() != update.getMemRef())
      continue;
    if (read || load.getIndices() != update.getIndices())
      return {};
    read = load;
  }
  return read ? update : memref::StoreOp();
}

scf::ForOp kernel::interchangeSum(scf::ForOp outer) {
  // A few rows stay where they are.
  std::optional<APInt> count = outer.getStaticTripCount();
  if (count && count->ult(kRows))
    return {};
  scf::ForOp inner = onlyLoop(outer);
  memref::LoadOp read;
  if (outer.getNumResults() > 0 || !inner || inner.getNumResults() > 0 ||
      llvm::any_of(ValueRange{inner.getLowerBound(), inner.getUpperBound(), inner.getStep()},
                   [&](Value v) { return !outer.isDefinedOutsideOfLoop(v); }))
    return {};
  memref::StoreOp update = onlyUpdate(outer, inner, read);
  if (!update)
    return {};
  OpBuilder b(outer);
  Location loc = outer.getLoc();
  auto columns = scf::ForOp::create(b, loc, inner.getLowerBound(), inner.getUpperBound(), inner.getStep());
  b.setInsertionPointToStart(columns.getBody());
  IRMapping mapping;
  mapping.map(inner.getInductionVar(), columns.getInductionVar());
  Value start = b.clone(*read, mapping)->getResult(0);
  auto rows = scf::ForOp::create(b, loc, outer.getLowerBound(), outer.getUpperBound(), outer.getStep(), start);
  rows->setAttr(kUnrollAttr, b.getI64IntegerAttr(kRows));
  b.setInsertionPointAfter(rows);
  Operation *write = b.clone(*update, mapping);
  write->setOperand(0, rows.getResult(0));
  b.setInsertionPointToStart(rows.getBody());
  mapping.map(outer.getInductionVar(), rows.getInductionVar());
  mapping.map(read.getResult(), rows.getRegionIterArg(0));
  for (Block *body : {outer.getBody(), inner.getBody()})
    for (Operation &op : body->without_terminator())
      if (&op != inner && &op != read && &op != update)
        b.clone(op, mapping);
  scf::YieldOp::create(b, loc, mapping.lookupOrDefault(update.getValueToStore()));
  outer.erase();
  return columns;
}
