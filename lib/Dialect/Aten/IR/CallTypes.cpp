//===- CallTypes.cpp - what values an operator can take and give --------------------------------------------------===//
//
// The exported graph says of every value what it is, and patterns take it at its word. These are rules that hold for
// every operator by ATen's schema; sizes are looked at where they are used.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "CallTypes.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::aten;

static bool isNumber(Type type) { return type.isIntOrIndexOrFloat(); }

static bool isTensorOfNumbers(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && (isNumber(tensor.getElementType()) || isa<ComplexType>(tensor.getElementType()));
}

/// Assertions, which give nothing.
static bool isAssertion(StringRef base) {
  return base.starts_with("aten._assert") || base.starts_with("aten.sym_constrain");
}

/// Operators on numbers, or from tensors to numbers.
static bool givesNumbers(StringRef base) {
  return base.starts_with("aten.sym_") ||
         llvm::is_contained({"aten.item", "aten._local_scalar_dense", "aten.equal", "aten.is_nonzero", "aten.numel",
                             "aten.dim", "aten.size", "aten.stride"},
                            base);
}

/// Arguments that are tensors in every operator that has them, but for `self` of pow and where. A `value` may be a number.
static constexpr StringRef tensorNames[] = {"self", "input", "query", "key", "mat1", "mat2", "weight", "tensors"};

/// By how much the rank of every result is larger than that of the first tensor; nothing if other things decide it.
static std::optional<int64_t> addedRank(StringRef base) {
  base.consume_back("_"); // in place
  return llvm::StringSwitch<std::optional<int64_t>>(base)
      .Cases({"aten.slice", "aten.topk", "aten.sort", "aten.argsort", "aten.cumsum", "aten.softmax", "aten._softmax"},
             0)
      .Cases({"aten.triu", "aten.tril", "aten.clone", "aten.to", "aten._to_copy", "aten.contiguous", "aten.alias"}, 0)
      .Cases({"aten.detach", "aten.dropout", "aten.neg", "aten.exp", "aten.abs", "aten.rsqrt", "aten.sqrt"}, 0)
      .Cases({"aten.sigmoid", "aten.tanh", "aten.silu", "aten.gelu", "aten.relu", "aten.sin", "aten.cos"}, 0)
      .Cases({"aten.log", "aten.floor", "aten.ceil", "aten.round", "aten.bitwise_not", "aten.logical_not"}, 0)
      .Cases({"aten.square", "aten.reciprocal", "aten.transpose", "aten.permute", "aten.roll", "aten.flip"}, 0)
      .Cases({"aten.pad", "aten.constant_pad_nd", "aten.slice_scatter", "aten.select_scatter", "aten.scatter"}, 0)
      .Cases({"aten.scatter_add", "aten.index_add", "aten.index_copy", "aten.index_put", "aten.index_select"}, 0)
      .Cases({"aten.rms_norm", "aten.layer_norm", "aten.zeros_like", "aten.ones_like", "aten.empty_like"}, 0)
      .Cases({"aten.full_like", "aten.chunk", "aten.split", "aten.split_with_sizes", "aten.linear", "aten.mm"}, 0)
      .Cases({"aten.bmm", "aten.repeat_interleave", "aten.diff", "aten.sign", "aten.cummax", "aten.numpy_T"}, 0)
      .Case("aten.narrow", 0)
      .Cases({"aten.select", "aten.unbind", "aten.view_as_complex"}, -1)
      .Cases({"aten.unsqueeze", "aten.stack", "aten.view_as_real", "aten.unfold", "aten.one_hot"}, 1)
      .Default(std::nullopt);
}

/// The ranks that the operator's results can have.
static LogicalResult verifyRanks(CallOp call) {
  std::optional<int64_t> added = addedRank(call.getBase());
  if (!added)
    return success();
  for (StringRef name : {"self", "input", "tensors"}) {
    Attribute argument = call.getArgument(name);
    auto list = dyn_cast_or_null<ArrayAttr>(argument);
    Value first = call.getOperandOf(list && !list.empty() ? list[0] : argument);
    if (!first)
      continue;
    const int64_t rank = cast<RankedTensorType>(first.getType()).getRank();
    // Of repeat_interleave without a dimension the result is a vector.
    if (call.getBase() == "aten.repeat_interleave" && (!call.getArgument("dim") || name != "self"))
      return success();
    for (Type type : call.getResultTypes())
      if (cast<RankedTensorType>(type).getRank() != rank + *added)
        return call.emitOpError() << "'" << call.getTarget() << "' of " << first.getType() << " cannot give " << type;
    return success();
  }
  return success();
}

