//===- StatedSizes.cpp - sizes that numbers in a call's arguments state -------------------------------------------===//

#include "StatedSizes.h"
#include "ShapeRules.h"
#include "Support.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;
using namespace mlir;
using namespace moe_mlir;
using namespace moe_mlir::pt2;
using aten::CallOp;

using Sizes = SmallVector<int64_t>;

static RankedTensorType typeOf(CallOp call, StringRef argument) {
  Value value = call.getValue(argument);
  return value ? dyn_cast<RankedTensorType>(value.getType()) : RankedTensorType();
}

static bool isDynamic(CallOp call, unsigned result, int64_t dim) {
  auto type = dyn_cast<RankedTensorType>(call.getResult(result).getType());
  return type && dim < type.getRank() && type.isDynamicDim(dim);
}

//===- lists of sizes ---------------------------------------------------------------------------------------------===//

static StringRef listName(CallOp call) { return call.getArgument("size") ? "size" : "shape"; }

/// A number in the list of a reshape may be an expression in the result's type, which torch.export does not simplify.
std::optional<Sizes> moe_mlir::pt2::listed(CallOp call, unsigned result) {
  auto list = dyn_cast_or_null<ArrayAttr>(call.getArgument(listName(call)));
  if (!list)
    return std::nullopt;
  Sizes sizes;
  for (auto [dim, element] : enumerate(list)) {
    auto integer = dyn_cast<IntegerAttr>(element);
    bool known = integer && integer.getInt() >= 0 && !isDynamic(call, result, dim);
    sizes.push_back(known ? integer.getInt() : kAnySize);
  }
  return sizes;
}

std::optional<Sizes> moe_mlir::pt2::unflattened(CallOp call, unsigned result) {
  RankedTensorType from = typeOf(call, "self");
  auto list = dyn_cast_or_null<ArrayAttr>(call.getArgument("sizes"));
  std::optional<int64_t> at = from ? call.getDim("dim", from.getRank()) : std::nullopt;
  if (!list || !at || *at >= from.getRank())
    return std::nullopt;
  Sizes sizes(from.getShape());
  sizes.erase(sizes.begin() + *at);
  for (auto [i, element] : enumerate(list)) {
    auto integer = dyn_cast<IntegerAttr>(element);
    bool known = integer && integer.getInt() >= 0 && !isDynamic(call, result, *at + i);
    sizes.insert(sizes.begin() + *at + i, known ? integer.getInt() : kAnySize);
  }
  return sizes;
}

int64_t moe_mlir::pt2::pieceOf(CallOp call, unsigned result, int64_t dim, int64_t whole) {
  if (whole == ShapedType::kDynamic || isDynamic(call, result, dim))
    return kAnySize;
  std::optional<int64_t> size = call.getInt("split_size"), count = call.getInt("chunks");
  if (count && *count > 0)
    size = divideCeil(whole, *count);
  if (!size || *size < 0)
    return kAnySize;
  const int64_t piece = std::min(*size, whole);
  return std::clamp<int64_t>(whole - piece * result, 0, piece);
}

static bool isExpand(CallOp call) { return is_contained({"aten.expand", "aten.broadcast_to"}, call.getBase()); }

static Error checkList(CallOp call, bool leftOver) {
  StringRef name = listName(call);
  auto list = dyn_cast_or_null<ArrayAttr>(call.getArgument(name));
  if (!list)
    return Error::success();
  RankedTensorType self = typeOf(call, "self");
  const int64_t first = isExpand(call) && self ? int64_t(list.size()) - self.getRank() : 0;
  if (first < 0)
    return inputError("argument '" + name + "' has " + Twine(list.size()) + " size(s) for an operand of rank " +
                      Twine(self.getRank()));
  bool open = false;
  for (auto [dim, element] : enumerate(list)) {
    auto integer = dyn_cast<IntegerAttr>(element);
    if (!integer || integer.getInt() >= 0)
      continue;
    // An operand has no size for dimensions in front of its own.
    if (integer.getInt() != -1 || !leftOver || int64_t(dim) < first)
      return inputError("argument '" + name + "' has the size " + Twine(integer.getInt()));
    if (open && !isExpand(call))
      return inputError("argument '" + name + "' leaves two sizes open");
    open = true;
  }
  return Error::success();
}

