//===- Ranking.cpp - each element against those beside it: prefix sums and maxima, sort, top-k --------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::aten;

/// A generic over the dimensions of `type` and, last, one loop more, r, over which `step` accumulates from `first` on
/// (its last argument). Of two operands of that rank, the second is read with r in place of `dim`, and so is the first
/// if `both`.
static Value accumulateBeside(Lowering &l, ValueRange operands, bool both, int64_t dim, RankedTensorType type,
                              ArrayRef<OpFoldResult> sizes, TypedAttr first, Lowering::Body step) {
  int64_t rank = type.getRank();
  AffineMap own = AffineMap::getMultiDimIdentityMap(rank + 1, l.b.getContext()).getMajorSubMap(rank);
  SmallVector<AffineExpr> exprs(own.getResults());
  exprs[dim] = l.b.getAffineDimExpr(rank);
  AffineMap other = AffineMap::get(rank + 1, 0, exprs, l.b.getContext()), maps[] = {both ? other : own, other, own};
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  iterators.push_back(utils::IteratorType::reduction);
  Value start = arith::ConstantOp::create(l.b, l.loc, first);
  Value init = linalg::FillOp::create(l.b, l.loc, start, l.empty(type, sizes)).getResult(0);
  auto build = [&](OpBuilder &b, Location loc, ValueRange args) {
    linalg::YieldOp::create(b, loc, step(b, loc, args));
  };
  return linalg::GenericOp::create(l.b, l.loc, type, operands, init, maps, iterators, build).getResult(0);
}

/// The same from zero on.
static Value sumBeside(Lowering &l, ValueRange operands, bool both, int64_t dim, RankedTensorType type,
                       ArrayRef<OpFoldResult> sizes, Lowering::Body step) {
  return accumulateBeside(l, operands, both, dim, type, sizes, l.b.getZeroAttr(type.getElementType()), step);
}

/// Over (outer..., i, j) of `input` and itself along `dim`: term(element i, element j, i, j) summed over j.
static Value pairwise(Lowering &l, Value input, int64_t dim, Type accumulator,
                      llvm::function_ref<Value(OpBuilder &, Location, Value, Value, Value, Value)> term) {
  auto from = cast<RankedTensorType>(input.getType());
  return sumBeside(l, {input, input}, /*both=*/false, dim, from.clone(accumulator), l.getSizes(input),
                   [&](OpBuilder &b, Location loc, ValueRange args) {
                     Value i = linalg::IndexOp::create(b, loc, dim);
                     Value j = linalg::IndexOp::create(b, loc, from.getRank());
                     return add(b, loc, {term(b, loc, args[0], args[1], i, j), args[2]});
                   });
}

/// cumsum(self, dim). Quadratic in the dimension: linalg has no scan, and where this occurs (masks,
/// counts) it is short.
static Values lowerCumsum(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self)
    return std::nullopt;
  const int64_t rank = cast<RankedTensorType>(self.getType()).getRank();
  std::optional<int64_t> dim = l.call.getDim("dim", rank);
  if (!dim || rank == 0)
    return std::nullopt;
  Type element = l.getType().getElementType(), compute = getComputeType(element);
  self = l.cast(self, element); // with a dtype the elements have it before they are added
  Value sum = pairwise(l, l.cast(self, compute), *dim, compute,
                       [&](OpBuilder &b, Location loc, Value, Value other, Value i, Value j) -> Value {
                         Value before = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, j, i);
                         Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(compute));
                         return arith::SelectOp::create(b, loc, before, other, zero);
                       });
  return {{l.cast(sum, element)}};
}