/// Tensors without which the operator cannot be called. Patterns read them unasked.
static ArrayRef<StringRef> requiredTensors(StringRef base) {
  static constexpr StringRef ofIndex[] = {"self", "index"}, ofWrite[] = {"self", "index", "source"},
                             ofTable[] = {"weight", "indices"}, ofLinear[] = {"input", "weight"},
                             ofProduct[] = {"self", "mat2"}, ofSum[] = {"self", "mat1", "mat2"},
                             ofVector[] = {"self", "vec"}, ofVectorSum[] = {"self", "mat", "vec"},
                             ofAddedProduct[] = {"self", "tensor1", "tensor2"},
                             ofAttention[] = {"query", "key", "value"}, ofMask[] = {"self", "mask"},
                             ofNorm[] = {"input"}, ofConvolution[] = {"x", "weight"},
                             ofScan[] = {"query", "key", "value", "decay", "state"},
                             ofExperts[] = {"hidden", "ids", "weights", "gate_up_proj", "down_proj"},
                             ofOne[] = {"self"};
  base.consume_back("_"); // in place
  return llvm::StringSwitch<ArrayRef<StringRef>>(base)
      .Cases({"aten.gather", "aten.scatter", "aten.index_select"}, ofIndex)
      .Cases({"aten.index_copy", "aten.index_add"}, ofWrite)
      .Case("aten.embedding", ofTable)
      .Case("aten.linear", ofLinear)
      .Cases({"aten.mm", "aten.bmm"}, ofProduct)
      .Case("aten.mv", ofVector)
      .Case("aten.addmv", ofVectorSum)
      .Case("aten.addcmul", ofAddedProduct)
      .Cases({"aten.one_hot", "aten.narrow", "aten.roll", "aten.var", "aten.std"}, ofOne)
      .Case("aten.addmm", ofSum)
      .Cases({"aten.scaled_dot_product_attention", "moe_mlir.attention"}, ofAttention)
      .Case("aten.masked_fill", ofMask)
      .Cases({"aten.rms_norm", "aten.layer_norm"}, ofNorm)
      .Case("moe_mlir.causal_conv", ofConvolution)
      .Case("moe_mlir.scan", ofScan)
      .Case("moe_mlir.experts", ofExperts)
      .Cases({"aten.slice", "aten.select", "aten.view", "aten.reshape", "aten.transpose", "aten.permute"}, ofOne)
      .Cases({"aten.unsqueeze", "aten.squeeze", "aten.expand", "aten.to", "aten.topk", "aten.sort"}, ofOne)
      .Cases({"aten.softmax", "aten.cumsum", "aten.sum", "aten.mean", "aten.sym_size"}, ofOne)
      .Default({});
}

static LogicalResult verifyRequired(CallOp call) {
  for (StringRef name : requiredTensors(call.getBase())) {
    Value value = call.getValue(name);
    if (!value || !isa<RankedTensorType>(value.getType()))
      return call.emitOpError() << "'" << call.getTarget() << "' needs a tensor as '" << name << "'";
  }
  return success();
}

/// Patterns use the dimensions of permute as indices. Those that are no constants are refused where it is lowered.
static LogicalResult verifyPermutation(CallOp call) {
  std::optional<SmallVector<int64_t>> dims = call.getBase() == "aten.permute" ? call.getInts("dims") : std::nullopt;
  if (!dims)
    return success();
  const int64_t rank = cast<RankedTensorType>(call.getValue("self").getType()).getRank();
  for (int64_t &dim : *dims)
    dim += dim < 0 ? rank : 0;
  if (int64_t(dims->size()) == rank && isPermutationVector(*dims))
    return success();
  return call.emitOpError() << "'" << call.getTarget() << "' needs 'dims' that name each of " << rank
                            << " dimensions once";
}

LogicalResult mlir::aten::verifyTypes(CallOp call) {
  auto check = [&](StringRef what, unsigned number, Type type) -> LogicalResult {
    if (isNumber(type) || isTensorOfNumbers(type))
      return success();
    return call.emitOpError() << what << " " << number << " is " << type << "; calls take and give tensors and numbers";
  };
  for (auto [number, type] : llvm::enumerate(call.getOperandTypes()))
    if (failed(check("operand", number, type)))
      return failure();
  for (auto [number, type] : llvm::enumerate(call.getResultTypes()))
    if (failed(check("result", number, type)))
      return failure();

  StringRef base = call.getBase();
  if (failed(verifyRequired(call)) || failed(verifyPermutation(call)))
    return failure();
  if (!(base.starts_with("aten.") || base.starts_with("moe_mlir.")) || isAssertion(base))
    return success();
  if (call.getNumResults() == 0 && !isInPlace(call.getTarget()))
    return call.emitOpError() << "'" << call.getTarget() << "' gives nothing, as only assertions do";
  for (auto [number, type] : llvm::enumerate(call.getResultTypes()))
    if (!givesNumbers(base) && !isa<RankedTensorType>(type))
      return call.emitOpError() << "'" << call.getTarget() << "' gives tensors, but result " << number << " is "
                                << type;
  // pow.Scalar: a number to the power of a tensor; where.ScalarSelf: a number where the condition holds.
  if (base == "aten.pow" || base == "aten.pow_" || base == "aten.where" || givesNumbers(base))
    return success();
  auto checkOperand = [&](StringRef name, Attribute argument) -> LogicalResult {
    Value operand = call.getOperandOf(argument);
    if (!operand || isa<RankedTensorType>(operand.getType()))
      return success();
    return call.emitOpError() << "'" << call.getTarget() << "' takes a tensor as '" << name << "', got "
                              << operand.getType();
  };
  for (StringRef name : tensorNames) {
    Attribute argument = call.getArgument(name);
    auto list = dyn_cast_or_null<ArrayAttr>(argument);
    for (Attribute element : list ? list.getValue() : ArrayRef<Attribute>(argument))
      if (failed(checkOperand(name, element)))
        return failure();
  }
  return verifyRanks(call);
}
