//===- Shape.cpp - views, permutations, slices and joins ----------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::aten;

/// view, reshape, _unsafe_view: the size -1 is what is left over.
static Values lowerView(Lowering &l) {
  Value self = l.getTensor("self");
  std::optional<SmallVector<OpFoldResult>> sizes = l.getSizes("size");
  if (!sizes)
    sizes = l.getSizes("shape");
  RankedTensorType type = l.getType();
  if (!self || !sizes || static_cast<int64_t>(sizes->size()) != type.getRank())
    return std::nullopt;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (!type.isDynamicDim(dim)) {
      (*sizes)[dim] = l.b.getIndexAttr(type.getDimSize(dim));
      continue;
    }
    if (getConstantIntValue((*sizes)[dim]) != -1)
      continue;
    SmallVector<OpFoldResult> others(*sizes);
    others.erase(others.begin() + dim);
    Value total = l.getIndex(l.multiply(l.getSizes(self))), rest = l.getIndex(l.multiply(others));
    (*sizes)[dim] = arith::DivUIOp::create(l.b, l.loc, total, rest).getResult();
  }
  // With one dynamic size at most, equal sizes in order can only mean that units came or went.
  bool simple = type.getNumDynamicDims() <= 1;
  return {{simple ? l.reshapeUnits(self, type, *sizes) : l.reshape(self, type, *sizes)}};
}

static Values lowerUnsqueeze(Lowering &l) {
  Value self = l.getTensor("self");
  RankedTensorType type = l.getType();
  std::optional<int64_t> dim = l.call.getDim("dim", type.getRank());
  if (!self || !dim)
    return std::nullopt;
  SmallVector<OpFoldResult> sizes = l.getSizes(self);
  sizes.insert(sizes.begin() + *dim, l.b.getIndexAttr(1));
  return {{l.reshapeUnits(self, type, sizes)}};
}

static Values lowerSqueeze(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self)
    return std::nullopt;
  auto from = cast<RankedTensorType>(self.getType());
  std::optional<SmallVector<int64_t>> dims = l.call.getInts("dim");
  SmallVector<OpFoldResult> sizes;
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    bool named = !dims || llvm::any_of(*dims, [&](int64_t d) { return d == dim || d + from.getRank() == dim; });
    if (!named || from.getDimSize(dim) != 1)
      sizes.push_back(l.getSize(self, dim));
  }
  if (static_cast<int64_t>(sizes.size()) != l.getType().getRank())
    return std::nullopt;
  return {{l.reshapeUnits(self, l.getType(), sizes)}};
}

/// expand, expand_as, broadcast_to: materialised, since buffers are contiguous; fusion removes it again.
static Values lowerExpand(Lowering &l) {
  Value self = l.getTensor("self");
  std::optional<SmallVector<OpFoldResult>> sizes = l.getSizes("size");
  RankedTensorType type = l.getType();
  if (Value other = l.getTensor("other"))
    sizes = l.getSizes(other);
  if (!self || !sizes || static_cast<int64_t>(sizes->size()) != type.getRank())
    return std::nullopt;
  auto from = cast<RankedTensorType>(self.getType());
  int64_t offset = type.getRank() - from.getRank();
  if (offset < 0)
    return std::nullopt;
  for (int64_t dim = offset; dim < type.getRank(); ++dim)
    if (getConstantIntValue((*sizes)[dim]) == -1)
      (*sizes)[dim] = l.getSize(self, dim - offset);
  if (from == type)
    return {{self}};
  return {{l.map(type, *sizes, self, [](OpBuilder &, Location, ValueRange args) { return args[0]; })}};
}

static Value permute(Lowering &l, Value self, ArrayRef<int64_t> permutation, RankedTensorType type) {
  SmallVector<AffineExpr> exprs(permutation.size());
  SmallVector<OpFoldResult> sizes;
  for (auto [to, from] : llvm::enumerate(permutation)) {
    exprs[from] = l.b.getAffineDimExpr(to);
    sizes.push_back(l.getSize(self, from));
  }
  AffineMap map = AffineMap::get(permutation.size(), 0, exprs, l.b.getContext());
  return l.map(type, sizes, self, map, [](OpBuilder &, Location, ValueRange args) { return args[0]; });
}

