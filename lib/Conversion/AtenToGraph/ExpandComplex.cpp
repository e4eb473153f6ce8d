//===- ExpandComplex.cpp - the pass aten-expand-complex ---------------------------------------------------------===//

#include "Decompose.h"

#include "moe-mlir/Conversion/AtenToGraph/Passes.h"

namespace mlir::aten {
#define GEN_PASS_DEF_ATENEXPANDCOMPLEX
#include "moe-mlir/Conversion/AtenToGraph/Passes.h.inc"
} // namespace mlir::aten

using namespace mlir;
using namespace mlir::aten;

/// Calls that move elements and do not look at them: both parts move alike.
static constexpr StringLiteral movingCalls[] = {
    "aten.view",   "aten.reshape", "aten._unsafe_view",  "aten.flatten",     "aten.unsqueeze", "aten.squeeze",
    "aten.expand", "aten.expand_as", "aten.broadcast_to", "aten.transpose",  "aten.t",         "aten.permute",
    "aten.slice",  "aten.select",  "aten.index",         "aten.index_select", "aten.gather",   "aten.cat",
    "aten.concat", "aten.stack",   "aten.repeat",        "aten.clone",       "aten.contiguous", "aten.alias",
    "aten.detach", "aten.to",      "aten.zeros_like",    "aten.chunk",       "aten.split",     "aten.split_with_sizes",
    "aten.lift_fresh_copy", "aten.view_as", "aten.resolve_conj", "aten.resolve_neg", "aten.repeat_interleave"};

static bool isComplex(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<ComplexType>(tensor.getElementType());
}
static bool isComplexValue(Value value) { return value && isComplex(value.getType()); }

/// The type of one part.
static RankedTensorType getPartType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.clone(cast<ComplexType>(tensor.getElementType()).getElementType());
}

namespace {
struct Parts {
  Value real, imaginary;
};

/// Takes the calls of a function apart, in their order.
class ComplexExpander {
public:
  ComplexExpander(func::FuncOp function) : builder(function.getContext()) {}

  LogicalResult visit(CallOp call);

private:
  Value make(StringRef target, RankedTensorType type, ArrayRef<NamedArgument> arguments) {
    return createCall(builder, loc, target, type, arguments);
  }
  /// A result of arithmetic, of the shape of the call's result.
  Value combine(StringRef target, Value a, Value b) { return make(target, result, {{"self", a}, {"other", b}}); }
  Value unary(StringRef target, Value x) { return make(target, getTensorType(x), {{"self", x}}); }
  Value select(Value pairs, int64_t index);

  std::optional<Parts> create(CallOp call);
  std::optional<Parts> combine(CallOp call);
  std::optional<Parts> multiply(CallOp call);
  Value read(CallOp call);
  void move(CallOp call);

  OpBuilder builder;
  Location loc = builder.getUnknownLoc();
  /// The type of a part of the call's result, where that is complex.
  RankedTensorType result;
  DenseMap<Value, Parts> parts;
};
} // namespace

/// pairs[..., index]
Value ComplexExpander::select(Value pairs, int64_t index) {
  RankedTensorType type = getTensorType(pairs);
  return make("aten.select.int", type.clone(type.getShape().drop_back()),
              {{"self", pairs},
               {"dim", Attribute(builder.getI64IntegerAttr(type.getRank() - 1))},
               {"index", Attribute(builder.getI64IntegerAttr(index))}});
}

/// Complex numbers of real ones.
std::optional<Parts> ComplexExpander::create(CallOp call) {
  StringRef base = call.getBase();
  if (base == "aten.complex")
    return Parts{call.getValue("real"), call.getValue("imag")};
  if (base == "aten.view_as_complex")
    return Parts{select(call.getValue("self"), 0), select(call.getValue("self"), 1)};
  if (base != "aten.polar")
    return std::nullopt;
  Value size = call.getValue("abs"), angle = call.getValue("angle");
  return Parts{combine("aten.mul.Tensor", size, unary("aten.cos.default", angle)),
               combine("aten.mul.Tensor", size, unary("aten.sin.default", angle))};
}

