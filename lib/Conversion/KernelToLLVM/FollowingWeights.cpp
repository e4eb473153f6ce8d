//===- FollowingWeights.cpp - what a thread reads after the weights of a product ----------------------------------===//

#include "FollowingWeights.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::kernel;

scf::ForOp kernel::findRowsOfColumnBlocks(RowTileOp tile, MmaOp mma) {
  auto forall = tile->getParentOfType<scf::ForallOp>();
  auto rows = dyn_cast<scf::ForOp>(tile->getParentOp());
  auto weight = cast<MemRefType>(mma.getB().getType());
  int64_t rank = mma.getIndices().size();
  bool isKnown = forall && rows && rows.getNumResults() == 0 && rows.getInductionVar().getType().isIndex() &&
                 forall->hasAttr(KernelDialect::getColumnsInsideAttrName()) && rank > 0 &&
                 mma.getIndices().back() == forall.getInductionVar(0) && !weight.isDynamicDim(rank - 1) &&
                 !weight.isDynamicDim(rank + 1);
  return isKnown ? rows : scf::ForOp();
}

FollowingWeights FollowingWeights::emit(OpBuilder &b, scf::ForOp loop, MmaOp mma) {
  Location loc = mma.getLoc();
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, loc, value); };
  int64_t rank = mma.getIndices().size(), blocks = cast<MemRefType>(mma.getB().getType()).getDimSize(rank - 1);
  Value block = mma.getIndices().back();
  Value end = arith::CeilDivUIOp::create(b, loc, loop.getUpperBound(), constant(mma.getStep()));
  Value all = memref::DimOp::create(b, loc, mma.getB(), rank);
  Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, end, all);
  Value next = arith::AddIOp::create(b, loc, block, constant(1));
  next = arith::MinUIOp::create(b, loc, next, constant(blocks - 1));
  return {arith::SelectOp::create(b, loc, isLast, next, block),
          arith::SelectOp::create(b, loc, isLast, constant(0), end)};
}