/// transpose(dim0, dim1), t, permute(dims).
static Values lowerPermute(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self)
    return std::nullopt;
  int64_t rank = cast<RankedTensorType>(self.getType()).getRank();
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (std::optional<SmallVector<int64_t>> dims = l.call.getInts("dims")) {
    for (int64_t &dim : *dims)
      dim += dim < 0 ? rank : 0;
    if (static_cast<int64_t>(dims->size()) != rank || !isPermutationVector(*dims))
      return std::nullopt;
    permutation = *dims;
  } else if (l.call.getBase() == "aten.t") {
    if (rank == 2)
      std::swap(permutation[0], permutation[1]);
  } else {
    std::optional<int64_t> first = l.call.getDim("dim0", rank), second = l.call.getDim("dim1", rank);
    if (!first || !second)
      return std::nullopt;
    std::swap(permutation[*first], permutation[*second]);
  }
  return {{permute(l, self, permutation, l.getType())}};
}

/// A bound of a slice counted from the front and clamped to [0, size].
static OpFoldResult clampBound(Lowering &l, OpFoldResult bound, OpFoldResult size) {
  std::optional<int64_t> constant = getConstantIntValue(bound), whole = getConstantIntValue(size);
  if (constant && whole)
    return l.b.getIndexAttr(std::clamp<int64_t>(*constant < 0 ? *constant + *whole : *constant, 0, *whole));
  if (constant == 0)
    return bound;
  if (constant == std::numeric_limits<int64_t>::max())
    return size;
  Value zero = arith::ConstantIndexOp::create(l.b, l.loc, 0), end = l.getIndex(size), value = l.getIndex(bound);
  Value negative = arith::CmpIOp::create(l.b, l.loc, arith::CmpIPredicate::slt, value, zero);
  value = arith::SelectOp::create(l.b, l.loc, negative, arith::AddIOp::create(l.b, l.loc, value, end), value);
  value = arith::MaxSIOp::create(l.b, l.loc, value, zero);
  return arith::MinSIOp::create(l.b, l.loc, value, end).getResult();
}

static Value slice(Lowering &l, Value self, int64_t dim, OpFoldResult start, OpFoldResult size, OpFoldResult step,
                   RankedTensorType type) {
  SmallVector<OpFoldResult> sizes = l.getSizes(self);
  SmallVector<OpFoldResult> offsets(sizes.size(), l.b.getIndexAttr(0)), strides(sizes.size(), l.b.getIndexAttr(1));
  offsets[dim] = start;
  strides[dim] = step;
  sizes[dim] = size;
  Value result = tensor::ExtractSliceOp::create(l.b, l.loc, self, offsets, sizes, strides);
  return result.getType() == type ? result : tensor::CastOp::create(l.b, l.loc, type, result).getResult();
}

static OpFoldResult getBound(Lowering &l, StringRef name, int64_t absent) {
  std::optional<SmallVector<OpFoldResult>> bound = l.getSizes(name);
  return bound && bound->size() == 1 ? bound->front() : l.b.getIndexAttr(absent);
}

/// Where a slice starts: an empty one may start behind the last element in PyTorch, but nowhere else.
static OpFoldResult placeSlice(Lowering &l, OpFoldResult start, OpFoldResult count, OpFoldResult size) {
  std::optional<int64_t> whole = getConstantIntValue(size), constant = getConstantIntValue(count);
  // Only a size that is known can show that a start lies behind it.
  if (!whole || (constant && *constant != 0) || getConstantIntValue(start) == 0)
    return start;
  OpFoldResult zero = l.b.getIndexAttr(0);
  if (constant)
    return zero;
  Value isEmpty = arith::CmpIOp::create(l.b, l.loc, arith::CmpIPredicate::eq, l.getIndex(count), l.getIndex(zero));
  return arith::SelectOp::create(l.b, l.loc, isEmpty, l.getIndex(zero), l.getIndex(start)).getResult();
}

