//===- Indexing.cpp - elements by index ---------------------------------------------------------------------------===//
//
// aten-check-indices has made sure that every index lies within the tensor.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::aten;

/// An element at a place that is known to lie inside, so that nobody looks again.
static Value extractInBounds(OpBuilder &b, Location loc, Value tensor, ValueRange at) {
  auto extract = tensor::ExtractOp::create(b, loc, tensor, at);
  extract->setAttr("moe.in_bounds", b.getUnitAttr());
  return extract;
}

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
  if (indices.empty() || static_cast<int64_t>(list.size()) > from.getRank() ||
      type.getRank() != from.getRank() - static_cast<int64_t>(indices.size()) + width)
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
    return extractInBounds(b, loc, self, at);
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
    return extractInBounds(b, loc, self, at);
  })}};
}

/// `self` with what is written along `dim`: element r of `source` (or `number`) at position index[r], where `indexMap`
/// reads the index from the result's dimensions and, last, r. The last of several writes to one place counts.
static Value write(Lowering &l, Value self, int64_t dim, Value index, AffineMap indexMap, Value source, Value number,
                   bool wraps) {
  auto type = cast<RankedTensorType>(self.getType());
  int64_t rank = type.getRank();
  AffineMap out = AffineMap::getMultiDimIdentityMap(rank + 1, l.b.getContext()).getMajorSubMap(rank);
  SmallVector<AffineMap> maps{indexMap};
  SmallVector<Value> inputs{index};
  if (source) {
    SmallVector<AffineExpr> exprs(out.getResults());
    exprs[dim] = l.b.getAffineDimExpr(rank);
    inputs.push_back(source);
    maps.push_back(AffineMap::get(rank + 1, 0, exprs, l.b.getContext()));
  }
  maps.push_back(out);
  Value size = wraps ? l.getIndex(l.getSize(self, dim)) : Value();
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  iterators.push_back(utils::IteratorType::reduction);
  auto build = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value here = linalg::IndexOp::create(b, loc, dim), wanted = args[0];
    if (wraps) {
      wanted = getPosition(b, loc, wanted, size);
    } else {
      here = convertScalar(b, loc, here, b.getI64Type());
      wanted = convertScalar(b, loc, wanted, b.getI64Type());
    }
    Value hit = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, wanted, here);
    Value value = source ? args[1] : convertScalar(b, loc, number, type.getElementType());
    linalg::YieldOp::create(b, loc, arith::SelectOp::create(b, loc, hit, value, args.back()).getResult());
  };
  return linalg::GenericOp::create(l.b, l.loc, type, inputs, self, maps, iterators, build).getResult(0);
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
  if (indexType.getRank() != type.getRank())
    return std::nullopt;
  for (int64_t at = 0; at < type.getRank(); ++at)
    if (at != *dim && indexType.getDimSize(at) != type.getDimSize(at))
      return std::nullopt;
  int64_t rank = type.getRank();
  if (llvm::is_contained(indexType.getShape(), 0))
    return {{self}};
  // Of a source that is larger than the index, only the part that the index covers counts.
  if (source && (source.getType() != indexType.clone(type.getElementType()) || !indexType.hasStaticShape())) {
    SmallVector<OpFoldResult> offsets(rank, l.b.getIndexAttr(0)), strides(rank, l.b.getIndexAttr(1));
    source = tensor::ExtractSliceOp::create(l.b, l.loc, indexType.clone(type.getElementType()), source, offsets,
                                            l.getSizes(index), strides);
  }
  SmallVector<AffineExpr> exprs;
  for (int64_t at = 0; at < rank; ++at)
    exprs.push_back(l.b.getAffineDimExpr(at == *dim ? rank : at));
  AffineMap map = AffineMap::get(rank + 1, 0, exprs, l.b.getContext());
  return {{write(l, self, *dim, index, map, source, number, /*wraps=*/false)}};
}

