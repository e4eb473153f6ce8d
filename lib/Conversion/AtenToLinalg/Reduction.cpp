//===- Reduction.cpp - sums, extrema, softmax, histograms --------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::aten;

/// The reduced dimensions; all of them when none is named.
static std::optional<SmallVector<int64_t>> getDims(Lowering &l, int64_t rank) {
  std::optional<SmallVector<int64_t>> named = l.call.getInts("dim");
  if (!named || named->empty())
    return l.call.getArgument("dim") && !named ? std::nullopt
                                               : std::optional(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  for (int64_t &dim : *named) {
    dim = dim < 0 ? dim + rank : dim;
    if (dim < 0 || dim >= rank)
      return std::nullopt;
  }
  return named;
}

TypedAttr mlir::aten::getLowest(OpBuilder &b, Type type) {
  if (auto floats = dyn_cast<FloatType>(type))
    return b.getFloatAttr(type, APFloat::getInf(floats.getFloatSemantics(), /*Negative=*/true));
  // As signed numbers of one bit, true would be -1.
  if (type.isInteger(1))
    return b.getBoolAttr(false);
  return b.getIntegerAttr(type, APInt::getSignedMinValue(type.getIntOrFloatBitWidth()));
}

Value mlir::aten::add(OpBuilder &b, Location loc, ValueRange args) {
  if (isa<FloatType>(args[0].getType()))
    return arith::AddFOp::create(b, loc, args[1], args[0]);
  if (args[0].getType().isInteger(1))
    return arith::OrIOp::create(b, loc, args[1], args[0]);
  return arith::AddIOp::create(b, loc, args[1], args[0]);
}

Value mlir::aten::maximum(OpBuilder &b, Location loc, ValueRange args) {
  if (isa<FloatType>(args[0].getType()))
    return arith::MaximumFOp::create(b, loc, args[1], args[0]);
  if (args[0].getType().isInteger(1))
    return arith::OrIOp::create(b, loc, args[1], args[0]);
  return arith::MaxSIOp::create(b, loc, args[1], args[0]);
}

static bool isKept(Lowering &l) { return l.call.getBool("keepdim").value_or(false); }

static Values lowerSum(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self)
    return std::nullopt;
  std::optional<SmallVector<int64_t>> dims = getDims(l, cast<RankedTensorType>(self.getType()).getRank());
  if (!dims)
    return std::nullopt;
  Type element = l.getType().getElementType(), compute = getComputeType(element);
  if (isa<FloatType>(element)) // with a dtype the elements have it before they are added
    self = l.cast(self, element);
  Value sum = l.reduce(l.cast(self, compute), *dims, isKept(l), l.b.getZeroAttr(compute), add);
  return {{l.cast(sum, element)}};
}

static Values lowerMean(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self || !isa<FloatType>(l.getType().getElementType()))
    return std::nullopt;
  std::optional<SmallVector<int64_t>> dims = getDims(l, cast<RankedTensorType>(self.getType()).getRank());
  if (!dims)
    return std::nullopt;
  // With a dtype of 16 bits, unlike in a sum, PyTorch does not round the elements first.
  Type compute = getComputeType(l.getType().getElementType());
  Value sum = l.reduce(l.cast(self, compute), *dims, isKept(l), l.b.getZeroAttr(compute), add);
  SmallVector<OpFoldResult> counts;
  for (int64_t dim : *dims)
    counts.push_back(l.getSize(self, dim));
  Value count = convertScalar(l.b, l.loc, l.getIndex(l.multiply(counts)), compute);
  return {{l.map(l.getType(), l.getSizes(sum), sum, [&](OpBuilder &b, Location loc, ValueRange args) {
    return convertScalar(b, loc, arith::DivFOp::create(b, loc, args[0], count), l.getType().getElementType());
  })}};
}

/// linalg_vector_norm(self, ord, dim): the root of the sum of squares, or the sum of absolute values.
static Values lowerVectorNorm(Lowering &l) {
  Value self = l.getTensor("self");
  std::optional<double> order = l.call.getArgument("ord") ? l.call.getFloat("ord") : 2.0;
  if (!self || !isa<FloatType>(l.getType().getElementType()) || (order != 1.0 && order != 2.0))
    return std::nullopt;
  std::optional<SmallVector<int64_t>> dims = getDims(l, cast<RankedTensorType>(self.getType()).getRank());
  if (!dims)
    return std::nullopt;
  Type compute = getComputeType(l.getType().getElementType());
  self = l.cast(self, compute);
  Value parts = l.map(cast<RankedTensorType>(self.getType()), l.getSizes(self), self,
                      [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
                        if (order == 1.0)
                          return math::AbsFOp::create(b, loc, args[0]);
                        return arith::MulFOp::create(b, loc, args[0], args[0]);
                      });
  Value sum = l.reduce(parts, *dims, isKept(l), l.b.getZeroAttr(compute), add);
  return {{l.map(l.getType(), l.getSizes(sum), sum, [&](OpBuilder &b, Location loc, ValueRange args) {
    Value root = order == 2.0 ? math::SqrtOp::create(b, loc, args[0]).getResult() : args[0];
    return convertScalar(b, loc, root, l.getType().getElementType());
  })}};
}

