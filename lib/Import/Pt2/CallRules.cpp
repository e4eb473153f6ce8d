//===- CallRules.cpp - what operators ask of their operands and results -------------------------------------------===//

#include "CallRules.h"
#include "DtypeRules.h"
#include "ShapeRules.h"
#include "StatedSizes.h"
#include "Support.h"
#include "moe-mlir/Dialect/Aten/IR/Einsum.h"
#include "moe-mlir/Support/Expression.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;
using namespace mlir;
using namespace moe_mlir;
using namespace moe_mlir::pt2;

namespace {
/// How the shape of every result follows from the operands.
enum class Shape {
  Any,       ///< nothing is known
  Scalar,    ///< results are numbers
  Same,      ///< that of the first tensor
  Broadcast, ///< all tensors, broadcast from the right
  Listed,    ///< as many dimensions as the list `size` or `shape` has elements
  Reduced,   ///< that of the first tensor without the dimensions `dim`, or with size 1
  Rank,      ///< the rank of the first tensor, and `offset` more
};

struct Rule {
  StringRef operators;
  StringRef tensors; ///< arguments that must be tensors, separated by blanks
  Shape shape;
  int offset = 0;
  /// Ranks of these arguments, a digit each; anything else is any rank.
  StringRef ranks = "";
};
} // namespace

static constexpr Rule rules[] = {
    {"exp log log1p sqrt rsqrt reciprocal sin cos tanh erf sigmoid silu gelu softplus relu neg abs sign square floor "
     "ceil round trunc isnan logical_not bitwise_not to _to_copy float type_as clone contiguous alias detach "
     "lift_fresh lift_fresh_copy dropout zeros_like ones_like empty_like full_like fill softmax _softmax cumsum tril "
     "triu log_sigmoid relu6 hardtanh leaky_relu elu hardsigmoid hardswish mish",
     "self", Shape::Same},
    {"log_softmax argsort index_put roll", "self", Shape::Same},
    {"dropout rms_norm layer_norm", "input", Shape::Same},
    {"select_scatter slice_scatter", "self src", Shape::Same},
    {"index_copy index_add", "self index source", Shape::Same},
    {"scatter", "self index", Shape::Same},
    {"copy", "self src", Shape::Same},
    {"expand_as view_as", "other self", Shape::Same},
    {"gather", "index self", Shape::Same},
    {"add sub rsub mul div floor_divide fmod maximum minimum eq ne lt le gt ge logical_and logical_or logical_xor "
     "__and__ __or__ __xor__ clamp clamp_min clamp_max",
     "self", Shape::Broadcast},
    {"addcmul", "self tensor1 tensor2", Shape::Broadcast},
    {"pow remainder bitwise_and bitwise_or bitwise_xor", "", Shape::Broadcast}, // the first operand may be a number
    {"where", "condition", Shape::Broadcast},
    {"masked_fill", "self mask", Shape::Broadcast},
    {"view reshape _unsafe_view expand broadcast_to new_zeros new_ones new_empty new_full", "self", Shape::Listed},
    {"zeros ones empty full", "", Shape::Listed},
    {"sum mean amax any all argmax linalg_vector_norm logsumexp var std", "self", Shape::Reduced},
    {"transpose t numpy_T permute slice narrow pad constant_pad_nd index_select topk sort cummax split split_with_sizes "
     "chunk diff",
     "self", Shape::Rank},
    {"flip", "self", Shape::Same},
    {"unsqueeze unfold", "self", Shape::Rank, 1},
    {"one_hot", "self", Shape::Rank, 1},
    {"select unbind view_as_complex", "self", Shape::Rank, -1},
    {"view_as_real", "self", Shape::Rank, 1},
    {"real imag", "self", Shape::Same},
    {"polar", "abs angle", Shape::Broadcast},
    {"complex", "real imag", Shape::Broadcast},
    {"index max flatten unflatten squeeze repeat", "self", Shape::Any},
    {"cat concat", "tensors", Shape::Rank},
    {"stack", "tensors", Shape::Rank, 1},
    {"embedding", "indices weight", Shape::Rank, 1, "-2"},
    {"linear", "input weight", Shape::Rank, 0, "-2"},
    {"mm", "self mat2", Shape::Rank, 0, "22"},
    {"bmm", "self mat2", Shape::Rank, 0, "33"},
    {"addmm", "mat1 mat2 self", Shape::Rank, 0, "22"},
    {"matmul", "self other", Shape::Any},
    {"mv", "self vec", Shape::Rank, -1, "21"},
    {"addmv", "mat vec self", Shape::Rank, -1, "21"},
    {"einsum", "tensors", Shape::Any},
    {"scaled_dot_product_attention", "query key value", Shape::Rank},
    {"conv1d", "input weight", Shape::Rank, 0, "33"},
    {"arange scalar_tensor eye", "", Shape::Any},
    {"experts", "hidden ids weights gate_up_proj down_proj", Shape::Rank, 0, "22233"},
    {"causal_conv", "x weight", Shape::Same, 0, "32"},
    {"scan", "value key query state decay", Shape::Any, 0, "4444"},
    {"item _local_scalar_dense sym_size", "self", Shape::Scalar},
};