/// index_copy(self, dim, index, source), and index_put(self, [index], values) of whole rows: the index has one
/// dimension.
static Values lowerWriteRows(Lowering &l) {
  bool put = l.call.getBase() == "aten.index_put";
  Value self = l.getTensor("self"), source = l.getTensor(put ? "values" : "source"), index = l.getTensor("index");
  RankedTensorType type = l.getType();
  std::optional<int64_t> dim = put ? 0 : l.call.getDim("dim", type.getRank());
  if (put) {
    auto list = dyn_cast_or_null<ArrayAttr>(l.call.getArgument("indices"));
    index = list && list.size() == 1 ? l.call.getOperandOf(list[0]) : Value();
    if (l.call.getArgument("accumulate") && l.call.getBool("accumulate") != false)
      return std::nullopt;
  }
  auto indexType = index ? dyn_cast<RankedTensorType>(index.getType()) : RankedTensorType();
  if (!self || self.getType() != type || !source || !indexType || !dim || type.getRank() == 0 ||
      indexType.getRank() != 1 || indexType.getElementType().isInteger(1))
    return std::nullopt;
  auto sourceType = cast<RankedTensorType>(source.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[*dim] = indexType.getDimSize(0);
  if (sourceType.getShape() != ArrayRef<int64_t>(shape) || sourceType.getElementType() != type.getElementType())
    return std::nullopt;
  AffineMap map = AffineMap::get(type.getRank() + 1, 0, l.b.getAffineDimExpr(type.getRank()), l.b.getContext());
  return {{write(l, self, *dim, index, map, source, Value(), /*wraps=*/put)}};
}

/// repeat(self, repeats): the tensor again and again; repeat_interleave(self, repeats, dim): each slice several times.
static Values lowerRepeat(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self)
    return std::nullopt;
  RankedTensorType type = l.getType();
  auto from = cast<RankedTensorType>(self.getType());
  bool whole = l.call.getBase() == "aten.repeat";
  std::optional<SmallVector<OpFoldResult>> repeats = l.getSizes("repeats");
  std::optional<int64_t> slices = whole ? std::nullopt : l.call.getDim("dim", from.getRank());
  if (!whole && !l.call.getArgument("dim") && from.getRank() == 1)
    slices = 0;
  int64_t count = whole ? type.getRank() : 1, extra = type.getRank() - from.getRank();
  if (!repeats || static_cast<int64_t>(repeats->size()) != count || extra < 0 ||
      (!whole && (!slices || extra != 0 || from.getRank() == 0)))
    return std::nullopt;
  if (slices) {
    // The number of repetitions says how far the result reaches.
    std::optional<int64_t> number = getConstantIntValue(repeats->front());
    int64_t size = from.getDimSize(*slices), result = type.getDimSize(*slices);
    if (!number || *number < 1 || result != (ShapedType::isDynamic(size) ? size : size * *number))
      return std::nullopt;
  }
  SmallVector<OpFoldResult> own = l.getSizes(self), sizes = own;
  sizes.insert(sizes.begin(), extra, l.b.getIndexAttr(1));
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (whole || dim == *slices)
      sizes[dim] = l.multiply({sizes[dim], (*repeats)[whole ? dim : 0]});
  SmallVector<Value> divisors;
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    divisors.push_back(whole ? l.getIndex(own[dim]) : dim == *slices ? l.getIndex(repeats->front()) : Value());
  return {
      {l.map(type, sizes, ValueRange(), ArrayRef<AffineMap>(), [&](OpBuilder &b, Location loc, ValueRange) -> Value {
        SmallVector<Value> at;
        for (int64_t dim = 0; dim < from.getRank(); ++dim) {
          Value index = linalg::IndexOp::create(b, loc, dim + extra);
          if (whole)
            index = arith::RemUIOp::create(b, loc, index, divisors[dim]);
          else if (divisors[dim])
            index = arith::DivUIOp::create(b, loc, index, divisors[dim]);
          at.push_back(index);
        }
        return extractInBounds(b, loc, self, at);
      })}};
}

