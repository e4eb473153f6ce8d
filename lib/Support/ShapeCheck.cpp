//===- ShapeCheck.cpp - agreement of an op's shapes, by symbol ----------------------------------------------------===//

#include "moe-mlir/Support/ShapeCheck.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace moe_mlir;

std::optional<std::pair<Value, int64_t>> moe_mlir::findSameSize(ArrayRef<NamedShape> shapes, OpResult result,
                                                                int64_t dim) {
  const auto *own = llvm::find_if(shapes, [&](const NamedShape &shape) { return shape.value == result; });
  if (own == shapes.end())
    return std::nullopt;
  auto rankOf = [](const NamedShape &shape) { return cast<RankedTensorType>(shape.value.getType()).getRank(); };
  const bool anyRows = own->dims.front() == "...";
  const int64_t leading = anyRows ? rankOf(*own) - int64_t(own->dims.size()) + 1 : 0; // may be none
  StringRef symbol = dim < leading ? "..." : own->dims[dim - leading + anyRows];
  for (const NamedShape &other : shapes) {
    const auto *found = llvm::find(other.dims, symbol);
    if (found == other.dims.end() || other.value.getDefiningOp() == result.getOwner())
      continue;
    // Behind a leading "..." a dimension's place counts from the end.
    return std::pair(other.value, dim < leading ? dim : rankOf(other) - (other.dims.end() - found));
  }
  return std::nullopt;
}

InFlightDiagnostic ShapeCheck::fail() {
  failed = true;
  return op->emitOpError();
}

ShapeCheck &ShapeCheck::size(StringRef symbol, int64_t size, StringRef name) {
  if (failed || ShapedType::isDynamic(size))
    return *this;
  auto [it, inserted] = symbols.try_emplace(symbol, Binding{size, name.str()});
  if (!inserted && it->second.size != size)
    fail() << symbol << " is " << it->second.size << " in " << it->second.name << " but " << size << " in " << name;
  return *this;
}

int64_t ShapeCheck::lookup(StringRef symbol) const {
  auto it = symbols.find(symbol);
  return it == symbols.end() ? ShapedType::kDynamic : it->second.size;
}

void ShapeCheck::leading(StringRef name, ArrayRef<int64_t> sizes) {
  if (!rows) {
    rows = SmallVector<int64_t>(sizes);
    rowsName = name;
    return;
  }
  if (rows->size() != sizes.size()) {
    fail() << rowsName << " has " << rows->size() << " leading dimensions but " << name << " has " << sizes.size();
    return;
  }
  for (auto [i, known, given] : llvm::enumerate(*rows, sizes)) {
    if (ShapedType::isDynamic(known)) {
      known = given;
    } else if (!ShapedType::isDynamic(given) && known != given) {
      fail() << "dimension " << i << " is " << known << " in " << rowsName << " but " << given << " in " << name;
      return;
    }
  }
}

ShapeCheck &ShapeCheck::shape(StringRef name, Type type, ArrayRef<StringRef> dims) {
  if (failed)
    return *this;
  auto shaped = cast<ShapedType>(type);
  bool anyRows = !dims.empty() && dims.front() == "...";
  size_t named = dims.size() - anyRows;
  size_t rank = shaped.hasRank() ? shaped.getRank() : 0;
  if (!shaped.hasRank() || (anyRows ? rank < named : rank != named)) {
    InFlightDiagnostic diag = fail() << "expected " << name << " of shape [";
    llvm::interleaveComma(dims, diag, [&](StringRef dim) {
      auto [one, bound] = dim.split('|');
      diag << one;
      if (!bound.empty())
        diag << " or " << bound;
    });
    diag << "], got " << type;
    return *this;
  }
  ArrayRef<int64_t> sizes = shaped.getShape();
  if (anyRows)
    leading(name, sizes.drop_back(named));
  for (auto [dim, given] : llvm::zip(dims.take_back(named), sizes.take_back(named))) {
    auto [one, bound] = dim.split('|');
    if (bound.empty())
      size(dim, given, name);
    else if (given != 1)
      size(bound, given, name);
  }
  return *this;
}

ShapeCheck &ShapeCheck::shapes(ArrayRef<NamedShape> shapes) {
  for (const NamedShape &given : shapes)
    shape(given.name, given.value.getType(), given.dims);
  return *this;
}

ShapeCheck &ShapeCheck::sameElement(StringRef name, Type type, StringRef otherName, Type other) {
  Type element = getElementTypeOrSelf(type), otherElement = getElementTypeOrSelf(other);
  if (!failed && element != otherElement)
    fail() << "expected one element type, but " << name << " has " << element << " and " << otherName << " has "
           << otherElement;
  return *this;
}
