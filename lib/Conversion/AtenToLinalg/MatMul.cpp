//===- MatMul.cpp - products that were not raised to nn.linear or nn.batch_linear ------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::aten;

/// Sum over the last dimension of `a` of a[.., m, k] * b[.., n, k] (or b[.., k, n]) in f32, rounded once. Leading
/// dimensions broadcast.
static Value contract(Lowering &l, Value a, Value b, bool transposed, RankedTensorType type) {
  auto aType = cast<RankedTensorType>(a.getType()), bType = cast<RankedTensorType>(b.getType());
  int64_t rank = type.getRank();
  if (aType.getRank() < 2 || bType.getRank() < 2 || rank != std::max(aType.getRank(), bType.getRank())) {
    l.fits = false;
    return a;
  }
  Type compute = getComputeType(type.getElementType());
  auto getMap = [&](RankedTensorType from, AffineExpr first, AffineExpr second) {
    SmallVector<AffineExpr> exprs;
    for (int64_t dim = 0; dim < from.getRank() - 2; ++dim) {
      int64_t to = dim + rank - from.getRank();
      exprs.push_back(from.getDimSize(dim) == 1 && type.getDimSize(to) != 1 ? l.b.getAffineConstantExpr(0)
                                                                            : l.b.getAffineDimExpr(to));
    }
    exprs.append({first, second});
    return AffineMap::get(rank + 1, 0, exprs, l.b.getContext());
  };
  AffineExpr m = l.b.getAffineDimExpr(rank - 2), n = l.b.getAffineDimExpr(rank - 1), k = l.b.getAffineDimExpr(rank);
  SmallVector<AffineExpr> out;
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  iterators.push_back(utils::IteratorType::reduction);
  for (int64_t dim = 0; dim < rank; ++dim)
    out.push_back(l.b.getAffineDimExpr(dim));
  AffineMap maps[] = {getMap(aType, m, k), transposed ? getMap(bType, n, k) : getMap(bType, k, n),
                      AffineMap::get(rank + 1, 0, out, l.b.getContext())};
  SmallVector<OpFoldResult> sizes;
  for (int64_t dim = 0; dim < rank - 2; ++dim) {
    int64_t own = dim - (rank - aType.getRank());
    bool fromA = own >= 0 && (aType.getDimSize(own) != 1 || bType.getRank() < rank - dim);
    sizes.push_back(fromA ? l.getSize(a, own) : l.getSize(b, dim - (rank - bType.getRank())));
  }
  sizes.push_back(l.getSize(a, aType.getRank() - 2));
  sizes.push_back(l.getSize(b, transposed ? bType.getRank() - 2 : bType.getRank() - 1));
  RankedTensorType wide = type.clone(compute);
  Value zero = arith::ConstantOp::create(l.b, l.loc, l.b.getZeroAttr(compute));
  Value init = linalg::FillOp::create(l.b, l.loc, zero, l.empty(wide, sizes)).getResult(0);
  auto build = [&](OpBuilder &nested, Location loc, ValueRange args) {
    Value x = convertScalar(nested, loc, args[0], compute), y = convertScalar(nested, loc, args[1], compute);
    Value product = isa<FloatType>(compute) ? arith::MulFOp::create(nested, loc, x, y).getResult()
                                            : arith::MulIOp::create(nested, loc, x, y).getResult();
    linalg::YieldOp::create(nested, loc, add(nested, loc, {product, args[2]}));
  };
  Value result =
      linalg::GenericOp::create(l.b, l.loc, wide, ValueRange{a, b}, init, maps, iterators, build).getResult(0);
  return l.cast(result, type.getElementType());
}

/// A vector as a matrix of one row or, with `column`, of one column.
static Value asMatrix(Lowering &l, Value value, bool column) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() != 1)
    return value;
  SmallVector<OpFoldResult> sizes = l.getSizes(value);
  SmallVector<int64_t> shape(type.getShape());
  sizes.insert(sizes.begin() + column, l.b.getIndexAttr(1));
  shape.insert(shape.begin() + column, 1);
  return l.reshapeUnits(value, type.clone(shape), sizes);
}