/// The dimensions of the operand are those of the result, or 1.
static Error checkExpand(CallOp call) {
  auto from = typeOf(call, "self"), type = dyn_cast<RankedTensorType>(call.getResult(0).getType());
  auto list = dyn_cast_or_null<ArrayAttr>(call.getArgument(listName(call)));
  if (!from || !type || !list || int64_t(list.size()) != type.getRank())
    return Error::success();
  for (int64_t dim = 0, first = type.getRank() - from.getRank(); dim < from.getRank(); ++dim) {
    auto stated = dyn_cast<IntegerAttr>(list[first + dim]);
    const bool stretches = from.getDimSize(dim) == 1 && (!stated || stated.getInt() != -1);
    if (!stretches && !from.isDynamicDim(dim) && !type.isDynamicDim(first + dim) &&
        from.getDimSize(dim) != type.getDimSize(first + dim))
      return inputError("dimension " + Twine(first + dim) + " of its result has size " +
                        Twine(type.getDimSize(first + dim)) + ", that of its operand " + Twine(from.getDimSize(dim)));
  }
  return Error::success();
}

//===- repeat -----------------------------------------------------------------------------------------------------===//

std::optional<Sizes> moe_mlir::pt2::repeated(CallOp call, unsigned result) {
  RankedTensorType from = typeOf(call, "self");
  auto list = dyn_cast_or_null<ArrayAttr>(call.getArgument("repeats"));
  if (!from || !list)
    return std::nullopt;
  Sizes sizes;
  for (auto [dim, element] : enumerate(list)) {
    const int64_t own = int64_t(dim) - (int64_t(list.size()) - from.getRank());
    const int64_t size = own < 0 ? 1 : from.getDimSize(own);
    auto times = dyn_cast<IntegerAttr>(element);
    int64_t product;
    if (!times || isDynamic(call, result, dim))
      sizes.push_back(kAnySize);
    else if (size == ShapedType::kDynamic)
      sizes.push_back(times.getInt() == 0 ? 0 : size);
    else
      sizes.push_back(MulOverflow(size, times.getInt(), product) ? INT64_MAX : product);
  }
  return sizes;
}

static Error checkRepeats(CallOp call) {
  RankedTensorType from = typeOf(call, "self");
  auto list = dyn_cast_or_null<ArrayAttr>(call.getArgument("repeats"));
  if (!from || !list)
    return Error::success();
  if (int64_t(list.size()) < from.getRank())
    return inputError("argument 'repeats' has " + Twine(list.size()) + " number(s) for an operand of rank " +
                      Twine(from.getRank()));
  for (auto times : make_filter_range(list, IsaPred<IntegerAttr>))
    if (cast<IntegerAttr>(times).getInt() < 0)
      return inputError("argument 'repeats' has the number " + Twine(cast<IntegerAttr>(times).getInt()));
  return Error::success();
}

//===- arange -----------------------------------------------------------------------------------------------------===//

namespace {
/// Numbers of arange, if all are constants.
template <typename Number> struct Steps {
  Number start, end, step;
};
} // namespace

template <typename Number>
static std::optional<Steps<Number>> readSteps(CallOp call, std::optional<Number> (*read)(CallOp, StringRef)) {
  std::optional<Number> start = call.getArgument("start") ? read(call, "start") : Number(0),
                        step = call.getArgument("step") ? read(call, "step") : Number(1), end = read(call, "end");
  return start && end && step ? std::optional(Steps<Number>{*start, *end, *step}) : std::nullopt;
}

static std::optional<int64_t> readInt(CallOp call, StringRef name) { return call.getInt(name); }
static std::optional<double> readFloat(CallOp call, StringRef name) { return call.getFloat(name); }

static Error checkSteps(CallOp call) {
  std::optional<Steps<double>> steps = readSteps<double>(call, readFloat);
  if (!steps)
    return Error::success();
  auto [start, end, step] = *steps;
  for (auto [name, number] : {std::pair("start", start), std::pair("end", end), std::pair("step", step)})
    if (!std::isfinite(number))
      return inputError("argument '" + Twine(name) + "' is not finite");
  if (step == 0)
    return inputError("argument 'step' is 0");
  if (step > 0 ? end >= start : end <= start)
    return Error::success();
  std::string text;
  raw_string_ostream(text) << format("no steps of %g lead from %g to %g", step, start, end);
  return inputError(text);
}