/// flip(dims): the elements from the end on.
static Values lowerFlip(Lowering &l) {
  Value self = l.getTensor("self");
  std::optional<SmallVector<int64_t>> dims = l.call.getInts("dims");
  RankedTensorType type = l.getType();
  if (!self || !dims || self.getType() != type)
    return std::nullopt;
  SmallVector<OpFoldResult> sizes = l.getSizes(self);
  SmallVector<Value> last(type.getRank());
  Value one = arith::ConstantIndexOp::create(l.b, l.loc, 1);
  for (int64_t dim : *dims) {
    dim += dim < 0 ? type.getRank() : 0;
    if (dim < 0 || dim >= type.getRank() || last[dim])
      return std::nullopt;
    last[dim] = arith::SubIOp::create(l.b, l.loc, l.getIndex(sizes[dim]), one);
  }
  return {
      {l.map(type, sizes, ValueRange(), ArrayRef<AffineMap>(), [&](OpBuilder &b, Location loc, ValueRange) -> Value {
        SmallVector<Value> at;
        for (int64_t dim = 0; dim < type.getRank(); ++dim) {
          Value index = linalg::IndexOp::create(b, loc, dim);
          at.push_back(last[dim] ? arith::SubIOp::create(b, loc, last[dim], index).getResult() : index);
        }
        return extractInBounds(b, loc, self, at);
      })}};
}

/// unfold(dimension, size, step): windows of a dimension, whose elements stand in a last one. Only whole windows count.
static Values lowerUnfold(Lowering &l) {
  Value self = l.getTensor("self");
  std::optional<int64_t> size = l.call.getInt("size"), step = l.call.getInt("step");
  if (!self || !size || !step)
    return std::nullopt;
  auto from = cast<RankedTensorType>(self.getType());
  RankedTensorType type = l.getType();
  std::optional<int64_t> dim = l.call.getDim("dimension", from.getRank());
  if (!dim || from.getRank() == 0 || type.getRank() != from.getRank() + 1 || *size < 1 || *step < 1 ||
      type.getShape().back() != *size)
    return std::nullopt;
  const int64_t known = from.getDimSize(*dim), given = type.getDimSize(*dim);
  if (ShapedType::isDynamic(known) != ShapedType::isDynamic(given) ||
      (!ShapedType::isDynamic(known) && (known < *size || given != (known - *size) / *step + 1)))
    return std::nullopt;
  SmallVector<OpFoldResult> sizes = l.getSizes(self);
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(l.b, l.loc, value); };
  if (ShapedType::isDynamic(known)) {
    // Of fewer elements than a window has, PyTorch makes none.
    Value behind = arith::SubIOp::create(l.b, l.loc, l.getIndex(sizes[*dim]), constant(*size));
    Value steps = arith::FloorDivSIOp::create(l.b, l.loc, behind, constant(*step));
    Value count = arith::AddIOp::create(l.b, l.loc, steps, constant(1));
    sizes[*dim] = arith::MaxSIOp::create(l.b, l.loc, count, constant(0)).getResult();
  } else {
    sizes[*dim] = l.b.getIndexAttr(given);
  }
  sizes.push_back(l.b.getIndexAttr(*size));
  Value stride = constant(*step);
  return {
      {l.map(type, sizes, ValueRange(), ArrayRef<AffineMap>(), [&](OpBuilder &b, Location loc, ValueRange) -> Value {
        SmallVector<Value> at;
        for (int64_t d = 0; d < from.getRank(); ++d)
          at.push_back(linalg::IndexOp::create(b, loc, d));
        Value first = arith::MulIOp::create(b, loc, at[*dim], stride);
        at[*dim] = arith::AddIOp::create(b, loc, first, linalg::IndexOp::create(b, loc, from.getRank()));
        return extractInBounds(b, loc, self, at);
      })}};
}

void mlir::aten::addIndexing(LoweringTable &table) {
  table["aten.index"] = lowerIndex;
  for (StringRef name : {"aten.gather", "aten.index_select", "aten.embedding"})
    table[name] = lowerGather;
  table["aten.scatter"] = lowerScatter;
  for (StringRef name : {"aten.index_copy", "aten.index_put"})
    table[name] = lowerWriteRows;
  for (StringRef name : {"aten.repeat", "aten.repeat_interleave"})
    table[name] = lowerRepeat;
  table["aten.flip"] = lowerFlip;
  table["aten.unfold"] = lowerUnfold;
}
