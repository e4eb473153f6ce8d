//===- FunctionalizeStates.cpp - what a function writes and its caller or the next call sees ----------------------===//

#include "Functionalizer.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::aten;

/// Where a base that outlives the call comes from: an argument, or a parameter or constant of the archive.
static bool isPersistent(Value base) {
  return isa<BlockArgument>(base) || base.getDefiningOp<moe::ParameterOp>() ||
         (base.getDefiningOp<arith::ConstantOp>() && base.getDefiningOp()->hasAttr("moe.key"));
}

/// Attributes of the result that is the next value of a state.
static DictionaryAttr nextOf(BlockArgument state) {
  Builder b(state.getContext());
  return b.getDictionaryAttr(b.getNamedAttr("moe.state_of", b.getI64IntegerAttr(state.getArgNumber())));
}

/// Attributes of the result that is what the function has made of an input: its caller's, so it has the input's name.
static DictionaryAttr changedInput(func::FuncOp function, BlockArgument input, ArrayRef<DictionaryAttr> others) {
  Builder b(input.getContext());
  NamedAttrList attrs;
  if (Attribute dims = function.getArgAttr(input.getArgNumber(), "moe.dims"))
    attrs.set("moe.dims", dims);
  if (auto name = function.getArgAttrOfType<StringAttr>(input.getArgNumber(), "moe.name")) {
    auto isTaken = [&](StringRef own) {
      return llvm::any_of(others, [&](DictionaryAttr other) {
        auto taken = other ? other.getAs<StringAttr>("moe.name") : StringAttr();
        return taken && taken.getValue() == own;
      });
    };
    std::string own = name.str();
    for (unsigned use = 1; isTaken(own); ++use)
      own = (name.getValue() + "_" + Twine(use)).str();
    attrs.set("moe.name", b.getStringAttr(own));
  }
  return attrs.getDictionary(input.getContext());
}

FailureOr<BlockArgument> Functionalizer::addState(Type type, StringRef name, Location loc) {
  unsigned number = function.getNumArguments();
  Builder b(function.getContext());
  auto attrs = b.getDictionaryAttr({b.getNamedAttr("moe.name", b.getStringAttr(name)),
                                    b.getNamedAttr("moe.state", b.getUnitAttr())});
  if (failed(function.insertArgument(number, type, attrs, loc)))
    return failure();
  return function.getArgument(number);
}

/// States start as zeros, so this one tells the first call since the start or a reset from those that follow it.
FailureOr<BlockArgument> Functionalizer::getStarted(Location loc) {
  if (started)
    return started;
  FailureOr<BlockArgument> state = addState(RankedTensorType::get({}, builder.getI1Type()), "started", loc);
  if (failed(state))
    return failure();
  started = *state;
  builder.setInsertionPoint(function.getBody().front().getTerminator());
  auto type = cast<RankedTensorType>(started.getType());
  results.push_back(arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, true)));
  resultAttrs.push_back(nextOf(started));
  return state;
}

/// Makes a state of what the archive holds: its number. One that does not start as zeros is the archive's until the
/// first call has written it.
FailureOr<unsigned> Functionalizer::makeState(Value base) {
  Operation *op = base.getDefiningOp();
  StringAttr name = op->getAttrOfType<StringAttr>("moe.key");
  // Of floats, -0.0 is no state's start: it has other bits, which 1 / x shows.
  bool isZero = matchPattern(base, m_PosZeroFloat()) || matchPattern(base, m_Zero());
  if (auto parameter = dyn_cast<moe::ParameterOp>(op)) {
    name = cast<StringAttr>(parameter.getSources()[0]);
    auto initial = op->getAttrOfType<StringAttr>("moe.initial");
    isZero = initial && initial.getValue() == "zero";
  }
  FailureOr<BlockArgument> state = addState(base.getType(), name, base.getLoc());
  if (failed(state))
    return failure();
  if (isZero) {
    base.replaceAllUsesWith(*state);
    std::replace(results.begin(), results.end(), base, Value(*state));
    op->erase();
    return state->getArgNumber();
  }
  FailureOr<BlockArgument> isLater = getStarted(base.getLoc());
  if (failed(isLater))
    return failure();
  builder.setInsertionPointAfter(op);
  auto number = [&](int64_t i) { return ArgAttr::get(builder.getContext(), i); };
  auto arguments = builder.getDictionaryAttr({builder.getNamedAttr("condition", number(0)),
                                              builder.getNamedAttr("self", number(1)),
                                              builder.getNamedAttr("other", number(2))});
  auto held = CallOp::create(builder, base.getLoc(), TypeRange(base.getType()),
                             builder.getStringAttr("aten.where.self"), ValueRange{*isLater, *state, base}, arguments);
  base.replaceAllUsesExcept(held.getResult(0), held);
  std::replace(results.begin(), results.end(), base, held.getResult(0));
  return state->getArgNumber();
}

LogicalResult Functionalizer::returnChanged() {
  Block &block = function.getBody().front();
  Operation *terminator = block.getTerminator();
  Builder b(function.getContext());
  results.assign(terminator->operand_begin(), terminator->operand_end());
  function.getAllResultAttrs(resultAttrs);
  SmallVector<std::pair<Value, Storage>> written;

  // Arguments in their order, then what becomes an argument, as the program has it.
  for (BlockArgument argument : block.getArguments())
    if (auto it = storages.find(argument); it != storages.end())
      written.push_back(*it);
  for (auto &entry : storages)
    if (!isa<BlockArgument>(entry.first))
      written.push_back(entry);
  for (auto [base, storage] : written) {
    if (!isPersistent(base) || storage.current == base)
      continue;
    auto argument = dyn_cast<BlockArgument>(base);
    if (argument && !function.getArgAttr(argument.getArgNumber(), "moe.state")) {
      resultAttrs.push_back(changedInput(function, argument, resultAttrs));
    } else {
      if (!argument) {
        FailureOr<unsigned> number = makeState(base);
        if (failed(number))
          return failure();
        argument = function.getArgument(*number);
      }
      resultAttrs.push_back(nextOf(argument));
    }
    results.push_back(storage.current);
  }
  llvm::SmallDenseSet<int64_t> states;
  for (DictionaryAttr attrs : resultAttrs)
    if (auto state = attrs.getAs<IntegerAttr>("moe.state_of"))
      states.insert(state.getInt());
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgAttr(i, "moe.state") && !states.contains(i)) {
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