static const Rule *findRule(aten::CallOp call) {
  static const StringMap<const Rule *> byName = [] {
    StringMap<const Rule *> map;
    for (const Rule &rule : rules) {
      SmallVector<StringRef> names;
      rule.operators.split(names, ' ');
      for (StringRef name : names)
        map.try_emplace(name, &rule);
    }
    return map;
  }();
  StringRef name = call.getBase();
  if (!name.consume_front("aten.") && !name.consume_front("moe_mlir."))
    return nullptr;
  if (aten::isInPlace(call.getTarget()))
    name.consume_back("_");
  const Rule *rule = byName.lookup(name);
  // One operator calls its operand differently in the two places where it is defined.
  return rule && name == "dropout" && call.getArgument("input") ? byName.lookup("rms_norm") : rule;
}

namespace {
class Check {
public:
  Check(aten::CallOp call, const Rule &rule) : call(call), rule(rule) {}
  Error run();

private:
  Error addTensors(StringRef name);
  Error checkDims(int64_t rank);
  Error checkResult(RankedTensorType type);
  Error checkSizes(RankedTensorType type, ArrayRef<RankedTensorType> operands);
  Error checkExpected(RankedTensorType type, unsigned result);
  Error checkReduced(RankedTensorType type, RankedTensorType operand);
  Error wrongRank(RankedTensorType type, int64_t rank) {
    return inputError("its result has rank " + Twine(type.getRank()) + " instead of " + Twine(rank));
  }

  aten::CallOp call;
  const Rule &rule;
  SmallVector<RankedTensorType> tensors;
};
} // namespace

Error Check::addTensors(StringRef name) {
  Attribute argument = call.getArgument(name);
  auto list = dyn_cast_or_null<ArrayAttr>(argument);
  SmallVector<Attribute> elements = list ? to_vector(list) : SmallVector<Attribute>{argument};
  for (Attribute element : elements) {
    Value value = call.getOperandOf(element);
    auto type = value ? dyn_cast<RankedTensorType>(value.getType()) : RankedTensorType();
    if (!type)
      return inputError("argument '" + name + "' is no tensor");
    tensors.push_back(type);
  }
  return elements.empty() ? inputError("argument '" + name + "' is an empty list") : Error::success();
}

Error Check::checkDims(int64_t rank) {
  // A tensor without dimensions counts as one with one of size 1.
  int64_t limit = std::max<int64_t>(rank, 1);
  for (StringRef name : {"dim", "dim0", "dim1", "dims", "dimension"})
    if (call.getArgument(name) && !call.getValue(name))
      for (int64_t dim : call.getInts(name).value_or(SmallVector<int64_t>()))
        if (dim < -limit || dim >= limit)
          return inputError("there is no dimension " + Twine(dim) + " in a tensor of rank " + Twine(rank));
  if (std::optional<SmallVector<int64_t>> order = call.getInts("dims")) {
    for (int64_t &dim : *order)
      dim = dim < 0 ? dim + rank : dim;
    llvm::sort(*order);
    // Of roll, a dimension that is named twice moves twice.
    const bool isOnce = call.getBase() != "aten.permute" && call.getBase() != "aten.roll";
    if (isOnce && llvm::adjacent_find(*order) != order->end())
      return inputError("'dims' names a dimension twice");
    if (call.getBase() == "aten.permute" && !llvm::equal(*order, llvm::seq<int64_t>(0, rank)))
      return inputError("'dims' does not name each dimension once");
  }
  return Error::success();
}

