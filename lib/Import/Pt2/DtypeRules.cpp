//===- DtypeRules.cpp - the element types of a call's results, from its operands ----------------------------------===//

#include "DtypeRules.h"
#include "Support.h"

#include "moe-mlir/Dialect/Aten/IR/Einsum.h"
#include "moe-mlir/Dialect/Aten/IR/Promotion.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;
using namespace mlir;
using namespace moe_mlir;
using namespace moe_mlir::pt2;
using aten::CallOp;
using aten::category;
using aten::Element;
using aten::promoteTwo;
using aten::Promotion;
using aten::realOf;

/// torch.export writes no such file.
static constexpr char kAdvice[] = "; the file was changed or damaged: export the model again";

std::string moe_mlir::pt2::dtypeName(Type element) {
  if (auto pair = dyn_cast<ComplexType>(element))
    return "complex" + std::to_string(2 * pair.getElementType().getIntOrFloatBitWidth());
  if (element.isInteger(1))
    return "bool";
  if (element.isBF16())
    return "bfloat16";
  return (isa<FloatType>(element) ? "float" : "int") + std::to_string(element.getIntOrFloatBitWidth());
}

using ElementRule = std::optional<Element> (*)(CallOp call, unsigned result);

//===- Results ----------------------------------------------------------------------------------------------------===//

static std::optional<Element> elementOf(CallOp call, StringRef argument) {
  Value value = call.getValue(argument);
  auto tensor = value ? dyn_cast<RankedTensorType>(value.getType()) : RankedTensorType();
  return tensor ? std::optional(Element{tensor.getElementType()}) : std::nullopt;
}

static Element integer(CallOp call) { return {IntegerType::get(call.getContext(), 64)}; }
static Element truth(CallOp call) { return {IntegerType::get(call.getContext(), 1)}; }
static Element single(CallOp call) { return {Float32Type::get(call.getContext())}; }
static Element wideFloat(CallOp call) { return {Float64Type::get(call.getContext())}; }

static std::optional<Element> same(CallOp call, unsigned) {
  for (StringRef name : {"self", "input", "query", "hidden", "x"})
    if (std::optional<Element> element = elementOf(call, name))
      return element;
  return std::nullopt;
}

static std::optional<Element> dtypeOr(CallOp call, std::optional<Element> otherwise) {
  for (StringRef name : {"dtype", "out_dtype"})
    if (auto type = dyn_cast_or_null<TypeAttr>(call.getArgument(name)))
      return Element{type.getValue()};
  return otherwise;
}

/// A float of what is none.
static std::optional<Element> floatOf(std::optional<Element> element) {
  return element && category(*element) < 2 ? Element() : element;
}

static std::optional<Element> promoted(CallOp call, unsigned) {
  Promotion promotion;
  for (StringRef name : {"self", "other", "exponent", "min", "max"})
    promotion.add(call, call.getArgument(name));
  return promotion.get();
}

static std::optional<Element> joined(CallOp call, unsigned) {
  Promotion promotion;
  for (Value tensor : call.getInputs()) // also empty ones, which the list no longer has
    promotion.add(tensor);
  return promotion.get();
}

/// einsum: sums of narrower integers are int64.
static std::optional<Element> contracted(CallOp call, unsigned) {
  std::optional<Element> element = joined(call, 0);
  if (!element || !isa_and_nonnull<IntegerType>(element->type) || element->type.isInteger(64))
    return element;
  bool fits = false;
  std::optional<aten::Einsum> einsum = aten::parseEinsum(call, fits);
  if (!einsum || einsum->operands.size() > 2)
    return std::nullopt; // refused as unsupported
  return any_of(llvm::seq(einsum->operands.size()), [&](size_t i) { return !einsum->getSummed(i).empty(); })
             ? integer(call)
             : *element;
}

/// addcmul
static std::optional<Element> ofThree(CallOp call, unsigned) {
  Promotion promotion;
  for (StringRef name : {"self", "tensor1", "tensor2"})
    promotion.add(call, call.getArgument(name));
  return promotion.get();
}

