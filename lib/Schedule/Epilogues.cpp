//===- Epilogues.cpp - who may run in whose epilogue --------------------------------------------------------------===//

#include "moe-mlir/Schedule/Epilogues.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::kernel;

SplatValue mlir::kernel::splatOf(Value tensor) {
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>())
    return {nullptr, fill.getInputs()[0]};
  if (auto splat = tensor.getDefiningOp<tensor::SplatOp>())
    return {nullptr, splat.getInput()};
  DenseElementsAttr dense;
  if (matchPattern(tensor, m_Constant(&dense)) && dense.isSplat())
    return {cast<TypedAttr>(dense.getSplatValue<Attribute>()), Value()};
  return {};
}

/// The operand through which alone the elements of `value` are read.
static OpOperand *onlyReader(Value value) {
  OpOperand *reader = nullptr;
  for (OpOperand &use : value.getUses()) {
    if (isa<tensor::DimOp>(use.getOwner()))
      continue;
    if (reader)
      return nullptr;
    reader = &use;
  }
  return reader;
}

static bool isReshape(Operation *op) { return isa_and_present<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op); }

static bool isBefore(Value value, Operation *producer) {
  Operation *def = value.getDefiningOp();
  return !def || (def->getBlock() == producer->getBlock() && def->isBeforeInBlock(producer));
}

/// Elementwise over one index space, with nothing in its body but scalars.
static bool isElementwise(linalg::GenericOp op) {
  if (op.getNumResults() != 1 || op.getNumReductionLoops() || op.hasIndexSemantics() ||
      !op.getMatchingBlockArgument(op.getDpsInitOperand(0)).use_empty())
    return false;
  for (AffineMap map : op.getIndexingMapsArray())
    if (!map.isIdentity() && map.getNumResults() != 0)
      return false;
  return llvm::all_of(op.getBody()->without_terminator(), [](Operation &nested) {
    return nested.getNumRegions() == 0 && llvm::none_of(nested.getOperandTypes(), llvm::IsaPred<TensorType>);
  });
}

/// Whether all that `consumer` reads besides operand `input` is there before `producer` runs.
static bool readsEarlier(linalg::GenericOp consumer, unsigned input, Operation *producer) {
  for (OpOperand *other : consumer.getDpsInputOperands())
    if (other->getOperandNumber() != input && !isBefore(other->get(), producer))
      return false;
  bool isEarlier = true;
  consumer.getRegion().walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (!consumer.getRegion().isAncestor(operand.getParentRegion()))
        isEarlier &= isBefore(operand, producer);
  });
  return isEarlier;
}

bool EpilogueAnalysis::hasEpilogue(Operation *op) {
  return isa_and_present<nn::LinearOp, nn::BatchLinearOp, moe::CombineOp>(op);
}

Operation *EpilogueAnalysis::producerOf(linalg::GenericOp consumer, unsigned input) {
  Operation *producer = consumer->getOperand(input).getDefiningOp();
  while (isReshape(producer))
    producer = producer->getOperand(0).getDefiningOp();
  return producer;
}

Value EpilogueAnalysis::shapeOf(linalg::GenericOp consumer, unsigned input) {
  Value shape;
  for (OpOperand *other : consumer.getDpsInputOperands())
    if (other->getOperandNumber() != input && consumer.getMatchingIndexingMap(other).getNumResults() &&
        !splatOf(other->get()))
      shape = other->get();
  return shape;
}

OpOperand *EpilogueAnalysis::consumerOf(Operation *producer) {
  OpOperand *use = onlyReader(producer->getResult(0));
  while (use && isReshape(use->getOwner()))
    use = onlyReader(use->getOwner()->getResult(0));
  auto consumer = use ? dyn_cast<linalg::GenericOp>(use->getOwner()) : linalg::GenericOp();
  return consumer && whyNot(consumer, use->getOperandNumber()).empty() ? use : nullptr;
}

std::string EpilogueAnalysis::whyNot(linalg::GenericOp consumer, unsigned input) {
  if (input >= consumer.getNumDpsInputs())
    return "has " + std::to_string(consumer.getNumDpsInputs()) +
           " inputs, so it cannot run in the epilogue of operand " + std::to_string(input);
  Operation *producer = producerOf(consumer, input);
  if (!hasEpilogue(producer))
    return "runs in the epilogue of operand " + std::to_string(input) +
           ", which is no result of nn.linear, nn.batch_linear or moe.combine, or a reshape of one; other kernels have "
           "no epilogue";
  if (consumer->getBlock() != producer->getBlock())
    return "runs in the epilogue of an op of another block";
  if (!isElementwise(consumer))
    return "runs in an epilogue, but is not elementwise with scalars in its body";
  if (!consumer.getMatchingIndexingMap(&consumer->getOpOperand(input)).isIdentity())
    return "runs in an epilogue, but takes one element of its producer for all of its own";
  auto type = cast<RankedTensorType>(producer->getResult(0).getType());
  auto result = cast<RankedTensorType>(consumer.getResult(0).getType());
  if (type.isDynamicDim(type.getRank() - 1) || result.getRank() == 0 ||
      result.getShape().back() != type.getShape().back())
    return "runs in an epilogue, but its last dimension is not the static one of its producer";
  for (Value value = consumer->getOperand(input);; value = value.getDefiningOp()->getOperand(0)) {
    if (!onlyReader(value))
      return "runs in an epilogue, but another op reads what it consumes";
    if (value.getDefiningOp() == producer)
      break;
    if (std::string why = whyNotThrough(value, producer); !why.empty())
      return why;
  }
  if (!readsEarlier(consumer, input, producer))
    return "runs in an epilogue, but reads what is computed after its producer";
  if (consumer->getOperand(input) != producer->getResult(0) && !shapeOf(consumer, input))
    return "runs in an epilogue behind a reshape, but has no other operand of its shape";
  return "";
}

/// That the sizes agree must be known, and checked, before the producer runs.
std::string EpilogueAnalysis::whyNotThrough(Value reshaped, Operation *producer) {
  GraphSizes &known = sizesOf(producer);
  for (int64_t dim = 0, rank = cast<RankedTensorType>(reshaped.getType()).getRank(); dim < rank; ++dim)
    if (Operation *last = known.lastDefinition(known.size(reshaped, dim)); last && !last->isBeforeInBlock(producer))
      return "runs in an epilogue behind a reshape, whose sizes are computed after its producer";
  return "";
}

GraphSizes &EpilogueAnalysis::sizesOf(Operation *op) {
  auto function = op->getParentOfType<func::FuncOp>();
  return sizes.try_emplace(function, function).first->second;
}