std::optional<Parts> ComplexExpander::multiply(CallOp call) {
  StringRef target = call.getTarget();
  for (auto [name, otherName] : {std::pair("self", "other"), std::pair("other", "self")}) {
    Value x = call.getValue(name), y = call.getValue(otherName);
    Attribute number = call.getArgument(otherName);
    if (!isComplexValue(x) || (name == StringRef("other") && call.getBase() == "aten.div") || isComplexValue(y))
      continue;
    if (!y && !call.getFloat(otherName))
      return std::nullopt;
    NamedArgument other = y ? NamedArgument("other", y) : NamedArgument("other", number);
    Parts z = parts[x];
    return Parts{make(target, result, {{"self", z.real}, other}), make(target, result, {{"self", z.imaginary}, other})};
  }
  if (call.getBase() == "aten.div")
    return std::nullopt;
  Parts a = parts[call.getValue("self")], b = parts[call.getValue("other")];
  auto product = [&](Value x, Value y) { return combine("aten.mul.Tensor", x, y); };
  return Parts{combine("aten.sub.Tensor", product(a.real, b.real), product(a.imaginary, b.imaginary)),
               combine("aten.add.Tensor", product(a.real, b.imaginary), product(a.imaginary, b.real))};
}

/// Complex numbers of complex ones.
std::optional<Parts> ComplexExpander::combine(CallOp call) {
  StringRef base = call.getBase();
  if (base == "aten.mul" || base == "aten.div")
    return call.getArgument("rounding_mode") ? std::nullopt : multiply(call);
  if (base == "aten.neg") {
    Parts z = parts[call.getValue("self")];
    return Parts{unary("aten.neg.default", z.real), unary("aten.neg.default", z.imaginary)};
  }
  if (base == "aten.conj" || base == "aten._conj" || base == "aten.conj_physical") {
    Parts z = parts[call.getValue("self")];
    return Parts{z.real, unary("aten.neg.default", z.imaginary)};
  }
  Value x = call.getValue("self"), y = call.getValue("other");
  bool isSum = (base == "aten.add" || base == "aten.sub") && !call.getArgument("alpha");
  if (!isSum || !isComplexValue(x) || !isComplexValue(y))
    return std::nullopt;
  Parts a = parts[x], b = parts[y];
  return Parts{combine(call.getTarget(), a.real, b.real), combine(call.getTarget(), a.imaginary, b.imaginary)};
}

/// Real numbers of complex ones; null if the call is none that is known.
Value ComplexExpander::read(CallOp call) {
  StringRef base = call.getBase();
  auto it = parts.find(call.getValue("self"));
  if (it == parts.end())
    return {};
  Parts z = it->second;
  RankedTensorType type = getTensorType(z.real);
  if (base == "aten.real" || base == "aten.imag")
    return base == "aten.real" ? z.real : z.imaginary;
  if (base == "aten.abs") {
    Value squares = make("aten.add.Tensor", type,
                         {{"self", unary("aten.square.default", z.real)},
                          {"other", unary("aten.square.default", z.imaginary)}});
    return unary("aten.sqrt.default", squares);
  }
  if (base != "aten.view_as_real")
    return {};
  SmallVector<int64_t> shape(type.getShape());
  shape.push_back(1);
  SmallVector<Value> columns;
  for (Value part : {z.real, z.imaginary})
    columns.push_back(make("aten.unsqueeze.default", type.clone(shape),
                           {{"self", part}, {"dim", Attribute(builder.getI64IntegerAttr(type.getRank()))}}));
  return createCat(builder, loc, columns, type.getRank());
}