static std::optional<Element> sameOrDtype(CallOp call, unsigned) { return dtypeOr(call, same(call, 0)); }
static std::optional<Element> created(CallOp call, unsigned) { return dtypeOr(call, Element()); }

/// full: the type of its number; arange: floats if one of its numbers is one.
static std::optional<Element> ofNumbers(CallOp call, unsigned) {
  Promotion promotion;
  for (StringRef name : {"fill_value", "start", "end", "step"})
    promotion.add(call, call.getArgument(name));
  return dtypeOr(call, promotion.get());
}

static std::optional<Element> converted(CallOp call, unsigned) {
  std::optional<Element> other = elementOf(call, "other");
  return other ? other : sameOrDtype(call, 0);
}

/// Sums of whole numbers and of truth values are int64.
static std::optional<Element> summed(CallOp call, unsigned) {
  std::optional<Element> self = same(call, 0);
  return dtypeOr(call, self && category(*self) < 2 ? integer(call) : self);
}

static std::optional<Element> ofFloats(CallOp call, unsigned) { return floatOf(same(call, 0)); }
static std::optional<Element> averaged(CallOp call, unsigned) { return dtypeOr(call, floatOf(same(call, 0))); }

static std::optional<Element> divided(CallOp call, unsigned) {
  std::optional<Element> element = promoted(call, 0);
  return call.getArgument("rounding_mode") ? element : floatOf(element);
}

/// PyTorch does not always say the same of powers of truth values.
static std::optional<Element> power(CallOp call, unsigned) {
  std::optional<Element> element = promoted(call, 0);
  return element && category(*element) == 0 ? std::nullopt : element;
}

static std::optional<Element> squared(CallOp call, unsigned) {
  std::optional<Element> self = same(call, 0);
  return self && category(*self) == 0 ? integer(call) : self;
}

static std::optional<Element> softmax(CallOp call, unsigned) {
  return call.getBool("half_to_float").value_or(false) ? single(call) : sameOrDtype(call, 0);
}

static std::optional<Element> ranked(CallOp call, unsigned result) { return result ? integer(call) : same(call, 0); }

static std::optional<Element> largest(CallOp call, unsigned result) {
  return call.getArgument("other") ? promoted(call, result) : ranked(call, result);
}

static std::optional<Element> real(CallOp call, unsigned) {
  std::optional<Element> self = same(call, 0);
  return self ? dtypeOr(call, Element{realOf(self->type)}) : std::nullopt;
}

static std::optional<Element> pairs(CallOp call, unsigned) {
  for (StringRef name : {"self", "abs", "real"})
    if (std::optional<Element> part = elementOf(call, name); part && isa<FloatType>(part->type))
      return Element{ComplexType::get(part->type)};
  return std::nullopt;
}

/// The outputs, and the next state.
static std::optional<Element> scanned(CallOp call, unsigned result) {
  return elementOf(call, result ? "state" : "value");
}

/// A number from a tensor.
static std::optional<Element> item(CallOp call, unsigned) {
  std::optional<Element> self = same(call, 0);
  if (!self || category(*self) > 2)
    return std::nullopt;
  return category(*self) == 2 ? wideFloat(call) : category(*self) == 1 ? integer(call) : truth(call);
}

/// Python's arithmetic on sizes.
static std::optional<Element> python(CallOp call, unsigned) {
  Promotion promotion;
  for (NamedAttribute argument : call.getArguments())
    promotion.add(call, argument.getValue());
  std::optional<Element> element = promotion.get();
  return element ? std::optional(category(*element) < 2 ? integer(call) : wideFloat(call)) : std::nullopt;
}

