//===- Epilogue.cpp - elementwise consumers computed where their operand is produced ----------------------------===//
//
// A residual sum after a product or a combine, or the activation of a dense layer, needs no kernel of its own: its
// scalar body runs on the producer's values before they are stored. Reshapes in between do not matter as long as they
// keep the last dimension, since both sides are matrices of such rows in memory.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "GraphSizes.h"
#include "Lowering.h"

using namespace mlir;
using namespace mlir::kernel;

/// The op that alone reads the elements of `value`, and through which operand.
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

/// The elementwise op that can run in the epilogue of `producer`, if there is one.
static std::optional<FusedEpilogue> findEpilogue(Operation *producer, GraphSizes &sizes) {
  Value value = producer->getResult(0);
  int64_t width = cast<RankedTensorType>(value.getType()).getShape().back();
  bool reshaped = false;
  OpOperand *use = onlyReader(value);
  while (use && isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(use->getOwner())) {
    reshaped = true;
    // That the sizes agree must be known, and checked, before the producer runs.
    Value shaped = use->getOwner()->getResult(0);
    for (int64_t dim = 0, rank = cast<RankedTensorType>(shaped.getType()).getRank(); dim < rank; ++dim)
      if (Operation *last = sizes.lastDefinition(sizes.size(shaped, dim)); last && !last->isBeforeInBlock(producer))
        return std::nullopt;
    use = onlyReader(use->getOwner()->getResult(0));
  }
  auto consumer = use ? dyn_cast<linalg::GenericOp>(use->getOwner()) : linalg::GenericOp();
  if (!consumer || !consumer.isDpsInput(use) || ShapedType::isDynamic(width) || !isElementwise(consumer) ||
      consumer->getBlock() != producer->getBlock() ||
      cast<RankedTensorType>(consumer.getResult(0).getType()).getShape().back() != width)
    return std::nullopt;
  FusedEpilogue epilogue{consumer, use->getOperandNumber(), Value()};
  for (OpOperand *input : consumer.getDpsInputOperands()) {
    if (input == use)
      continue;
    if (!isBefore(input->get(), producer))
      return std::nullopt;
    if (consumer.getMatchingIndexingMap(input).getNumResults() && !splatOf(input->get()))
      epilogue.sizes = input->get();
  }
  bool capturesEarlier = true;
  consumer.getRegion().walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (!consumer.getRegion().isAncestor(operand.getParentRegion()))
        capturesEarlier &= isBefore(operand, producer);
  });
  if (!capturesEarlier || (reshaped && !epilogue.sizes))
    return std::nullopt;
  return epilogue;
}

void mlir::kernel::findEpilogues(GraphLowering &lowering) {
  llvm::DenseSet<Operation *> taken;
  // Later producers first: of two that one op consumes, the last one sees the other's result.
  SmallVector<Operation *> producers;
  lowering.module.walk([&](Operation *op) {
    if (isa<nn::LinearOp, moe::CombineOp>(op))
      producers.push_back(op);
  });
  std::map<Operation *, GraphSizes> sizes;
  for (Operation *producer : llvm::reverse(producers)) {
    auto function = producer->getParentOfType<func::FuncOp>();
    GraphSizes &known = sizes.try_emplace(function, function).first->second;
    if (std::optional<FusedEpilogue> epilogue = findEpilogue(producer, known);
        epilogue && taken.insert(epilogue->op).second)
      lowering.epilogues[producer] = *epilogue;
  }
}

Epilogue::Epilogue(GraphLowering &lowering, Operation *producer, ConversionPatternRewriter &rewriter)
    : lowering(lowering), rewriter(rewriter), fused(lowering.epilogues.lookup(producer)),
      element(getElementTypeOrSelf(producer->getResult(0).getType())) {}

Value Epilogue::allocateResult(MemRefType own, ArrayRef<OpFoldResult> sizes) {
  if (!fused.op)
    return allocate(rewriter, rewriter.getInsertionPoint()->getLoc(), own, sizes);
  Location loc = fused.op.getLoc();
  auto tensor = cast<RankedTensorType>(fused.op.getResult(0).getType());
  SmallVector<OpFoldResult> resultSizes(sizes);
  if (fused.sizes)
    resultSizes = sizesOf(rewriter, loc, rewriter.getRemappedValue(fused.sizes));
  Value result = allocate(rewriter, loc, MemRefType::get(tensor.getShape(), tensor.getElementType()), resultSizes);
  lowering.fusedResults[fused.op] = result;
  return result;
}

Value Epilogue::replacement(Value result, MemRefType own, ArrayRef<OpFoldResult> sizes) {
  // What stands between the producer and the fused op only carries sizes from now on.
  return fused.op ? allocate(rewriter, fused.op.getLoc(), own, sizes) : result;
}

void Epilogue::capture(KernelBuilder &kernel) {
  if (!fused.op)
    return;
  for (OpOperand *input : fused.op.getDpsInputOperands()) {
    BlockArgument arg = fused.op.getMatchingBlockArgument(input);
    if (input->getOperandNumber() == fused.input || arg.use_empty())
      continue;
    Value value = rewriter.getRemappedValue(input->get());
    if (SplatValue splat = splatOf(input->get()))
      captures.map(arg, splat.constant ? arith::ConstantOp::create(kernel, splat.constant).getResult()
                                       : kernel.arg(rewriter.getRemappedValue(splat.scalar)));
    else if (!isa<MemRefType>(value.getType()))
      captures.map(arg, kernel.arg(value));
    else if (cast<MemRefType>(value.getType()).getRank() == 0)
      captures.map(arg, kernel.load(kernel.arg(value)));
    else
      matrices.push_back({arg, kernel.arg(asMatrix(rewriter, fused.op.getLoc(), value))});
  }
  mapCaptures(kernel, fused.op.getRegion(), captures, rewriter);
}

Value Epilogue::apply(KernelBuilder &kernel, Value value, Value row, Value column) {
  if (!fused.op)
    return value;
  IRMapping mapping(captures);
  // The body sees what the producer would have stored.
  mapping.map(fused.op.getBody()->getArgument(fused.input), kernel.convert(value, element));
  for (auto [arg, matrix] : matrices)
    mapping.map(arg, kernel.load(matrix, {row, column}));
  for (Operation &nested : fused.op.getBody()->without_terminator()) {
    if (auto silu = dyn_cast<nn::SiluOp>(nested))
      approximate(kernel, lowering.target, silu.getType(), [&] { cloneScalarOp(kernel, nested, mapping); });
    else
      cloneScalarOp(kernel, nested, mapping);
  }
  return mapping.lookupOrDefault(fused.op.getBody()->getTerminator()->getOperand(0));
}

std::string Epilogue::name() {
  if (!fused.op)
    return "";
  Block *block = fused.op.getBody();
  return block->getOperations().size() == 2 ? "_" + block->front().getName().stripDialect().str() : "_fused";
}
