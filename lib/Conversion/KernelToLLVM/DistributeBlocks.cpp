//===- DistributeBlocks.cpp - a kernel as a function of its block number ------------------------------------------===//

#include "moe-mlir/Conversion/KernelToLLVM/Passes.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELDISTRIBUTEBLOCKS
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h.inc"
} // namespace mlir::kernel

/// Replaces `forall` by a loop over the block's share of its flattened index space: the positions `begin` to `end` - 1.
/// With kernel.columns_inside the same share is walked tile by tile: column c of tile t stands at c * tiles + t.
static void distribute(scf::ForallOp forall, Value block, Value blocks) {
  OpBuilder b(forall);
  Location loc = forall.getLoc();
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, loc, value); };
  auto value = [&](OpFoldResult fold) { return getValueOrCreateConstantIndexOp(b, loc, fold); };

  SmallVector<OpFoldResult> lower = forall.getMixedLowerBound(), step = forall.getMixedStep();
  SmallVector<Value> counts;
  Value total;
  for (auto [lb, ub, st] : llvm::zip(lower, forall.getMixedUpperBound(), step)) {
    Value count = value(ub);
    if (!isConstantIntValue(lb, 0))
      count = arith::SubIOp::create(b, loc, count, value(lb));
    if (!isConstantIntValue(st, 1))
      count = arith::CeilDivSIOp::create(b, loc, count, value(st));
    counts.push_back(count);
    total = total ? arith::MulIOp::create(b, loc, total, count) : count;
  }
  if (!total) // rank 0: one iteration
    total = constant(1);

  Value one = constant(1), next = arith::AddIOp::create(b, loc, block, one);
  Value begin = arith::DivUIOp::create(b, loc, arith::MulIOp::create(b, loc, total, block), blocks);
  Value end = arith::DivUIOp::create(b, loc, arith::MulIOp::create(b, loc, total, next), blocks);
  SmallVector<Value> indices(counts.size());
  if (counts.size() == 2 && forall->hasAttr(KernelDialect::getColumnsInsideAttrName())) {
    Value tiles = counts[1];
    auto outer = scf::ForOp::create(b, loc, constant(0), tiles, one);
    b.setInsertionPointToStart(outer.getBody());
    Value tile = outer.getInductionVar();
    auto firstColumn = [&](Value position) -> Value { // the first whose place is not before `position`
      Value beyond = arith::SubIOp::create(b, loc, arith::MaxUIOp::create(b, loc, position, tile), tile);
      Value last = arith::SubIOp::create(b, loc, tiles, one);
      return arith::DivUIOp::create(b, loc, arith::AddIOp::create(b, loc, beyond, last), tiles);
    };
    auto inner = scf::ForOp::create(b, loc, firstColumn(begin), firstColumn(end), one);
    b.setInsertionPointToStart(inner.getBody());
    indices = {inner.getInductionVar(), tile};
  } else {
    auto loop = scf::ForOp::create(b, loc, begin, end, one);
    b.setInsertionPointToStart(loop.getBody());
    Value rest = loop.getInductionVar();
    for (int64_t d = counts.size() - 1; d >= 0; --d) {
      indices[d] = rest;
      if (d > 0) {
        indices[d] = arith::RemUIOp::create(b, loc, rest, counts[d]);
        rest = arith::DivUIOp::create(b, loc, rest, counts[d]);
      }
    }
  }
  for (int64_t d = counts.size() - 1; d >= 0; --d) {
    if (!isConstantIntValue(step[d], 1))
      indices[d] = arith::MulIOp::create(b, loc, indices[d], value(step[d]));
    if (!isConstantIntValue(lower[d], 0))
      indices[d] = arith::AddIOp::create(b, loc, indices[d], value(lower[d]));
  }
  IRMapping mapping;
  mapping.map(forall.getInductionVars(), indices);
  for (Operation &op : forall.getBody()->without_terminator())
    b.clone(op, mapping);
  forall.erase();
}

/// A block is one thread here: it runs the iterations of an scf.parallel one after the other.
static void serialize(scf::ParallelOp parallel) {
  OpBuilder b(parallel);
  IRMapping mapping;
  for (auto [iv, lower, upper, step] :
       llvm::zip(parallel.getInductionVars(), parallel.getLowerBound(), parallel.getUpperBound(), parallel.getStep())) {
    auto loop = scf::ForOp::create(b, parallel.getLoc(), lower, upper, step);
    b.setInsertionPointToStart(loop.getBody());
    mapping.map(iv, loop.getInductionVar());
  }
  for (Operation &op : parallel.getBody()->without_terminator())
    b.clone(op, mapping);
  parallel.erase();
}

/// The first number of a kernel with phases is phase * blocks + block. Returns the block.
static Value separate(PhaseOp phase, Value number, Value blocks) {
  OpBuilder b = OpBuilder::atBlockBegin(phase->getBlock());
  phase.replaceAllUsesWith(arith::DivUIOp::create(b, phase.getLoc(), number, blocks).getResult());
  Value block = arith::RemUIOp::create(b, phase.getLoc(), number, blocks);
  phase.erase();
  return block;
}

namespace {
struct KernelDistributeBlocks : kernel::impl::KernelDistributeBlocksBase<KernelDistributeBlocks> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<FuncOp>())
      if (failed(run(func)))
        return signalPassFailure();
  }

  LogicalResult run(FuncOp func) {
    WalkResult nested = func.walk([](scf::ForallOp forall) {
      if (!forall.getOutputs().empty()) {
        forall.emitOpError("has shared outputs; a kernel's loop over tiles works on memrefs");
        return WalkResult::interrupt();
      }
      if (forall->getParentOfType<scf::ForallOp>()) {
        forall.emitOpError("is nested in another; blocks share one loop over tiles at a time");
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (nested.wasInterrupted())
      return failure();
    unsigned count = func.getNumArguments();
    Type index = IndexType::get(&getContext());
    for (unsigned i : {count, count + 1})
      if (failed(func.insertArgument(i, index, DictionaryAttr(), func.getLoc())))
        return failure();
    Value block = func.getArgument(count), blocks = func.getArgument(count + 1);
    for (auto phase : llvm::make_early_inc_range(func.getBody().front().getOps<PhaseOp>()))
      block = separate(phase, block, blocks);
    SmallVector<scf::ForallOp> loops;
    func.walk([&](scf::ForallOp forall) { loops.push_back(forall); });
    for (scf::ForallOp forall : loops)
      distribute(forall, block, blocks);
    SmallVector<scf::ParallelOp> parallels;
    func.walk([&](scf::ParallelOp parallel) { parallels.push_back(parallel); }); // inner ones first
    for (scf::ParallelOp parallel : parallels)
      serialize(parallel);
    func.walk([&](BlockIdOp id) {
      id.replaceAllUsesWith(block);
      id.erase();
    });
    return success();
  }
};
} // namespace
