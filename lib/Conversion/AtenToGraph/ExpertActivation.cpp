//===- ExpertActivation.cpp - element-wise calls become the region of moe.expert ----------------------------------===//

#include "ScalarMath.h"
#include "UnfusedExperts.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::aten;

namespace {
/// How a part of the first product is cut out of it.
enum class Cut { Whole, Halves, EvenOdd };

/// Translates calls on [P, I] tensors to arithmetic on one element of each.
class Translator {
public:
  Translator(OpBuilder builder, Location loc, Block *block, Type element,
             function_ref<bool(Value, Mismatch *)> isSource, Mismatch *why)
      : builder(builder), s{this->builder, loc}, block(block), element(element), isSource(isSource), why(why) {}

  /// The element of `value` in f32; null if a step is not known.
  Value translate(Value value, unsigned depth = 0);

  Value source;
  std::optional<Cut> cut;
  bool used[2] = {false, false};

private:
  Value addPart(Value whole, Cut how, unsigned number);
  Value translatePart(CallOp call, unsigned result);
  Value translateCall(CallOp call, Value x, unsigned depth);
  /// The second operand: a number or a tensor.
  Value getOther(CallOp call, unsigned depth);

  OpBuilder builder;
  ScalarMath s;
  Block *block;
  Type element;
  function_ref<bool(Value, Mismatch *)> isSource;
  Mismatch *why;
  llvm::DenseMap<Value, Value> known;
};
} // namespace

/// Deeper chains than any activation would only cost stack.
static constexpr unsigned maxDepth = 64;

/// One way of cutting, of one product.
Value Translator::addPart(Value whole, Cut how, unsigned number) {
  if ((source && source != whole) || (cut && *cut != how))
    return giveUp(why, "activation", "it reads two products, or cuts one in two ways", whole);
  source = whole;
  cut = how;
  used[number] = true;
  return block->getArgument(number);
}

/// A half of the columns, or every second one; null if the call is something else.
Value Translator::translatePart(CallOp call, unsigned result) {
  StringRef base = call.getBase();
  Value whole = call.getValue("self");
  RankedTensorType type = getTensorType(whole), part = getTensorType(call.getResult(result));
  if (!type || type.getRank() != 2 || type.isDynamicDim(1) || type.getDimSize(1) % 2 != 0 || part.getRank() != 2 ||
      part.getDimSize(1) != type.getDimSize(1) / 2 || call.getDim("dim", 2) != 1 || !isSource(whole, why))
    return {};
  if (base != "aten.slice")
    return call.getNumResults() == 2 ? addPart(whole, Cut::Halves, result) : Value();
  int64_t count = type.getDimSize(1);
  std::optional<int64_t> start = call.getArgument("start") ? call.getInt("start") : 0;
  std::optional<int64_t> step = call.getArgument("step") ? call.getInt("step") : 1;
  if (!start || !step)
    return {};
  // The result's size says where the slice ends.
  if (*step == 1 && (*start == 0 || *start == count / 2))
    return addPart(whole, Cut::Halves, *start != 0);
  return *step == 2 && (*start == 0 || *start == 1) ? addPart(whole, Cut::EvenOdd, *start) : Value();
}

Value Translator::getOther(CallOp call, unsigned depth) {
  if (std::optional<double> number = call.getFloat("other"))
    return s.constant(*number);
  Value other = call.getValue("other");
  return other ? translate(other, depth + 1) : Value();
}

