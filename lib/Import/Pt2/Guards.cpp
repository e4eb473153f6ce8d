//===- Guards.cpp - checks of what an exported program asks of the sizes of its inputs ----------------------------===//
//
// Tracing decides branches on sizes (`if x.shape[0] % 2 == 0`) by the example that it is given. What it decided it
// writes down, as guards, and PyTorch's exported program refuses inputs for which they do not hold. They become
// `cf.assert` at the beginning of the function.
//
// Tracing also assumes of each size that it computes that it is neither 0 nor 1, for strides and broadcasts that this
// compiler finds out from shapes. Such a guard about a size of the graph is left out, and what tracing writes of strides
// is not asked where a size is 0.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Graph.h"
#include "GuardNames.h"
#include "GuardSizes.h"
#include "GuardStrides.h"
#include "GuardText.h"
#include "Support.h"

#include "moe-mlir/Dialect/Aten/IR/Aten.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace mlir;
using namespace moe_mlir;
using namespace moe_mlir::pt2;

namespace {
/// Emits one guard.
class GuardEmitter {
public:
  using Argument = llvm::function_ref<Value(StringRef)>;

  GuardEmitter(OpBuilder &builder, Argument argument, const GuardSizes &known)
      : b(builder), loc(builder.getUnknownLoc()), argument(argument), known(known) {}

  /// Whether all sizes are those of inputs, and no divisor is the number 0.
  static bool canEmit(const GuardTerm &term, Argument argument) {
    if (term.kind == GuardTerm::Size) {
      Value tensor = argument(term.input);
      auto type = tensor ? dyn_cast<RankedTensorType>(tensor.getType()) : RankedTensorType();
      return type && term.number < type.getRank();
    }
    if (term.isDivision() && term.operands[1].isZero())
      return false;
    return all_of(term.operands, [&](const GuardTerm &operand) { return canEmit(operand, argument); });
  }

  void emit(const GuardTerm &guard, const Twine &message) {
    mayDivideByZero = guard.isComparison();
    Value fails, holds = truth(guard, fails);
    if (fails)
      holds = arith::AndIOp::create(b, loc, holds, negateTruth(fails));
    if (isOfStrides(guard, known))
      for (auto &[place, size] : sizes)
        unasked.push_back(isZero(size));
    for (Value condition : unasked)
      holds = arith::OrIOp::create(b, loc, holds, condition);
    cf::AssertOp assertion = cf::AssertOp::create(b, loc, holds, b.getStringAttr(message));
    assertion->setAttr(moe::kOfCallAttr, b.getUnitAttr());
  }

private:
  Value constant(int64_t number) { return arith::ConstantIntOp::create(b, loc, number, 64); }
  Value isZero(Value number) {
    Value zero = isa<FloatType>(number.getType())
                     ? arith::ConstantFloatOp::create(b, loc, b.getF64Type(), APFloat(0.0)).getResult()
                     : constant(0);
    return combine(GuardTerm::Eq, number, zero);
  }

  Value size(const GuardTerm &term) {
    Value tensor = argument(term.input);
    if (auto type = cast<RankedTensorType>(tensor.getType()); !type.isDynamicDim(term.number))
      return constant(type.getDimSize(term.number));
    Value &size = sizes[{tensor, term.number}];
    if (size)
      return size;
    NamedAttribute arguments[] = {b.getNamedAttr("self", aten::ArgAttr::get(b.getContext(), 0)),
                                  b.getNamedAttr("dim", b.getI64IntegerAttr(term.number))};
    size = aten::CallOp::create(b, loc, TypeRange(b.getI64Type()), b.getStringAttr("aten.sym_size.int"),
                                ValueRange(tensor), b.getDictionaryAttr(arguments))
               .getResult(0);
    return size;
  }

  Value asReal(Value number) {
    return isa<FloatType>(number.getType()) ? number : arith::SIToFPOp::create(b, loc, b.getF64Type(), number);
  }
  Value real(const GuardTerm &term) { return asReal(value(term)); }

  Value negate(Value number) {
    if (isa<FloatType>(number.getType()))
      return arith::NegFOp::create(b, loc, number);
    return arith::SubIOp::create(b, loc, constant(0), number);
  }

  Value real(double number) { return arith::ConstantFloatOp::create(b, loc, b.getF64Type(), APFloat(number)); }

  /// As an integer. Sizes are far below 2^53; what is beyond an integer is larger than they are as one of 2^62, too.
  Value whole(GuardTerm::Kind kind, Value number) {
    constexpr double most = 0x1p62;
    number = arith::MaxNumFOp::create(b, loc, arith::MinNumFOp::create(b, loc, number, real(most)), real(-most));
    Value result = arith::FPToSIOp::create(b, loc, b.getI64Type(), number);
    if (kind == GuardTerm::Trunc)
      return result;
    const bool isFloor = kind == GuardTerm::Floor;
    Value isBeyond = arith::CmpFOp::create(
        b, loc, isFloor ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT, asReal(result), number);
    Value next = arith::AddIOp::create(b, loc, result, constant(isFloor ? -1 : 1));
    return arith::SelectOp::create(b, loc, isBeyond, next, result);
  }

