//===- MoeAttrs.cpp - syntax and verifiers of the moe attributes and types ----------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::moe;

using EmitError = function_ref<InFlightDiagnostic()>;

LogicalResult LayoutType::verify(EmitError emitError, int64_t experts) {
  if (experts < 1)
    return emitError() << "number of experts must be at least 1, got " << experts;
  if (experts > kMaxExperts)
    return emitError() << "number of experts must be at most " << kMaxExperts << ", as their ids are i32, got " << experts;
  return success();
}

//===----------------------------------------------------------------------===//
// Policies of the gate
//===----------------------------------------------------------------------===//

LogicalResult GroupsAttr::verify(EmitError emitError, int64_t count, int64_t keep, GroupScore) {
  if (count < 1)
    return emitError() << "number of groups must be at least 1, got " << count;
  if (keep < 1 || keep > count)
    return emitError() << "expected to keep 1 to " << count << " groups, got " << keep;
  return success();
}

LogicalResult CapacityAttr::verify(EmitError emitError, APFloat factor, Rounding) {
  if (!factor.isFinite())
    return emitError() << "capacity factor must be finite";
  return success();
}

Attribute CapacityAttr::parse(AsmParser &parser, Type) {
  double factor;
  std::string keyword;
  SMLoc loc;
  if (parser.parseLess() || parser.parseFloat(factor) || parser.parseComma() || parser.getCurrentLocation(&loc) ||
      parser.parseKeywordOrString(&keyword) || parser.parseGreater())
    return {};
  std::optional<Rounding> rounding = symbolizeRounding(keyword);
  if (!rounding) {
    parser.emitError(loc, "unknown rounding '") << keyword << "'; one of tutel, deepspeed, megablocks";
    return {};
  }
  return parser.getChecked<CapacityAttr>(loc, parser.getContext(), APFloat(factor), *rounding);
}

void CapacityAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printFloat(getFactor());
  printer << ", " << stringifyRounding(getRounding()) << ">";
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

LogicalResult SumAttr::verify(EmitError emitError, SumKind, int64_t groups) {
  if (groups < 1)
    return emitError() << "number of groups of a sum must be at least 1, got " << groups;
  return success();
}

//===----------------------------------------------------------------------===//
// Recipe steps
//===----------------------------------------------------------------------===//

LogicalResult ConcatAttr::verify(EmitError emitError, int64_t dim) {
  if (dim < 0)
    return emitError() << "concat dimension must not be negative, got " << dim;
  return success();
}

LogicalResult SliceAttr::verify(EmitError emitError, int64_t dim, int64_t offset, int64_t size) {
  if (dim < 0)
    return emitError() << "slice dimension must not be negative, got " << dim;
  if (offset < 0)
    return emitError() << "slice offset must not be negative, got " << offset;
  if (size < 1)
    return emitError() << "slice size must be at least 1, got " << size;
  if (offset > std::numeric_limits<int64_t>::max() - size)
    return emitError() << "slice ends beyond every dimension, offset " << offset << " and size " << size;
  return success();
}

LogicalResult TransposeAttr::verify(EmitError emitError, ArrayRef<int64_t> permutation) {
  llvm::SmallBitVector seen(permutation.size());
  for (int64_t dim : permutation) {
    if (dim < 0 || dim >= static_cast<int64_t>(permutation.size()) || seen.test(dim))
      return emitError() << "[" << permutation << "] is not a permutation";
    seen.set(dim);
  }
  return success();
}

LogicalResult OrderAttr::verify(EmitError emitError, ArrayRef<int32_t> experts) {
  const int64_t count = experts.size();
  llvm::SmallBitVector seen(count);
  for (int32_t expert : experts) {
    if (expert < 0 || expert >= count)
      return emitError() << "an order of " << count << " experts has each of 0 to " << count - 1 << " once, got "
                         << expert;
    if (seen.test(expert))
      return emitError() << "an order of " << count << " experts has each of them once, got " << expert << " again";
    seen.set(expert);
  }
  return success();
}

SmallVector<int32_t> OrderAttr::getPlaces() {
  SmallVector<int32_t> places(getExperts().size());
  for (auto [place, expert] : llvm::enumerate(getExperts()))
    places[expert] = place;
  return places;
}

LogicalResult CastAttr::verify(EmitError emitError, Type element) {
  if (!isa<Float32Type, BFloat16Type, Float16Type>(element))
    return emitError() << "expected a cast to f32, bf16 or f16, got " << element;
  return success();
}

static LogicalResult verifyRanks(EmitError emitError, int64_t ranks) {
  if (ranks < 1)
    return emitError() << "number of ranks must be at least 1, got " << ranks;
  return success();
}

LogicalResult ShardAttr::verify(EmitError emitError, int64_t dim, FlatSymbolRefAttr, int64_t ranks, bool) {
  if (dim < 0)
    return emitError() << "dimension that ranks share must not be negative, got " << dim;
  return verifyRanks(emitError, ranks);
}

LogicalResult OnceAttr::verify(EmitError emitError, FlatSymbolRefAttr, int64_t ranks) {
  return verifyRanks(emitError, ranks);
}

static LogicalResult verifyParts(EmitError emitError, int64_t parts) {
  if (parts < 1)
    return emitError() << "number of parts must be at least 1, got " << parts;
  return success();
}

LogicalResult CutAttr::verify(EmitError emitError, int64_t dim, int64_t parts, bool) {
  if (dim < 0)
    return emitError() << "cut dimension must not be negative, got " << dim;
  return verifyParts(emitError, parts);
}

LogicalResult FirstAttr::verify(EmitError emitError, int64_t parts) { return verifyParts(emitError, parts); }

LogicalResult PackAttr::verify(EmitError emitError, int64_t columns, int64_t pairs, bool halves, bool interleaved) {
  if (columns < 1)
    return emitError() << "columns must be at least 1, got " << columns;
  if (pairs < 1)
    return emitError() << "pairs must be at least 1, got " << pairs;
  if (halves && columns % 2)
    return emitError() << "halves need an even number of columns, got " << columns;
  if (interleaved && !halves)
    return emitError() << "interleaved needs halves";
  return success();
}
