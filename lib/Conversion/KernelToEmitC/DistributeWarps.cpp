//===- DistributeWarps.cpp - rows to warps, inner loops to lanes --------------------------------------------------===//

#include "LoopClasses.h"

#include "moe-mlir/Conversion/KernelToEmitC/Passes.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELDISTRIBUTEWARPS
#include "moe-mlir/Conversion/KernelToEmitC/Passes.h.inc"
} // namespace mlir::kernel

static constexpr int64_t kLanes = 32;

namespace {
/// Rewrites what one warp does for one row. Control flow is the same for all lanes outside of the loops that they
/// share.
class LaneDistribution {
public:
  LaneDistribution(Operation *root, Value lane) : b(root->getContext()), lane(lane) {}

  void run(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      run(&op);
  }

private:
  void run(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return run(loop);
    if (!writesMemory(op))
      return;
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      run(*branch.thenBlock());
      if (branch.elseBlock())
        run(*branch.elseBlock());
      return;
    }
    onLaneZero(op);
  }

  void run(scf::ForOp loop) {
    FailureOr<SmallVector<LaneReduction>> reductions = matchLaneReductions(loop);
    if (succeeded(reductions) && hasIndependentStores(loop) && (writesMemory(loop) || !reductions->empty()))
      return share(loop, *reductions);
    if (!writesMemory(loop))
      return;
    bool hasLoops = loop.getBody()->walk([](scf::ForOp) { return WalkResult::interrupt(); }).wasInterrupted();
    if (hasLoops)
      return run(*loop.getBody());
    onLaneZero(loop);
  }

  /// Lane l takes the iterations l, l + 32, ...; each carried value starts neutral and is combined across lanes.
  void share(scf::ForOp loop, ArrayRef<LaneReduction> reductions) {
    Location loc = loop.getLoc();
    b.setInsertionPoint(loop);
    if (writesMemory(loop))
      meet(loc);
    Value step = loop.getStep();
    Value first = arith::AddIOp::create(b, loc, loop.getLowerBound(), arith::MulIOp::create(b, loc, lane, step));
    Value stride = arith::MulIOp::create(b, loc, step, arith::ConstantIndexOp::create(b, loc, kLanes));
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
        auto shuffle = gpu::ShuffleOp::create(b, loc, value, static_cast<int32_t>(distance),
                                              static_cast<int32_t>(kLanes), gpu::ShuffleMode::XOR);
        own.insert(shuffle);
        value = combine(value, shuffle.getShuffleResult());
      }
      value = combine(starts[i], value);
      partial.replaceAllUsesExcept(value, own);
    }
    if (writesMemory(loop))
      meet(loc);
  }

  /// Wraps `op`, which writes, in `if (lane == 0)`; its results, if any, are sent to all lanes.
  void onLaneZero(Operation *op) {
    Location loc = op->getLoc();
    b.setInsertionPoint(op);
    meet(loc);
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value isZero = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane, zero);
    SmallVector<Value> others;
    for (Type type : op->getResultTypes())
      others.push_back(arith::ConstantOp::create(b, loc, b.getZeroAttr(type)));
    auto branch = scf::IfOp::create(b, loc, op->getResultTypes(), isZero, /*addThenBlock=*/true,
                                    /*addElseBlock=*/!others.empty());
    SmallPtrSet<Operation *, 8> own;
    b.setInsertionPointAfter(branch);
    for (auto [result, merged] : llvm::zip(op->getResults(), branch.getResults())) {
      Value none = arith::ConstantIntOp::create(b, loc, 0, 32),
            width = arith::ConstantIntOp::create(b, loc, kLanes, 32);
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
    fill(branch.thenBlock(), op->getResults());
    op->moveBefore(branch.thenBlock()->getTerminator());
    if (!others.empty())
      fill(branch.elseBlock(), others);
  }

  /// Lanes wait for each other: before a part that writes, since others may still read, and after it. One meeting
  /// serves two parts.
  void meet(Location loc) {
    Block::iterator here = b.getInsertionPoint();
    if (here != b.getInsertionBlock()->begin() && isa<NVVM::SyncWarpOp>(*std::prev(here)))
      return;
    Value all = arith::ConstantIntOp::create(b, loc, -1, 32);
    NVVM::SyncWarpOp::create(b, loc, all);
  }

  OpBuilder b;
  Value lane;
};

