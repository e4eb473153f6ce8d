//===- BlockDistribution.cpp - the work of a block, shared by its warps -------------------------------------------===//

#include "BlockDistribution.h"

#include "LaneDistribution.h"

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::kernel;

bool kernel::isBlockWork(Block &body) {
  return body.walk([](scf::ParallelOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Warp w of a block takes the iterations w, w + warps, ...
static scf::ForOp toLoop(scf::ParallelOp parallel, const WarpPosition &at) {
  OpBuilder b(parallel);
  Location loc = parallel.getLoc();
  Value step = parallel.getStep()[0];
  Value own = arith::MulIOp::create(b, loc, at.inBlock, step);
  Value first = arith::AddIOp::create(b, loc, parallel.getLowerBound()[0], own);
  Value stride = arith::MulIOp::create(b, loc, at.perBlock, step);
  auto loop = scf::ForOp::create(b, loc, first, parallel.getUpperBound()[0], stride);
  b.setInsertionPointToStart(loop.getBody());
  IRMapping mapping;
  mapping.map(parallel.getInductionVars()[0], loop.getInductionVar());
  for (Operation &op : parallel.getBody()->without_terminator())
    b.clone(op, mapping);
  parallel.erase();
  return loop;
}

/// Wraps the operations of `part` that have effects, and what depends on them, in `if (warp == 0)`. The others stay,
/// for all warps.
static FailureOr<scf::IfOp> onFirstWarp(ArrayRef<Operation *> part, const WarpPosition &at) {
  OpBuilder b(part.front()->getContext());
  llvm::SmallPtrSet<Operation *, 16> inside;
  for (Operation *op : part) {
    bool depends = llvm::any_of(op->getOperands(), [&](Value v) { return inside.contains(v.getDefiningOp()); });
    if (depends || op->getNumRegions() > 0 || !isMemoryEffectFree(op))
      inside.insert(op);
  }
  b.setInsertionPointAfter(part.back());
  Location loc = part.back()->getLoc();
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, at.inBlock, zero);
  auto branch = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/false);
  for (Operation *op : part)
    if (inside.contains(op))
      op->moveBefore(branch.thenBlock()->getTerminator());
  for (Operation *op : part)
    if (inside.contains(op))
      for (Operation *user : op->getUsers())
        if (!branch->isProperAncestor(user))
          return op->emitOpError("is used on the other side of an scf.parallel; the warps of a block hand on what they "
                                 "compute through memory");
  return branch;
}

LogicalResult kernel::distributeToWarps(Block &body, const WarpPosition &at) {
  SmallVector<SmallVector<Operation *>> parts(1);
  for (Operation &op : body.without_terminator()) {
    if (auto parallel = dyn_cast<scf::ParallelOp>(op)) {
      if (parallel.getNumLoops() != 1 || parallel.getNumResults() > 0)
        return parallel.emitOpError("has several dimensions or results; the warps of a block share a plain loop");
      parts.push_back({&op});
      parts.emplace_back();
      continue;
    }
    WalkResult deep = op.walk([](scf::ParallelOp parallel) {
      parallel.emitOpError("is inside other control flow; the warps of a block share a loop at the top of its work");
      return WalkResult::interrupt();
    });
    if (deep.wasInterrupted())
      return failure();
    parts.back().push_back(&op);
  }
  llvm::erase_if(parts, [](ArrayRef<Operation *> part) { return llvm::none_of(part, writesMemory); });
  auto func = body.getParentOp()->getParentOfType<FuncOp>();
  for (ArrayRef<Operation *> part : parts) {
    Block *work;
    Operation *whole;
    if (auto parallel = dyn_cast<scf::ParallelOp>(part.front())) {
      scf::ForOp loop = toLoop(parallel, at);
      work = loop.getBody();
      whole = loop;
    } else {
      FailureOr<scf::IfOp> branch = onFirstWarp(part, at);
      if (failed(branch))
        return failure();
      work = branch->thenBlock();
      whole = *branch;
    }
    LaneDistribution(func, at.lane).run(*work);
    // The part that follows reads what this one wrote; after the last one it is the next index's first.
    OpBuilder b(func.getContext());
    b.setInsertionPointAfter(whole);
    gpu::BarrierOp::create(b, whole->getLoc());
  }
  return success();
}
