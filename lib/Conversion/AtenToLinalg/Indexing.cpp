//===- Indexing.cpp - elements by index ---------------------------------------------------------------------------===//
//
// aten-check-indices has made sure that every index lies within the tensor.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::aten;

/// A stored index as a position: negative ones count from the end.
static Value getPosition(OpBuilder &b, Location loc, Value index, Value size) {
  Value value = arith::IndexCastOp::create(b, loc, b.getIndexType(), index);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value negative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, value, zero);
  return arith::SelectOp::create(b, loc, negative, arith::AddIOp::create(b, loc, value, size), value);
}

/// index(self, [i0, None, i1, ...]): the index tensors broadcast to one shape, which stands at the first indexed
/// dimension; they must be neighbours, so that the place of that shape is not a special case.
static Values lowerIndex(Lowering &l) {
  Value self = l.getTensor("self");
  auto list = dyn_cast_or_null<ArrayAttr>(l.call.getArgument("indices"));
  if (!self || !list)
    return std::nullopt;
  auto from = cast<RankedTensorType>(self.getType());
  RankedTensorType type = l.getType();
  SmallVector<Value> indices;
  int64_t first = -1, last = -1, width = 0;
  for (auto [dim, element] : llvm::enumerate(list)) {
    Value index = l.call.getOperandOf(element);
    if (!index)
      continue;
    auto indexType = dyn_cast<RankedTensorType>(index.getType());
    if (!indexType || indexType.getElementType().isInteger(1) || (last >= 0 && static_cast<int64_t>(dim) != last + 1))
      return std::nullopt;
    first = first < 0 ? dim : first;
    last = dim;
    width = std::max(width, indexType.getRank());
    indices.push_back(index);
  }
  if (indices.empty() || type.getRank() != from.getRank() - static_cast<int64_t>(indices.size()) + width)
    return std::nullopt;
  SmallVector<OpFoldResult> sizes;
  SmallVector<AffineMap> maps;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t own = dim < first ? dim : dim - width + static_cast<int64_t>(indices.size());
    if (dim < first || dim >= first + width) {
      sizes.push_back(l.getSize(self, own));
      continue;
    }
    OpFoldResult size = l.b.getIndexAttr(type.getDimSize(dim));
    for (Value index : indices) {
      auto indexType = cast<RankedTensorType>(index.getType());
      int64_t at = dim - first - (width - indexType.getRank());
      if (type.isDynamicDim(dim) && at >= 0 && indexType.isDynamicDim(at))
        size = l.getSize(index, at);
    }
    sizes.push_back(size);
  }
  for (Value index : indices) {
    auto indexType = cast<RankedTensorType>(index.getType());
    SmallVector<AffineExpr> exprs;
    for (int64_t at = 0; at < indexType.getRank(); ++at) {
      int64_t dim = first + width - indexType.getRank() + at;
      bool unit = indexType.getDimSize(at) == 1 && type.getDimSize(dim) != 1;
      exprs.push_back(unit ? l.b.getAffineConstantExpr(0) : l.b.getAffineDimExpr(dim));
    }
    maps.push_back(AffineMap::get(type.getRank(), 0, exprs, l.b.getContext()));
  }
  SmallVector<Value> bounds;
  for (int64_t dim = first; dim <= last; ++dim)
    bounds.push_back(l.getIndex(l.getSize(self, dim)));
  return {{l.map(type, sizes, indices, maps, [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
    SmallVector<Value> at;
    for (int64_t dim = 0; dim < from.getRank(); ++dim) {
      if (dim >= first && dim <= last)
        at.push_back(getPosition(b, loc, args[dim - first], bounds[dim - first]));
      else
        at.push_back(linalg::IndexOp::create(b, loc, dim < first ? dim : dim - (last - first + 1) + width));
    }
    return tensor::ExtractOp::create(b, loc, self, at);
  })}};
}

