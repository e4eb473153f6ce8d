//===- SizeAnalysisCalls.cpp - sizes of the results of aten calls -------------------------------------------------===//

#include "SizeAnalysis.h"

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::aten;

std::optional<SmallVector<SizeExpr>> SizeAnalysis::getRequestedSizes(CallOp call, StringRef argument, Value source,
                                                                     bool keepOnMinusOne) {
  auto list = dyn_cast_or_null<ArrayAttr>(call.getArgument(argument));
  if (!list)
    return std::nullopt;
  SmallVector<SizeExpr> sizes;
  std::optional<size_t> inferred;
  SizeExpr product = 1;
  int64_t sourceRank = source ? cast<RankedTensorType>(source.getType()).getRank() : 0;
  for (auto [i, element] : llvm::enumerate(list)) {
    if (Value operand = call.getOperandOf(element)) {
      sizes.push_back(getScalar(operand));
    } else if (auto integer = dyn_cast<IntegerAttr>(element)) {
      sizes.push_back(integer.getInt());
      if (integer.getInt() < 0 && keepOnMinusOne) {
        int64_t dim = int64_t(i) - int64_t(list.size()) + sourceRank;
        if (dim < 0)
          return std::nullopt;
        sizes.back() = getSize(source, dim);
      } else if (integer.getInt() < 0) {
        if (inferred)
          return std::nullopt;
        inferred = i;
        continue;
      }
    } else {
      return std::nullopt;
    }
    product = product * sizes.back();
  }
  if (inferred) {
    if (!source)
      return std::nullopt;
    SizeExpr total = 1;
    for (const SizeExpr &size : getSizes(source))
      total = total * size;
    std::optional<SizeExpr> quotient = total.dividedBy(product);
    if (!quotient)
      return std::nullopt;
    sizes[*inferred] = *quotient;
  }
  return sizes;
}

/// The size of a broadcast result: of the first operand that is not one element wide there.
static std::optional<SizeExpr> getBroadcastSize(SizeAnalysis &analysis, CallOp call, int64_t dim, int64_t rank) {
  for (Value operand : call.getInputs()) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    int64_t own = type ? dim - (rank - type.getRank()) : -1;
    if (own >= 0 && type.getDimSize(own) != 1)
      return analysis.getSize(operand, own);
  }
  return std::nullopt;
}

static const llvm::StringSet<> &elementwise() {
  static const llvm::StringSet<> ops{"aten.add",         "aten.sub",         "aten.mul",        "aten.div",
                                     "aten.pow",         "aten.maximum",     "aten.minimum",    "aten.le",
                                     "aten.lt",          "aten.ge",          "aten.gt",         "aten.eq",
                                     "aten.ne",          "aten.__and__",     "aten.__or__",     "aten.bitwise_and",
                                     "aten.bitwise_or",  "aten.logical_and", "aten.logical_or", "aten.where",
                                     "aten.masked_fill", "aten.rsub",        "aten.remainder",  "aten.floor_divide",
                                     "aten.clamp",       "aten.addcmul"};
  return ops;
}

/// Ops whose result has the shape of the first tensor argument.
static const llvm::StringSet<> &likeSelf() {
  static const llvm::StringSet<> ops{"aten.to",
                                     "aten.neg",
                                     "aten.exp",
                                     "aten.log",
                                     "aten.rsqrt",
                                     "aten.sqrt",
                                     "aten.cos",
                                     "aten.sin",
                                     "aten.silu",
                                     "aten.gelu",
                                     "aten.relu",
                                     "aten.sigmoid",
                                     "aten.tanh",
                                     "aten.softmax",
                                     "aten._softmax",
                                     "aten.cumsum",
                                     "aten.cummax",
                                     "aten.clone",
                                     "aten.contiguous",
                                     "aten.detach",
                                     "aten.alias",
                                     "aten.lift_fresh_copy",
                                     "aten.dropout",
                                     "aten.index_add",
                                     "aten.index_copy",
                                     "aten.scatter",
                                     "aten.bitwise_not",
                                     "aten.logical_not",
                                     "aten.zeros_like",
                                     "aten.ones_like",
                                     "aten.full_like",
                                     "aten.empty_like",
                                     "aten.abs",
                                     "aten.sign",
                                     "aten.square",
                                     "aten.reciprocal",
                                     "aten.fill",
                                     "aten.copy",
                                     "aten.rms_norm",
                                     "aten.layer_norm",
                                     "aten.float",
                                     "aten.type_as",
                                     "aten.scaled_dot_product_attention",
                                     "moe_mlir.attention",
                                     "moe_mlir.experts",
                                     "moe_mlir.causal_conv",
                                     "aten.select_scatter",
                                     "aten.slice_scatter",
                                     "aten.sort",
                                     "aten.argsort",
                                     "aten.index_put",
                                     "aten.log_softmax",
                                     "aten.flip",
                                     "aten.roll"};
  return ops;
}