  Value negateTruth(Value truth) {
    return arith::XOrIOp::create(b, loc, truth, arith::ConstantIntOp::create(b, loc, 1, 1));
  }
  /// Null is false.
  Value either(Value one, Value other) {
    return one && other ? arith::OrIOp::create(b, loc, one, other).getResult() : one ? one : other;
  }

  /// Whether it is true; where `fails` is, Python ends with an error instead, as in an operand that `and` and `or` look
  /// at.
  Value truth(const GuardTerm &term, Value &fails) {
    if (term.isComparison()) {
      Value result = value(term);
      for (Value isZero : zeroDivisors)
        fails = either(fails, isZero);
      zeroDivisors.clear();
      return result;
    }
    Value result = truth(term.operands[0], fails);
    if (term.kind == GuardTerm::Not)
      return negateTruth(result);
    for (const GuardTerm &operand : ArrayRef(term.operands).drop_front()) {
      Value failsNext, next = truth(operand, failsNext);
      if (failsNext) {
        Value isAsked = term.kind == GuardTerm::And ? result : negateTruth(result);
        fails = either(fails, arith::AndIOp::create(b, loc, isAsked, failsNext));
      }
      result = combine(term.kind, result, next);
    }
    return result;
  }

  /// Where it is 0, Python ends with an error. If it is a size that the graph computes,
  /// tracing asks it of strides, and nothing is asked then.
  Value divisor(const GuardTerm &term) {
    Value number = value(term);
    if (term.kind == GuardTerm::Number || term.kind == GuardTerm::Real)
      return number;
    const bool isUnasked = mayDivideByZero && known.isComputed(term);
    SmallVector<Value> &where = isUnasked ? unasked : zeroDivisors;
    where.push_back(isZero(number));
    if (isa<FloatType>(number.getType()))
      return number;
    return arith::SelectOp::create(b, loc, where.back(), constant(1), number);
  }

  Value value(const GuardTerm &term) {
    switch (term.kind) {
    case GuardTerm::Number:
      return constant(term.number);
    case GuardTerm::Size:
      return size(term);
    case GuardTerm::Real:
      return arith::ConstantFloatOp::create(b, loc, b.getF64Type(), APFloat(term.real));
    case GuardTerm::ToReal:
      return real(term.operands[0]);
    case GuardTerm::Floor:
    case GuardTerm::Ceil:
    case GuardTerm::Trunc:
      return whole(term.kind, real(term.operands[0]));
    case GuardTerm::Div: {
      Value left = real(term.operands[0]), right = divisor(term.operands[1]);
      return arith::DivFOp::create(b, loc, left, asReal(right));
    }
    case GuardTerm::Abs:
    case GuardTerm::Neg: {
      Value number = value(term.operands[0]), negative = negate(number);
      return term.kind == GuardTerm::Neg ? negative : combine(GuardTerm::Max, number, negative);
    }
    case GuardTerm::FloorDiv:
    case GuardTerm::Mod: {
      Value left = value(term.operands[0]), right = divisor(term.operands[1]);
      Value whole = arith::FloorDivSIOp::create(b, loc, left, right);
      if (term.kind == GuardTerm::FloorDiv)
        return whole;
      return arith::SubIOp::create(b, loc, left, arith::MulIOp::create(b, loc, whole, right));
    }
    default:
      break;
    }
    Value result = value(term.operands[0]);
    for (const GuardTerm &operand : ArrayRef(term.operands).drop_front())
      result = combine(term.kind, result, value(operand));
    return result;
  }

  /// The op of integers, or of reals if one of the two is.
  template <typename OfIntegers, typename OfReals> Value make(Value left, Value right) {
    if (isa<FloatType>(left.getType()) || isa<FloatType>(right.getType()))
      return OfReals::create(b, loc, asReal(left), asReal(right));
    return OfIntegers::create(b, loc, left, right);
  }
  Value compare(arith::CmpIPredicate ofIntegers, arith::CmpFPredicate ofReals, Value left, Value right) {
    if (isa<FloatType>(left.getType()) || isa<FloatType>(right.getType()))
      return arith::CmpFOp::create(b, loc, ofReals, asReal(left), asReal(right));
    return arith::CmpIOp::create(b, loc, ofIntegers, left, right);
  }

  Value combine(GuardTerm::Kind kind, Value left, Value right) {
    switch (kind) {
    case GuardTerm::Add:
      return make<arith::AddIOp, arith::AddFOp>(left, right);
    case GuardTerm::Sub:
      return make<arith::SubIOp, arith::SubFOp>(left, right);
    case GuardTerm::Mul:
      return make<arith::MulIOp, arith::MulFOp>(left, right);
    case GuardTerm::Min:
      return make<arith::MinSIOp, arith::MinNumFOp>(left, right);
    case GuardTerm::Max:
      return make<arith::MaxSIOp, arith::MaxNumFOp>(left, right);
    case GuardTerm::And:
      return arith::AndIOp::create(b, loc, left, right);
    case GuardTerm::Or:
      return arith::OrIOp::create(b, loc, left, right);
    case GuardTerm::Eq:
      return compare(arith::CmpIPredicate::eq, arith::CmpFPredicate::OEQ, left, right);
    case GuardTerm::Ne:
      return compare(arith::CmpIPredicate::ne, arith::CmpFPredicate::UNE, left, right);
    case GuardTerm::Lt:
      return compare(arith::CmpIPredicate::slt, arith::CmpFPredicate::OLT, left, right);
    case GuardTerm::Le:
      return compare(arith::CmpIPredicate::sle, arith::CmpFPredicate::OLE, left, right);
    case GuardTerm::Gt:
      return compare(arith::CmpIPredicate::sgt, arith::CmpFPredicate::OGT, left, right);
    default:
      return compare(arith::CmpIPredicate::sge, arith::CmpFPredicate::OGE, left, right);
    }
  }

