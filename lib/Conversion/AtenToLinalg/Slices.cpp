//===- Slices.cpp - slices, joins and splits ----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::aten;

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

/// A tensor that has no elements has no offset either, not even 0 (tensor.extract_slice): its slices are made anew.
static bool hasNoElements(RankedTensorType type) { return llvm::is_contained(type.getShape(), 0); }

static Value slice(Lowering &l, Value self, int64_t dim, OpFoldResult start, OpFoldResult size, OpFoldResult step,
                   RankedTensorType type) {
  SmallVector<OpFoldResult> sizes = l.getSizes(self);
  SmallVector<OpFoldResult> offsets(sizes.size(), l.b.getIndexAttr(0)), strides(sizes.size(), l.b.getIndexAttr(1));
  offsets[dim] = start;
  strides[dim] = step;
  sizes[dim] = size;
  Value result;
  if (hasNoElements(cast<RankedTensorType>(self.getType())))
    result = tensor::EmptyOp::create(l.b, l.loc, sizes, type.getElementType());
  else
    result = tensor::ExtractSliceOp::create(l.b, l.loc, self, offsets, sizes, strides);
  return result.getType() == type ? result : tensor::CastOp::create(l.b, l.loc, type, result).getResult();
}

static OpFoldResult getBound(Lowering &l, StringRef name, int64_t absent) {
  std::optional<SmallVector<OpFoldResult>> bound = l.getSizes(name);
  return bound && bound->size() == 1 ? bound->front() : l.b.getIndexAttr(absent);
}

/// Tracing recorded a fixed number of elements for a slice with computed bounds: asserts that it still holds.
static void assertCount(Lowering &l, int64_t count, Value length) {
  Value known = arith::ConstantIndexOp::create(l.b, l.loc, count);
  Value holds = arith::CmpIOp::create(l.b, l.loc, arith::CmpIPredicate::eq, length, known);
  cf::AssertOp::create(l.b, l.loc, holds,
                       "the model was exported for slices of " + std::to_string(count) + " here" +
                           describePlace(l.call));
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
  const bool isDynamic = l.getType().isDynamicDim(*dim);
  if (isDynamic || l.call.getValue("start") || l.call.getValue("end")) {
    Value zero = arith::ConstantIndexOp::create(l.b, l.loc, 0);
    Value length = arith::SubIOp::create(l.b, l.loc, l.getIndex(end), l.getIndex(start));
    length = arith::MaxSIOp::create(l.b, l.loc, length, zero);
    if (*step != 1)
      length = arith::CeilDivUIOp::create(l.b, l.loc, length, arith::ConstantIndexOp::create(l.b, l.loc, *step));
    if (isDynamic)
      count = length;
    else
      assertCount(l, l.getType().getDimSize(*dim), length);
  }
  return {{slice(l, self, *dim, placeSlice(l, start, count, size), count, l.b.getIndexAttr(*step), l.getType())}};
}

/// narrow(self, dim, start, length): aten-check-indices has made sure that all of it lies in the tensor.
static Values lowerNarrow(Lowering &l) {
  Value self = l.getTensor("self");
  if (l.getTensor("start"))
    return std::nullopt;
  std::optional<SmallVector<OpFoldResult>> start = l.getSizes("start"), length = l.getSizes("length");
  auto from = self ? cast<RankedTensorType>(self.getType()) : RankedTensorType();
  std::optional<int64_t> dim = self && from.getRank() ? l.call.getDim("dim", from.getRank()) : std::nullopt;
  if (!dim || !start || start->size() != 1 || !length || length->size() != 1)
    return std::nullopt;
  OpFoldResult size = l.getSize(self, *dim), count = length->front();
  std::optional<int64_t> constant = getConstantIntValue(count);
  if (constant && (*constant < 0 || (!l.getType().isDynamicDim(*dim) && *constant != l.getType().getDimSize(*dim))))
    return std::nullopt;
  if (!constant && !l.getType().isDynamicDim(*dim)) {
    assertCount(l, l.getType().getDimSize(*dim), l.getIndex(count));
    count = l.b.getIndexAttr(l.getType().getDimSize(*dim));
  }
  OpFoldResult first = placeSlice(l, clampBound(l, start->front(), size), count, size);
  return {{slice(l, self, *dim, first, count, l.b.getIndexAttr(1), l.getType())}};
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
  if (!dim || type.getRank() == 0 || !step || *step < 1 || sourceRank != type.getRank() - select)
    return std::nullopt;
  if (hasNoElements(type))
    return {{self}};
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
  const int64_t rank = l.getType().getRank();
  if (!tensors || !dim || llvm::any_of(*tensors, [&](Value tensor) {
        return cast<RankedTensorType>(tensor.getType()).getRank() != rank - 1;
      }))
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

void mlir::aten::addSlices(LoweringTable &table) {
  table["aten.slice"] = lowerSlice;
  table["aten.narrow"] = lowerNarrow;
  table["aten.select"] = lowerSelect;
  for (StringRef name : {"aten.select_scatter", "aten.slice_scatter"})
    table[name] = lowerInsert;
  for (StringRef name : {"aten.cat", "aten.concat"})
    table[name] = lowerCat;
  table["aten.stack"] = lowerStack;
  for (StringRef name : {"aten.split", "aten.split_with_sizes", "aten.chunk", "aten.unbind"})
    table[name] = lowerSplit;
}
