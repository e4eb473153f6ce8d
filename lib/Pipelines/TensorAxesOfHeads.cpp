//===- TensorAxesOfHeads.cpp - divided values in attention and caches ---------------------------------------------===//
//
// Ranks have heads of queries, and the heads of keys and values that these read. Where there are fewer of those than
// ranks, neighbours have the same one, with its cache, and its weights.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "TensorAxes.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

using namespace mlir;
using namespace moe_mlir;

static RankedTensorType rankedTypeOf(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

/// "model.layers.0.self_attn.k_proj.weight", the weight that a value of heads is made by; empty if none is found.
static StringRef weightBehind(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto linear = dyn_cast<nn::LinearOp>(op)) {
      auto parameter = linear.getWeight().getDefiningOp<moe::ParameterOp>();
      return parameter ? cast<StringAttr>(parameter.getSources()[0]).getValue() : StringRef();
    }
    auto update = dyn_cast<nn::CacheUpdateOp>(op);
    if (op->getNumOperands() == 0)
      break;
    value = update ? update.getRows() : op->getOperand(0);
  }
  return "";
}

LogicalResult TensorAxes::checkHeads() {
  WalkResult result = func.walk([&](nn::AttentionOp op) -> WalkResult {
    int64_t heads = rankedTypeOf(op.getKey()).getDimSize(1), queries = rankedTypeOf(op.getQuery()).getDimSize(2);
    const bool isDivided = heads < 1 || heads % ranks == 0 || ranks % heads == 0; // dynamic ones are negative
    if (isDivided && (heads < 1 || heads % ranks == 0 || queries % ranks == 0))
      return WalkResult::advance();
    if (isDivided)
      return op.emitOpError() << "has " << queries << " heads of queries, and tp=" << ranks
                              << " does not divide them equally; ranks share whole heads";
    InFlightDiagnostic error = op.emitOpError() << "has " << heads << " heads of keys";
    if (StringRef weight = weightBehind(op.getKey()); !weight.empty())
      error << ", which '" << weight << "' makes";
    error << ", and tp=" << ranks
          << " does not divide them equally, nor they tp; ranks share whole heads with their caches";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

int64_t TensorAxes::partsOfHeads(int64_t size) const {
  if (ShapedType::isDynamic(size) || size < 1)
    return 1;
  return size % ranks == 0 ? ranks : ranks % size == 0 ? size : 1;
}

void TensorAxes::visitUpdate(nn::CacheUpdateOp op) {
  if (dimOf(op.getCache()) != 1 || dimOf(op.getRows()) != 2 || partsOf(op.getCache()) != partsOf(op.getRows()))
    return refuse(op, "has a cache or rows whose heads every rank has");
  if (dimOf(op.getPositions()))
    return refuse(op, "has positions that are divided themselves");
  set(op, op.getResult(), 1, op.getCache());
}

void TensorAxes::visitAttention(nn::AttentionOp op) {
  const int64_t heads = rankedTypeOf(op.getKey()).getDimSize(1);
  if (heads == 1) // All ranks have it, and queries are divided without it.
    refuse(op, {op.getKey(), op.getValue()}, "has one head of keys, which every rank needs");
  join(op->getOperands());
  const bool isOne = heads == 1 && !dimOf(op.getKey()) && !dimOf(op.getValue());
  if (dimOf(op.getQuery()) != 2 || (!isOne && (dimOf(op.getKey()) != 1 || dimOf(op.getValue()) != 1)))
    return refuse(op, "has queries, keys or values whose heads every rank has");
  // Heads of queries that a rank has read one head of keys, or those of its part.
  const int64_t parts = partsOf(op.getKey());
  if (partsOf(op.getQuery()) != ranks || parts != partsOf(op.getValue()) || (parts != ranks && parts != heads))
    return refuse(op, "has queries, keys and values whose heads are not divided alike");
  if (op.getMask() && rankedTypeOf(op.getMask()).getDimSize(1) != 1)
    return refuse(op, "has a mask for each head");
  if (op.getBias() && rankedTypeOf(op.getBias()).getDimSize(1) != 1)
    return refuse(op, "has a bias for each head");
  // Each head of queries has its sink.
  if (Value sinks = op.getSinks()) {
    const bool isDivided = dimOf(sinks) == 0 && partsOf(sinks) == ranks;
    if (!isDivided && (dimOf(sinks) || !mayCut(op.getSinksMutable()[0], 0, ranks)))
      return refuse(op, "has sinks that are no parameter, and are not divided as its heads are");
  }
  for (Value other : {op.getMask(), op.getBias(), op.getPositions(), op.getLengths()})
    if (other && dimOf(other))
      return refuse(op, "has a mask, bias, positions or lengths that are divided themselves");
  set(op, op.getResult(), 2, op.getQuery());
}
