//===- ExtractLayers.cpp - moe-extract-layers: a function per MoE layer -------------------------------------------===//
//
// A layer is what lies between a `moe.combine` and the tokens that its `moe.dispatch` orders.
//
// 1. Gather: find the value where the layer begins. It is the dispatch's tokens if everything else that the layer reads
//    is made of parameters and constants; where the router looks at an earlier form of the tokens (before a norm that
//    only the experts see), the nearest value that both are made of. Failing that, what comes from elsewhere (ids that
//    the caller chose) becomes an argument, too.
// 2. Check: the arguments must be tensors.
// 3. Rewrite: clone the ops in between into functions, and erase @main.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Moe/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::moe;

namespace mlir::moe {
#define GEN_PASS_DEF_MOEEXTRACTLAYERS
#include "moe-mlir/Dialect/Moe/Transforms/Passes.h.inc"
} // namespace mlir::moe

namespace {
/// The values that an op reads, inside of its regions as well.
SmallVector<Value> readBy(Operation *op) {
  SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values.takeVector();
}

class Layer {
public:
  explicit Layer(CombineOp combine) : combine(combine), dispatch(combine.getLayout().getDefiningOp<DispatchOp>()) {}

  LogicalResult gather();
  /// The function `name`, with clones of the layer's ops.
  void build(OpBuilder &builder, StringRef name);
  /// The first number in the names of the experts' weights: the layer's number in the model.
  std::optional<unsigned> number();

private:
  bool isClosed(Value value);
  bool dependsOn(Value value, Value start, llvm::DenseMap<Value, bool> &known);
  void collect(Value value, const llvm::SetVector<Value> &stops, llvm::SetVector<Value> &arguments);
  std::string argumentName(Value value, unsigned index);

  CombineOp combine;
  DispatchOp dispatch;
  llvm::SetVector<Value> inputs;
  llvm::SetVector<Operation *> ops;
  llvm::DenseMap<Value, bool> closed;
};
} // namespace

/// Made of parameters and constants only.
bool Layer::isClosed(Value value) {
  auto [it, isNew] = closed.try_emplace(value, false);
  if (!isNew)
    return it->second;
  Operation *op = value.getDefiningOp();
  bool result = op && isMemoryEffectFree(op) && llvm::all_of(readBy(op), [&](Value read) { return isClosed(read); });
  return closed[value] = result;
}

bool Layer::dependsOn(Value value, Value start, llvm::DenseMap<Value, bool> &known) {
  auto [it, isNew] = known.try_emplace(value, value == start);
  if (!isNew || value == start)
    return it->second;
  Operation *op = value.getDefiningOp();
  bool result = op && llvm::any_of(readBy(op), [&](Value read) { return dependsOn(read, start, known); });
  return known[value] = result;
}

/// Collects the ops that compute `value` from `stops`, and the function's arguments that are reached all the same.
void Layer::collect(Value value, const llvm::SetVector<Value> &stops, llvm::SetVector<Value> &arguments) {
  if (stops.contains(value))
    return;
  Operation *op = value.getDefiningOp();
  if (!op) {
    arguments.insert(value);
    return;
  }
  if (!ops.insert(op))
    return;
  for (Value read : readBy(op))
    collect(read, stops, arguments);
}

LogicalResult Layer::gather() {
  if (!dispatch || combine->getBlock() != dispatch->getBlock() || !isa<func::FuncOp>(combine->getParentOp()))
    return combine.emitOpError("is not the end of a layer that begins with a moe.dispatch of the same function");
  auto reaches = [&](const llvm::SetVector<Value> &stops) {
    llvm::SetVector<Value> arguments;
    ops.clear();
    collect(combine.getResult(), stops, arguments);
    return !arguments.empty();
  };
  // Upwards as long as there is one way up.
  for (Value start = dispatch.getTokens(); start;) {
    inputs.clear();
    inputs.insert(start);
    if (!reaches(inputs))
      return success();
    Operation *op = start.getDefiningOp();
    SmallVector<Value> open;
    if (op)
      llvm::copy_if(readBy(op), std::back_inserter(open), [&](Value read) { return !isClosed(read); });
    start = open.size() == 1 && isa<RankedTensorType>(open[0].getType()) ? open[0] : Value();
  }
  // What does not come from the tokens comes from the caller.
  Value tokens = dispatch.getTokens();
  inputs.clear();
  inputs.insert(tokens);
  llvm::DenseMap<Value, bool> known;
  SmallVector<Value> pending = {combine.getResult()};
  llvm::DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (value == tokens || isClosed(value))
      continue;
    if (!dependsOn(value, tokens, known)) {
      if (!isa<RankedTensorType>(value.getType()))
        return combine.emitOpError() << "ends a layer that needs a value of type " << value.getType()
                                     << " from outside; only tensors can be arguments of a layer";
      inputs.insert(value);
      continue;
    }
    if (seen.insert(value.getDefiningOp()).second)
      llvm::append_range(pending, readBy(value.getDefiningOp()));
  }
  (void)reaches(inputs);
  return success();
}