/// The call on the real parts, and again on the imaginary ones.
void ComplexExpander::move(CallOp call) {
  SmallVector<NamedAttribute> arguments;
  for (NamedAttribute argument : call.getArguments())
    if (argument.getName() != "dtype") // It keeps the type, or it would be another call.
      arguments.push_back(argument);
  SmallVector<Type> types;
  for (Type type : call.getResultTypes())
    types.push_back(getPartType(type));
  SmallVector<CallOp, 2> copies;
  for (bool imaginary : {false, true}) {
    SmallVector<Value> operands;
    for (Value operand : call.getInputs()) {
      auto it = parts.find(operand);
      operands.push_back(it == parts.end() ? operand : imaginary ? it->second.imaginary : it->second.real);
    }
    copies.push_back(CallOp::create(builder, loc, types, call.getTargetAttr(), operands,
                                    builder.getDictionaryAttr(arguments)));
  }
  for (auto [own, real, imaginary] : llvm::zip(call.getResults(), copies[0].getResults(), copies[1].getResults()))
    parts[own] = {real, imaginary};
}

LogicalResult ComplexExpander::visit(CallOp call) {
  bool makes = llvm::any_of(call.getResultTypes(), isComplex), reads = llvm::any_of(call.getInputs(), isComplexValue);
  if (!makes && !reads)
    return success();
  builder.setInsertionPoint(call);
  loc = call.getLoc();
  result = makes && call.getNumResults() == 1 ? getPartType(call.getResult(0).getType()) : RankedTensorType();
  if (call.getNumResults() == 0 || call.getBase() == "aten._assert_tensor_metadata")
    return success(); // assertions about types and sizes
  for (Value operand : call.getInputs())
    if (isComplexValue(operand) && !parts.contains(operand))
      return call.emitError() << "reads complex numbers that no call made, which is not supported";
  if (call.getBase() == "aten.sym_size") {
    call->replaceUsesOfWith(call.getValue("self"), parts[call.getValue("self")].real);
    return success();
  }
  auto sameElement = [&](Value value) {
    return !isComplexValue(value) || getElementTypeOf(value) == getElementTypeOf(call.getResult(0));
  };
  if (makes && reads && llvm::is_contained(movingCalls, call.getBase()) && llvm::all_of(call.getInputs(), sameElement)) {
    move(call);
    return success();
  }
  if (!makes) {
    if (Value value = read(call); value && value.getType() == call.getResult(0).getType()) {
      call.getResult(0).replaceAllUsesWith(value);
      return success();
    }
  } else if (result) {
    std::optional<Parts> made = reads ? combine(call) : create(call);
    auto fits = [&](Value part) { return part && part.getType() == result; };
    if (made && fits(made->real) && fits(made->imaginary)) {
      parts[call.getResult(0)] = *made;
      return success();
    }
  }
  return call.emitError() << "'" << call.getTarget() << "' of complex numbers is not supported; known are products, "
                          << "sums, view_as_complex, view_as_real, polar, complex, real, imag, abs, conj and calls that "
                          << "move elements";
}

namespace {
struct AtenExpandComplex : aten::impl::AtenExpandComplexBase<AtenExpandComplex> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    std::pair<StringRef, ArrayRef<Type>> lists[] = {{"argument ", function.getArgumentTypes()},
                                                    {"result ", function.getResultTypes()}};
    for (auto [what, types] : lists)
      for (auto [number, type] : llvm::enumerate(types))
        if (isComplex(type)) {
          function.emitError() << what << number << " has complex numbers, which are not supported there; hand real "
                               << "and imaginary parts over as tensors of their own";
          return signalPassFailure();
        }
    ComplexExpander expander(function);
    SmallVector<CallOp> calls;
    function.walk([&](CallOp call) { calls.push_back(call); });
    for (CallOp call : calls)
      if (failed(expander.visit(call)))
        return signalPassFailure();
    for (CallOp call : llvm::reverse(calls))
      if (call.use_empty() &&
          (llvm::any_of(call.getResultTypes(), isComplex) || llvm::any_of(call.getInputs(), isComplexValue)))
        call.erase();
  }
};
} // namespace
