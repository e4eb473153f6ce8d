//===- DistributeWarps.cpp - rows to warps, inner loops to lanes --------------------------------------------------===//

#include "BlockDistribution.h"
#include "LaneDistribution.h"

#include "moe-mlir/Conversion/KernelToEmitC/Passes.h"
#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELDISTRIBUTEWARPS
#include "moe-mlir/Conversion/KernelToEmitC/Passes.h.inc"
} // namespace mlir::kernel

namespace {
struct KernelDistributeWarps : kernel::impl::KernelDistributeWarpsBase<KernelDistributeWarps> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    auto phases = func.getBody().getOps<PhaseOp>();
    if (!phases.empty()) {
      (*phases.begin()).emitOpError("is in no loop over phases; kernel-join-groups makes one, as a launch says");
      return signalPassFailure();
    }
    WalkResult tiles = func.walk([](Operation *op) {
      return isa<RowTileOp, cuda::WarpRolesOp, cuda::MemberOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (tiles.wasInterrupted()) // a product, or the blocks of several kernels
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
      if (isBlockWork(func.getBody().front())) {
        func.emitOpError("has an scf.parallel outside of scf.forall; the loop that blocks share is around it");
        return signalPassFailure();
      }
      oneWarp(func, warp, lane);
      return;
    }
    for (scf::ForallOp forall : loops) {
      if (forall->getParentOfType<scf::ForallOp>() || !forall.getOutputs().empty() || !forall.isNormalized()) {
        forall.emitOpError("is nested, has shared outputs or does not count from 0 by 1");
        return signalPassFailure();
      }
      if (isBlockWork(*forall.getBody())) {
        scf::ForOp loop = toLoop(forall, block, blocks);
        if (failed(distributeToWarps(*loop.getBody(), {lane, inBlock, perBlock})))
          return signalPassFailure();
        continue;
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

  /// The loop over the flattened indices of `forall`: of `count` takers, number `own` takes own, own + count, ...
  scf::ForOp toLoop(scf::ForallOp forall, Value own, Value count) {
    OpBuilder b(forall);
    Location loc = forall.getLoc();
    SmallVector<Value> counts = forall.getUpperBound(b);
    Value total = arith::ConstantIndexOp::create(b, loc, 1);
    for (Value size : counts)
      total = arith::MulIOp::create(b, loc, total, size);
    auto loop = scf::ForOp::create(b, loc, own, total, count);
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