std::optional<unsigned> Layer::number() {
  auto expert = combine.getRows().getDefiningOp<ExpertOp>();
  auto weight = expert ? expert.getWIn().getDefiningOp<ParameterOp>() : ParameterOp();
  if (!weight)
    return std::nullopt;
  SmallVector<StringRef> parts;
  cast<StringAttr>(weight.getSources()[0]).getValue().split(parts, '.');
  unsigned number;
  for (StringRef part : parts)
    if (!part.empty() && llvm::all_of(part, llvm::isDigit) && !part.getAsInteger(10, number))
      return number;
  return std::nullopt;
}

std::string Layer::argumentName(Value value, unsigned index) {
  if (index == 0)
    return "x";
  if (value == dispatch.getExperts())
    return "ids";
  if (value == combine.getWeights() || value == dispatch.getWeights())
    return "weights";
  for (Operation *op : ops)
    if (auto gate = dyn_cast<GateOp>(op)) {
      if (value == gate.getLogits())
        return "logits";
      if (value == gate.getIds())
        return "ids";
    }
  return "input" + std::to_string(index);
}

void Layer::build(OpBuilder &builder, StringRef name) {
  auto attributes = [&](Type type, StringRef name) {
    auto tensor = cast<RankedTensorType>(type);
    NamedAttrList attrs;
    attrs.set("moe.name", builder.getStringAttr(name));
    if (!tensor.hasStaticShape()) {
      SmallVector<StringRef> dims(tensor.getRank(), "");
      if (tensor.isDynamicDim(0) && tensor.getNumDynamicDims() == 1)
        dims[0] = "tokens";
      attrs.set("moe.dims", builder.getStrArrayAttr(dims));
    }
    if (name == "ids")
      attrs.set("moe.range", builder.getI64ArrayAttr({-1, static_cast<int64_t>(dispatch.getNumExperts()) - 1}));
    return attrs.getDictionary(builder.getContext());
  };
  SmallVector<Type> types = llvm::map_to_vector(inputs, [](Value value) { return value.getType(); });
  Type result = combine.getType();
  auto func = func::FuncOp::create(builder, combine.getLoc(), name, builder.getFunctionType(types, result));
  for (auto [i, value] : llvm::enumerate(inputs))
    func.setArgAttrs(i, attributes(value.getType(), argumentName(value, i)));
  func.setResultAttrs(0, attributes(result, "y"));

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(func.addEntryBlock());
  IRMapping mapping;
  mapping.map(inputs.getArrayRef(), func.getArguments());
  for (Operation &op : *combine->getBlock())
    if (ops.contains(&op))
      builder.clone(op, mapping);
  func::ReturnOp::create(builder, combine.getLoc(), mapping.lookup(combine.getResult()));
}

namespace {
struct MoeExtractLayers : moe::impl::MoeExtractLayersBase<MoeExtractLayers> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main)
      return markAllAnalysesPreserved();
    SmallVector<Layer> layers;
    WalkResult result = main.walk([&](CombineOp combine) {
      layers.emplace_back(combine);
      return failed(layers.back().gather()) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    if (layers.empty()) {
      emitError(module.getLoc()) << "@main has no MoE layer (moe.combine) to extract";
      return signalPassFailure();
    }

    // The model's numbers, if they tell the layers apart.
    SmallVector<unsigned> numbers;
    for (Layer &layer : layers)
      if (std::optional<unsigned> number = layer.number(); number && !llvm::is_contained(numbers, *number))
        numbers.push_back(*number);
    if (numbers.size() != layers.size())
      numbers.assign(llvm::seq<unsigned>(0, layers.size()).begin(), llvm::seq<unsigned>(0, layers.size()).end());

    OpBuilder builder(main);
    for (auto [layer, number] : llvm::zip(layers, numbers))
      layer.build(builder, "layer" + std::to_string(number) + "_moe");
    main.erase();
    // It says how to generate text with @main.
    module->removeAttr("moe.generation");
  }
};
} // namespace
