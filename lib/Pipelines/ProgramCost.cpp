//===- ProgramCost.cpp - what one rank's program takes, in time and memory ----------------------------------------===//
//
// Layers of experts that exchange rows between GPUs are simulated as moe-schedule does. Of everything else it is the
// floor: products or bytes, whichever takes longer (of CPUs: Rates::productSeconds), and what exchanges send.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "ProgramCost.h"

#include "RankStrides.h"
#include "SplitTokens.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"
#include "moe-mlir/Pipelines/LayerTimes.h"
#include "moe-mlir/Simulation/ProgramLayer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace moe_mlir {

// Launches of the host program for what is one op here (docs/Parallelism.md lists them).
static constexpr int kLayoutLaunches = 2, kSendLaunches = 7, kReturnLaunches = 4, kSumLaunches = 4;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
static int64_t bytesEach(Type type) { return llvm::divideCeil(getElementTypeOrSelf(type).getIntOrFloatBitWidth(), 8); }
static double bytesOf(ShapedType type) { return double(type.getNumElements()) * double(bytesEach(type)); }

/// Ops that give what they read another shape or type, which nobody stores.
static bool isView(Operation *op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp, tensor::ReshapeOp, arith::ExtFOp,
             arith::TruncFOp>(op);
}

/// One function of the program.
class FunctionCost {
public:
  FunctionCost(CostModel &model, ModuleOp module, func::FuncOp func, ProgramCost &total)
      : model(model), func(func), sizes(func), total(total), grids(module) {}

  void run() {
    setSizes();
    for (Operation &op : func.front())
      visit(&op);
    addStates();
    total.scratch = std::max(total.scratch, mostAlive() + experts);
  }

private:
  void setSizes();
  void visit(Operation *op);
  void visitProduct(Operation *op);
  void visitAttention(nn::AttentionOp op);
  void visitExpert(moe::ExpertOp op);
  void visitExchange(moe::AllToAllOp op);
  void addStates();
  double mostAlive();

  std::optional<int64_t> sizeOf(Value value, int64_t dim) {
    return sizes.reduce(sizes.size(value, dim)).getConstant();
  }
  /// Of a tensor; none if its sizes do not follow from the call's.
  std::optional<double> elements(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    double product = 1;
    for (int64_t dim = 0; type && dim < type.getRank(); ++dim) {
      std::optional<int64_t> size = sizeOf(value, dim);
      if (!size)
        return std::nullopt;
      product *= double(*size);
    }
    return type ? std::optional(product) : std::nullopt;
  }
  double bytes(Value value) { return elements(value).value_or(0) * double(bytesEach(value.getType())); }
  double bytesOfAll(Operation *op) {
    double sum = 0;
    for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
      for (Value value : values)
        if (isa<RankedTensorType>(value.getType()))
          sum += bytes(value);
    return sum;
  }
  /// The ranks of a grid, as a cluster of their own.
  sim::Cluster along(StringRef grid) const {
    auto [stride, ranks] = grids.of(grid);
    return model.cluster.along(stride, ranks);
  }
  void exchange(double seconds, int launches) {
    total.exchanged += seconds;
    total.seconds += seconds + launches * model.rates.launch;
  }

  CostModel &model;
  func::FuncOp func;
  kernel::GraphSizes sizes;
  ProgramCost &total;
  RankStrides grids;
  DenseSet<std::pair<Attribute, Type>> weights;
  double experts = 0; ///< bytes between the products of the layer that has most
};

/// Sizes that the call decides, on this rank: what belongs to the first input's dimension 0 is divided with it.
void FunctionCost::setSizes() {
  const StringAttr rows = splitDimension(func);
  int64_t split = 1;
  StringAttr columns;
  llvm::SetVector<StringAttr> names;
  for (BlockArgument argument : func.getArguments()) {
    const unsigned number = argument.getArgNumber();
    auto dims = func.getArgAttrOfType<ArrayAttr>(number, "moe.dims");
    if (!dims || !isa<RankedTensorType>(argument.getType()))
      continue;
    for (auto [dim, name] : llvm::enumerate(dims.getAsRange<StringAttr>())) {
      if (name.empty() || !typeOf(argument).isDynamicDim(dim))
        continue;
      // Of the first input that has rows: its other dimension counts tokens of a row.
      if (name != rows && !columns && dim == 1 && names.size() == 1 && names.front() == rows)
        columns = name;
      names.insert(name);
      if (name == rows && dim == 0 && split == 1)
        for (FlatSymbolRefAttr grid : moe::splitGrids(func.getArgAttr(number, moe::kSplitAttr)))
          split *= moe::ranksOf(func, grid);
    }
  }
  const int64_t tokens = model.call.tokens ? model.call.tokens : kScheduledTokens * grids.all;
  const int64_t batch = columns ? std::min(model.call.batch, tokens) : tokens;
  for (StringAttr name : names) {
    const int64_t size = name == rows ? llvm::divideCeil(batch, split)
                         : name == columns ? llvm::divideCeil(tokens, batch)
                                           : 1;
    sizes.assume(*sizes.ofName(name) - size);
  }
}