static ElementRule findElementRule(CallOp call) {
  static const StringMap<ElementRule> rules = [] {
    constexpr ElementRule boolean = [](CallOp call, unsigned) -> std::optional<Element> { return truth(call); };
    constexpr ElementRule index = [](CallOp call, unsigned) -> std::optional<Element> { return integer(call); };
    constexpr ElementRule real64 = [](CallOp call, unsigned) -> std::optional<Element> { return wideFloat(call); };
    constexpr ElementRule toSingle = [](CallOp call, unsigned) -> std::optional<Element> { return single(call); };
    constexpr ElementRule ofOther = [](CallOp call, unsigned) { return elementOf(call, "other"); };
    constexpr ElementRule ofWeight = [](CallOp call, unsigned) { return elementOf(call, "weight"); };
    StringMap<ElementRule> table;
    for (auto [names, rule] :
         {std::pair<StringRef, ElementRule>(
              "neg sign floor ceil round trunc relu relu6 hardtanh leaky_relu elu hardsigmoid hardswish mish clone "
              "contiguous alias detach lift_fresh lift_fresh_copy dropout fill copy masked_fill tril triu bitwise_not "
              "view_as reshape _unsafe_view flatten unflatten expand expand_as broadcast_to transpose t numpy_T "
              "permute squeeze unsqueeze select slice split split_with_sizes chunk unbind unfold pad constant_pad_nd "
              "repeat repeat_interleave flip index index_select gather scatter index_copy index_put index_add narrow roll "
              "mv addmv select_scatter slice_scatter amax diff histc rms_norm layer_norm linear matmul addmm conv1d conj _conj "
              "conj_physical resolve_conj resolve_neg scaled_dot_product_attention moe_mlir.attention moe_mlir.experts moe_mlir.causal_conv "
              "transformers.grouped_mm_fallback",
              same),
          {"exp log log1p sqrt rsqrt reciprocal sin cos tanh erf sigmoid silu gelu softplus log_sigmoid logsumexp",
           ofFloats},
          {"add sub rsub mul floor_divide remainder fmod maximum minimum clamp clamp_min clamp_max where "
           "bitwise_and bitwise_or bitwise_xor __and__ __or__ __xor__",
           promoted},
          {"div", divided},
          {"pow", power},
          {"square", squared},
          {"eq ne lt le gt ge logical_and logical_or logical_xor logical_not isnan any all _operator.eq _operator.ne "
           "_operator.lt _operator.le _operator.gt _operator.ge _operator.and_ _operator.or_ torch.sym_not",
           boolean},
          {"argmax argsort sym_size one_hot", index},
          {"topk sort cummax", ranked},
          {"max", largest},
          {"cat concat stack", joined},
          {"einsum", contracted},
          {"addcmul", ofThree},
          {"zeros ones empty eye scalar_tensor", created},
          {"full arange", ofNumbers},
          {"zeros_like ones_like empty_like full_like new_zeros new_ones new_empty new_full _to_copy _grouped_mm mm "
           "bmm view",
           sameOrDtype},
          {"softmax _softmax log_softmax", softmax},
          {"to", converted},
          {"float", toSingle},
          {"type_as", ofOther},
          {"sum cumsum", summed},
          {"mean", averaged},
          {"embedding", ofWeight},
          {"abs real imag view_as_real linalg_vector_norm var std", real},
          {"view_as_complex polar complex", pairs},
          {"moe_mlir.scan", scanned},
          {"item _local_scalar_dense", item},
          {"_operator.add _operator.sub _operator.mul _operator.floordiv _operator.mod _operator.neg torch.sym_min "
           "torch.sym_max",
           python},
          {"_operator.truediv torch.sym_float", real64}}) {
      SmallVector<StringRef> list;
      names.split(list, ' ');
      for (StringRef name : list)
        table[(name.contains('.') ? "" : "aten.") + name.str()] = rule;
    }
    return table;
  }();
  return aten::isInPlace(call.getTarget()) ? ElementRule(same) : rules.lookup(call.getBase());
}

//===- Operands ---------------------------------------------------------------------------------------------------===//

