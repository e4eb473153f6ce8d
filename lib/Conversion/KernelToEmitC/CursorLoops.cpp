//===- CursorLoops.cpp - loops that count up elements in turn, by the lanes of a warp -----------------------------===//
//
//   scf.for %i = ... {
//     %e = ...                           // which element: from memory that the loop does not write
//     %n = load %count[%e]
//     store %n + 1, %count[%e]
//     ...                                // uses %n: how many came before
//   }
//
// The order is part of the program, but only among iterations that meet at the same element. Of 32 consecutive ones,
// a match tells each lane which others those are: it adds the number of lanes before it, and the last of them writes.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "LaneDistribution.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::kernel;

FailureOr<LaneCursor> kernel::matchLaneCursor(scf::ForOp loop) {
  if (loop.getNumResults() > 0)
    return failure();
  LaneCursor cursor;
  loop.walk([&](memref::StoreOp store) {
    auto add = store.getValue().getDefiningOp<arith::AddIOp>();
    auto load = add ? add.getLhs().getDefiningOp<memref::LoadOp>() : memref::LoadOp();
    if (load && matchPattern(add.getRhs(), m_One()) && load.getMemRef() == store.getMemRef() &&
        load.getIndices() == store.getIndices() && load->getBlock() == store->getBlock() && !cursor.load)
      cursor = {load, store, Value(), Value()};
  });
  if (!cursor.load || !cursor.load.getType().isInteger(32) || !hasIndependentStores(loop, cursor.load.getMemRef()))
    return failure();
  // Nothing else touches the counted elements.
  WalkResult others = loop.walk([&](Operation *op) {
    bool touches = llvm::is_contained(op->getOperands(), cursor.load.getMemRef());
    return touches && op != cursor.load && op != cursor.store ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (others.wasInterrupted())
    return failure();
  // It happens in every iteration, or under one condition.
  Block *block = cursor.load->getBlock();
  if (block != loop.getBody()) {
    auto branch = dyn_cast<scf::IfOp>(block->getParentOp());
    if (!branch || branch->getBlock() != loop.getBody() || block != branch.thenBlock() || branch.getNumResults() > 0 ||
        failed(sliceInLoop(loop, branch.getCondition())))
      return failure();
    cursor.condition = branch.getCondition();
  }
  for (Value index : cursor.load.getIndices()) {
    if (loop.isDefinedOutsideOfLoop(index))
      continue;
    if (cursor.element || failed(sliceInLoop(loop, index)))
      return failure();
    cursor.element = index;
  }
  if (!cursor.element)
    return failure();
  return cursor;
}

void LaneDistribution::takeTurns(scf::ForOp loop, LaneCursor cursor) {
  Location loc = loop.getLoc();
  Type i32 = b.getI32Type();
  byGroups(loop, [&](Value i, Value exists, ValueRange) {
    // The element of this lane, -1 for none, and what it counts so far.
    meet(loc);
    IRMapping reads;
    reads.map(loop.getInductionVar(), i);
    auto either = [&](Value condition, llvm::function_ref<SmallVector<Value>()> values) {
      auto branch = scf::IfOp::create(b, loc, {i32, i32}, condition, /*addThenBlock=*/true, /*addElseBlock=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(b, loc, values());
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, loc, ValueRange{number(loc, -1), number(loc, 0)});
      return SmallVector<Value>(branch.getResults());
    };
    auto read = [&] {
      Value element = cloneSlice(b, *sliceInLoop(loop, cursor.element), cursor.element, reads);
      Value count = b.clone(*cursor.load, reads)->getResult(0);
      return SmallVector<Value>{arith::IndexCastOp::create(b, loc, i32, element), count};
    };
    SmallVector<Value> found = either(exists, [&] {
      if (!cursor.condition)
        return read();
      return either(cloneSlice(b, *sliceInLoop(loop, cursor.condition), cursor.condition, reads), read);
    });

    Value same = NVVM::MatchSyncOp::create(b, loc, i32, number(loc, -1), found[0], NVVM::MatchSyncKind::any);
    Value own = arith::IndexCastOp::create(b, loc, i32, lane), one = number(loc, 1);
    Value lower = arith::SubIOp::create(b, loc, arith::ShLIOp::create(b, loc, one, own), one);
    Value rank = math::CtPopOp::create(b, loc, arith::AndIOp::create(b, loc, same, lower));
    Value after = arith::AddIOp::create(b, loc, rank, one);
    Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, after, math::CtPopOp::create(b, loc, same));
    Value count = arith::AddIOp::create(b, loc, found[1], rank);

    meet(loc);
    auto branch = scf::IfOp::create(b, loc, exists, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), i);
    for (Operation &op : loop.getBody()->without_terminator())
      b.clone(op, mapping);
    Operation *load = mapping.lookup(cursor.load.getOperation());
    Operation *store = mapping.lookup(cursor.store.getOperation());
    load->getResult(0).replaceAllUsesWith(count);
    load->erase();
    b.setInsertionPoint(store);
    auto writes = scf::IfOp::create(b, loc, isLast, /*withElseRegion=*/false);
    store->moveBefore(writes.thenBlock()->getTerminator());
    return SmallVector<Value>();
  });
}
