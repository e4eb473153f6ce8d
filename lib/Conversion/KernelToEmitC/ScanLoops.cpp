//===- ScanLoops.cpp - loops whose carried sums are used on the way, by the lanes of a warp -----------------------===//
//
//   %n = scf.for %e = ... iter_args(%sum = %start) -> (i32) {
//     ... = load                         // the increment: from memory that the loop does not write
//     store %sum ...                     // the sum of those before
//     %next = arith.addi %sum, %increment
//   }
//
// Integer sums have no order, so lanes may find theirs together: five shuffles make the increments of 32 iterations
// their prefix sums.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "LaneDistribution.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::kernel;

FailureOr<SmallVector<LaneScan>> kernel::matchLaneScans(scf::ForOp loop) {
  SmallVector<LaneScan> scans;
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [carried, next] : llvm::zip(loop.getRegionIterArgs(), yield.getResults())) {
    auto add = next.getDefiningOp<arith::AddIOp>();
    if (!add || add->getBlock() != loop.getBody() || !next.hasOneUse() || !carried.getType().isInteger(32) ||
        (add.getLhs() == carried) == (add.getRhs() == carried))
      return failure();
    scans.push_back({add, add.getLhs() == carried ? add.getRhs() : add.getLhs()});
  }
  if (scans.empty())
    return failure();
  for (const LaneScan &scan : scans)
    if (failed(sliceInLoop(loop, scan.increment)))
      return failure();
  return scans;
}

void LaneDistribution::scan(scf::ForOp loop, ArrayRef<LaneScan> scans) {
  Location loc = loop.getLoc();
  auto shuffle = [&](Value value, int64_t argument, gpu::ShuffleMode mode) -> Value {
    return gpu::ShuffleOp::create(b, loc, value, static_cast<int32_t>(argument), static_cast<int32_t>(kLanes), mode)
        .getShuffleResult();
  };
  byGroups(loop, [&](Value i, Value exists, ValueRange carried) {
    // What each iteration adds; nothing beyond the last one.
    SmallVector<Type> types(scans.size(), b.getI32Type());
    auto increments = scf::IfOp::create(b, loc, types, exists, /*addThenBlock=*/true, /*addElseBlock=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(increments.thenBlock());
      IRMapping mapping;
      mapping.map(loop.getInductionVar(), i);
      SmallVector<Value> values;
      for (const LaneScan &scan : scans)
        values.push_back(cloneSlice(b, *sliceInLoop(loop, scan.increment), scan.increment, mapping));
      scf::YieldOp::create(b, loc, values);
      b.setInsertionPointToStart(increments.elseBlock());
      scf::YieldOp::create(b, loc, SmallVector<Value>(scans.size(), number(loc, 0)));
    }
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), i);
    SmallVector<Value> next;
    for (auto [k, increment] : llvm::enumerate(increments.getResults())) {
      Value sum = increment;
      for (int64_t distance = 1; distance < kLanes; distance *= 2) {
        Value other = shuffle(sum, distance, gpu::ShuffleMode::UP);
        Value has = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, lane,
                                          arith::ConstantIndexOp::create(b, loc, distance));
        sum = arith::AddIOp::create(b, loc, sum, arith::SelectOp::create(b, loc, has, other, number(loc, 0)));
      }
      Value before = arith::SubIOp::create(b, loc, sum, increment);
      mapping.map(loop.getRegionIterArg(k), arith::AddIOp::create(b, loc, carried[k], before));
      next.push_back(arith::AddIOp::create(b, loc, carried[k], shuffle(sum, kLanes - 1, gpu::ShuffleMode::IDX)));
    }
    auto branch = scf::IfOp::create(b, loc, exists, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    for (Operation &op : loop.getBody()->without_terminator())
      b.clone(op, mapping);
    return next;
  });
}
