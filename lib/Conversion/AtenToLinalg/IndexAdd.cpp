//===- IndexAdd.cpp - rows that are added where an index says -----------------------------------------------------===//
//
// aten-check-indices has made sure that every index lies within the tensor.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::aten;

/// index_add(self, dim, index, source): slice r of the source is added to slice index[r], in the order of r and rounded
/// each time, as PyTorch's loop on a CPU does.
static Values lowerIndexAdd(Lowering &l) {
  Value self = l.getTensor("self"), index = l.getTensor("index"), source = l.getTensor("source");
  RankedTensorType type = l.getType();
  std::optional<int64_t> dim = l.call.getDim("dim", type.getRank());
  auto indexType = index ? dyn_cast<RankedTensorType>(index.getType()) : RankedTensorType();
  if (!self || self.getType() != type || !source || !indexType || indexType.getRank() != 1 || !dim ||
      type.getRank() == 0 || (l.call.getArgument("alpha") && l.call.getFloat("alpha") != 1.0))
    return std::nullopt;
  auto sourceType = cast<RankedTensorType>(source.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[*dim] = indexType.getDimSize(0);
  if (sourceType.getShape() != ArrayRef<int64_t>(shape) || sourceType.getElementType() != type.getElementType())
    return std::nullopt;
  int64_t rank = type.getRank();
  MLIRContext *context = l.b.getContext();
  AffineMap out = AffineMap::getMultiDimIdentityMap(rank + 1, context).getMajorSubMap(rank);
  SmallVector<AffineExpr> exprs(out.getResults());
  exprs[*dim] = l.b.getAffineDimExpr(rank);
  AffineMap maps[] = {AffineMap::get(rank + 1, 0, l.b.getAffineDimExpr(rank), context),
                      AffineMap::get(rank + 1, 0, exprs, context), out};
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  iterators.push_back(utils::IteratorType::reduction);
  auto build = [&](OpBuilder &b, Location loc, ValueRange args) {
    Type in = getComputeType(type.getElementType());
    Value here = convertScalar(b, loc, linalg::IndexOp::create(b, loc, *dim), b.getI64Type());
    Value wanted = convertScalar(b, loc, args[0], b.getI64Type());
    Value hit = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, wanted, here);
    Value x = convertScalar(b, loc, args[2], in), y = convertScalar(b, loc, args[1], in);
    Value rounded = convertScalar(b, loc, add(b, loc, {y, x}), type.getElementType());
    linalg::YieldOp::create(b, loc, arith::SelectOp::create(b, loc, hit, rounded, args[2]).getResult());
  };
  return {{linalg::GenericOp::create(l.b, l.loc, type, {index, source}, self, maps, iterators, build).getResult(0)}};
}

void mlir::aten::addIndexAdd(LoweringTable &table) { table["aten.index_add"] = lowerIndexAdd; }
