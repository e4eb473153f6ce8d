//===- Functionalize.cpp - in-place calls become calls with results -----------------------------------------------===//

#include "moe-mlir/Conversion/AtenToGraph/Passes.h"
#include "moe-mlir/Dialect/Aten/IR/Aten.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::aten {
#define GEN_PASS_DEF_ATENFUNCTIONALIZE
#include "moe-mlir/Conversion/AtenToGraph/Passes.h.inc"
} // namespace mlir::aten

using namespace mlir;
using namespace mlir::aten;

namespace {

/// One step from a tensor to a view of it.
struct View {
  CallOp call;
  unsigned result;
};

/// A value seen as memory: a base tensor and the views that lead from it to the value.
struct Alias {
  Value base;
  SmallVector<View> views;
  /// The value that holds the elements now, as of `version` of the base.
  Value value;
  unsigned version = 0;
};

struct Storage {
  Value current;
  unsigned version = 0;
};

class Functionalizer {
public:
  explicit Functionalizer(func::FuncOp function) : function(function), builder(function.getContext()) {}
  LogicalResult run();

private:
  Alias &getAlias(Value value);
  Storage &getStorage(Value base);
  Value read(Value value);
  LogicalResult write(CallOp call, Value target, Value replacement);
  FailureOr<Value> putBack(CallOp write, View view, Value parent, Value part);
  Value applyView(View view, Value parent);
  bool isView(CallOp call, Value self);
  LogicalResult visit(CallOp call);
  LogicalResult returnStates();

  func::FuncOp function;
  OpBuilder builder;
  DenseMap<Value, Alias> aliases;
  llvm::MapVector<Value, Storage> storages;
};

} // namespace

Storage &Functionalizer::getStorage(Value base) {
  Storage &storage = storages[base];
  if (!storage.current)
    storage.current = base;
  return storage;
}

Alias &Functionalizer::getAlias(Value value) {
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
      "aten.real",   "aten.imag",      "aten.unfold",  "aten.view_as_real", "aten.view_as_complex"};
  static const llvm::StringSet<> sometimes{"aten.reshape", "aten.contiguous", "aten.flatten", "aten.unflatten"};
  static const llvm::StringSet<> scattering{"aten.transpose", "aten.t",     "aten.permute", "aten.numpy_T",
                                            "aten.expand",    "aten.select", "aten.slice",  "aten.unfold"};
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

LogicalResult Functionalizer::visit(CallOp call) {
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

/// Where a base that outlives the call comes from: an argument, or a parameter or constant of the archive.
static bool isPersistent(Value base) {
  return isa<BlockArgument>(base) || base.getDefiningOp<moe::ParameterOp>() ||
         (base.getDefiningOp<arith::ConstantOp>() && base.getDefiningOp()->hasAttr("moe.key"));
}

LogicalResult Functionalizer::returnStates() {
  Block &block = function.getBody().front();
  Operation *terminator = block.getTerminator();
  Builder b(function.getContext());
  SmallVector<Value> results(terminator->getOperands());
  SmallVector<DictionaryAttr> resultAttrs;
  function.getAllResultAttrs(resultAttrs);
  SmallVector<std::pair<Value, Storage>> states;
  llvm::SmallDenseSet<int64_t> written;
  for (DictionaryAttr attrs : resultAttrs)
    if (auto state = attrs.getAs<IntegerAttr>("moe.state_of"))
      written.insert(state.getInt());

  // Arguments in their order, then what becomes an argument, as the program has it.
  for (BlockArgument argument : block.getArguments())
    if (auto it = storages.find(argument); it != storages.end())
      states.push_back(*it);
  for (auto &entry : storages)
    if (!isa<BlockArgument>(entry.first))
      states.push_back(entry);
  for (auto [base, storage] : states) {
    if (!isPersistent(base) || storage.current == base)
      continue;
    int64_t number;
    if (auto argument = dyn_cast<BlockArgument>(base)) {
      number = argument.getArgNumber();
    } else {
      Operation *op = base.getDefiningOp();
      StringAttr name = op->getAttrOfType<StringAttr>("moe.key");
      bool zero = matchPattern(base, m_AnyZeroFloat()) || matchPattern(base, m_Zero());
      if (auto parameter = dyn_cast<moe::ParameterOp>(op)) {
        name = cast<StringAttr>(parameter.getSources()[0]);
        auto initial = op->getAttrOfType<StringAttr>("moe.initial");
        zero = initial && initial.getValue() == "zero";
      }
      number = function.getNumArguments();
      NamedAttrList attrs(b.getNamedAttr("moe.name", name));
      if (zero)
        attrs.set("moe.state", b.getUnitAttr());
      if (failed(function.insertArgument(number, base.getType(), attrs.getDictionary(b.getContext()), base.getLoc())))
        return failure();
      base.replaceAllUsesWith(function.getArgument(number));
      std::replace(results.begin(), results.end(), Value(base), Value(function.getArgument(number)));
      op->erase();
    }
    written.insert(number);
    results.push_back(storage.current);
    resultAttrs.push_back(b.getDictionaryAttr(b.getNamedAttr("moe.state_of", b.getI64IntegerAttr(number))));
  }
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgAttr(i, "moe.state") && !written.contains(i)) {
      auto name = function.getArgAttrOfType<StringAttr>(i, "moe.name");
      return function.emitError() << "argument " << i << (name ? " ('" + name.getValue() + "')" : "")
                                  << " is named as state, but the graph never writes it";
    }

  terminator->setOperands(results);
  function.setType(b.getFunctionType(block.getArgumentTypes(), ValueRange(results).getTypes()));
  for (auto [i, attrs] : llvm::enumerate(resultAttrs))
    function.setResultAttrs(i, attrs);
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
  if (failed(returnStates()))
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