/// cummax(self, dim): values, and the index of the last element that is as large (or of the last NaN). Quadratic in the
/// dimension, as cumsum is.
static Values lowerCummax(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self || l.call.getNumResults() != 2)
    return std::nullopt;
  auto from = cast<RankedTensorType>(self.getType());
  std::optional<int64_t> dim = l.call.getDim("dim", from.getRank());
  if (!dim || from.getRank() == 0)
    return std::nullopt;
  auto isBefore = [&](OpBuilder &b, Location loc) -> Value {
    Value i = linalg::IndexOp::create(b, loc, *dim), j = linalg::IndexOp::create(b, loc, from.getRank());
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, j, i);
  };
  SmallVector<OpFoldResult> sizes = l.getSizes(self);
  Value values =
      accumulateBeside(l, {self, self}, /*both=*/false, *dim, from, sizes, getLowest(l.b, from.getElementType()),
                       [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
                         Value larger = maximum(b, loc, {args[1], args[2]});
                         return arith::SelectOp::create(b, loc, isBefore(b, loc), larger, args[2]);
                       });
  Value indices =
      sumBeside(l, {values, self}, /*both=*/false, *dim, l.getType(1), sizes,
                [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
                  Value hit;
                  if (isa<FloatType>(from.getElementType())) {
                    Value equal = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, args[1], args[0]);
                    Value nan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, args[1], args[1]);
                    hit = arith::OrIOp::create(b, loc, equal, nan);
                  } else {
                    hit = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, args[1], args[0]);
                  }
                  hit = arith::AndIOp::create(b, loc, hit, isBefore(b, loc));
                  // Loops over j may run in parts, so the last one is the largest, not the one that came last.
                  Value j = convertScalar(b, loc, linalg::IndexOp::create(b, loc, from.getRank()), args[2].getType());
                  Value later = arith::MaxSIOp::create(b, loc, args[2], j);
                  return arith::SelectOp::create(b, loc, hit, later, args[2]);
                });
  return {{values, indices}};
}

/// Integers that compare as the elements do: of floats their bits, where zeros of both signs are equal, and NaN is larger
/// than any number and equal to NaN, as in PyTorch (comparisons of floats are false for NaN); of truth values 0 and 1.
static Value keysOf(Lowering &l, Value input) {
  auto from = cast<RankedTensorType>(input.getType());
  Type element = from.getElementType();
  if (element.isInteger(1)) // as a signed number of one bit, true would be -1
    return l.map(from.clone(l.b.getI8Type()), l.getSizes(input), input, [](OpBuilder &b, Location loc, ValueRange args) {
      return arith::ExtUIOp::create(b, loc, b.getI8Type(), args[0]).getResult();
    });
  if (!isa<FloatType>(element))
    return input;
  Type wide = getComputeType(element), key = l.b.getIntegerType(wide.getIntOrFloatBitWidth());
  return l.map(from.clone(key), l.getSizes(input), input, [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
    using P = arith::CmpFPredicate;
    Value x = convertScalar(b, loc, args[0], wide), zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(wide));
    auto is = [&](P predicate, Value y) -> Value { return arith::CmpFOp::create(b, loc, predicate, x, y); };
    APInt most = APInt::getSignedMaxValue(key.getIntOrFloatBitWidth());
    Value largest = arith::ConstantOp::create(b, loc, b.getIntegerAttr(key, most));
    Value bits = arith::BitcastOp::create(b, loc, key, x), none = arith::ConstantOp::create(b, loc, b.getZeroAttr(key));
    // Below zero, more bits are a smaller number.
    Value turned = arith::XOrIOp::create(b, loc, bits, largest);
    Value number = arith::SelectOp::create(b, loc, is(P::OLT, zero), turned,
                                           arith::SelectOp::create(b, loc, is(P::OEQ, zero), none, bits));
    return arith::SelectOp::create(b, loc, is(P::UNO, x), largest, number);
  });
}