/// logsumexp(self, dim): of differences from the largest element, so that exp does not overflow.
static Values lowerLogSumExp(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self || !isa<FloatType>(l.getType().getElementType()))
    return std::nullopt;
  std::optional<SmallVector<int64_t>> dims = getDims(l, cast<RankedTensorType>(self.getType()).getRank());
  if (!dims)
    return std::nullopt;
  Type compute = getComputeType(l.getType().getElementType());
  Value input = l.cast(self, compute);
  auto finite = [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
    // Where all are minus infinity, or one is plus infinity, nothing is taken off, as in PyTorch.
    Value limit = arith::ConstantOp::create(
        b, loc, b.getFloatAttr(compute, APFloat::getInf(cast<FloatType>(compute).getFloatSemantics())));
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(compute));
    Value size = math::AbsFOp::create(b, loc, args[0]);
    Value infinite = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, size, limit);
    return arith::SelectOp::create(b, loc, infinite, zero, args[0]);
  };
  Value peak = l.reduce(input, *dims, /*keep=*/true, getLowest(l.b, compute), maximum);
  peak = l.map(cast<RankedTensorType>(peak.getType()), l.getSizes(peak), peak, finite);
  Value power = l.map(cast<RankedTensorType>(input.getType()), l.getSizes(input), {input, peak},
                      [](OpBuilder &b, Location loc, ValueRange args) -> Value {
                        return math::ExpOp::create(b, loc, arith::SubFOp::create(b, loc, args[0], args[1]));
                      });
  Value sum = l.reduce(power, *dims, /*keep=*/true, l.b.getZeroAttr(compute), add);
  Type element = l.getType().getElementType();
  auto kept = cast<RankedTensorType>(peak.getType());
  Value result = l.map(kept.clone(element), l.getSizes(peak), {sum, peak},
                       [&](OpBuilder &b, Location loc, ValueRange args) {
                         Value log = math::LogOp::create(b, loc, args[0]);
                         return convertScalar(b, loc, arith::AddFOp::create(b, loc, log, args[1]), element);
                       });
  SmallVector<OpFoldResult> sizes;
  for (int64_t dim = 0; dim < kept.getRank(); ++dim)
    if (isKept(l) || !llvm::is_contained(*dims, dim))
      sizes.push_back(l.getSize(result, dim));
  return {{l.reshapeUnits(result, l.getType(), sizes)}};
}

/// amax, and max without dimension.
static Values lowerMaximum(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self || l.call.getNumResults() != 1)
    return std::nullopt;
  std::optional<SmallVector<int64_t>> dims = getDims(l, cast<RankedTensorType>(self.getType()).getRank());
  if (!dims)
    return std::nullopt;
  Type element = l.getType().getElementType();
  return {{l.reduce(self, *dims, isKept(l), getLowest(l.b, element), maximum)}};
}

/// any, all: in i1.
template <bool any> static Values lowerTruth(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self)
    return std::nullopt;
  std::optional<SmallVector<int64_t>> dims = getDims(l, cast<RankedTensorType>(self.getType()).getRank());
  if (!dims)
    return std::nullopt;
  Value truth = l.cast(self, l.b.getI1Type());
  return {{l.reduce(truth, *dims, isKept(l), l.b.getBoolAttr(!any),
                    [](OpBuilder &b, Location loc, ValueRange args) -> Value {
                      if (any)
                        return arith::OrIOp::create(b, loc, args[1], args[0]);
                      return arith::AndIOp::create(b, loc, args[1], args[0]);
                    })}};
}