  OpBuilder &b;
  Location loc;
  Argument argument;
  const GuardSizes &known;
  bool mayDivideByZero = false;
  llvm::MapVector<std::pair<Value, int64_t>, Value> sizes;
  SmallVector<Value> unasked;      ///< where one of them holds, nothing is asked
  SmallVector<Value> zeroDivisors; ///< of the comparison that is being emitted
};
} // namespace

bool GraphReader::isKnown(const Scope &scope, const GuardTerm &guard) {
  if (!guard.isComparison() || guard.operands[0].kind != GuardTerm::Size)
    return false;
  auto symbolOf = [&](const GuardTerm &size) -> StringRef {
    auto type = cast<RankedTensorType>(scope.values.lookup(size.input).getType());
    return getSymbols(scope, size.input, type)[size.number];
  };
  StringRef symbol = symbolOf(guard.operands[0]);
  if (guard.operands[1].kind == GuardTerm::Size)
    return guard.kind == GuardTerm::Eq && !symbol.empty() && symbol == symbolOf(guard.operands[1]);
  auto range = dimRanges.find(symbol);
  if (guard.operands[1].kind != GuardTerm::Number || range == dimRanges.end())
    return false;
  const int64_t bound = guard.operands[1].number, least = range->second.front();
  const int64_t most = range->second.size() > 1 ? range->second.back() : INT64_MAX;
  switch (guard.kind) {
  case GuardTerm::Lt:
    return most < bound;
  case GuardTerm::Le:
    return most <= bound;
  case GuardTerm::Gt:
    return least > bound;
  case GuardTerm::Ge:
    return least >= bound;
  default:
    return false;
  }
}

/// Of all guards together, far beyond what torch.export writes of models.
static constexpr size_t kMostTerms = 50000;

/// How the example lay in memory says nothing about a caller's arrays.
static bool isOfMemory(StringRef guard) {
  return (guard.contains("._base") || guard.contains(".stride()") || guard.contains(".storage_offset()")) &&
         !guard.contains(" and ") && !guard.contains(" or ");
}

Error GraphReader::readGuards(const Scope &scope, const JsonObject &program) {
  const JsonArray *texts = program.getArray("guards_code");
  if (!texts)
    return program.get("guards_code") ? inputError("graph: guards_code is no list") : Error::success();
  auto argument = [&](StringRef name) { return argumentOf.contains(name) ? scope.values.lookup(name) : Value(); };
  llvm::StringSet<> names;
  bool hasNumbers = false;
  for (const auto &entry : argumentOf) {
    names.insert(entry.getKey());
    hasNumbers |= !isa<RankedTensorType>(scope.values.lookup(entry.getKey()).getType());
  }
  std::vector<GuardTerm> guards;
  std::vector<StringRef> textOf;
  llvm::StringSet<> seen;
  size_t terms = 0;
  for (const JsonValue &value : *texts) {
    std::optional<StringRef> text = value.getAsString();
    if (!text)
      return inputError("graph: guards_code holds something that is no text");
    if (isOfMemory(*text) || !seen.insert(*text).second)
      continue;
    std::optional<GuardTerm> guard = parseGuard(*text);
    if (guard)
      if (Error error = findInputs(*guard, *text))
        return error;
    if (!guard || !GuardEmitter::canEmit(*guard, argument)) {
      if (hasNumbers)
        return Error::success(); // what is wrong with these inputs is said later
      return unsupportedError("graph: it was exported for inputs with " + plainText(*text) +
                              ", which a program cannot check: it can compare sizes of its inputs, and what + - * / // "
                              "%, min, max, abs and int() make of them");
    }
    terms += guard->count();
    if (terms > kMostTerms)
      return unsupportedError("graph: the conditions on the sizes of inputs for which it was exported have more than " +
                              Twine(kMostTerms) + " terms");
    guards.push_back(std::move(*guard));
    textOf.push_back(*text);
  }
  if (guards.empty())
    return Error::success();
  static const JsonObject none;
  const JsonObject *values = scope.graph->getObject("tensor_values");
  const GuardSizes sizes(values ? *values : none, names, guards);
  for (auto [place, guard, text] : enumerate(guards, textOf))
    if (!isAssumption(guard, place, sizes) && !isKnown(scope, guard))
      GuardEmitter(builder, argument, sizes).emit(guard, "the model was exported for inputs with " + plainText(text));
  return Error::success();
}
