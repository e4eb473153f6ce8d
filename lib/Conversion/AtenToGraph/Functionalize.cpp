//===- Functionalize.cpp - in-place calls become calls with results -----------------------------------------------===//

#include "Functionalizer.h"
#include "Patterns.h"

#include "moe-mlir/Conversion/AtenToGraph/Passes.h"

#include "llvm/ADT/StringSet.h"

#include "moe-mlir/Dialect/Aten/IR/Einsum.h"

namespace mlir::aten {
#define GEN_PASS_DEF_ATENFUNCTIONALIZE
#include "moe-mlir/Conversion/AtenToGraph/Passes.h.inc"
} // namespace mlir::aten

using namespace mlir;
using namespace mlir::aten;

Functionalizer::Storage &Functionalizer::getStorage(Value base) {
  Storage &storage = storages[base];
  if (!storage.current)
    storage.current = base;
  return storage;
}

Functionalizer::Alias &Functionalizer::getAlias(Value value) {
  Alias &alias = aliases[value];
  if (!alias.base) {
    alias.base = alias.value = value;
    getStorage(value);
  }
  return alias;
}

Value Functionalizer::applyView(View view, Value parent) {
  auto clone = cast<CallOp>(builder.clone(*view.call));
  clone->setOperand(cast<ArgAttr>(clone.getArgument("self")).getIndex(), parent);
  return clone->getResult(view.result);
}

/// The value with the elements that `value` has after all writes so far.
Value Functionalizer::read(Value value) {
  if (!isa<RankedTensorType>(value.getType()))
    return value;
  Alias &alias = getAlias(value);
  Storage &storage = getStorage(alias.base);
  if (alias.version != storage.version) {
    Value current = storage.current;
    for (View view : alias.views)
      current = applyView(view, current);
    alias.value = current;
    alias.version = storage.version;
  }
  return alias.value;
}

/// Reshapes are views of memory that is in row-major order; after a step that permutes or repeats elements they copy.
bool Functionalizer::isView(CallOp call, Value self) {
  static const llvm::StringSet<> views{
      "aten.view",   "aten.transpose", "aten.t",       "aten.permute", "aten.unsqueeze", "aten.squeeze",
      "aten.select", "aten.slice",     "aten.expand",  "aten.alias",   "aten.detach",    "aten.split",
      "aten.chunk",  "aten.unbind",    "aten.view_as", "aten.numpy_T", "aten.expand_as", "aten.split_with_sizes",
      "aten.real",   "aten.imag",      "aten.unfold",  "aten.view_as_real", "aten.view_as_complex",
      "aten.narrow"};
  static const llvm::StringSet<> sometimes{"aten.reshape", "aten.contiguous", "aten.flatten", "aten.unflatten"};
  static const llvm::StringSet<> scattering{"aten.transpose", "aten.t",     "aten.permute", "aten.numpy_T",
                                            "aten.expand",    "aten.select", "aten.slice",  "aten.unfold",
                                            "aten.narrow"};
  StringRef base = call.getBase();
  if (call.getNumResults() == 0)
    return false;
  if (base == "aten.to" || base == "aten.dropout")
    return self.getType() == call.getResult(0).getType() && !call.getBool("copy").value_or(false) &&
           !call.getBool("train").value_or(false);
  if (views.contains(base))
    return true;
  return sometimes.contains(base) &&
         llvm::none_of(getAlias(self).views, [&](View view) { return scattering.contains(view.call.getBase()); });
}