/// matmul, mm, bmm. A vector is a matrix of one row or column, which the result does not have.
static Values lowerMatMul(Lowering &l) {
  Value a = l.getTensor("self"), b = l.getTensor("other");
  if (!b)
    b = l.getTensor("mat2");
  auto isNumber = [](Value value) { return cast<RankedTensorType>(value.getType()).getRank() == 0; };
  if (!a || !b || isNumber(a) || isNumber(b))
    return std::nullopt;
  bool row = cast<RankedTensorType>(a.getType()).getRank() == 1,
       column = cast<RankedTensorType>(b.getType()).getRank() == 1;
  if (!row && !column)
    return {{contract(l, a, b, /*transposed=*/false, l.getType())}};
  SmallVector<int64_t> shape(l.getType().getShape());
  if (column)
    shape.push_back(1);
  if (row && shape.empty())
    return std::nullopt;
  if (row)
    shape.insert(shape.end() - 1, 1);
  Value result = contract(l, asMatrix(l, a, /*column=*/false), asMatrix(l, b, /*column=*/true), /*transposed=*/false,
                          l.getType().clone(shape));
  SmallVector<OpFoldResult> sizes = l.getSizes(result);
  if (row)
    sizes.erase(sizes.end() - 2);
  if (column)
    sizes.pop_back();
  return {{l.reshapeUnits(result, l.getType(), sizes)}};
}

/// linear(input, weight, bias), addmm(bias, mat1, mat2) without factors.
static Values lowerLinear(Lowering &l) {
  bool linear = l.call.getBase() == "aten.linear";
  StringRef biasName = linear ? "bias" : "self";
  Value a = l.getTensor(linear ? "input" : "mat1"), b = l.getTensor(linear ? "weight" : "mat2");
  Value bias = l.getTensor(biasName);
  if (!a || !b || (!bias && l.call.getArgument(biasName)) || l.call.getArgument("alpha") || l.call.getArgument("beta") ||
      cast<RankedTensorType>(a.getType()).getRank() < 2)
    return std::nullopt;
  RankedTensorType type = l.getType();
  Type compute = getComputeType(type.getElementType());
  if (!bias)
    return {{contract(l, a, b, linear, type)}};
  Value product = contract(l, a, b, linear, type.clone(compute));
  return {{l.map(type, l.getSizes(product), {product, bias}, [&](OpBuilder &nested, Location loc, ValueRange args) {
    Value sum = add(nested, loc, {convertScalar(nested, loc, args[1], compute), args[0]});
    return convertScalar(nested, loc, sum, type.getElementType());
  })}};
}