/// softmax(self, dim): everything in the compute type, rounded once. With a dtype, the elements have it before.
static Values lowerSoftmax(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self)
    return std::nullopt;
  auto from = cast<RankedTensorType>(self.getType());
  std::optional<int64_t> dim = l.call.getDim("dim", from.getRank());
  if (!dim || from.getRank() == 0)
    return std::nullopt;
  Type element = l.getType().getElementType(), compute = getComputeType(element);
  RankedTensorType type = from.clone(compute);
  Value input = l.cast(l.cast(self, element), compute);
  SmallVector<OpFoldResult> sizes = l.getSizes(input);
  Value peak = l.reduce(input, *dim, /*keep=*/true, getLowest(l.b, compute), maximum);
  Value power = l.map(type, sizes, {input, peak}, [](OpBuilder &b, Location loc, ValueRange args) -> Value {
    return math::ExpOp::create(b, loc, arith::SubFOp::create(b, loc, args[0], args[1]));
  });
  Value sum = l.reduce(power, *dim, /*keep=*/true, l.b.getZeroAttr(compute), add);
  return {{l.map(l.getType(), sizes, {power, sum}, [&](OpBuilder &b, Location loc, ValueRange args) {
    return convertScalar(b, loc, arith::DivFOp::create(b, loc, args[0], args[1]), element);
  })}};
}

/// histc(self, bins, min, max) of a vector: how many elements lie in each of equally wide bins; the largest number of
/// the range belongs to the last one, and what is outside counts nowhere.
static Values lowerHistogram(Lowering &l) {
  Value self = l.getTensor("self");
  std::optional<double> lowest = l.call.getFloat("min"), highest = l.call.getFloat("max");
  std::optional<int64_t> bins = l.call.getInt("bins");
  // Without a range, it would be that of the elements.
  if (!self || cast<RankedTensorType>(self.getType()).getRank() != 1 || !bins || !lowest || !highest ||
      *lowest >= *highest || l.getType().getShape() != ArrayRef<int64_t>{*bins})
    return std::nullopt;
  Type element = l.getType().getElementType(), i64 = l.b.getI64Type();
  Type compute = isa<FloatType>(element) ? getComputeType(element) : Type(l.b.getF64Type());
  AffineExpr bin = l.b.getAffineDimExpr(0), r = l.b.getAffineDimExpr(1);
  AffineMap maps[] = {AffineMap::get(2, 0, r), AffineMap::get(2, 0, bin)};
  utils::IteratorType iterators[] = {utils::IteratorType::parallel, utils::IteratorType::reduction};
  RankedTensorType counts = l.getType().clone(i64);
  Value zero = arith::ConstantOp::create(l.b, l.loc, l.b.getZeroAttr(i64));
  Value init =
      linalg::FillOp::create(l.b, l.loc, zero, l.empty(counts, OpFoldResult(l.b.getIndexAttr(*bins)))).getResult(0);
  auto build = [&](OpBuilder &b, Location loc, ValueRange args) {
    auto number = [&](double value) {
      return arith::ConstantOp::create(b, loc, b.getFloatAttr(compute, value)).getResult();
    };
    Value x = convertScalar(b, loc, args[0], compute), low = number(*lowest), high = number(*highest);
    Value inside = arith::AndIOp::create(b, loc, arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE, x, low),
                                         arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE, x, high));
    // Out of range the number would not fit an integer.
    x = arith::SelectOp::create(b, loc, inside, x, low);
    Value place = arith::MulFOp::create(b, loc, arith::SubFOp::create(b, loc, x, low), number(*bins));
    place = arith::DivFOp::create(b, loc, place, number(*highest - *lowest));
    Value last = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(*bins - 1));
    Value index = arith::MinSIOp::create(b, loc, convertScalar(b, loc, place, i64), last);
    Value here = convertScalar(b, loc, linalg::IndexOp::create(b, loc, 0), i64);
    Value hit =
        arith::AndIOp::create(b, loc, inside, arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, index, here));
    linalg::YieldOp::create(b, loc, add(b, loc, {convertScalar(b, loc, hit, i64), args[1]}));
  };
  Value result = linalg::GenericOp::create(l.b, l.loc, counts, self, init, maps, iterators, build).getResult(0);
  return {{l.cast(result, element)}};
}

/// max: of everything, of two tensors (as maximum), or along a dimension with indices.
static Values lowerMax(Lowering &l) {
  if (l.getTensor("other"))
    return lowerMaximumOfTwo(l);
  return l.call.getNumResults() == 2 ? lowerRanked(l) : lowerMaximum(l);
}

void mlir::aten::addReductions(LoweringTable &table) {
  table["aten.sum"] = lowerSum;
  table["aten.mean"] = lowerMean;
  table["aten.linalg_vector_norm"] = lowerVectorNorm;
  table["aten.logsumexp"] = lowerLogSumExp;
  table["aten.amax"] = lowerMaximum;
  table["aten.max"] = lowerMax;
  table["aten.any"] = lowerTruth<true>;
  table["aten.all"] = lowerTruth<false>;
  for (StringRef name : {"aten.softmax", "aten._softmax"})
    table[name] = lowerSoftmax;
  table["aten.histc"] = lowerHistogram;
}