/// The parent of a view after `part` has been written to the view.
FailureOr<Value> Functionalizer::putBack(CallOp write, View view, Value parent, Value part) {
  StringRef base = view.call.getBase();
  Location loc = write.getLoc();
  auto call = [&](StringRef target, ValueRange operands, ArrayRef<StringRef> names) -> Value {
    NamedAttrList arguments;
    for (NamedAttribute argument : view.call.getArguments())
      if (!isa<ArgAttr>(argument.getValue()))
        arguments.append(argument);
    for (auto [i, name] : llvm::enumerate(names))
      arguments.set(name, ArgAttr::get(builder.getContext(), i));
    return CallOp::create(builder, loc, TypeRange(parent.getType()), builder.getStringAttr(target), operands,
                          arguments.getDictionary(builder.getContext()))
        .getResult(0);
  };
  bool constantArguments = llvm::all_of(view.call.getArguments(), [&](NamedAttribute argument) {
    return argument.getName() == "self" || !isa<ArgAttr>(argument.getValue());
  });
  if (part.getType() == parent.getType() && (base == "aten.alias" || base == "aten.detach" || base == "aten.to" ||
                                             base == "aten.contiguous" || base == "aten.dropout"))
    return part;
  if (base == "aten.transpose" || base == "aten.t" || base == "aten.numpy_T")
    return call(view.call.getTarget(), {part}, {"self"});
  if (base == "aten.view" || base == "aten.reshape" || base == "aten.unsqueeze" || base == "aten.squeeze" ||
      base == "aten.flatten" || base == "aten.unflatten")
    return call("aten.view_as.default", {part, parent}, {"self", "other"});
  if ((base == "aten.select" || base == "aten.slice") && constantArguments)
    return call(base.str() + "_scatter.default", {parent, part}, {"self", "src"});
  if (base == "aten.permute") {
    std::optional<SmallVector<int64_t>> dims = view.call.getInts("dims");
    int64_t rank = cast<RankedTensorType>(part.getType()).getRank();
    if (dims && int64_t(dims->size()) == rank) {
      SmallVector<int64_t> inverse(rank);
      for (auto [i, dim] : llvm::enumerate(*dims))
        inverse[dim < 0 ? dim + rank : dim] = i;
      auto arguments = builder.getDictionaryAttr({builder.getNamedAttr("dims", builder.getI64ArrayAttr(inverse)),
                                                  builder.getNamedAttr("self", ArgAttr::get(builder.getContext(), 0))});
      return CallOp::create(builder, loc, TypeRange(parent.getType()), builder.getStringAttr(view.call.getTarget()),
                            ValueRange(part), arguments)
          .getResult(0);
    }
  }
  InFlightDiagnostic diagnostic = write.emitError() << "'" << write.getTarget() << "' changes a tensor through '"
                                                    << view.call.getTarget() << "', which is not supported";
  diagnostic.attachNote(view.call.getLoc()) << "the view is made here";
  return failure();
}

LogicalResult Functionalizer::write(CallOp call, Value target, Value replacement) {
  Alias &alias = getAlias(target);
  Storage &storage = getStorage(alias.base);
  SmallVector<Value> parents{storage.current};
  for (View view : alias.views)
    parents.push_back(applyView(view, parents.back()));
  Value part = replacement;
  for (size_t i = alias.views.size(); i-- > 0;) {
    FailureOr<Value> parent = putBack(call, alias.views[i], parents[i], part);
    if (failed(parent))
      return failure();
    part = *parent;
  }
  storage.current = part;
  ++storage.version;
  alias.value = replacement;
  alias.version = storage.version;
  return success();
}