/// _grouped_mm(self [P, in], mat2 [G, in, out], offs [G]) and the function of transformers that stands in for it: row p
/// times the matrix of the first group that ends behind p; rows behind the last group are zero.
static Values lowerGroupedProduct(Lowering &l) {
  bool fallback = l.call.getBase() != "aten._grouped_mm";
  Value rows = l.getTensor(fallback ? "input" : "self"), weights = l.getTensor(fallback ? "weight" : "mat2");
  Value ends = l.getTensor("offs");
  RankedTensorType type = l.getType();
  auto rankOf = [](Value value) { return value ? cast<RankedTensorType>(value.getType()).getRank() : -1; };
  if (rankOf(rows) != 2 || rankOf(weights) != 3 || rankOf(ends) != 1 || l.call.getArgument("bias") ||
      !isa<FloatType>(type.getElementType()))
    return std::nullopt;
  auto rowType = cast<RankedTensorType>(rows.getType()), weightType = cast<RankedTensorType>(weights.getType());
  if (!weightType.hasStaticShape() || rowType.getDimSize(1) != weightType.getDimSize(1) ||
      type.getShape() != ArrayRef<int64_t>{rowType.getDimSize(0), weightType.getDimSize(2)})
    return std::nullopt;
  Type compute = getComputeType(type.getElementType()), i64 = l.b.getI64Type();
  MLIRContext *context = l.b.getContext();
  OpFoldResult count = l.getSize(rows, 0);

  // The group of each row: how many groups end before it or with it.
  auto groupType = RankedTensorType::get(type.getShape().take_front(1), i64);
  Value none = arith::ConstantOp::create(l.b, l.loc, l.b.getZeroAttr(i64));
  Value noGroups = linalg::FillOp::create(l.b, l.loc, none, l.empty(groupType, count)).getResult(0);
  AffineExpr p = l.b.getAffineDimExpr(0), n = l.b.getAffineDimExpr(1), k = l.b.getAffineDimExpr(2);
  AffineMap groupMaps[] = {AffineMap::get(2, 0, n), AffineMap::get(2, 0, p)};
  utils::IteratorType groupLoops[] = {utils::IteratorType::parallel, utils::IteratorType::reduction};
  auto isBehind = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value row = convertScalar(b, loc, linalg::IndexOp::create(b, loc, 0), i64);
    Value end = convertScalar(b, loc, args[0], i64);
    Value behind = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, end, row);
    Value sum = arith::AddIOp::create(b, loc, args[1], convertScalar(b, loc, behind, i64));
    linalg::YieldOp::create(b, loc, sum);
  };
  Value groups =
      linalg::GenericOp::create(l.b, l.loc, groupType, ends, noGroups, groupMaps, groupLoops, isBehind).getResult(0);

  RankedTensorType wide = type.clone(compute);
  Value zero = arith::ConstantOp::create(l.b, l.loc, l.b.getZeroAttr(compute));
  Value init = linalg::FillOp::create(l.b, l.loc, zero, l.empty(wide, {count, l.getSize(weights, 2)})).getResult(0);
  AffineMap maps[] = {AffineMap::get(3, 0, {p, k}, context), AffineMap::get(3, 0, {p}, context),
                      AffineMap::get(3, 0, {p, n}, context)};
  utils::IteratorType loops[] = {utils::IteratorType::parallel, utils::IteratorType::parallel,
                                 utils::IteratorType::reduction};
  Value groupCount = l.getIndex(l.getSize(weights, 0));
  auto multiply = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value number = arith::IndexCastOp::create(b, loc, b.getIndexType(), args[1]);
    Value inGroup = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, number, groupCount);
    Value group = arith::SelectOp::create(b, loc, inGroup, number, arith::ConstantIndexOp::create(b, loc, 0));
    auto weight = tensor::ExtractOp::create(
        b, loc, weights, ValueRange{group, linalg::IndexOp::create(b, loc, 2), linalg::IndexOp::create(b, loc, 1)});
    weight->setAttr("moe.in_bounds", b.getUnitAttr());
    Value term =
        arith::MulFOp::create(b, loc, convertScalar(b, loc, args[0], compute), convertScalar(b, loc, weight, compute));
    Value sum = arith::AddFOp::create(b, loc, args[2], term);
    linalg::YieldOp::create(b, loc, arith::SelectOp::create(b, loc, inGroup, sum, args[2]).getResult());
  };
  Value result =
      linalg::GenericOp::create(l.b, l.loc, wide, ValueRange{rows, groups}, init, maps, loops, multiply).getResult(0);
  return {{l.cast(result, type.getElementType())}};
}

void mlir::aten::addMatMul(LoweringTable &table) {
  for (StringRef name : {"aten.matmul", "aten.mm", "aten.bmm"})
    table[name] = lowerMatMul;
  for (StringRef name : {"aten.linear", "aten.addmm"})
    table[name] = lowerLinear;
  for (StringRef name : {"aten._grouped_mm", "transformers.grouped_mm_fallback"})
    table[name] = lowerGroupedProduct;
}