/// gather(self, dim, index) and index_select(self, dim, index); embedding(weight, indices) selects rows.
static Values lowerGather(Lowering &l) {
  bool embedding = l.call.getBase() == "aten.embedding", select = l.call.getBase() == "aten.index_select";
  Value self = l.getTensor(embedding ? "weight" : "self"), index = l.getTensor(embedding ? "indices" : "index");
  if (!self || !index)
    return std::nullopt;
  auto from = cast<RankedTensorType>(self.getType());
  RankedTensorType type = l.getType();
  std::optional<int64_t> dim = embedding ? 0 : l.call.getDim("dim", from.getRank());
  if (!dim || from.getRank() == 0)
    return std::nullopt;
  int64_t indexRank = cast<RankedTensorType>(index.getType()).getRank();
  SmallVector<AffineExpr> exprs;
  SmallVector<OpFoldResult> sizes = l.getSizes(index);
  for (int64_t at = 0; at < indexRank; ++at)
    exprs.push_back(l.b.getAffineDimExpr(select ? *dim : at));
  if (embedding)
    sizes.push_back(l.getSize(self, 1));
  if (select) {
    sizes = l.getSizes(self);
    sizes[*dim] = l.getSize(index, 0);
  }
  AffineMap map = AffineMap::get(type.getRank(), 0, exprs, l.b.getContext());
  return {{l.map(type, sizes, index, map, [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
    SmallVector<Value> at;
    for (int64_t own = 0; own < from.getRank(); ++own)
      at.push_back(linalg::IndexOp::create(b, loc, embedding ? type.getRank() - 1 : own));
    at[*dim] = arith::IndexCastOp::create(b, loc, b.getIndexType(), args[0]);
    return tensor::ExtractOp::create(b, loc, self, at);
  })}};
}

/// scatter(self, dim, index, src or value) along `dim`: the last of several writes to one place wins, in order of the
/// index along that dimension.
static Values lowerScatter(Lowering &l) {
  Value self = l.getTensor("self"), index = l.getTensor("index"), source = l.getTensor("src");
  Value number = source ? Value() : l.getScalar("value");
  RankedTensorType type = l.getType();
  std::optional<int64_t> dim = l.call.getDim("dim", type.getRank());
  if (!self || !index || (!source && !number) || !dim || type.getRank() == 0 || l.call.getArgument("reduce"))
    return std::nullopt;
  // Elsewhere the index must cover the tensor; a shorter one would leave the rest untouched.
  auto indexType = cast<RankedTensorType>(index.getType());
  for (int64_t at = 0; at < type.getRank(); ++at)
    if (at != *dim && indexType.getDimSize(at) != type.getDimSize(at))
      return std::nullopt;
  int64_t rank = type.getRank();
  AffineMap out = AffineMap::getMultiDimIdentityMap(rank + 1, l.b.getContext()).getMajorSubMap(rank);
  SmallVector<AffineExpr> exprs(out.getResults());
  exprs[*dim] = l.b.getAffineDimExpr(rank);
  AffineMap in = AffineMap::get(rank + 1, 0, exprs, l.b.getContext());
  SmallVector<AffineMap> maps{in};
  SmallVector<Value> inputs{index};
  if (source) {
    inputs.push_back(source);
    maps.push_back(in);
  }
  maps.push_back(out);
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  iterators.push_back(utils::IteratorType::reduction);
  auto build = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value here = convertScalar(b, loc, linalg::IndexOp::create(b, loc, *dim), args[0].getType());
    Value hit = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, args[0], here);
    Value value = source ? args[1] : convertScalar(b, loc, number, type.getElementType());
    linalg::YieldOp::create(b, loc, arith::SelectOp::create(b, loc, hit, value, args.back()).getResult());
  };
  return {{linalg::GenericOp::create(l.b, l.loc, type, inputs, self, maps, iterators, build).getResult(0)}};
}

void mlir::aten::addIndexing(LoweringTable &table) {
  table["aten.index"] = lowerIndex;
  for (StringRef name : {"aten.gather", "aten.index_select", "aten.embedding"})
    table[name] = lowerGather;
  table["aten.scatter"] = lowerScatter;
}