/// As PyTorch counts: numbers of i64 in whole ones, others in f64.
std::optional<Sizes> moe_mlir::pt2::counted(CallOp call, unsigned result) {
  auto type = dyn_cast<RankedTensorType>(call.getResult(result).getType());
  if (!type || type.getRank() != 1 || type.isDynamicDim(0))
    return Sizes{kAnySize};
  if (std::optional<Steps<int64_t>> steps = readSteps<int64_t>(call, readInt); steps && steps->step != 0) {
    // Differences of 64-bit numbers need one bit more.
    const APInt distance = APInt(66, steps->end, true) - APInt(66, steps->start, true), step(66, steps->step, true);
    const APInt count = APIntOps::RoundingSDiv(distance, step, APInt::Rounding::UP);
    return Sizes{count.isNegative() ? kAnySize : int64_t(count.getLimitedValue(INT64_MAX))};
  }
  std::optional<Steps<double>> steps = readSteps<double>(call, readFloat);
  if (!steps || !isa<FloatType>(type.getElementType()) || steps->step == 0)
    return Sizes{kAnySize};
  const double count = std::ceil((steps->end - steps->start) / steps->step);
  return Sizes{count >= 0 ? count < 0x1p62 ? int64_t(count) : INT64_MAX : kAnySize};
}

//===- norms ------------------------------------------------------------------------------------------------------===//

/// A norm is over the last dimensions of its operand, and its weight has their sizes.
static Error checkNorm(CallOp call) {
  RankedTensorType from = typeOf(call, "input");
  std::optional<Sizes> shape = call.getInts("normalized_shape");
  if (!from || !shape)
    return Error::success();
  const int64_t first = from.getRank() - int64_t(shape->size());
  if (shape->empty() || first < 0)
    return inputError("argument 'normalized_shape' has " + Twine(shape->size()) + " size(s) for an operand of rank " +
                      Twine(from.getRank()));
  for (auto [dim, size] : enumerate(*shape))
    if (!from.isDynamicDim(first + dim) && from.getDimSize(first + dim) != size)
      return inputError("argument 'normalized_shape' has size " + Twine(size) + " for dimension " + Twine(first + dim) +
                        " of its operand, which has size " + Twine(from.getDimSize(first + dim)));
  for (StringRef name : {"weight", "bias"}) {
    RankedTensorType scale = typeOf(call, name);
    if (!scale)
      continue;
    if (scale.getRank() != int64_t(shape->size()))
      return inputError("argument '" + name + "' has rank " + Twine(scale.getRank()) + " instead of " +
                        Twine(shape->size()));
    for (auto [dim, size] : enumerate(*shape))
      if (!scale.isDynamicDim(dim) && scale.getDimSize(dim) != size)
        return inputError("dimension " + Twine(dim) + " of argument '" + name + "' has size " +
                          Twine(scale.getDimSize(dim)) + " instead of size " + Twine(size));
  }
  return Error::success();
}

Error moe_mlir::pt2::checkStatedSizes(CallOp call) {
  StringRef base = call.getBase();
  if (is_contained({"aten.view", "aten.reshape", "aten._unsafe_view"}, base))
    return checkList(call, /*leftOver=*/true);
  if (isExpand(call)) {
    if (Error error = checkList(call, /*leftOver=*/true))
      return error;
    return checkExpand(call);
  }
  if (is_contained({"aten.zeros", "aten.ones", "aten.empty", "aten.full", "aten.new_zeros", "aten.new_ones",
                    "aten.new_empty", "aten.new_full"},
                   base))
    return checkList(call, /*leftOver=*/false);
  if (base == "aten.repeat")
    return checkRepeats(call);
  if (base == "aten.arange")
    return checkSteps(call);
  if (base == "aten.layer_norm" || base == "aten.rms_norm")
    return checkNorm(call);
  return Error::success();
}