void FunctionCost::visit(Operation *op) {
  sizes.visit(op);
  const sim::Rates &rates = model.rates;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](moe::ParameterOp parameter) {
        if (weights.insert({parameter->getAttrDictionary(), parameter.getType()}).second)
          total.weights += bytesOf(typeOf(parameter.getResult()));
      })
      .Case<nn::LinearOp, nn::BatchLinearOp>([&](Operation *product) { visitProduct(product); })
      .Case([&](nn::AttentionOp attention) { visitAttention(attention); })
      .Case([&](moe::ExpertOp expert) { visitExpert(expert); })
      .Case([&](moe::AllToAllOp exchange) { visitExchange(exchange); })
      .Case([&](shard::AllReduceOp sum) {
        const sim::Cluster ranks = along(sum.getGrid());
        const double summand = bytes(sum.getInput());
        exchange(sim::sendSeconds(ranks, model.constants, summand), kSumLaunches);
        total.seconds += (double(ranks.ranks()) * summand + bytes(sum.getResult())) / rates.bytesPerSecond;
        total.windows = std::max(total.windows, double(ranks.ranks()) * summand);
      })
      .Case([&](shard::AllGatherOp gather) {
        const sim::Cluster ranks = along(gather.getGrid());
        const double part = bytes(gather.getInput());
        exchange(sim::sendSeconds(ranks, model.constants, part), kSumLaunches);
        total.windows = std::max(total.windows, double(ranks.ranks()) * part);
      })
      .Case([&](nn::EmbeddingOp embedding) { total.seconds += rates.seconds(0, 2 * bytes(embedding.getResult()), 4); })
      .Case([&](nn::CacheUpdateOp update) {
        // In place: rows that are stored.
        total.seconds += rates.seconds(0, 2 * bytes(op->getOperand(1)), 4);
      })
      .Case([&](nn::ScanOp scan) {
        // A step takes two multiply-adds of each element of a matrix, or three by the delta rule, and its decay.
        const double steps = elements(scan.getValue()).value_or(0) * double(scan.sizeOf("K"));
        total.seconds += rates.seconds((scan.getBeta() ? 7 : 5) * steps, bytesOfAll(scan), 4);
      })
      .Case<nn::RmsNormOp, nn::RopeOp, nn::CausalConvOp, nn::TopKOp, moe::GateOp>(
          [&](Operation *rowsOnly) { total.seconds += rates.seconds(0, bytesOfAll(rowsOnly), 4); });
}

void FunctionCost::visitProduct(Operation *op) {
  const std::optional<double> results = elements(op->getResult(0));
  const auto weight = typeOf(op->getOperand(1));
  if (!results || !weight.hasStaticShape())
    return;
  const double depth = weight.getShape().back();
  const double rows = *results * depth / double(weight.getNumElements());
  const double read = bytesOf(weight);
  total.seconds +=
      model.rates.productSeconds(2 * *results * depth, read, bytesOfAll(op) - read, bytesEach(weight), rows);
}

/// Queries meet half of what the caches have room for, or all tokens of the call if these are more.
void FunctionCost::visitAttention(nn::AttentionOp op) {
  const Value query = op.getQuery(), keys = op.getKey(), values = op.getValue();
  std::optional<double> asked = elements(query), kept = elements(keys), given = elements(op.getResult());
  std::optional<int64_t> room = sizeOf(keys, 2), rows = sizeOf(query, 1);
  if (!asked || !kept || !given || !room || !rows || !*room)
    return;
  const double length = std::max(double(*room) / 2, double(std::min(*rows, *room)));
  const double part = length / double(*room);
  total.seconds += model.rates.seconds(2 * (*asked + *given) * length,
                                       (bytes(keys) + bytes(values)) * part + bytes(query) + bytes(op.getResult()),
                                       bytesEach(query.getType()));
}