static Values lowerSlice(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self)
    return std::nullopt;
  auto from = cast<RankedTensorType>(self.getType());
  std::optional<int64_t> dim = l.call.getArgument("dim") ? l.call.getDim("dim", from.getRank()) : 0;
  std::optional<int64_t> step = l.call.getArgument("step") ? l.call.getInt("step") : 1;
  if (!dim || !step || *step < 1 || from.getRank() == 0)
    return std::nullopt;
  OpFoldResult size = l.getSize(self, *dim);
  OpFoldResult start = clampBound(l, getBound(l, "start", 0), size);
  OpFoldResult end = clampBound(l, getBound(l, "end", std::numeric_limits<int64_t>::max()), size);
  OpFoldResult count = l.b.getIndexAttr(l.getType().getDimSize(*dim));
  if (l.getType().isDynamicDim(*dim)) {
    Value zero = arith::ConstantIndexOp::create(l.b, l.loc, 0);
    Value length = arith::SubIOp::create(l.b, l.loc, l.getIndex(end), l.getIndex(start));
    length = arith::MaxSIOp::create(l.b, l.loc, length, zero);
    if (*step != 1)
      length = arith::CeilDivUIOp::create(l.b, l.loc, length, arith::ConstantIndexOp::create(l.b, l.loc, *step));
    count = length;
  }
  return {{slice(l, self, *dim, placeSlice(l, start, count, size), count, l.b.getIndexAttr(*step), l.getType())}};
}

static Values lowerSelect(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self)
    return std::nullopt;
  auto from = cast<RankedTensorType>(self.getType());
  std::optional<int64_t> dim = l.call.getDim("dim", from.getRank());
  std::optional<SmallVector<OpFoldResult>> index = l.getSizes("index");
  if (!dim || !index || index->size() != 1 || from.getRank() == 0)
    return std::nullopt;
  OpFoldResult start = clampBound(l, index->front(), l.getSize(self, *dim));
  SmallVector<int64_t> shape(from.getShape());
  shape[*dim] = 1;
  Value row = slice(l, self, *dim, start, l.b.getIndexAttr(1), l.b.getIndexAttr(1), from.clone(shape));
  SmallVector<OpFoldResult> sizes = l.getSizes(self);
  sizes.erase(sizes.begin() + *dim);
  return {{l.reshapeUnits(row, l.getType(), sizes)}};
}

/// select_scatter(self, src, dim, index), slice_scatter(self, src, dim, start, end, step): what is left of a write to a
/// part of a tensor.
static Values lowerInsert(Lowering &l) {
  Value self = l.getTensor("self"), source = l.getTensor("src");
  RankedTensorType type = l.getType();
  if (!self || !source || self.getType() != type)
    return std::nullopt;
  bool select = l.call.getBase() == "aten.select_scatter";
  std::optional<int64_t> dim = l.call.getArgument("dim") ? l.call.getDim("dim", type.getRank()) : 0;
  std::optional<int64_t> step = l.call.getArgument("step") ? l.call.getInt("step") : 1;
  int64_t sourceRank = cast<RankedTensorType>(source.getType()).getRank();
  if (!dim || !step || *step < 1 || sourceRank != type.getRank() - select)
    return std::nullopt;
  source = l.cast(source, type.getElementType());
  SmallVector<OpFoldResult> sizes = l.getSizes(source);
  if (select) {
    SmallVector<int64_t> shape(cast<RankedTensorType>(source.getType()).getShape());
    shape.insert(shape.begin() + *dim, 1);
    sizes.insert(sizes.begin() + *dim, l.b.getIndexAttr(1));
    source = l.reshapeUnits(source, type.clone(shape), sizes);
  }
  SmallVector<OpFoldResult> offsets(sizes.size(), l.b.getIndexAttr(0)), strides(sizes.size(), l.b.getIndexAttr(1));
  OpFoldResult size = l.getSize(self, *dim);
  offsets[*dim] = clampBound(l, getBound(l, select ? "index" : "start", 0), size);
  offsets[*dim] = placeSlice(l, offsets[*dim], sizes[*dim], size);
  strides[*dim] = l.b.getIndexAttr(*step);
  return {{tensor::InsertSliceOp::create(l.b, l.loc, source, self, offsets, sizes, strides)}};
}