/// How many elements along `dim` stand before each one in descending or ascending order; equal ones in order of their
/// index.
static Value rankOf(Lowering &l, Value input, int64_t dim, bool ascending) {
  Type i64 = l.b.getI64Type();
  Value keys = keysOf(l, input);
  return pairwise(l, keys, dim, i64, [&](OpBuilder &b, Location loc, Value own, Value other, Value i, Value j) {
    auto order = ascending ? arith::CmpIPredicate::slt : arith::CmpIPredicate::sgt;
    Value first = arith::CmpIOp::create(b, loc, order, other, own);
    Value equal = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, other, own);
    Value earlier = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, j, i);
    Value before = arith::OrIOp::create(b, loc, first, arith::AndIOp::create(b, loc, equal, earlier));
    return convertScalar(b, loc, before, i64);
  });
}

/// result[.., r] = the element (or its index) whose rank is r. As a sum over the dimension in which one term counts.
static Value pick(Lowering &l, Value input, Value ranks, int64_t dim, bool index, RankedTensorType type) {
  Type element = index ? l.b.getI64Type() : cast<RankedTensorType>(input.getType()).getElementType();
  SmallVector<OpFoldResult> sizes = l.getSizes(input);
  if (!type.isDynamicDim(dim))
    sizes[dim] = l.b.getIndexAttr(type.getDimSize(dim));
  return sumBeside(l, {input, ranks}, /*both=*/true, dim, type.clone(element), sizes,
                   [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
                     Value wanted = convertScalar(b, loc, linalg::IndexOp::create(b, loc, dim), b.getI64Type());
                     Value hit = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, args[1], wanted);
                     Value value = args[0];
                     if (index)
                       value = convertScalar(b, loc, linalg::IndexOp::create(b, loc, type.getRank()), b.getI64Type());
                     return arith::SelectOp::create(b, loc, hit, value, args[2]);
                   });
}

/// topk(self, k, dim, largest), sort and argsort(self, dim, descending), max(self, dim), argmax: values and indices by
/// rank. Ties go to the lower index.
Values mlir::aten::lowerRanked(Lowering &l) {
  if (Values chosen = lowerLongTopK(l))
    return chosen;
  Value self = l.getTensor("self");
  if (!self)
    return std::nullopt;
  auto from = cast<RankedTensorType>(self.getType());
  StringRef base = l.call.getBase();
  bool all = base == "aten.sort" || base == "aten.argsort", one = base == "aten.argsort" || base == "aten.argmax";
  std::optional<int64_t> dim = l.call.getArgument("dim") ? l.call.getDim("dim", from.getRank()) : from.getRank() - 1;
  bool ascending = base == "aten.topk" ? !l.call.getBool("largest").value_or(true)
                                       : all && !l.call.getBool("descending").value_or(false);
  if (!dim || from.getRank() == 0 || (base == "aten.argmax" && !l.call.getArgument("dim")) ||
      l.call.getNumResults() != (one ? 1 : 2))
    return std::nullopt;
  SmallVector<int64_t> shape(from.getShape());
  if (!all)
    shape[*dim] = base == "aten.topk" ? l.getType().getDimSize(*dim) : 1;
  if (!all && ShapedType::isDynamic(shape[*dim]))
    return std::nullopt;
  RankedTensorType type = from.clone(shape);
  Value input = self, ranks = rankOf(l, input, *dim, ascending);
  auto finish = [&](bool index, unsigned result) {
    Value value = pick(l, input, ranks, *dim, index, type);
    if (l.getType(result).getRank() != type.getRank()) {
      SmallVector<OpFoldResult> sizes = l.getSizes(value);
      sizes.erase(sizes.begin() + *dim);
      value = l.reshapeUnits(value, l.getType(result), sizes);
    }
    return value;
  };
  if (one)
    return {{finish(/*index=*/true, 0)}};
  return {{finish(/*index=*/false, 0), finish(/*index=*/true, 1)}};
}

void mlir::aten::addRankings(LoweringTable &table) {
  table["aten.cumsum"] = lowerCumsum;
  table["aten.cummax"] = lowerCummax;
  for (StringRef name : {"aten.topk", "aten.sort", "aten.argsort", "aten.argmax"})
    table[name] = lowerRanked;
}
