//===- Triangular.cpp - diagonals and triangles of matrices -------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::aten;

/// Column minus row of the element that is computed, of the last two of `rank` dimensions.
static Value getDiagonal(OpBuilder &b, Location loc, int64_t rank) {
  Value row = linalg::IndexOp::create(b, loc, rank - 2), column = linalg::IndexOp::create(b, loc, rank - 1);
  return arith::SubIOp::create(b, loc, column, row);
}

/// tril and triu (self, diagonal): zeros above, or below, the diagonal of that number.
template <arith::CmpIPredicate keeps> static Values lowerTriangle(Lowering &l) {
  Value self = l.getTensor("self");
  RankedTensorType type = l.getType();
  std::optional<int64_t> diagonal = l.call.getArgument("diagonal") ? l.call.getInt("diagonal") : 0;
  if (!self || !diagonal || type.getRank() < 2)
    return std::nullopt;
  return {{l.map(type, l.getSizes(self), self, [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
    Value limit = arith::ConstantIndexOp::create(b, loc, *diagonal);
    Value kept = arith::CmpIOp::create(b, loc, keeps, getDiagonal(b, loc, type.getRank()), limit);
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
    return arith::SelectOp::create(b, loc, kept, args[0], zero);
  })}};
}

/// eye(n) and eye(n, m).
static Values lowerEye(Lowering &l) {
  RankedTensorType type = l.getType();
  SmallVector<OpFoldResult> sizes;
  for (StringRef name : {"n", "m"})
    if (Value size = l.getScalar(name))
      sizes.push_back(arith::IndexCastOp::create(l.b, l.loc, l.b.getIndexType(), size).getResult());
  if (sizes.empty() || type.getRank() != 2)
    return std::nullopt;
  sizes.resize(2, sizes.front());
  return {{l.map(type, sizes, ValueRange(), ArrayRef<AffineMap>(), [&](OpBuilder &b, Location loc, ValueRange) {
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value one = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, getDiagonal(b, loc, 2), zero);
    return convertScalar(b, loc, one, type.getElementType());
  })}};
}

void mlir::aten::addTriangles(LoweringTable &table) {
  table["aten.tril"] = lowerTriangle<arith::CmpIPredicate::sle>;
  table["aten.triu"] = lowerTriangle<arith::CmpIPredicate::sge>;
  table["aten.eye"] = lowerEye;
}