std::optional<SizeExpr> SizeAnalysis::getCallSize(CallOp call, unsigned result, int64_t dim) {
  StringRef base = call.getBase();
  int64_t rank = cast<RankedTensorType>(call.getResult(result).getType()).getRank();
  Value self = call.getValue("self");
  for (StringRef name : {"input", "query", "hidden", "x"})
    if (!self)
      self = call.getValue(name);
  auto selfType = self ? dyn_cast<RankedTensorType>(self.getType()) : RankedTensorType();
  int64_t selfRank = selfType ? selfType.getRank() : 0;

  if (elementwise().contains(base))
    return getBroadcastSize(*this, call, dim, rank);
  if (base == "aten.scaled_dot_product_attention" && dim == rank - 1)
    return getSize(call.getValue("value"), dim);
  if (selfType && likeSelf().contains(base) && selfRank == rank) {
    // If a dimension of size 1 became a dynamic one, it was broadcast to another argument.
    return selfType.getDimSize(dim) != 1 ? std::optional(getSize(self, dim)) : std::nullopt;
  }
  if (base == "aten.view" || base == "aten.reshape" || base == "aten.expand") {
    bool expand = base == "aten.expand";
    auto sizes = getRequestedSizes(call, base == "aten.reshape" ? "shape" : "size", self, expand);
    return sizes && int64_t(sizes->size()) == rank ? std::optional((*sizes)[dim]) : std::nullopt;
  }
  if (base == "aten.zeros" || base == "aten.ones" || base == "aten.full" || base == "aten.empty" ||
      base.starts_with("aten.new_")) {
    auto sizes = getRequestedSizes(call, "size", {}, false);
    return sizes && int64_t(sizes->size()) == rank ? std::optional((*sizes)[dim]) : std::nullopt;
  }
  if (base == "aten.transpose" || base == "aten.t") {
    std::optional<int64_t> a = base == "aten.t" ? 0 : call.getDim("dim0", rank),
                           b = base == "aten.t" ? 1 : call.getDim("dim1", rank);
    return a && b ? std::optional(getSize(self, dim == *a ? *b : dim == *b ? *a : dim)) : std::nullopt;
  }
  if (base == "aten.numpy_T")
    return getSize(self, rank - 1 - dim);
  if (base == "aten.unfold") {
    std::optional<int64_t> at = call.getDim("dimension", selfRank), size = call.getInt("size");
    if (!at || !size || (dim == *at && call.getInt("step") != 1))
      return std::nullopt;
    return dim == rank - 1 ? SizeExpr(*size) : dim == *at ? getSize(self, dim) - (*size - 1) : getSize(self, dim);
  }
  if (base == "aten.permute") {
    std::optional<SmallVector<int64_t>> dims = call.getInts("dims");
    return dims && int64_t(dims->size()) == rank ? std::optional(getSize(self, ((*dims)[dim] + rank) % rank))
                                                 : std::nullopt;
  }
  if (base == "aten.unflatten") {
    std::optional<int64_t> at = call.getDim("dim", selfRank);
    int64_t more = rank - selfRank;
    bool before = at && dim < *at, behind = at && dim > *at + more;
    return before || behind ? std::optional(getSize(self, before ? dim : dim - more)) : std::nullopt;
  }
  if (base == "aten.flatten") {
    std::optional<int64_t> start = call.getArgument("start_dim") ? call.getDim("start_dim", selfRank) : 0;
    if (!start || selfRank < rank)
      return std::nullopt;
    const int64_t joined = dim == *start ? selfRank - rank + 1 : 1, first = dim > *start ? dim + selfRank - rank : dim;
    SizeExpr size = 1;
    for (int64_t from = first; from < first + joined; ++from)
      size = size * getSize(self, from);
    return size;
  }
  if (base == "aten.unsqueeze") {
    std::optional<int64_t> at = call.getDim("dim", rank);
    return at && dim != *at ? std::optional(getSize(self, dim - (dim > *at))) : std::nullopt;
  }
  if (base == "aten.select" || (base == "aten.squeeze" && selfRank == rank + 1)) {
    std::optional<int64_t> at = call.getDim("dim", selfRank);
    return at ? std::optional(getSize(self, dim + (dim >= *at))) : std::nullopt;
  }
  if (base == "aten.slice" || base == "aten.topk") {
    std::optional<int64_t> at = call.getDim("dim", rank);
    bool full = base == "aten.slice" && call.getInt("start").value_or(0) == 0 && !call.getValue("start") &&
                !call.getValue("end") && call.getInt("step").value_or(1) == 1 &&
                call.getInt("end").value_or(INT64_MAX) == INT64_MAX;
    return full || dim != at.value_or(rank - 1) ? std::optional(getSize(self, dim)) : std::nullopt;
  }
  if (base == "aten.narrow") {
    std::optional<int64_t> at = call.getDim("dim", rank);
    if (!at || dim != *at)
      return at ? std::optional(getSize(self, dim)) : std::nullopt;
    if (std::optional<int64_t> length = call.getInt("length"))
      return SizeExpr(*length);
    Value length = call.getValue("length");
    return length ? std::optional(getScalar(length)) : std::nullopt;
  }
  if (base == "aten.one_hot" && dim + 1 < rank)
    return getSize(self, dim);
  if (base == "aten.mv" && selfRank == 2)
    return getSize(self, 0);
  if (base == "aten.split_with_sizes" || base == "aten.split" || base == "aten.chunk") {
    std::optional<int64_t> at = call.getArgument("dim") ? call.getDim("dim", rank) : 0;
    return at && dim != *at ? std::optional(getSize(self, dim)) : std::nullopt;
  }
  if (base == "aten.sum" || base == "aten.mean" || base == "aten.amax" || base == "aten.max")
    return selfRank == rank ? std::optional(getSize(self, dim)) : std::nullopt;
  if (base == "aten.pad" || base == "aten.constant_pad_nd") {
    std::optional<SmallVector<int64_t>> pads = call.getInts("pad");
    if (!pads)
      return std::nullopt;
    size_t at = 2 * (rank - 1 - dim);
    return at + 1 < pads->size() ? getSize(self, dim) + ((*pads)[at] + (*pads)[at + 1]) : getSize(self, dim);
  }
  if (base == "moe_mlir.scan")
    return getSize(call.getValue(result ? "state" : "value"), dim);
  if (base == "aten.gather")
    return getSize(call.getValue("index"), dim);
  if (base == "aten.linear" && dim + 1 < rank)
    return getSize(self, dim);
  if (base == "aten.embedding" && dim + 1 < rank)
    return getSize(call.getValue("indices"), dim);
  if (base == "aten.arange" && !call.getArgument("start"))
    if (Value end = call.getValue("end"))
      return getScalar(end);
  if (base == "aten.cat" || base == "aten.concat") {
    std::optional<int64_t> at = call.getArgument("dim") ? call.getDim("dim", rank) : 0;
    auto list = dyn_cast_or_null<ArrayAttr>(call.getArgument("tensors"));
    if (!at || !list || list.empty())
      return std::nullopt;
    if (dim != *at)
      return getSize(call.getOperandOf(list[0]), dim);
    SizeExpr sum;
    for (Attribute tensor : list)
      sum = sum + getSize(call.getOperandOf(tensor), dim);
    return sum;
  }
  return std::nullopt;
}