struct KernelDistributeWarps : kernel::impl::KernelDistributeWarpsBase<KernelDistributeWarps> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    WalkResult tiles = func.walk([](RowTileOp) { return WalkResult::interrupt(); });
    if (tiles.wasInterrupted()) // a product, not a row program
      return;
    Location loc = func.getLoc();
    SmallVector<scf::ForallOp> loops;
    func.walk([&](scf::ForallOp forall) { loops.push_back(forall); });
    OpBuilder b(&func.getBody().front(), func.getBody().front().begin());
    Value lane = gpu::LaneIdOp::create(b, loc, nullptr);
    Value inBlock = gpu::SubgroupIdOp::create(b, loc, nullptr), perBlock = gpu::NumSubgroupsOp::create(b, loc, nullptr);
    Value block = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x),
          blocks = gpu::GridDimOp::create(b, loc, gpu::Dimension::x);
    Value warp = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, block, perBlock), inBlock);
    Value warps = arith::MulIOp::create(b, loc, blocks, perBlock);
    if (loops.empty()) {
      oneWarp(func, warp, lane);
      return;
    }
    for (scf::ForallOp forall : loops) {
      if (forall->getParentOfType<scf::ForallOp>() || !forall.getOutputs().empty() || !forall.isNormalized()) {
        forall.emitOpError("is nested, has shared outputs or does not count from 0 by 1");
        return signalPassFailure();
      }
      scf::ForOp loop = toLoop(forall, warp, warps);
      LaneDistribution(func, lane).run(*loop.getBody());
    }
  }

  /// The whole kernel is the work of the first warp.
  void oneWarp(FuncOp func, Value warp, Value lane) {
    Block &body = func.getBody().front();
    OpBuilder b(body.getTerminator());
    Location loc = func.getLoc();
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, warp, zero);
    auto branch = scf::IfOp::create(b, loc, first, /*withElseRegion=*/false);
    // Everything from the first operation that writes on; what stands before it only reads.
    auto begin = llvm::find_if(body, [](Operation &op) { return writesMemory(&op); });
    if (begin != body.end() && &*begin != branch.getOperation())
      branch.thenBlock()->getOperations().splice(branch.thenBlock()->begin(), body.getOperations(), begin,
                                                 zero.getDefiningOp()->getIterator());
    LaneDistribution(func, lane).run(*branch.thenBlock());
  }

  /// The loop over the flattened indices of `forall` that are this warp's.
  scf::ForOp toLoop(scf::ForallOp forall, Value warp, Value warps) {
    OpBuilder b(forall);
    Location loc = forall.getLoc();
    SmallVector<Value> counts = forall.getUpperBound(b);
    Value total = arith::ConstantIndexOp::create(b, loc, 1);
    for (Value count : counts)
      total = arith::MulIOp::create(b, loc, total, count);
    auto loop = scf::ForOp::create(b, loc, warp, total, warps);
    b.setInsertionPointToStart(loop.getBody());
    Value rest = loop.getInductionVar();
    SmallVector<Value> indices(counts.size());
    for (int64_t d = counts.size() - 1; d >= 0; --d) {
      indices[d] = d > 0 ? arith::RemSIOp::create(b, loc, rest, counts[d]).getResult() : rest;
      if (d > 0)
        rest = arith::DivSIOp::create(b, loc, rest, counts[d]);
    }
    IRMapping mapping;
    mapping.map(forall.getInductionVars(), indices);
    for (Operation &op : forall.getBody()->without_terminator())
      b.clone(op, mapping);
    forall.erase();
    return loop;
  }
};
} // namespace
