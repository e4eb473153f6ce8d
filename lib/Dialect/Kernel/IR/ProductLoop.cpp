//===- ProductLoop.cpp - the loop over K of products --------------------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/ProductLoop.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::kernel;

scf::ForOp ProductLoop::around(MmaOp mma) {
  auto k = dyn_cast<BlockArgument>(mma.getK());
  auto loop = k ? dyn_cast<scf::ForOp>(k.getOwner()->getParentOp()) : scf::ForOp();
  if (!loop || k != loop.getInductionVar() || loop.getUnsignedCmp())
    return {};
  return getConstantIntValue(loop.getStep()) == mma.getStep() ? loop : scf::ForOp();
}

std::optional<ProductLoop> ProductLoop::match(scf::ForOp loop) {
  ProductLoop product{loop, {}};
  for (auto [arg, next] : llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    auto mma = next.getDefiningOp<MmaOp>();
    if (!mma || mma->getParentOp() != loop || mma.getAcc() != arg || around(mma) != loop)
      return std::nullopt;
    product.mmas.push_back(mma);
  }
  const bool isAll = loop.getBody()->getOperations().size() == product.mmas.size() + 1;
  return isAll && !product.mmas.empty() ? std::optional(product) : std::nullopt;
}

bool ProductLoop::haveSameOperands(MmaOp x, MmaOp y) {
  return x.getA() == y.getA() && x.getRows() == y.getRows() && x.getB() == y.getB() &&
         x.getIndices() == y.getIndices() && x.getK() == y.getK();
}

std::optional<SmallVector<MmaOp>> ProductLoop::matchSingleStep(MmaOp first) {
  SmallVector<MmaOp> products;
  for (auto mma : first->getBlock()->getOps<MmaOp>()) {
    if (!mma.getAcc().getDefiningOp<ZeroOp>())
      return std::nullopt;
    if (haveSameOperands(mma, first))
      products.push_back(mma);
  }
  return products;
}

bool ProductLoop::isInvariant(MmaOp mma, scf::ForOp loop) {
  SmallVector<Value> outside(mma.getIndices());
  outside.append({mma.getA(), mma.getB(), mma.getRows(), mma.getColumn()});
  return llvm::all_of(outside, [&](Value value) { return loop.isDefinedOutsideOfLoop(value); });
}
