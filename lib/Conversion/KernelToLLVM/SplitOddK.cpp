//===- SplitOddK.cpp - K loops over pairs without half pairs ------------------------------------------------------===//

#include "TileLowering.h"
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h"
#include "moe-mlir/Dialect/Kernel/IR/ProductLoop.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELSPLITODDK
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h.inc"
} // namespace mlir::kernel

/// The loop over K of `mma`, if it steps over pairs from an even start.
static scf::ForOp getPairLoop(MmaOp mma) {
  scf::ForOp loop = ProductLoop::around(mma);
  return loop && mma.getStep() == 2 && isMultipleOf(loop.getLowerBound(), 2) ? loop : scf::ForOp();
}

static SmallVector<MmaOp> getPairProducts(scf::ForOp loop) {
  SmallVector<MmaOp> products;
  loop.walk([&](MmaOp mma) {
    if (ProductLoop::around(mma) == loop)
      products.push_back(mma);
  });
  return products;
}

/// Splits `loop` at the last k where each of its products has both elements.
static void split(scf::ForOp loop) {
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  Value bound = loop.getUpperBound();
  for (MmaOp mma : getPairProducts(loop)) {
    if (!loop.isDefinedOutsideOfLoop(mma.getA()))
      return;
    Value size = memref::DimOp::create(b, loc, mma.getA(), 1);
    bound = arith::MinSIOp::create(b, loc, bound, size);
  }
  // start + (bound - start) / 2 * 2; a bound below the start leaves the main loop empty.
  Value start = loop.getLowerBound(), one = arith::ConstantIndexOp::create(b, loc, 1);
  Value length = arith::SubIOp::create(b, loc, bound, start);
  Value pairs = arith::ShRSIOp::create(b, loc, length, one);
  Value middle = arith::AddIOp::create(b, loc, start, arith::ShLIOp::create(b, loc, pairs, one));
  middle = arith::MaxSIOp::create(b, loc, middle, start);

  b.setInsertionPointAfter(loop);
  auto rest = cast<scf::ForOp>(b.clone(*loop));
  loop.replaceAllUsesWith(rest.getResults());
  rest.setLowerBound(middle);
  rest.getInitArgsMutable().assign(loop.getResults());
  loop.setUpperBound(middle);
  for (MmaOp mma : getPairProducts(loop))
    mma.setInbounds(true);
}

namespace {
struct KernelSplitOddK : kernel::impl::KernelSplitOddKBase<KernelSplitOddK> {
  void runOnOperation() override {
    llvm::SetVector<scf::ForOp> loops;
    getOperation().walk([&](MmaOp mma) {
      if (mma.getStep() != 2 || mma.getInbounds())
        return;
      int64_t columns = cast<MemRefType>(mma.getA().getType()).getDimSize(1);
      scf::ForOp loop = getPairLoop(mma);
      if (loop && !ShapedType::isDynamic(columns) && columns % 2 == 0)
        mma.setInbounds(true); // an even k below an even number of columns
      else if (loop)
        loops.insert(loop);
    });
    for (scf::ForOp loop : loops)
      split(loop);
  }
};
} // namespace