Value Translator::translateCall(CallOp call, Value x, unsigned depth) {
  StringRef base = call.getBase();
  if (base == "aten.to" || base == "aten.float")
    return x;
  if (base == "aten.silu")
    return s.silu(x);
  if (base == "aten.relu")
    return s.relu(x);
  if (base == "aten.sigmoid")
    return s.sigmoid(x);
  if (base == "aten.tanh")
    return s.make<math::TanhOp>(x);
  if (base == "aten.exp")
    return s.make<math::ExpOp>(x);
  if (base == "aten.erf")
    return s.make<math::ErfOp>(x);
  if (base == "aten.neg")
    return s.make<arith::NegFOp>(x);
  if (base == "aten.square")
    return s.mul(x, x);
  if (base == "aten.pow") {
    std::optional<double> exponent = call.getFloat("exponent");
    if (!exponent || (*exponent != 2 && *exponent != 3))
      return {};
    Value square = s.mul(x, x);
    return *exponent == 2 ? square : s.mul(square, x);
  }
  if (base == "aten.gelu") {
    StringRef approximate = call.getString("approximate").value_or("none");
    if (approximate == "none")
      return s.gelu(x);
    return approximate == "tanh" ? s.geluTanh(x) : Value();
  }
  if (base == "aten.clamp" || base == "aten.clamp_min" || base == "aten.clamp_max") {
    for (StringRef name : {"min", "max"}) {
      std::optional<double> bound = call.getFloat(name);
      if (call.getArgument(name) && !bound)
        return {};
      if (bound)
        x = name == "min" ? s.atLeast(x, *bound) : s.atMost(x, *bound);
    }
    return x;
  }
  if (!call.getArgument("other") || call.getArgument("alpha") || call.getArgument("rounding_mode"))
    return {};
  Value y = getOther(call, depth);
  if (!y)
    return {};
  if (base == "aten.add")
    return s.add(x, y);
  if (base == "aten.sub")
    return s.make<arith::SubFOp>(x, y);
  if (base == "aten.rsub")
    return s.make<arith::SubFOp>(y, x);
  if (base == "aten.mul")
    return s.mul(x, y);
  if (base == "aten.div")
    return s.make<arith::DivFOp>(x, y);
  if (base == "aten.maximum")
    return s.make<arith::MaximumFOp>(x, y);
  if (base == "aten.minimum")
    return s.make<arith::MinimumFOp>(x, y);
  return {};
}

Value Translator::translate(Value value, unsigned depth) {
  RankedTensorType type = getTensorType(value);
  if (!type || type.getRank() != 2 || depth > maxDepth)
    return giveUp(why, "activation", nameOf(value) + " is not a matrix of the pairs", value);
  // bf16 in a layer of f32 would be a rounding that somebody asked for; in a layer of bf16 it is one of many.
  if (!type.getElementType().isF32() && type.getElementType() != element)
    return giveUp(why, "activation", nameOf(value) + " has neither the type of the weights nor f32", value);
  if (auto it = known.find(value); it != known.end())
    return it->second;
  Value result;
  auto call = value.getDefiningOp<CallOp>();
  if (isSource(value, why)) {
    result = addPart(value, Cut::Whole, 0);
  } else if (call) {
    static constexpr StringRef parts[] = {"aten.chunk", "aten.split", "aten.split_with_sizes", "aten.slice"};
    Value self = call.getValue("self");
    if (llvm::is_contained(parts, call.getBase()))
      result = translatePart(call, cast<OpResult>(value).getResultNumber());
    else if (Value x = self && call.getNumResults() == 1 ? translate(self, depth + 1) : Value())
      result = translateCall(call, x, depth);
  }
  if (!result)
    (void)giveUp(why, "activation",
                 nameOf(value) + " is no step that is computed element by element from the first product", value);
  known[value] = result;
  return result;
}

std::optional<PairActivation> mlir::aten::matchPairActivation(Value value, Type element,
                                                              function_ref<bool(Value, Mismatch *)> isSource,
                                                              Mismatch *why) {
  PairActivation activation;
  activation.region = std::make_unique<Region>();
  auto *block = new Block();
  activation.region->push_back(block);
  // Not the rewriter: it would hear of ops that vanish with the region if a later step does not match.
  OpBuilder builder(value.getContext());
  builder.setInsertionPointToStart(block);
  Location loc = value.getLoc();
  block->addArguments({builder.getF32Type(), builder.getF32Type()}, {loc, loc});
  Translator translator(builder, loc, block, element, isSource, why);
  Value result = translator.translate(value);
  if (!result)
    return std::nullopt;
  moe::YieldOp::create(builder, loc, result);
  activation.source = translator.source;
  activation.gated = *translator.cut != Cut::Whole;
  activation.interleaved = *translator.cut == Cut::EvenOdd;
  if (!activation.gated)
    block->eraseArgument(1);
  else if (!translator.used[0] || !translator.used[1])
    return giveUp(why, "activation", "one part of the first product is used, and not the other", value);
  return activation;
}