static std::string describeSize(int64_t size) {
  return size == ShapedType::kDynamic ? "a dynamic size" : "size " + std::to_string(size);
}

/// Compares static sizes with those of operands that broadcast from the right.
Error Check::checkSizes(RankedTensorType type, ArrayRef<RankedTensorType> operands) {
  for (RankedTensorType operand : operands) {
    int64_t shift = type.getRank() - operand.getRank();
    for (int64_t dim = 0; dim < operand.getRank(); ++dim) {
      int64_t from = operand.getDimSize(dim), to = type.getDimSize(dim + shift);
      bool stretches = rule.shape == Shape::Broadcast && from == 1;
      if (from != to && !stretches && !operand.isDynamicDim(dim) && !type.isDynamicDim(dim + shift))
        return inputError("dimension " + Twine(dim + shift) + " of its result has size " + Twine(to) +
                          ", that of its operand " + Twine(from));
    }
  }
  return Error::success();
}

/// Compares sizes with those that follow from the operands.
Error Check::checkExpected(RankedTensorType type, unsigned result) {
  std::optional<SmallVector<int64_t>> sizes = getResultSizes(call, result);
  if (!sizes)
    return Error::success();
  if (int64_t(sizes->size()) != type.getRank())
    return wrongRank(type, sizes->size());
  for (auto [dim, size] : enumerate(*sizes)) {
    if (size == kAnySize || size == type.getDimSize(dim))
      continue;
    // Of a known and a dynamic size, one may be an expression for the other that torch.export has not simplified.
    bool isFalse = size != ShapedType::kDynamic && !type.isDynamicDim(dim);
    return (isFalse ? inputError : unsupportedError)("dimension " + Twine(dim) + " of its result has " +
                                                     describeSize(type.getDimSize(dim)) + " instead of " +
                                                     describeSize(size));
  }
  auto from = tensors.empty() ? RankedTensorType() : tensors.front();
  bool isView = call.getBase() == "aten.view" || call.getBase() == "aten.reshape" ||
                call.getBase() == "aten._unsafe_view" || call.getBase() == "aten.flatten";
  if (isView && from.hasStaticShape() &&
      static_cast<int64_t>(type.getNumDynamicDims()) <= (from.getRank() ? 0 : type.getRank()) &&
      (!type.hasStaticShape() || from.getNumElements() != type.getNumElements()))
    return inputError("its result does not have the " + Twine(from.getNumElements()) + " elements of its operand");
  return Error::success();
}

Error Check::checkReduced(RankedTensorType type, RankedTensorType operand) {
  SmallVector<int64_t> dims = call.getInts("dim").value_or(SmallVector<int64_t>());
  for (int64_t &dim : dims)
    dim = dim < 0 ? dim + operand.getRank() : dim;
  llvm::sort(dims);
  if (std::adjacent_find(dims.begin(), dims.end()) != dims.end())
    return inputError("a dimension is reduced twice");
  bool all = dims.empty();
  int64_t kept = call.getBool("keepdim").value_or(false) ? operand.getRank()
                 : all                                   ? 0
                                                         : std::max<int64_t>(operand.getRank() - dims.size(), 0);
  return type.getRank() == kept ? Error::success() : wrongRank(type, kept);
}