/// Views that other operators make too, by their names: `narrow` by constants that fit is `slice`, and `einsum` that
/// only moves dimensions is `permute`.
static CallOp nameView(OpBuilder &builder, CallOp call) {
  auto replace = [&](StringRef target, Value self, ArrayRef<NamedArgument> others) {
    SmallVector<NamedArgument> arguments{{"self", self}};
    llvm::append_range(arguments, others);
    builder.setInsertionPoint(call);
    Value result = createCall(builder, call.getLoc(), target, call.getResult(0).getType(), arguments);
    call.replaceAllUsesWith(ValueRange(result));
    call.erase();
    return result.getDefiningOp<CallOp>();
  };
  auto number = [&](int64_t value) { return Attribute(builder.getI64IntegerAttr(value)); };
  RankedTensorType type = call.getNumResults() == 1 ? getTensorType(call.getResult(0)) : RankedTensorType();
  if (type && call.getBase() == "aten.narrow") {
    Value self = call.getValue("self");
    RankedTensorType from = getTensorType(self);
    std::optional<int64_t> start = call.getInt("start"), length = call.getInt("length"),
                           dim = from && from.getRank() ? call.getDim("dim", from.getRank()) : std::nullopt;
    if (!start || !length || !dim || type.getRank() != from.getRank() || *length < 1 || *length > INT32_MAX ||
        *start > INT32_MAX || *start < -INT32_MAX)
      return call;
    // A slice ends where the tensor does; narrow may not. Of a size that is not known, a size of the result that is
    // known, and not 0, keeps the slice from that, too.
    const int64_t size = from.getDimSize(*dim), first = *start < 0 ? *start + size : *start;
    if (ShapedType::isDynamic(size) ? *start < 0 || type.isDynamicDim(*dim) : first < 0 || first + *length > size)
      return call;
    return replace("aten.slice.Tensor", self,
                   {{"dim", number(*dim)}, {"start", number(first)}, {"end", number(first + *length)}});
  }
  if (type && call.getBase() == "aten.einsum") {
    bool fits = false;
    std::optional<Einsum> einsum = parseEinsum(call, fits);
    if (!einsum || einsum->operands.size() != 1 || einsum->result.size() != einsum->letters[0].size() ||
        type.getRank() != int64_t(einsum->result.size()))
      return call;
    SmallVector<int64_t> dims;
    for (char letter : einsum->result)
      dims.push_back(einsum->letters[0].find(letter));
    return replace("aten.permute.default", einsum->operands[0], {{"dims", Attribute(builder.getI64ArrayAttr(dims))}});
  }
  return call;
}

LogicalResult Functionalizer::visit(CallOp call) {
  call = nameView(builder, call);
  builder.setInsertionPoint(call);
  SmallVector<Value> originals(call.getInputs());
  Value self = call.getValue("self");
  for (OpOperand &operand : call->getOpOperands())
    operand.set(read(originals[operand.getOperandNumber()]));
  auto selfArgument = dyn_cast_or_null<ArgAttr>(call.getArgument("self"));
  if (!isInPlace(call.getTarget())) {
    if (!selfArgument || !isView(call, self))
      return success();
    for (OpResult result : call->getResults()) {
      Alias alias = getAlias(self);
      alias.views.push_back({call, result.getResultNumber()});
      alias.value = result;
      alias.version = getStorage(alias.base).version;
      aliases[result] = alias;
    }
    return success();
  }
  if (!selfArgument || call.getNumResults() != 1)
    return call.emitError() << "in-place call of '" << call.getTarget() << "' without a changed tensor";
  auto [head, overload] = call.getTarget().rsplit('.');
  std::string target = (head.drop_back() + "." + overload).str();
  auto pure = CallOp::create(builder, call.getLoc(), TypeRange(self.getType()), builder.getStringAttr(target),
                             call.getInputs(), call.getArguments());
  if (failed(write(call, self, pure.getResult(0))))
    return failure();
  Alias alias = getAlias(self);
  aliases[call.getResult(0)] = alias;
  return success();
}

LogicalResult Functionalizer::run() {
  if (!function.getBody().hasOneBlock())
    return success();
  Block &block = function.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto call = dyn_cast<CallOp>(op)) {
      if (failed(visit(call)))
        return failure();
    } else {
      for (OpOperand &operand : op.getOpOperands()) {
        builder.setInsertionPoint(&op);
        operand.set(read(operand.get()));
      }
    }
  }
  if (failed(returnChanged()))
    return failure();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    auto call = dyn_cast<CallOp>(op);
    if (call && isInPlace(call.getTarget())) {
      call.erase();
      continue;
    }
    op.removeAttr("moe.initial");
    op.removeAttr("moe.key");
  }
  function->removeAttr(AtenDialect::MutableAttrHelper::getNameStr());
  return success();
}

namespace {
struct AtenFunctionalize : aten::impl::AtenFunctionalizeBase<AtenFunctionalize> {
  void runOnOperation() override {
    if (!getOperation().isDeclaration() && failed(Functionalizer(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