/// copy(self, src): the elements of src in the shape and type of self.
static Values lowerCopy(Lowering &l) {
  Value self = l.getTensor("self"), source = l.getTensor("src");
  if (!self || !source)
    return std::nullopt;
  RankedTensorType type = l.getType();
  if (source.getType() == type)
    return {{source}};
  return {{l.map(type, l.getSizes(self), source, [&](OpBuilder &b, Location loc, ValueRange args) {
    return convertScalar(b, loc, args[0], type.getElementType());
  })}};
}

/// view_as(self, other): the elements of self in the shape of other.
static Values lowerViewAs(Lowering &l) {
  Value self = l.getTensor("self"), other = l.getTensor("other");
  if (!self || !other)
    return std::nullopt;
  return {{l.reshape(self, l.getType(), l.getSizes(other))}};
}

/// Tensors of a list argument.
static std::optional<SmallVector<Value>> getTensors(Lowering &l) {
  auto list = dyn_cast_or_null<ArrayAttr>(l.call.getArgument("tensors"));
  SmallVector<Value> tensors;
  for (Attribute element : list ? list.getValue() : ArrayRef<Attribute>()) {
    Value tensor = l.call.getOperandOf(element);
    if (!tensor || !isa<RankedTensorType>(tensor.getType()))
      return std::nullopt;
    tensors.push_back(l.cast(tensor, l.getType().getElementType()));
  }
  if (tensors.empty())
    return std::nullopt;
  return tensors;
}

static Value concat(Lowering &l, int64_t dim, ArrayRef<Value> tensors, RankedTensorType type) {
  SmallVector<Value> parts;
  if (tensors.empty() || type.getRank() == 0 || llvm::any_of(tensors, [&](Value tensor) {
        return cast<RankedTensorType>(tensor.getType()).getRank() != type.getRank();
      })) {
    l.fits = false;
    return l.empty(type, SmallVector<OpFoldResult>(type.getRank(), l.b.getIndexAttr(0)));
  }
  // An empty one adds nothing, and would have a place behind the last element if it came last.
  llvm::copy_if(tensors, std::back_inserter(parts),
                [&](Value tensor) { return cast<RankedTensorType>(tensor.getType()).getDimSize(dim) != 0; });
  if (parts.empty())
    parts.push_back(tensors.front());
  Value result = tensor::ConcatOp::create(l.b, l.loc, dim, parts);
  return result.getType() == type ? result : tensor::CastOp::create(l.b, l.loc, type, result).getResult();
}

static Values lowerCat(Lowering &l) {
  std::optional<SmallVector<Value>> tensors = getTensors(l);
  std::optional<int64_t> dim = l.call.getArgument("dim") ? l.call.getDim("dim", l.getType().getRank()) : 0;
  if (!tensors || !dim)
    return std::nullopt;
  return {{concat(l, *dim, *tensors, l.getType())}};
}

static Values lowerStack(Lowering &l) {
  std::optional<SmallVector<Value>> tensors = getTensors(l);
  std::optional<int64_t> dim = l.call.getArgument("dim") ? l.call.getDim("dim", l.getType().getRank()) : 0;
  if (!tensors || !dim)
    return std::nullopt;
  SmallVector<int64_t> shape(l.getType().getShape());
  shape[*dim] = 1;
  for (Value &tensor : *tensors) {
    SmallVector<OpFoldResult> sizes = l.getSizes(tensor);
    sizes.insert(sizes.begin() + *dim, l.b.getIndexAttr(1));
    tensor = l.reshapeUnits(tensor, l.getType().clone(shape), sizes);
  }
  return {{concat(l, *dim, *tensors, l.getType())}};
}

/// split, split_with_sizes, chunk, unbind of a static dimension: the results' types say where the cuts are.
static Values lowerSplit(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self)
    return std::nullopt;
  auto from = cast<RankedTensorType>(self.getType());
  std::optional<int64_t> dim = l.call.getArgument("dim") ? l.call.getDim("dim", from.getRank()) : 0;
  if (!dim || from.getRank() == 0 || from.isDynamicDim(*dim))
    return std::nullopt;
  bool unbind = l.call.getBase() == "aten.unbind";
  SmallVector<Value> pieces;
  int64_t offset = 0;
  for (unsigned i = 0; i < l.call.getNumResults(); ++i) {
    SmallVector<int64_t> shape(from.getShape());
    shape[*dim] = unbind ? 1 : l.getType(i).getDimSize(*dim);
    if (ShapedType::isDynamic(shape[*dim]))
      return std::nullopt;
    OpFoldResult size = l.b.getIndexAttr(shape[*dim]);
    OpFoldResult start = placeSlice(l, l.b.getIndexAttr(offset), size, l.getSize(self, *dim));
    Value piece = slice(l, self, *dim, start, size, l.b.getIndexAttr(1), from.clone(shape));
    offset += shape[*dim];
    if (unbind) {
      SmallVector<OpFoldResult> sizes = l.getSizes(self);
      sizes.erase(sizes.begin() + *dim);
      piece = l.reshapeUnits(piece, l.getType(i), sizes);
    }
    pieces.push_back(piece);
  }
  return pieces;
}