void FunctionCost::visitExpert(moe::ExpertOp op) {
  auto dispatch = op.getLayout().getDefiningOp<moe::DispatchOp>();
  const auto in = typeOf(op.getWIn()), out = typeOf(op.getWOut());
  const int64_t topK = dispatch ? typeOf(dispatch.getExperts()).getDimSize(1) : 0;
  if (topK <= 0 || !in.hasStaticShape() || !out.hasStaticShape())
    return;
  auto exchange = dispatch.getAt() ? dispatch.getTokens().getDefiningOp<moe::AllToAllOp>() : moe::AllToAllOp();
  auto sent = exchange ? exchange.getRows().getDefiningOp<moe::DispatchOp>() : moe::DispatchOp();
  // What goes to the ranks of a node has come from the exchange before.
  if (auto before = sent ? sent.getTokens().getDefiningOp<moe::AllToAllOp>() : moe::AllToAllOp())
    sent = before.getRows().getDefiningOp<moe::DispatchOp>();
  const std::optional<int64_t> own = sizeOf((sent ? sent : dispatch).getTokens(), 0);
  if (!own || (exchange && !sent))
    return;
  const int64_t all = int64_t(dispatch.getNumExperts()), here = in.getDimSize(0), ranks = all / here;
  const double tokens = double(*own * (exchange ? ranks : 1)), each = double(in.getDimSize(2) + out.getDimSize(2));
  const double pairs = sim::largestOf(tokens * double(topK) / double(ranks), ranks);
  experts = std::max(experts, pairs * (each + double(in.getDimSize(2))) * double(bytesEach(in)));
  if (exchange && !model.cluster.isCpu()) {
    llvm::Expected<sim::ProgramLayer> layer = sim::layerOf(op);
    if (!layer)
      return llvm::consumeError(layer.takeError());
    sim::Setup setup;
    setup.cluster = along(*dispatch.getAt());
    setup.layer = layer->layer;
    setup.layer.tokens = std::max<int64_t>(*own, 1);
    if (llvm::Error error = sim::checkLayer(setup.layer, ranks))
      return llvm::consumeError(std::move(error));
    // Nodes that are not those of the cluster take at least what one exchange takes.
    if (llvm::Error error = sim::takeNodes(setup, layer->nodes))
      llvm::consumeError(std::move(error));
    total.seconds += model.simulated(setup);
    return;
  }
  // The rank that has most of the experts that tokens chose: the others wait for it.
  const double chosen = double(here) * (1 - std::pow(1 - double(topK) / double(all), tokens));
  const double active = std::min(double(here), sim::largestOf(chosen, ranks, 1 - chosen / double(here)));
  const double products = 2 * pairs * (double(in.getNumElements()) + double(out.getNumElements())) / double(here);
  const double read = active * (bytesOf(in) + bytesOf(out)) / double(here);
  const double moved = 2 * pairs * each * double(bytesEach(in));
  total.seconds += model.rates.productSeconds(products, read, moved, bytesEach(in), pairs / active) +
                   (1 + kLayoutLaunches) * model.rates.launch;
}

/// Rows to the ranks that have one of their experts, or the sums of those back.
void FunctionCost::visitExchange(moe::AllToAllOp op) {
  auto dispatch = op.getInverse() ? op.getDispatch() : op.getRows().getDefiningOp<moe::DispatchOp>();
  const std::optional<int64_t> tokens = dispatch ? sizeOf(dispatch.getTokens(), 0) : std::nullopt;
  const sim::Cluster ranks = along(op.getGrid());
  if (!tokens)
    return;
  const int64_t topK = typeOf(dispatch.getExperts()).getDimSize(1), width = typeOf(op.getRows()).getDimSize(1);
  double row = double(width * bytesEach(op.getRows().getType()));
  if (!op.getInverse())
    row += double(topK) * double(4 + bytesEach(dispatch.getTokens().getType()));
  total.windows = std::max(total.windows, double(*tokens * ranks.ranks()) * row);
  if (!model.cluster.isCpu())
    return; // simulated with its experts
  const double chance = 1 - std::pow(1 - 1 / double(ranks.ranks()), double(topK));
  exchange(sim::sendSeconds(ranks, model.constants, double(*tokens) * chance * row),
           op.getInverse() ? kReturnLaunches : kSendLaunches);
}

void FunctionCost::addStates() {
  for (BlockArgument argument : func.getArguments())
    if (func.getArgAttr(argument.getArgNumber(), "moe.state"))
      total.states += bytes(argument);
}

/// Bytes of results that are needed at the same time, at most.
double FunctionCost::mostAlive() {
  auto rootOf = [](Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (!isView(op))
        break;
      value = op->getOperand(0);
    }
    return value;
  };
  DenseMap<Value, Operation *> last;
  for (Operation &op : func.front())
    for (Value operand : op.getOperands())
      last[rootOf(operand)] = &op;
  DenseMap<Operation *, double> ends;
  double now = 0, most = 0;
  for (Operation &op : func.front()) {
    if (!isView(&op) && !isa<moe::ParameterOp, tensor::EmptyOp, nn::CacheUpdateOp>(op))
      for (Value result : op.getResults())
        if (auto user = last.find(result); user != last.end() && isa<RankedTensorType>(result.getType())) {
          now += bytes(result);
          ends[user->second] += bytes(result);
        }
    most = std::max(most, now);
    now -= ends.lookup(&op);
  }
  return most;
}

double CostModel::simulated(const sim::Setup &setup) {
  const sim::Layer &layer = setup.layer;
  std::string key;
  for (int64_t number : {layer.tokens, layer.experts, layer.topK, layer.hidden, layer.ffn, int64_t(layer.gated),
                         layer.elementBytes, layer.sumBytes, setup.cluster.ranksPerNode, setup.cluster.nodes,
                         int64_t(setup.nested)})
    key += std::to_string(number) + " ";
  auto [found, isNew] = known.try_emplace(key, 0);
  if (isNew)
    found->second = sim::solve(setup).seconds;
  return found->second;
}

ProgramCost CostModel::costOf(ModuleOp module) {
  ProgramCost total;
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isExternal())
      FunctionCost(*this, module, func, total).run();
  return total;
}

} // namespace moe_mlir
