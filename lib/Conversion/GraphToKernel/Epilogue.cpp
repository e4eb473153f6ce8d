//===- Epilogue.cpp - elementwise consumers computed where their operand is produced ----------------------------===//
//
// Which ops those are is decided at level scheduled (moe-mlir/Schedule/Epilogues.h).
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::kernel;

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
  for (Operation &nested : fused.op.getBody()->without_terminator())
    cloneScalarOp(kernel, nested, mapping);
  return mapping.lookupOrDefault(fused.op.getBody()->getTerminator()->getOperand(0));
}

std::string Epilogue::name() {
  if (!fused.op)
    return "";
  Block *block = fused.op.getBody();
  return block->getOperations().size() == 2 ? "_" + block->front().getName().stripDialect().str() : "_fused";
}