Error Check::checkResult(RankedTensorType type) {
  RankedTensorType first = tensors.empty() ? RankedTensorType() : tensors.front();
  switch (rule.shape) {
  case Shape::Any:
  case Shape::Scalar:
    return Error::success();
  case Shape::Same:
    return type.getRank() == first.getRank() ? checkSizes(type, first) : wrongRank(type, first.getRank());
  case Shape::Broadcast: {
    SmallVector<RankedTensorType> operands;
    for (Type operand : call.getInputs().getTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(operand))
        operands.push_back(tensor);
    int64_t rank = 0;
    for (RankedTensorType operand : operands)
      rank = std::max(rank, operand.getRank());
    return type.getRank() == rank ? checkSizes(type, operands) : wrongRank(type, rank);
  }
  case Shape::Listed: {
    auto list = dyn_cast_or_null<ArrayAttr>(call.getArgument(call.getArgument("size") ? "size" : "shape"));
    return !list || int64_t(list.size()) == type.getRank() ? Error::success() : wrongRank(type, list.size());
  }
  case Shape::Reduced:
    return checkReduced(type, first);
  case Shape::Rank:
    return type.getRank() == first.getRank() + rule.offset ? Error::success()
                                                           : wrongRank(type, first.getRank() + rule.offset);
  }
  llvm_unreachable("all rules are handled");
}

Error Check::run() {
  SmallVector<StringRef> names;
  rule.tensors.split(names, ' ', -1, /*KeepEmpty=*/false);
  for (auto [i, name] : enumerate(names)) {
    if (Error error = addTensors(name))
      return error;
    int64_t rank = tensors.back().getRank();
    if (i < rule.ranks.size() && isDigit(rule.ranks[i]) && rank != rule.ranks[i] - '0')
      return inputError("argument '" + name + "' has rank " + Twine(rank) + " instead of " +
                        Twine(rule.ranks[i] - '0'));
  }
  // Lists are of tensors of one rank; so are the operands of attention, and the index and the tensor of gather.
  const bool isList = rule.tensors == "tensors" && rule.shape == Shape::Rank;
  if (isList || rule.tensors == "query key value" || rule.tensors == "index self")
    for (RankedTensorType tensor : tensors)
      if (tensor.getRank() != tensors.front().getRank())
        return inputError("its operands have different ranks");
  if (!tensors.empty() && rule.shape != Shape::Scalar)
    if (Error error = checkDims(tensors.front().getRank() + std::max(rule.offset, 0)))
      return error;
  if (Error error = checkStatedSizes(call))
    return error;
  for (auto [i, result] : enumerate(call.getResultTypes())) {
    auto type = dyn_cast<RankedTensorType>(result);
    if (bool(type) == (rule.shape == Shape::Scalar))
      return inputError(type ? "its result is no number" : "its result is no tensor");
    if (Error error = type ? checkResult(type) : Error::success())
      return error;
    if (Error error = type ? checkExpected(type, i) : Error::success())
      return error;
  }
  return call.getNumResults() ? Error::success() : inputError("it has no result");
}

/// The activation of experts may be an expression.
static Error checkActivation(aten::CallOp call) {
  StringRef activation = call.getString("activation").value_or("");
  if (!activation.consume_front(expressionPrefix))
    return Error::success();
  Expected<Expression> expression = parseExpression(activation, call.getBool("gated").value_or(false));
  return expression ? Error::success()
                    : inputError("the expression of its activation, " + toString(expression.takeError()));
}

/// An equation names the dimensions that its operands have.
static Error checkEquation(aten::CallOp call) {
  bool fits = false;
  aten::parseEinsum(call, fits);
  return fits ? Error::success()
              : inputError("its equation '" + call.getString("equation").value_or("") + "' does not fit its operands");
}

Error moe_mlir::pt2::checkCall(aten::CallOp call) {
  if (call.getBase() == "aten.einsum")
    if (Error error = checkEquation(call))
      return error;
  if (call.getBase() == "moe_mlir.experts")
    if (Error error = checkActivation(call))
      return error;
  if (const Rule *rule = findRule(call)) {
    if (Error error = Check(call, *rule).run())
      return error;
    return checkDtypes(call);
  }
  if (!call.getTarget().starts_with("_operator.") && !call.getTarget().starts_with("torch.sym_"))
    return checkDtypes(call);
  bool scalar = none_of(call.getInputs().getTypes(), llvm::IsaPred<ShapedType>) && call.getNumResults() == 1 &&
                call.getResultTypes()[0].isIntOrFloat();
  return scalar ? checkDtypes(call) : inputError("arithmetic on sizes with a tensor");
}