/// flatten(start_dim, end_dim).
static Values lowerFlatten(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self)
    return std::nullopt;
  int64_t rank = cast<RankedTensorType>(self.getType()).getRank();
  std::optional<int64_t> start = l.call.getArgument("start_dim") ? l.call.getDim("start_dim", rank) : 0;
  std::optional<int64_t> end = l.call.getArgument("end_dim") ? l.call.getDim("end_dim", rank) : rank - 1;
  if (!start || !end)
    return std::nullopt;
  SmallVector<OpFoldResult> from = l.getSizes(self), sizes(from.begin(), from.begin() + *start);
  sizes.push_back(l.multiply(ArrayRef(from).slice(*start, *end - *start + 1)));
  sizes.append(from.begin() + *end + 1, from.end());
  return {{l.reshape(self, l.getType(), sizes)}};
}

/// unflatten(dim, sizes): one dimension becomes several of known sizes.
static Values lowerUnflatten(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self)
    return std::nullopt;
  RankedTensorType from = cast<RankedTensorType>(self.getType()), type = l.getType();
  int64_t rank = from.getRank(), count = type.getRank() - rank + 1;
  std::optional<int64_t> dim = l.call.getDim("dim", rank);
  if (!dim || rank == 0 || count < 1 || from.isDynamicDim(*dim))
    return std::nullopt;
  SmallVector<OpFoldResult> sizes = l.getSizes(self);
  SmallVector<ReassociationIndices> groups;
  int64_t product = 1;
  for (int64_t at = 0, next = 0; at < rank; ++at) {
    groups.emplace_back();
    for (int64_t end = next + (at == *dim ? count : 1); next < end; ++next)
      groups.back().push_back(next);
  }
  sizes.erase(sizes.begin() + *dim);
  for (int64_t at = *dim; at < *dim + count; ++at) {
    if (type.isDynamicDim(at))
      return std::nullopt;
    product *= type.getDimSize(at);
    sizes.insert(sizes.begin() + at, l.b.getIndexAttr(type.getDimSize(at)));
  }
  if (product != from.getDimSize(*dim))
    return std::nullopt;
  return {{tensor::ExpandShapeOp::create(l.b, l.loc, type, self, groups, sizes)}};
}

void mlir::aten::addShapes(LoweringTable &table) {
  for (StringRef name : {"aten.view", "aten.reshape", "aten._unsafe_view"})
    table[name] = lowerView;
  table["aten.unsqueeze"] = lowerUnsqueeze;
  table["aten.squeeze"] = lowerSqueeze;
  for (StringRef name : {"aten.expand", "aten.expand_as", "aten.broadcast_to"})
    table[name] = lowerExpand;
  for (StringRef name : {"aten.transpose", "aten.permute", "aten.t"})
    table[name] = lowerPermute;
  table["aten.slice"] = lowerSlice;
  table["aten.select"] = lowerSelect;
  for (StringRef name : {"aten.select_scatter", "aten.slice_scatter"})
    table[name] = lowerInsert;
  table["aten.copy"] = lowerCopy;
  table["aten.view_as"] = lowerViewAs;
  for (StringRef name : {"aten.cat", "aten.concat"})
    table[name] = lowerCat;
  table["aten.stack"] = lowerStack;
  for (StringRef name : {"aten.split", "aten.split_with_sizes", "aten.chunk", "aten.unbind"})
    table[name] = lowerSplit;
  table["aten.flatten"] = lowerFlatten;
  table["aten.unflatten"] = lowerUnflatten;
}
