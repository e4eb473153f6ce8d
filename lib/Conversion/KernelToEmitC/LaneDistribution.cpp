//===- LaneDistribution.cpp - the work of a warp, shared by its lanes ---------------------------------------------===//

#include "LaneDistribution.h"

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::kernel;

void LaneDistribution::run(Block &block) {
  // Stores that nothing but arithmetic separates are one part.
  SmallVector<Operation *> stores;
  auto finish = [&] {
    if (!stores.empty())
      onLaneZero(stores);
    stores.clear();
  };
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (isa<memref::StoreOp>(op)) {
      stores.push_back(&op);
    } else if (op.getNumRegions() > 0 || !isMemoryEffectFree(&op)) {
      finish();
      run(&op);
    }
  }
  finish();
}

void LaneDistribution::run(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return run(loop);
  if (!writesMemory(op))
    return;
  if (isa<PutOp>(op)) { // of all lanes, behind what they have written
    b.setInsertionPoint(op);
    return meet(op->getLoc());
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    run(*branch.thenBlock());
    if (branch.elseBlock())
      run(*branch.elseBlock());
    return;
  }
  onLaneZero(op);
}

void LaneDistribution::run(scf::ForOp loop) {
  if (loop.walk([](Operation *op) { return isExchange(op) ? WalkResult::interrupt() : WalkResult::advance(); })
          .wasInterrupted())
    return run(*loop.getBody());
  FailureOr<SmallVector<LaneReduction>> reductions = matchLaneReductions(loop);
  bool independent = hasIndependentStores(loop);
  if (succeeded(reductions) && independent && (writesMemory(loop) || !reductions->empty()))
    return share(loop, *reductions);
  if (!writesMemory(loop))
    return;
  if (scf::ForOp columns = interchangeSum(loop))
    return run(columns);
  if (FailureOr<SmallVector<LaneScan>> scans = matchLaneScans(loop); succeeded(scans) && independent)
    return scan(loop, *scans);
  if (FailureOr<LaneCursor> cursor = matchLaneCursor(loop); succeeded(cursor))
    return takeTurns(loop, *cursor);
  bool hasLoops = loop.getBody()->walk([](scf::ForOp) { return WalkResult::interrupt(); }).wasInterrupted();
  // Shuffles hand on 4 bytes, so where a loop carries more, all lanes compute it.
  bool handsOn = llvm::all_of(loop.getResultTypes(),
                              [](Type type) { return type.isIntOrFloat() && type.getIntOrFloatBitWidth() == 32; });
  if (hasLoops || !handsOn)
    return run(*loop.getBody());
  onLaneZero(loop.getOperation());
}

void LaneDistribution::share(scf::ForOp loop, SmallVector<LaneReduction> reductions) {
  Location loc = loop.getLoc();
  if (int64_t length = vectorLength(loop))
    loop = byVectors(loop, length, reductions);
  b.setInsertionPoint(loop);
  if (writesMemory(loop))
    meet(loc);
  Value step = loop.getStep();
  Value first = arith::AddIOp::create(b, loc, loop.getLowerBound(), arith::MulIOp::create(b, loc, lane, step));
  Value stride = arith::MulIOp::create(b, loc, step, arith::ConstantIndexOp::create(b, loc, kLanes));
  loop->removeAttr(KernelDialect::getIndependentAttrName());
  loop.setLowerBound(first);
  loop.setStep(stride);
  SmallVector<Value> starts(loop.getInits());
  for (auto [i, reduction] : llvm::enumerate(reductions))
    loop.getInitsMutable()[i].set(arith::getIdentityValue(reduction.kind, starts[i].getType(), b, loc));

  b.setInsertionPointAfter(loop);
  for (unsigned i = 0; i < reductions.size(); ++i) {
    Value partial = loop.getResult(i), value = partial;
    SmallPtrSet<Operation *, 8> own;
    auto combine = [&](Value x, Value y) {
      Operation *op = b.clone(*reductions[i].combine);
      op->setOperands({x, y});
      own.insert(op);
      return op->getResult(0);
    };
    for (int64_t distance = kLanes / 2; distance > 0; distance /= 2) {
      auto shuffle = gpu::ShuffleOp::create(b, loc, value, static_cast<int32_t>(distance), static_cast<int32_t>(kLanes),
                                            gpu::ShuffleMode::XOR);
      own.insert(shuffle);
      value = combine(value, shuffle.getShuffleResult());
    }
    value = combine(starts[i], value);
    partial.replaceAllUsesExcept(value, own);
  }
  if (writesMemory(loop))
    meet(loc);
}

void LaneDistribution::onLaneZero(ArrayRef<Operation *> ops) {
  Operation *last = ops.back();
  Location loc = last->getLoc();
  b.setInsertionPoint(last);
  meet(loc);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value isZero = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane, zero);
  SmallVector<Value> others;
  for (Type type : last->getResultTypes())
    others.push_back(arith::ConstantOp::create(b, loc, b.getZeroAttr(type)));
  auto branch = scf::IfOp::create(b, loc, last->getResultTypes(), isZero, /*addThenBlock=*/true,
                                  /*addElseBlock=*/!others.empty());
  b.setInsertionPointAfter(branch);
  for (auto [result, merged] : llvm::zip(last->getResults(), branch.getResults())) {
    Value none = number(loc, 0), width = number(loc, kLanes);
    auto shuffle = gpu::ShuffleOp::create(b, loc, merged, none, width, gpu::ShuffleMode::IDX);
    result.replaceAllUsesWith(shuffle.getShuffleResult());
  }
  meet(loc);
  auto fill = [&](Block *block, ValueRange values) {
    if (!block->empty())
      block->getTerminator()->erase();
    b.setInsertionPointToEnd(block);
    scf::YieldOp::create(b, loc, values);
  };
  fill(branch.thenBlock(), last->getResults());
  for (Operation *op : ops)
    op->moveBefore(branch.thenBlock()->getTerminator());
  if (!others.empty())
    fill(branch.elseBlock(), others);
}

void LaneDistribution::meet(Location loc) {
  Block::iterator here = b.getInsertionPoint();
  if (here != b.getInsertionBlock()->begin() && isa<NVVM::SyncWarpOp>(*std::prev(here)))
    return;
  Value all = arith::ConstantIntOp::create(b, loc, -1, 32);
  NVVM::SyncWarpOp::create(b, loc, all);
}

Value LaneDistribution::number(Location loc, int64_t value) { return arith::ConstantIntOp::create(b, loc, value, 32); }

void LaneDistribution::byGroups(scf::ForOp loop,
                                llvm::function_ref<SmallVector<Value>(Value, Value, ValueRange)> body) {
  Location loc = loop.getLoc();
  b.setInsertionPoint(loop);
  meet(loc);
  Value step = loop.getStep(), own = arith::MulIOp::create(b, loc, lane, step);
  Value stride = arith::MulIOp::create(b, loc, step, arith::ConstantIndexOp::create(b, loc, kLanes));
  auto groups = scf::ForOp::create(b, loc, loop.getLowerBound(), loop.getUpperBound(), stride, loop.getInits());
  meet(loc);
  b.setInsertionPointToStart(groups.getBody());
  Value i = arith::AddIOp::create(b, loc, groups.getInductionVar(), own);
  Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, i, loop.getUpperBound());
  SmallVector<Value> next = body(i, exists, groups.getRegionIterArgs());
  if (loop.getNumResults() > 0)
    scf::YieldOp::create(b, loc, next);
  loop.replaceAllUsesWith(groups.getResults());
  loop.erase();
}
