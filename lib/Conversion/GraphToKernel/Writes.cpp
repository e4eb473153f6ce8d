//===- Writes.cpp - reductions that write where an index says ---------------------------------------------------===//

#include "Writes.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::kernel;

/// The dimension whose number this is, converted or not.
static std::optional<unsigned> dimensionOf(Value value) {
  if (auto cast = value.getDefiningOp<arith::IndexCastOp>(); cast && cast.getType().isInteger(64)) // a narrow one wraps
    value = cast.getIn();
  auto index = value.getDefiningOp<linalg::IndexOp>();
  return index ? std::optional<unsigned>(index.getDim()) : std::nullopt;
}

/// Whether `value` is computed from something that changes with `dim`, or from what stood there before.
static bool dependsOn(linalg::GenericOp op, Value value, unsigned dim) {
  SmallVector<Value> work{value};
  llvm::SmallPtrSet<Value, 8> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      if (argument.getOwner() != op.getBody())
        continue;
      OpOperand &operand = op->getOpOperand(argument.getArgNumber());
      if (op.isDpsInit(&operand) || op.getMatchingIndexingMap(&operand).isFunctionOfDim(dim))
        return true;
      continue;
    }
    Operation *definition = next.getDefiningOp();
    if (definition->getBlock() != op.getBody())
      continue;
    if (auto index = dyn_cast<linalg::IndexOp>(definition); index && index.getDim() == dim)
      return true;
    if (definition->getNumRegions())
      return true;
    llvm::append_range(work, definition->getOperands());
  }
  return false;
}

std::optional<IndexedWrite> mlir::kernel::matchIndexedWrite(linalg::GenericOp op) {
  if (op.getNumReductionLoops() != 1 || op->getNumResults() != 1 ||
      op.getIteratorTypesArray().back() != utils::IteratorType::reduction)
    return std::nullopt;
  unsigned rank = op.getNumParallelLoops();
  AffineMap out = op.getIndexingMapsArray().back();
  if (out != AffineMap::getMultiDimIdentityMap(rank + 1, op.getContext()).getMajorSubMap(rank))
    return std::nullopt;
  auto choice = op.getBody()->getTerminator()->getOperand(0).getDefiningOp<arith::SelectOp>();
  auto isHere = choice ? choice.getCondition().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
  BlockArgument before = op.getBody()->getArguments().back();
  if (!isHere || isHere.getPredicate() != arith::CmpIPredicate::eq || choice.getFalseValue() != before ||
      !before.hasOneUse() || !choice->hasOneUse() || !isHere->hasOneUse())
    return std::nullopt;
  Value left = isHere.getLhs(), right = isHere.getRhs();
  for (auto [here, place] : {std::pair(left, right), std::pair(right, left)}) {
    std::optional<unsigned> dim = dimensionOf(here);
    if (dim && *dim < rank && !dependsOn(op, place, *dim) && !dependsOn(op, choice.getTrueValue(), *dim))
      return IndexedWrite{*dim, isHere, choice, place, choice.getTrueValue()};
  }
  return std::nullopt;
}