namespace {
/// What operators ask of the types of their operands, by arguments.
struct Operands {
  StringRef operators;
  StringRef alike;    ///< have the type of the first of them
  StringRef integers; ///< are whole numbers
  StringRef booleans; ///< are truth values
};
} // namespace

static constexpr Operands operandRules[] = {
    {"linear conv1d", "input weight bias", "", ""},
    {"mm bmm", "self mat2", "", ""},
    {"_grouped_mm", "self mat2", "offs", ""},
    {"grouped_mm_fallback", "input weight", "offs", ""},
    {"matmul", "self other", "", ""},
    {"mv", "self vec", "", ""},
    {"addmv", "self mat vec", "", ""},
    {"addmm", "self mat1 mat2", "", ""},
    {"scaled_dot_product_attention", "query key value", "", ""},
    {"index_copy index_add", "self source", "index", ""},
    {"scatter", "self src", "index", ""},
    {"gather index_select", "", "index", ""},
    {"one_hot", "", "self", ""},
    {"embedding", "", "indices", ""},
    {"experts", "", "ids", ""},
    {"where", "", "", "condition"},
    {"masked_fill", "", "", "mask"},
    {"polar", "abs angle", "", ""},
    {"complex", "real imag", "", ""},
};

static Error checkOperands(CallOp call) {
  StringRef name = call.getBase().split('.').second;
  if (aten::isInPlace(call.getTarget()))
    name.consume_back("_");
  auto names = [](StringRef list) { return llvm::split(list, ' '); };
  const auto *rule = find_if(operandRules, [&](const Operands &r) { return is_contained(names(r.operators), name); });
  if (rule == std::end(operandRules))
    return Error::success();
  std::optional<Element> first;
  StringRef firstName;
  for (StringRef argument : names(rule->alike)) {
    std::optional<Element> element = elementOf(call, argument);
    if (first && element && element->type != first->type)
      return inputError("argument '" + argument + "' has dtype " + dtypeName(element->type) + ", but '" + firstName +
                        "' has " + dtypeName(first->type) + ", and the operator takes one dtype" + kAdvice);
    if (element && !first)
      std::tie(first, firstName) = std::pair(element, argument);
  }
  for (auto [list, wanted, what] :
       {std::tuple(rule->integers, 1, " instead of an integer one"), {rule->booleans, 0, " instead of bool"}})
    for (StringRef argument : names(list))
      if (std::optional<Element> element = elementOf(call, argument); element && category(*element) != wanted)
        return inputError("argument '" + argument + "' has dtype " + dtypeName(element->type) + what + kAdvice);
  return Error::success();
}

/// What the exporter asserts of a tensor holds.
static Error checkAssertion(CallOp call) {
  auto asserted = dyn_cast_or_null<TypeAttr>(call.getArgument("dtype"));
  std::optional<Element> element = elementOf(call, "a");
  if (!asserted || !element || asserted.getValue() == element->type)
    return Error::success();
  return inputError("argument 'a' has dtype " + dtypeName(element->type) + " instead of " +
                    dtypeName(asserted.getValue()) + kAdvice);
}

Error moe_mlir::pt2::checkDtypes(CallOp call) {
  if (call.getBase() == "aten._assert_tensor_metadata")
    return checkAssertion(call);
  if (Error error = checkOperands(call))
    return error;
  ElementRule rule = findElementRule(call);
  for (auto [i, type] : enumerate(call.getResultTypes())) {
    std::optional<Element> expected = rule ? rule(call, i) : std::nullopt;
    Type declared = getElementTypeOrSelf(type);
    if (!expected || (expected->type ? declared == expected->type : isa<FloatType>(declared)))
      continue;
    std::string which = call.getNumResults() == 1 ? "its result" : "result " + std::to_string(i);
    return inputError(which + " has dtype " + dtypeName(declared) + " instead of " +
                      (expected->type ? dtypeName(expected->type) : "a floating one") +
                      ", as its operator and arguments say" + kAdvice);
  }
  return Error::success();
}
