//===- TensorAxes.cpp - which dimension of each value several ranks can share -------------------------------------===//
//
// Optimistic: every product that could make a part of its columns does. The ops are visited in order and say what is
// divided of their results, given their operands. One that cannot take what it gets makes it whole from where it comes,
// with all that has been combined with it, and the ops are visited again. So heads of queries, keys, values and caches
// stand or fall together, and so do the gate and up columns of a dense layer.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "TensorAxes.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace moe_mlir;

static RankedTensorType typeOf(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

bool moe_mlir::isParameter(Value value) { return value.getDefiningOp<moe::ParameterOp>() != nullptr; }

/// Whether `ranks` ranks can have equally many.
static bool divides(int64_t ranks, int64_t size) { return !ShapedType::isDynamic(size) && size % ranks == 0; }

static std::string describe(int64_t size) {
  return ShapedType::isDynamic(size) ? std::string("an unknown number of") : std::to_string(size);
}

bool moe_mlir::isUniform(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto fill = dyn_cast_if_present<linalg::FillOp>(op))
    return isUniform(fill.getDpsInitOperand(0)->get());
  if (auto constant = dyn_cast_if_present<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  return isa_and_present<tensor::EmptyOp, tensor::SplatOp>(op);
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

/// Whether only a norm reads the result, and only products into more columns read that: queries of a low rank. What
/// ranks save by dividing its few columns is less than what they save by dividing the heads that are made of them.
static bool isOfLowRank(nn::LinearOp op) {
  auto readersOf = [](Value value) {
    return llvm::make_filter_range(value.getUsers(), [](Operation *user) { return !isa<tensor::DimOp>(user); });
  };
  auto readers = llvm::to_vector(readersOf(op.getResult()));
  auto norm = readers.size() == 1 ? dyn_cast<nn::RmsNormOp>(readers.front()) : nn::RmsNormOp();
  if (!norm)
    return false;
  const int64_t columns = typeOf(op.getWeight()).getDimSize(0);
  auto products = llvm::to_vector(readersOf(norm.getResult()));
  return !products.empty() && llvm::all_of(products, [&](Operation *user) {
    auto linear = dyn_cast<nn::LinearOp>(user);
    return linear && linear.getX() == norm.getResult() && typeOf(linear.getWeight()).getDimSize(0) > columns;
  });
}

void TensorAxes::gatherSources() {
  auto add = [&](Value value, int64_t parts) {
    if (sourceOf.try_emplace(value, sources.size()).second)
      sources.push_back({value, parts});
  };
  for (Operation &op : func.front()) {
    if (auto linear = dyn_cast<nn::LinearOp>(op)) {
      add(linear.getResult(), ranks);
      if (isOfLowRank(linear)) {
        sources.back().isAlive = false;
        stopped.push_back({linear, linear, "makes fewer columns than the products that are made of its norm"});
      }
    }
    auto update = dyn_cast<nn::CacheUpdateOp>(op);
    auto state = update ? dyn_cast<BlockArgument>(update.getCache()) : BlockArgument();
    const int64_t parts = state ? partsOfHeads(typeOf(state).getDimSize(1)) : 1;
    if (parts > 1 && func.getArgAttr(state.getArgNumber(), "moe.state"))
      add(state, parts);
  }
}

LogicalResult TensorAxes::run() {
  auto isUnranked = [](Type type) { return isa<UnrankedTensorType>(type); };
  WalkResult ranked = func.walk([&](Operation *op) {
    return llvm::any_of(op->getResultTypes(), isUnranked) ? WalkResult::interrupt() : WalkResult::advance();
  });
  // Whatever this is, no kernel computes it.
  if (!func.getBody().hasOneBlock() || llvm::any_of(func.getArgumentTypes(), isUnranked) || ranked.wasInterrupted())
    return success();
  if (failed(checkHeads()))
    return failure();
  gatherSources();
  while (visitAll())
    ;
  gatherTables();
  return success();
}

bool TensorAxes::visitAll() {
  parts.clear();
  together = {};
  cut.clear();
  summed.clear();
  normed.clear();
  gathered.clear();
  for (auto [number, source] : llvm::enumerate(sources)) {
    together.insert(number);
    if (source.isAlive && isa<BlockArgument>(source.value))
      parts[source.value] = {1, static_cast<unsigned>(number)};
  }
  auto alive = [&] { return llvm::count_if(sources, [](const Source &source) { return source.isAlive; }); };
  const auto before = alive();
  for (Operation &op : func.front())
    visit(&op);
  return std::exchange(hasFewer, false) || alive() < before;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::optional<TensorAxes::Part> TensorAxes::partOf(Value value) const {
  auto found = parts.find(value);
  if (found == parts.end() || !sources[found->second.source].isAlive)
    return std::nullopt;
  return found->second;
}

std::optional<int64_t> TensorAxes::dimOf(Value value) const {
  std::optional<Part> part = partOf(value);
  return part ? std::optional(part->dim) : std::nullopt;
}

int64_t TensorAxes::partsOf(Value value) const {
  std::optional<Part> part = partOf(value);
  return part ? sources[part->source].parts : 1;
}

void TensorAxes::join(ValueRange values) {
  std::optional<unsigned> first;
  for (Value value : values)
    if (std::optional<Part> part = partOf(value)) {
      together.unionSets(first.value_or(part->source), part->source);
      first = part->source;
    }
}

void TensorAxes::set(Operation *op, Value value, int64_t dim, Value from) {
  std::optional<Part> part = partOf(from);
  if (!part)
    return;
  int64_t size = typeOf(value).getDimSize(dim), &number = sources[part->source].parts;
  // Fewer heads than ranks: groups of ranks have one each.
  if (int64_t fewer = partsOfHeads(size); fewer > 1 && fewer < number) {
    number = fewer;
    hasFewer = true;
  }
  if (!divides(number, size))
    return refuse(op, "has a dimension of " + describe(size) + " elements, which tp=" + Twine(ranks) +
                          " does not divide equally");
  parts[value] = {dim, part->source};
}

void TensorAxes::refuse(Operation *op, ValueRange values, const Twine &why) {
  for (Value value : values) {
    std::optional<Part> part = partOf(value);
    if (!part)
      continue;
    for (unsigned number : together.members(part->source)) {
      if (!std::exchange(sources[number].isAlive, false))
        continue;
      if (Operation *source = sources[number].value.getDefiningOp())
        stopped.push_back({source, op, why.str()});
    }
  }
}

/// All that an op reads, also from its regions.
static llvm::SetVector<Value> readBy(Operation *op) {
  llvm::SetVector<Value> read(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), read);
  return read;
}

void TensorAxes::refuse(Operation *op, const Twine &why) { refuse(op, readBy(op).getArrayRef(), why); }

bool TensorAxes::mayCut(OpOperand &operand, int64_t dim, int64_t parts) {
  int64_t size = typeOf(operand.get()).getDimSize(dim);
  if (!divides(parts, size) || !(isParameter(operand.get()) || isUniform(operand.get())))
    return false;
  cut.push_back({&operand, dim, parts});
  return true;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void TensorAxes::visit(Operation *op) {
  if (auto linear = dyn_cast<nn::LinearOp>(op))
    return visitLinear(linear);
  // Results have nothing to do with each other.
  if (auto exit = dyn_cast<func::ReturnOp>(op))
    return visitReturn(exit);
  auto isDivided = [&](Value value) { return bool(partOf(value)); };
  if (llvm::none_of(readBy(op), isDivided))
    return;
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  if (llvm::any_of(captured, isDivided))
    return refuse(op, "reads elements by index");
  if (auto attention = dyn_cast<nn::AttentionOp>(op))
    return visitAttention(attention);
  join(op->getOperands());
  if (auto batch = dyn_cast<nn::BatchLinearOp>(op))
    return visitBatch(batch);
  if (auto norm = dyn_cast<nn::RmsNormOp>(op))
    return visitNorm(norm);
  if (auto update = dyn_cast<nn::CacheUpdateOp>(op))
    return visitUpdate(update);
  if (auto rope = dyn_cast<nn::RopeOp>(op)) {
    if (dimOf(rope.getX()) != 2 || dimOf(rope.getCos()) || dimOf(rope.getSin()))
      return refuse(op, "rotates something else than whole heads");
    return set(op, rope.getResult(), 2, rope.getX());
  }
  if (visitTensor(op))
    return;
  if (auto loops = dyn_cast<linalg::LinalgOp>(op))
    return visitLoops(loops);
  if (op->hasTrait<OpTrait::Elementwise>() || isa<nn::SiluOp>(op))
    return visitElements(op);
  refuse(op, "is not known to compute a part by itself");
}

static bool hasParameters(nn::LinearOp op) {
  return isParameter(op.getWeight()) && (!op.getBias() || isParameter(op.getBias()));
}

void TensorAxes::visitLinear(nn::LinearOp op) {
  Value x = op.getX(), result = op.getResult();
  const unsigned number = sourceOf.lookup(result);
  std::optional<int64_t> dim = dimOf(x);
  const int64_t last = typeOf(x).getRank() - 1;
  if (dimOf(op.getWeight()) || (op.getBias() && dimOf(op.getBias()))) {
    refuse(op, op->getOperands(), "has a weight or a bias that is divided itself");
    if (dim)
      return; // It is visited again, with operands that are whole.
  }
  if (dim && dim != last)
    return set(op, result, *dim, x);
  if (dim && partsOf(x) != ranks)
    return refuse(op, x, "sums over a part that other ranks have, too");
  if (dim) {
    if (!hasParameters(op) || !mayCut(op.getWeightMutable(), 1, ranks))
      return refuse(op, x, "has a weight or a bias that is no moe.parameter");
    return summed.push_back(op); // The result is whole.
  }
  if (!sources[number].isAlive)
    return;
  parts[result] = {last, number};
  if (!hasParameters(op))
    return refuse(op, result, "has a weight or a bias that is no moe.parameter");
  int64_t columns = typeOf(op.getWeight()).getDimSize(0);
  const int64_t count = sources[number].parts; // of columns
  if (!divides(count, columns))
    return refuse(op, result,
                  "has " + describe(columns) + " columns, which tp=" + Twine(ranks) + " does not divide equally");
  mayCut(op.getWeightMutable(), 0, count);
  if (op.getBias())
    mayCut(*op.getBiasMutable().begin(), 0, count);
}

/// A rank has some of the matrices, which is as many as it has of what they are multiplied with.
void TensorAxes::visitBatch(nn::BatchLinearOp op) {
  const std::optional<int64_t> dim = dimOf(op.getX());
  const int64_t batch = typeOf(op.getX()).getRank() - 2;
  if (dimOf(op.getWeight()) || (op.getBias() && dimOf(op.getBias())))
    return refuse(op, "has a weight or a bias that is divided itself");
  if (*dim > batch)
    return refuse(op, "sums over what is divided, with a matrix for each head");
  if (*dim == batch) {
    const int64_t count = partsOf(op.getX());
    OpOperand *bias = op.getBias() ? &*op.getBiasMutable().begin() : nullptr;
    if (!isParameter(op.getWeight()) || !mayCut(op.getWeightMutable(), 0, count) ||
        (bias && (!isParameter(bias->get()) || !mayCut(*bias, 0, count))))
      return refuse(op, "has a weight or a bias that is no moe.parameter");
  }
  set(op, op.getResult(), *dim, op.getX());
}

void TensorAxes::visitNorm(nn::RmsNormOp op) {
  int64_t dim = *dimOf(op.getX()), last = typeOf(op.getX()).getRank() - 1;
  if (dim == last) {
    if (last == 0 || !mayCut(op.getWeightMutable(), 0, partsOf(op.getX())))
      return refuse(op, last == 0 ? "has one row, whose sum is a number" : "has a weight that is no moe.parameter");
    normed.push_back(op);
  }
  set(op, op.getResult(), dim, op.getX());
}

/// One loop walks the divided dimension of all that has one.
void TensorAxes::visitLoops(linalg::LinalgOp op) {
  std::optional<unsigned> loop;
  Value from;
  for (OpOperand &operand : op->getOpOperands()) {
    std::optional<int64_t> dim = dimOf(operand.get());
    if (!dim)
      continue;
    auto expr = dyn_cast<AffineDimExpr>(op.getMatchingIndexingMap(&operand).getResult(*dim));
    if (!expr || (loop && (*loop != expr.getPosition() || partsOf(from) != partsOf(operand.get()))))
      return refuse(op, "reads elements of different places together");
    loop = expr.getPosition();
    from = operand.get();
  }
  if (op.getIteratorTypesArray()[*loop] != utils::IteratorType::parallel)
    return refuse(op, "reduces the dimension that is divided");
  bool readsIndex = false;
  op->walk([&](linalg::IndexOp index) { readsIndex |= index.getDim() == *loop; });
  if (readsIndex)
    return refuse(op, "computes with the number of an element");
  for (OpOperand &operand : op->getOpOperands())
    for (auto [dim, expr] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults())) {
      if (!expr.isFunctionOfDim(*loop) || dimOf(operand.get()) == static_cast<int64_t>(dim))
        continue;
      if (dimOf(operand.get()) || !isa<AffineDimExpr>(expr) || !mayCut(operand, dim, partsOf(from)))
        return refuse(op, "has another operand of which every rank has all");
    }
  for (OpOperand &init : op.getDpsInitsMutable())
    for (auto [dim, expr] : llvm::enumerate(op.getMatchingIndexingMap(&init).getResults()))
      if (expr.isFunctionOfDim(*loop))
        set(op, op.getTiedOpResult(&init), dim, from);
}

/// Tensors, element by element.
void TensorAxes::visitElements(Operation *op) {
  Value from = *llvm::find_if(op->getOperands(), [&](Value value) { return bool(partOf(value)); });
  const int64_t dim = *dimOf(from);
  for (OpOperand &operand : op->getOpOperands())
    if (isa<TensorType>(operand.get().getType()) &&
        (dimOf(operand.get()) ? dimOf(operand.get()) != dim || partsOf(operand.get()) != partsOf(from)
                              : !mayCut(operand, dim, partsOf(from))))
      return refuse(op, "has another operand of which every rank has all");
  for (Value result : op->getResults())
    set(op, result, dim, from);
}

void TensorAxes::gatherTables() {
  for (auto op : func.front().getOps<nn::EmbeddingOp>()) {
    auto type = typeOf(op.getTable());
    Type element = type.getElementType();
    if (!isParameter(op.getTable()))
      stopped.push_back({op, op, "has a table that is no moe.parameter"});
    else if (!divides(ranks, type.getDimSize(0)))
      stopped.push_back({op, op,
                         "has " + describe(type.getDimSize(0)) + " rows, which tp=" + std::to_string(ranks) +
                             " does not divide equally"});
    else if (!element.isF32() && !element.isBF16() && !element.isF16())
      stopped.push_back({op, op, "has a table of another type than f32, bf16 and f16, which ranks cannot add"});
    else
      embedded.push_back(op);
  }
}

void TensorAxes::visitReturn(func::ReturnOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    auto state = func.getResultAttrOfType<IntegerAttr>(operand.getOperandNumber(), "moe.state_of");
    std::optional<int64_t> dim = dimOf(operand.get());
    if (!state) {
      if (dim && *dim != typeOf(operand.get()).getRank() - 1)
        refuse(op, operand.get(), "gives a result that is divided in another dimension than the last one");
      else if (dim && partsOf(operand.get()) != ranks)
        refuse(op, operand.get(), "gives a result of which several ranks have the same part");
      else if (dim)
        gathered.push_back(&operand);
      continue;
    }
    Value before = func.getArgument(state.getInt());
    if (dim != dimOf(before) || partsOf(operand.get()) != partsOf(before))
      refuse(op, ValueRange({operand.get(), before}), "gives the next value of a state that is divided in another way");
  }
}
