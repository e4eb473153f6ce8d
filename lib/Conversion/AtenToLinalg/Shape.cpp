//===- Shape.cpp - views, permutations and copies -----------------------------------------------------------------===//

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

/// transpose(dim0, dim1), t, numpy_T, permute(dims).
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
  } else if (l.call.getBase() == "aten.numpy_T") {
    std::reverse(permutation.begin(), permutation.end());
  } else if (l.call.getBase() == "aten.t") {
    if (rank == 2)
      std::swap(permutation[0], permutation[1]);
  } else {
    std::optional<int64_t> first = l.call.getDim("dim0", rank), second = l.call.getDim("dim1", rank);
    if (!first || !second || rank == 0)
      return std::nullopt;
    std::swap(permutation[*first], permutation[*second]);
  }
  return {{permute(l, self, permutation, l.getType())}};
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

/// flatten(start_dim, end_dim).
static Values lowerFlatten(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self)
    return std::nullopt;
  int64_t rank = cast<RankedTensorType>(self.getType()).getRank();
  std::optional<int64_t> start = l.call.getArgument("start_dim") ? l.call.getDim("start_dim", rank) : 0;
  std::optional<int64_t> end = l.call.getArgument("end_dim") ? l.call.getDim("end_dim", rank) : rank - 1;
  if (!start || !end || rank == 0 || *start > *end)
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
  for (StringRef name : {"aten.transpose", "aten.permute", "aten.t", "aten.numpy_T"})
    table[name] = lowerPermute;
  table["aten.copy"] = lowerCopy;
  table["aten.view_as"] = lowerViewAs;
  table["aten.flatten"] = lowerFlatten;
  table["aten.unflatten"] = lowerUnflatten;
}
